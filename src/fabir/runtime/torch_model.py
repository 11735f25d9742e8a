"""A trained model in torch: network, vocabulary and settings, and their folder on disk."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from functools import partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from fabir.data.batches import COARSE, Batch
from fabir.errors import InputError
from fabir.layers.embedding import VocabularySizes, WordRows
from fabir.readers import build_network, registered
from fabir.runtime.hub import push
from fabir.runtime.locate import find_model
from fabir.runtime.settings import NEUTRAL, Calibration, Settings
from fabir.runtime.store import (
    TORCH,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    read_settings,
    read_vocabulary,
    read_words,
    write_model,
    write_vocabulary,
)
from fabir.runtime.tensors import are_numbers, read_tensors, save_tensors
from fabir.text.vocabulary import Vocabulary

_WORDS = "embedding.words"  # where every reader keeps its word rows
_TUNED = f"{_WORDS}.tuned"


@dataclass
class TorchModel:
    """A network with the vocabulary it was built for.

    Args:
        no_answer_threshold: above this probability of no answer it gives none; tuned on the dev
            set in training. A model without a place for no answer always answers.
        calibration: of scores of a search
    """

    name: str
    config: Any
    vocabulary: Vocabulary
    network: nn.Module
    no_answer_threshold: float = 1.0
    calibration: Calibration = NEUTRAL
    steps = COARSE  # that batches are padded to
    bf16: ClassVar[bool | None] = None  # answer in bfloat16; None: where it is quicker

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
        network = build_network(name, config, vocabulary_sizes(vocabulary, fixed.shape[1]))
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
        return attrgetter(_WORDS)(self.network)

    @property
    def parallel(self) -> int:
        """How many batches at a time are read fastest, each in a thread of its own."""
        return torch.get_num_threads() if self._device.type == "cpu" else 1

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device

    @torch.inference_mode()
    def logits(
        self, batch: Batch[np.ndarray], memo: dict[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Start and end logits of a batch, [batch, passage] float32 each; on a CPU on one processor
        of it. `memo` stays empty: nothing of a passage is remembered."""
        if self.network.training:
            self.network.eval()
        device = self._device
        with (
            _one_thread(),
            torch.autocast(device.type, torch.bfloat16, enabled=self._in_bf16(device)),
        ):
            logits = self.network(batch.tensors(device))
        return tuple(side.cpu().numpy() for side in logits)

    def _in_bf16(self, device: torch.device) -> bool:
        return _has_bf16(device) if self.bf16 is None else self.bf16

    def clear(self) -> None:
        """Nothing is kept of texts seen so far."""

    def unfreeze_words(self, count: int) -> None:
        """Let training change the rows of the `count` most frequent fixed words too."""
        self._words.unfreeze(count)

    def save(self, folder: str | Path, *, small: bool = False) -> None:
        """Write the whole folder, file by file, each complete or not at all.

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
        """Write what training changes: the network, the threshold, and fixed rows if trained."""
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
        """What `config.json` says of it, without checksums."""
        return Settings(self.name, asdict(self.config), self.no_answer_threshold, self.calibration)

    @classmethod
    def load(cls, folder: str | Path) -> "TorchModel":
        """Read a folder written by `save` or by training; the network is in evaluation mode.

        In place of a folder may stand "bundled", or "owner/name" on the Hugging Face hub.

        Raises:
            InputError: a file is missing, damaged or of another version.
        """
        folder = find_model(folder)
        settings = read_settings(folder, TORCH)
        vocabulary = read_vocabulary(folder)
        words = read_words(folder, vocabulary, exported=False)
        weights = read_tensors(folder / WEIGHTS)[0]
        try:
            model = cls.build(*_checked(settings, vocabulary, _float_rows(words), weights))
            model.network.load_state_dict(weights)
        except Exception as error:  # whatever a network's code says to settings that are not its
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise InputError(f"{folder}: its files do not fit together: {reason}") from error
        model.no_answer_threshold = settings.no_answer_threshold
        model.calibration = settings.calibration
        model.network.eval()
        return model

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


def _float_rows(words: dict[str, np.ndarray]) -> Tensor:
    """[fixed words, word_dim] float32, whichever way the rows are stored."""
    rows = torch.from_numpy(words["rows"]).float()
    if "scales" in words:
        rows *= torch.from_numpy(words["scales"]).float()[:, None]
    return rows


def _checked(
    settings: Settings, vocabulary: Vocabulary, rows: Tensor, weights: dict[str, Tensor]
) -> tuple[str, Any, Vocabulary, Tensor]:
    """What a model is built of, once a network of no memory was seen to have such weights.

    Raises:
        Exception: of any kind, they do not fit together.
    """
    network = {  # JSON has no tuples
        key: tuple(value) if isinstance(value, list) else value
        for key, value in settings.network.items()
    }
    config = registered(settings.reader).config(**network)
    _check_kinds(config)
    with torch.device("meta"):  # a network of any size takes no memory there
        empty = build_network(settings.reader, config, vocabulary_sizes(vocabulary, rows.shape[1]))
    for name, tensor in empty.state_dict().items():
        if name not in weights or weights[name].shape != tensor.shape:
            found = list(weights[name].shape) if name in weights else "missing"
            raise InputError(f"{name} is {found}, and the network's {list(tensor.shape)}")
    for name, tensor in weights.items():
        if not are_numbers(tensor):
            raise InputError(f"{name} does not hold numbers")
    return settings.reader, config, vocabulary, rows


def _check_kinds(config: Any) -> None:
    """Compare the values of a network's config with its defaults."""
    for each in fields(config):
        value, default = getattr(config, each.name), each.default
        kinds = (int, float) if isinstance(default, float) else type(default)
        fits = isinstance(value, kinds) and isinstance(value, bool) == isinstance(default, bool)
        if not fits and default is not None and default is not MISSING:
            raise InputError(f"network.{each.name} is {value!r}, and by default {default!r}")


def vocabulary_sizes(vocabulary: Vocabulary, word_dim: int) -> VocabularySizes:
    """What a network is built for."""
    return VocabularySizes(
        word_dim=word_dim,
        trained_words=1 + len(vocabulary.trained),
        fixed_words=len(vocabulary.fixed),
        characters=2 + len(vocabulary.characters),
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
