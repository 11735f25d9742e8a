"""A reader that was exported to ONNX: it answers with numpy and ONNX Runtime alone, without torch.

`fabir.export.onnx` writes its folder.
"""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import onnxruntime
from safetensors import SafetensorError, safe_open

from fabir.data.batches import Batch, Steps
from fabir.errors import InputError
from fabir.folder import NETWORK, WORDS, read_settings, read_vocabulary
from fabir.text.vocabulary import Vocabulary


@dataclass
class OnnxReader:
    """A network in ONNX Runtime with its word rows and its vocabulary.

    Args:
        words: the arrays of `words.safetensors`: `trained` rows, then fixed `rows`, the latter in
            8 bits if there are `scales`
        network: the file of the computation
        no_answer_threshold: above this probability of no answer it gives none
    """

    vocabulary: Vocabulary
    words: dict[str, np.ndarray]
    network: Path
    no_answer_threshold: float = 1.0
    steps = Steps(passage=8, question=4, forms=1, characters=1)  # that batches are padded to
    batch_words = 1536  # padded passage words that are best read at once: maps stay in the cache

    @classmethod
    def load(cls, folder: str | Path) -> "OnnxReader":
        """Read an exported reader.

        Raises:
            InputError: a file is missing, damaged or of another version.
        """
        folder = Path(folder)
        settings = read_settings(folder)
        vocabulary = read_vocabulary(folder)
        words = _read_words(folder / WORDS)
        if len(words["rows"]) != len(vocabulary.fixed):
            raise InputError(
                f"{folder}: its files do not fit together: {len(words['rows'])} word rows for "
                f"{len(vocabulary.fixed)} words"
            )
        threshold = float(settings.get("no_answer_threshold", 1.0))
        reader = cls(vocabulary, words, folder / NETWORK, threshold)
        _ = reader._session  # a damaged file is noticed now
        return reader

    @property
    def parallel(self) -> int:
        """How many batches at a time are read fastest, each in a thread of its own."""
        return _processors()

    def logits(self, batch: Batch[np.ndarray], *, alone: bool = True) -> tuple[np.ndarray, ...]:
        """Start and end logits of a batch, [batch, passage] float32 each.

        Args:
            alone: no other batch is read at the same time, so that it may have all processors
        """
        session = self._session if alone else self._narrow_session
        arrays = {**batch._asdict(), "rows": self._rows(batch.words)}
        found = session.run(None, {name: arrays[name] for name in self._inputs})
        return tuple(np.asarray(side) for side in found)

    def _rows(self, words: np.ndarray) -> np.ndarray:
        """[forms, word_dim] float32, zeros for padding. Shape: words [forms]"""
        trained = self.words["trained"].astype(np.float32)
        rows = trained[np.clip(words - 1, 0, len(trained) - 1)] * (words > 0)[:, None]
        places = words - 1 - len(trained)
        fixed = places >= 0
        places = places[fixed]
        rows[fixed] = self.words["rows"][places]
        if "scales" in self.words:
            rows[fixed] *= self.words["scales"][places].astype(np.float32)[:, None]
        return rows

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return self._open(_processors())

    @cached_property
    def _narrow_session(self) -> onnxruntime.InferenceSession:
        return self._open(1)

    @cached_property
    def _inputs(self) -> list[str]:
        return [value.name for value in self._session.get_inputs()]

    def _open(self, threads: int) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # it would keep the largest of every length
        try:
            return onnxruntime.InferenceSession(
                self.network,
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=["SkipLayerNormFusion"],  # its kernel is five times slower
            )
        except Exception as error:  # ONNX Runtime's own errors have no common class
            reason = " ".join(str(error).split())
            raise InputError(f"cannot read {self.network}: {reason}") from error


def _processors() -> int:
    """Processors that this process may use."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdecimal():
        return max(1, int(given))
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _read_words(path: Path) -> dict[str, np.ndarray]:
    try:
        with safe_open(path, framework="np") as file:
            words = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    missing = {"rows", "trained"} - words.keys()
    if missing:
        raise InputError(
            f"{path}: not an exported reader's file, it lacks {', '.join(sorted(missing))}"
        )
    return words
