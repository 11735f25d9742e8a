"""A trained reader in torch: network, vocabulary and settings, and their folder on disk."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fabir.data.batches import COARSE, Batch, round_up
from fabir.errors import InputError
from fabir.files import replacing, write_json
from fabir.layers.embedding import VocabularySizes, WordRows
from fabir.readers import build_network, registered
from fabir.readers.network import Network
from fabir.runtime.hub import push
from fabir.runtime.locate import find_model
from fabir.runtime.renamed import renamed_network, renamed_weight
from fabir.runtime.store import (
    ANSWER,
    EMBED,
    ENCODE,
    FORMAT,
    FORMS,
    FURTHER,
    NETWORK,
    SETTINGS,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    read_settings,
    read_vocabulary,
)
from fabir.text.vocabulary import Vocabulary

_TUNED = "embedding.words.tuned"  # rows that are saved with the fixed ones
_TYPES = 64  # what the number of word types is padded to: torch prepares a kernel for each size


@dataclass
class TorchModel:
    """A network with the vocabulary it was built for.

    Args:
        no_answer_threshold: above this probability of no answer it gives none; tuned on the dev
            set in training. A reader without a place for no answer always answers.
    """

    name: str
    config: Any
    vocabulary: Vocabulary
    network: Network
    no_answer_threshold: float = 1.0
    steps = COARSE  # that batches are padded to

    @property
    def batch_words(self) -> int:
        """Padded passage words that are best read at once."""
        return registered(self.name).batch_words

    @classmethod
    def build(cls, name: str, config: Any, vocabulary: Vocabulary, fixed: Tensor) -> "TorchModel":
        """A new, untrained reader.

        Args:
            fixed: [fixed words, word_dim] rows of the vocabulary's fixed words

        Raises:
            InputError: the config and the vectors make no network together.
        """
        if len(fixed) != len(vocabulary.fixed):
            raise InputError(f"{len(fixed)} rows for {len(vocabulary.fixed)} fixed words")
        sizes = VocabularySizes(
            word_dim=fixed.shape[1],
            trained_words=1 + len(vocabulary.trained),
            fixed_words=len(vocabulary.fixed),
            characters=2 + len(vocabulary.characters),
        )
        network = build_network(name, config, sizes)
        reader = cls(name, config, vocabulary, network, 0.5 if vocabulary.no_answer else 1.0)
        reader._words.fixed.copy_(fixed)
        return reader

    @property
    def fixed_rows(self) -> Tensor:
        """[fixed words, word_dim] the rows of the vocabulary's fixed words."""
        return self._words.fixed_rows()

    @property
    def trained_rows(self) -> Tensor:
        """[1 + trained words, word_dim] the rows of unknown words and of trained ones."""
        return self._words.trained.detach()

    @property
    def _words(self) -> WordRows:
        return self.network.embedding.words

    @property
    def parallel(self) -> int:
        """How many batches at a time are read fastest, each in a thread of its own."""
        return torch.get_num_threads() if self._device.type == "cpu" else 1

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device

    def embed(self, batch: Batch[np.ndarray], questions_only: bool = False) -> Tensor:
        """[types, features]; see `fabir.runtime.base.Model`."""
        with self._inference() as device:
            words, characters, *_ = batch.tensors(device)
            if not questions_only:
                return self.network.embed(words, characters)
            types = np.unique(batch.question)
            padded = np.zeros(round_up(len(types), _TYPES), np.int64)  # with type 0, padding
            padded[: len(types)] = types
            chosen = torch.as_tensor(padded, device=device)
            found = self.network.embed(words[chosen], characters[chosen])
            return found.new_zeros(len(words), found.shape[1]).index_copy_(0, chosen, found)

    def encode(self, batch: Batch[np.ndarray], vectors: Tensor) -> np.ndarray:
        with self._inference() as device:
            passage = torch.as_tensor(batch.passage, device=device)
            mask = (passage > 0)[..., None]
            encoded = self.network.encode(F.embedding(passage, vectors), mask)
            return encoded.float().cpu().numpy()

    def answer(
        self, batch: Batch[np.ndarray], vectors: Tensor, encoded: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        with self._inference() as device:
            tensors = batch.tensors(device)
            question = F.embedding(tensors.question, vectors)
            given = torch.as_tensor(encoded, device=device)
            logits = self.network.answer(given, question, tensors)
            return logits.start.cpu().numpy(), logits.end.cpu().numpy()

    def clear(self) -> None:
        """Nothing is kept."""

    @contextmanager
    def _inference(self) -> Iterator[torch.device]:
        """On one processor, in the quickest precision; the device of the network."""
        if self.network.training:
            self.network.eval()
        device = self._device
        autocast = torch.autocast(device.type, torch.bfloat16, enabled=_has_bf16(device))
        with torch.inference_mode(), _one_thread(), autocast:
            yield device

    def unfreeze_words(self, count: int) -> None:
        """Let training change the rows of the `count` most frequent fixed words too."""
        self._words.unfreeze(count)

    def save(self, folder: str | Path, *, small: bool = False) -> None:
        """Write the whole folder, file by file, each complete or not at all.

        Args:
            small: word rows as 8-bit integers with a scale each, other weights in float16
        """
        folder = Path(folder)
        vocabulary = asdict(self.vocabulary)
        del vocabulary["_rows"], vocabulary["_character_rows"]
        write_json(folder / VOCABULARY, vocabulary)
        self._save_settings(folder)
        rows = self.fixed_rows
        words = _quantised(rows) if small else {"rows": rows.half()}
        write_tensors(folder / WORDS, words)
        weights = self.network.state_dict()
        weights.pop(_TUNED, None)
        if small:
            weights = {name: tensor.half() for name, tensor in weights.items()}
        write_tensors(folder / WEIGHTS, weights)

    def save_weights(self, folder: Path) -> None:
        """Write what training changes: the network, the threshold, and fixed rows if trained."""
        self._save_settings(folder)
        weights = self.network.state_dict()
        if weights.pop(_TUNED, None) is not None:
            write_tensors(folder / WORDS, {"rows": self.fixed_rows.half()})
        write_tensors(folder / WEIGHTS, weights)

    def _save_settings(self, folder: Path) -> None:
        for name in (ANSWER, ENCODE, EMBED, NETWORK, FURTHER, FORMS):  # of the weights before
            (folder / name).unlink(missing_ok=True)
        settings = {
            "format": FORMAT,
            "reader": self.name,
            "network": asdict(self.config),
            "no_answer_threshold": self.no_answer_threshold,
        }
        write_json(folder / SETTINGS, settings)

    @classmethod
    def load(cls, folder: str | Path) -> "TorchModel":
        """Read a folder written by `save` or by training; the network is in evaluation mode.

        In place of a folder may stand "bundled", or "owner/name" on the Hugging Face hub.

        Raises:
            InputError: a file is missing, damaged or of another version.
        """
        folder = find_model(folder)
        settings = read_settings(folder)
        vocabulary = read_vocabulary(folder)
        rows = _read_rows(folder / WORDS)
        weights = read_tensors(folder / WEIGHTS)[0]
        try:
            name, network = renamed_network(str(settings["reader"]), dict(settings["network"]))
            weights = {renamed_weight(name, key): tensor for key, tensor in weights.items()}
            network = {  # JSON has no tuples
                key: tuple(value) if isinstance(value, list) else value
                for key, value in network.items()
            }
            config = registered(name).config(**network)
            reader = cls.build(name, config, vocabulary, rows)
            reader.network.load_state_dict(weights)
            if "no_answer_threshold" in settings:
                reader.no_answer_threshold = float(settings["no_answer_threshold"])
        except (TypeError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{folder}: its files do not fit together: {reason}") from error
        reader.network.eval()
        return reader

    @classmethod
    def from_pretrained(cls, name: str | Path, *, revision: str | None = None) -> "TorchModel":
        """As `load`, under the name that others use; `revision` is one of the hub's."""
        return cls.load(find_model(name, revision))

    save_pretrained = save

    def push_to_hub(self, name: str, *, private: bool = False, token: str | None = None) -> str:
        """Upload to the Hugging Face hub as `name`, "owner/name"; returns its address.

        Raises:
            InputError: huggingface_hub is missing, or the hub refuses.
        """
        with TemporaryDirectory() as folder:
            self.save(folder)
            return push(folder, name, private=private, token=token)


def _quantised(rows: Tensor) -> dict[str, Tensor]:
    """Each row as integers from -127 to 127 and the float16 that scales them back."""
    scales = (rows.abs().amax(dim=1) / 127).clamp(min=1e-7).half()
    integers = (rows / scales.float()[:, None]).round().clamp(-127, 127)
    return {"rows": integers.to(torch.int8), "scales": scales}


def _read_rows(path: Path) -> Tensor:
    """Fixed word rows as float32, whichever way they are stored."""
    tensors = read_tensors(path)[0]
    rows, scales = tensors.get("rows"), tensors.get("scales")
    if rows is None or rows.ndim != 2 or (scales is not None and scales.shape != rows.shape[:1]):
        raise InputError(f"{path}: holds no table of word rows")
    return rows.float() if scales is None else rows.float() * scales.float()[:, None]


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file and its metadata; InputError names a bad file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {k: file.get_tensor(k) for k in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file, complete or not at all."""
    with replacing(path) as temporary:
        save_file(
            {name: t.detach().contiguous() for name, t in tensors.items()}, temporary, metadata
        )


@contextmanager
def _one_thread() -> Iterator[None]:
    """One processor for this thread: the operations of a batch are so small that several wait for
    each other longer than they work. Only the main thread has its own number again afterwards."""
    before = torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before > 1 and threading.current_thread() is threading.main_thread():
            torch.set_num_threads(before)


def _has_bf16(device: torch.device) -> bool:
    """Whether bfloat16 is quicker than float32 there: nearly twice on CPUs that know it."""
    if device.type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return device.type == "cuda" and torch.cuda.is_bf16_supported()
