"""A trained model in torch: its network, vocabulary and settings, and its folder on disk."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fabir.data.batches import COARSE, Batch, SpanLogits, round_up
from fabir.errors import InputError
from fabir.layers.embedding import VocabularySizes, WordRows
from fabir.readers import build_network, registered
from fabir.readers.network import Network
from fabir.runtime.hub import push
from fabir.runtime.locate import find_model
from fabir.runtime.processors import fast_bf16
from fabir.runtime.renamed import renamed_network
from fabir.runtime.settings import NEUTRAL, UNCALIBRATED, Calibration, Confidence, Settings
from fabir.runtime.store import (
    TORCH,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    is_exported,
    read_settings,
    read_vocabulary,
    read_words,
    write_model,
    write_vocabulary,
)
from fabir.runtime.tensors import are_numbers, read_tensors, save_tensors
from fabir.text.vocabulary import Vocabulary

_TUNED = "embedding.words.tuned"  # rows that are saved with the fixed ones
_TYPES = 64  # word types are padded to a multiple of this, since torch prepares kernels by size


@dataclass
class TorchModel:
    """A network with the vocabulary it was built for.

    Args:
        no_answer_threshold: above this no-answer probability there is no answer. Training tunes it
            on the dev set. A model that cannot tell that there is no answer always answers.
        calibration: of scores in a search
        confidence: calibration of the probabilities of answers and of no answer
    """

    name: str
    config: Any
    vocabulary: Vocabulary
    network: Network
    no_answer_threshold: float = 1.0
    calibration: Calibration = NEUTRAL
    confidence: Confidence = UNCALIBRATED
    steps = COARSE  # lengths in a batch are padded to multiples of these
    bfloat16: ClassVar[bool | None] = None  # use that precision; None: where it is faster

    def __repr__(self) -> str:
        weights = sum(each.numel() for each in self.network.parameters())
        words = len(self.vocabulary.trained) + len(self.vocabulary.fixed)
        return f"<TorchModel: {self.name}, {weights:,} weights, {words:,} words>"

    @property
    def batch_words(self) -> int:
        """The fastest batch size, in padded passage words."""
        return registered(self.name).batch_words

    @classmethod
    def build(cls, name: str, config: Any, vocabulary: Vocabulary, fixed: Tensor) -> "TorchModel":
        """A new, untrained model.

        Args:
            fixed: [fixed words, word_dim] rows of the vocabulary's fixed words

        Raises:
            InputError: the config does not fit the vocabulary and its vectors.
        """
        if len(fixed) != len(vocabulary.fixed):
            raise InputError(f"{len(fixed)} rows for {len(vocabulary.fixed)} fixed words")
        network = build_network(name, config, vocabulary_sizes(vocabulary, fixed.shape[1]))
        model = cls(name, config, vocabulary, network)
        model.no_answer_threshold = 0.5 if model.tells_no_answer else 1.0
        model._words.fixed.copy_(fixed)
        return model

    @property
    def tells_no_answer(self) -> bool:
        """Whether it was made to tell that a passage has no answer."""
        return self.vocabulary.no_answer or self.network.tells_no_answer

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
        """The fastest number of batches at a time, each in a thread of its own."""
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
    ) -> SpanLogits[np.ndarray]:
        with self._inference() as device:
            tensors = batch.tensors(device)
            question = F.embedding(tensors.question, vectors)
            given = torch.as_tensor(encoded, device=device)
            logits = self.network.answer(given, question, tensors)
            none = None if logits.no_answer is None else logits.no_answer.cpu().numpy()
            return SpanLogits(logits.start.cpu().numpy(), logits.end.cpu().numpy(), none)

    def clear(self) -> None:
        """Do nothing: this model has no cache."""

    @contextmanager
    def _inference(self) -> Iterator[torch.device]:
        """Yield the network's device; inside, inference uses one processor and the fastest
        precision."""
        if self.network.training:
            self.network.eval()
        device = self._device
        wanted = fast_bf16(device) if self.bfloat16 is None else self.bfloat16
        autocast = torch.autocast(device.type, torch.bfloat16, enabled=wanted)
        with torch.inference_mode(), _one_thread(), autocast:
            yield device

    def unfreeze_words(self, count: int) -> None:
        """Make the rows of the `count` most frequent fixed words trainable too."""
        self._words.unfreeze(count)

    @torch.no_grad()
    def fix_words(self, trained: Tensor) -> None:
        """Take `trained_rows` from elsewhere. Training leaves them, as it leaves the fixed rows."""
        self._words.trained.copy_(trained).requires_grad_(False)

    def save(self, folder: str | Path, *, small: bool = False) -> None:
        """Write the whole folder. Each file is written completely or not at all.

        Args:
            small: word rows as 8-bit integers with a scale each, other weights in float16
        """
        rows = self.fixed_rows
        words = _quantised(rows) if small else {"rows": rows.half()}
        files = {
            VOCABULARY: partial(write_vocabulary, self.vocabulary),
            WORDS: partial(save_tensors, words),
            WEIGHTS: partial(save_tensors, self._weights(small)),
        }
        write_model(Path(folder), self.settings, files)

    def save_weights(self, folder: Path) -> None:
        """Write what training changes: weights, threshold, and fixed rows if they are trained."""
        files = {WEIGHTS: partial(save_tensors, self._weights())}
        if _TUNED in self.network.state_dict():
            files[WORDS] = partial(save_tensors, {"rows": self.fixed_rows.half()})
        write_model(folder, self.settings, files, keep=(VOCABULARY, WORDS))

    def _weights(self, small: bool = False) -> dict[str, Tensor]:
        weights = self.network.state_dict()
        weights.pop(_TUNED, None)
        return {name: tensor.half() for name, tensor in weights.items()} if small else weights

    @property
    def settings(self) -> Settings:
        """The contents of `config.json`, without checksums."""
        return Settings(
            self.name,
            asdict(self.config),
            self.no_answer_threshold,
            self.calibration,
            self.confidence,
        )

    @classmethod
    def load(cls, folder: str | Path) -> "TorchModel":
        """Load a folder written by `save` or by training; the network is in evaluation mode.

        `folder` may also be "fast" or "accurate", the bundled models, or "owner/name" on the
        Hugging Face hub.

        Raises:
            InputError: a file is missing, damaged or of another version.
        """
        folder = find_model(folder)
        if not (folder / WEIGHTS).exists() and is_exported(folder):
            raise InputError(
                f"{folder} is only exported: this needs a model's torch weights ({WEIGHTS})"
            )
        settings = read_settings(folder, TORCH)
        vocabulary = read_vocabulary(folder)
        words = read_words(folder, vocabulary, exported=False)
        weights = read_tensors(folder / WEIGHTS)[0]
        try:
            reader = settings.reader
            config = _config(reader, renamed_network(reader, settings.network))
            rows = _float_rows(words)
            _check_weights(reader, config, vocabulary_sizes(vocabulary, rows.shape[1]), weights)
            model = cls.build(reader, config, vocabulary, rows)
            model.network.load_state_dict(weights)
        except OSError:  # no file of the model, but for example no room for torch's own
            raise
        except Exception as error:  # a network's code may raise anything for wrong settings
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise InputError(f"{folder}: its files do not fit together: {reason}") from error
        model.no_answer_threshold = settings.no_answer_threshold
        model.calibration, model.confidence = settings.calibration, settings.confidence
        model.network.eval()
        return model

    @classmethod
    def from_pretrained(cls, name: str | Path, *, revision: str | None = None) -> "TorchModel":
        """The same as `load`, under Hugging Face's name; `revision` is one of the hub's."""
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
    """Each row as integers from -127 to 127, with its scale in float16."""
    scales = (rows.abs().amax(dim=1) / 127).clamp(min=1e-7).half()
    integers = (rows / scales.float()[:, None]).round().clamp(-127, 127)
    return {"rows": integers.to(torch.int8), "scales": scales}


def _float_rows(words: dict[str, np.ndarray]) -> Tensor:
    """[fixed words, word_dim] float32, from rows in 8 bits or in floats."""
    rows = torch.from_numpy(words["rows"]).float()
    if "scales" in words:
        rows *= torch.from_numpy(words["scales"]).float()[:, None]
    return rows


def _config(reader: str, network: dict[str, Any]) -> Any:
    """The config of a network from its fields in JSON, where tuples are lists."""
    fields = {
        key: tuple(value) if isinstance(value, list) else value for key, value in network.items()
    }
    return registered(reader).config(**fields)


def _check_weights(
    reader: str, config: Any, sizes: VocabularySizes, weights: dict[str, Tensor]
) -> None:
    """Compare weights with those of an empty network, which takes no memory.

    Raises:
        InputError: a weight is missing, has another shape, or is not finite.
    """
    with torch.device("meta"):
        empty = build_network(reader, config, sizes)
    for name, tensor in empty.state_dict().items():
        if name not in weights or weights[name].shape != tensor.shape:
            found = list(weights[name].shape) if name in weights else "missing"
            raise InputError(f"{name} is {found}, but the network's is {list(tensor.shape)}")
    for name, tensor in weights.items():
        if not are_numbers(tensor):
            raise InputError(f"{name} does not hold finite numbers")


def vocabulary_sizes(vocabulary: Vocabulary, word_dim: int) -> VocabularySizes:
    """The sizes that a network is built for."""
    return VocabularySizes(
        word_dim=word_dim,
        trained_words=1 + len(vocabulary.trained),
        fixed_words=len(vocabulary.fixed),
        characters=2 + len(vocabulary.characters),
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one processor in this thread, because a batch's operations are too small for several.

    Only the main thread gets its former number back afterwards.
    """
    before = torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before > 1 and threading.current_thread() is threading.main_thread():
            torch.set_num_threads(before)
