"""A model that was exported to ONNX: it answers with numpy and ONNX Runtime alone, without torch.

`fabir.export.onnx` writes its folder.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from fabir.data.batches import Batch, Steps
from fabir.errors import InputError
from fabir.locks import make_lock
from fabir.runtime.locate import BUNDLED
from fabir.runtime.processors import processors
from fabir.runtime.settings import NEUTRAL, Calibration
from fabir.runtime.store import (
    FORMS,
    FURTHER,
    NETWORK,
    ONNX,
    read_settings,
    read_vocabulary,
    read_words,
)
from fabir.text.vocabulary import Vocabulary

DISABLED_OPTIMIZERS = ["SkipLayerNormFusion"]  # its kernel is five times slower
_MOST = 50_000  # vectors of word forms that are remembered between batches


class _Remembered:
    """Rows that were computed before; all are forgotten when there is no room for more."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._used = 0
        self._table = np.empty((0, 0), np.float32)
        self._lock = make_lock()

    def clear(self) -> None:
        """Give back all memory."""
        with self._lock:
            self._places.clear()
            self._used = 0
            self._table = np.empty((0, 0), np.float32)

    def __call__(
        self, keys: list[bytes], compute: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """[keys, dim] float32; `compute` makes those of some of the keys, whose indices it gets."""
        with self._lock:
            known = self._places.get
            places = np.array([known(key, -1) for key in keys])
            new = np.flatnonzero(places < 0)
            if self._used + len(new) > len(self._table):
                self._places.clear()
                self._used, new = 0, np.arange(len(keys))
            if len(new):
                rows = compute(new)
                if len(rows) > len(self._table):
                    self._table = np.empty((max(_MOST, len(rows)), rows.shape[1]), np.float32)
                places[new] = range(self._used, self._used + len(new))
                self._table[places[new]] = rows
                self._places.update((keys[i], int(places[i])) for i in new)
                self._used += len(new)
            return self._table[places]


@dataclass
class OnnxModel:
    """A network in ONNX Runtime with its word rows and its vocabulary.

    Args:
        words: the arrays of `words.safetensors`: `trained` rows, then fixed `rows`, the latter in
            8 bits if there are `scales`
        forms: the file that computes vectors of word forms
        network: the file that computes logits from them
        no_answer_threshold: above this probability of no answer it gives none
        calibration: of scores of a search
        further: of a graph that computes logits from what `network` makes of passages alone
        folder: from where it was loaded
        files: the checksums of the folder's files
    """

    vocabulary: Vocabulary
    words: dict[str, np.ndarray]
    forms: Path
    network: Path
    no_answer_threshold: float = 1.0
    calibration: Calibration = NEUTRAL
    further: bytes | None = None
    folder: Path | None = None
    files: dict[str, str] = field(default_factory=dict, repr=False)
    _remembered: _Remembered = field(default_factory=_Remembered, init=False, repr=False)
    steps = Steps(passage=8, question=4, forms=1, characters=1)  # that batches are padded to
    batch_words = 3072  # padded passage words that are best read at once: maps stay in the cache

    @classmethod
    def load(cls, folder: str | Path) -> "OnnxModel":
        """Read an exported model.

        Raises:
            InputError: a file is missing, damaged or of another version.
        """
        folder = Path(folder)
        further = [FURTHER] if (folder / FURTHER).exists() else []
        settings = read_settings(folder, [*ONNX, *further])
        vocabulary = read_vocabulary(folder)
        words = read_words(folder, vocabulary, exported=True)
        model = cls(vocabulary, words, folder / FORMS, folder / NETWORK)
        model.folder, model.files = folder.absolute(), settings.files
        model.no_answer_threshold = settings.no_answer_threshold
        model.calibration = settings.calibration
        _check_graph(model.forms, model._forms_session, {"rows", "characters"}, 1)
        _check_graph(model.network, model._session, {*Batch._fields, "vectors"}, 2)
        if further:
            model.further = _read_further(folder / FURTHER, model._session)
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as its folder, which is read again."""
        if self.folder is None:
            raise TypeError("a model that was not loaded from a folder cannot be pickled or copied")
        folder = None if self.folder == BUNDLED else self.folder  # wherever that is over there
        return _reload, (folder, self.files, self.no_answer_threshold, self.calibration)

    @property
    def parallel(self) -> int:
        """How many batches at a time are read fastest, each in a thread of its own."""
        return processors()

    def logits(
        self, batch: Batch[np.ndarray], memo: dict[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Start and end logits of a batch, [batch, passage] float32 each; on one processor.

        An empty `memo` receives what was made of the passages alone, [passages, passage, dim] each,
        if there is such a thing; with that in it, zeros at padding, vectors of their words are not
        needed.
        """
        if memo:
            return tuple(_run(self._further_session, self._asked(batch) | memo))
        names = [each.name for each in self._session.get_outputs()]  # the first two are the logits
        if memo is None or not self.further:
            del names[2:]
        found = _run(self._session, self.inputs(batch), names)
        if memo is not None:
            memo.update(zip(names[2:], found[2:], strict=True))
        return tuple(found[:2])

    def clear(self) -> None:
        """Forget the vectors of words seen so far."""
        self._remembered.clear()

    def inputs(self, batch: Batch[np.ndarray]) -> dict[str, np.ndarray]:
        """What the network's graph may ask for: the batch, and the `vectors` of its forms."""
        return {**batch._asdict(), "vectors": self._vectors(batch.words, batch.characters)}

    def _asked(self, batch: Batch[np.ndarray]) -> dict[str, np.ndarray]:
        """The same with vectors of the questions' forms alone."""
        forms = np.unique(batch.question)
        found = self._vectors(batch.words[forms], batch.characters[forms])
        vectors = np.full((len(batch.words), found.shape[1]), np.nan, np.float32)
        vectors[forms] = found
        return {**batch._asdict(), "vectors": vectors}

    def _vectors(self, words: np.ndarray, characters: np.ndarray) -> np.ndarray:
        """[forms, dim] float32. They do not depend on context: each is computed once."""
        spelt = np.concatenate([words[:, None], characters], axis=1, dtype=np.int32)
        keys = spelt.view(f"S{4 * spelt.shape[1]}")[:, 0].tolist()  # ends without its zeros

        def compute(new: np.ndarray) -> np.ndarray:
            arrays = {"rows": self._rows(words[new]), "characters": characters[new]}
            return _run(self._forms_session, arrays)[0]

        return self._remembered(keys, compute)

    def _rows(self, words: np.ndarray) -> np.ndarray:
        """[forms, word_dim] float32, zeros for padding. Shape: words [forms]"""
        trained = self.words["trained"]
        places = words - 1 - len(trained)
        fixed = np.flatnonzero(places >= 0)
        places = places[fixed]
        found = self.words["rows"][places].astype(np.float32)
        if "scales" in self.words:
            found *= self.words["scales"][places].astype(np.float32)[:, None]
        if len(found) == len(words):
            return found
        rows = trained[np.clip(words - 1, 0, len(trained) - 1)].astype(np.float32)
        rows[words == 0] = 0
        rows[fixed] = found
        return rows

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return _open(self.network)

    @cached_property
    def _further_session(self) -> onnxruntime.InferenceSession:  # not before it is needed
        assert self.further
        return _open(self.further)

    @cached_property
    def _forms_session(self) -> onnxruntime.InferenceSession:
        return _open(self.forms)


def _reload(
    folder: Path | None, files: dict[str, str], threshold: float, calibration: Calibration
) -> OnnxModel:
    model = OnnxModel.load(folder or BUNDLED)
    if model.files != files:
        raise InputError(f"{folder or BUNDLED} holds another model than when it was pickled")
    model.no_answer_threshold, model.calibration = threshold, calibration
    return model


def _open(graph: Path | bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # operations are so small that threads would wait, not work
    options.log_severity_level = 4  # errors are raised, and told once
    options.enable_cpu_mem_arena = False  # it would keep the largest of every length
    try:
        return onnxruntime.InferenceSession(
            graph,
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=DISABLED_OPTIMIZERS,
        )
    except Exception as error:  # ONNX Runtime's own errors have no common class
        reason = " ".join(str(error).split())
        raise InputError(f"cannot read {graph}: {reason}") from error


def _run(
    session: onnxruntime.InferenceSession,
    arrays: dict[str, np.ndarray],
    outputs: Sequence[str] | None = None,
) -> list[np.ndarray]:
    """The outputs, all if none are named, from those of the arrays that are inputs."""
    inputs = {each.name: arrays[each.name] for each in session.get_inputs()}
    try:
        return [np.asarray(array) for array in session.run(outputs, inputs)]
    except Exception as error:  # ONNX Runtime's own errors have no common class
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"the model's graph and its other files do not fit: {reason}") from error


def _check_graph(
    path: Path, session: onnxruntime.InferenceSession, known: set[str], outputs: int
) -> None:
    """Refuse a graph that asks for what it cannot get, or gives too little."""
    asked = {each.name for each in session.get_inputs()}
    if not asked <= known or len(session.get_outputs()) < outputs:
        raise InputError(f"{path} is another graph than its name says: export the model again")


def _read_further(path: Path, network: onnxruntime.InferenceSession) -> bytes:
    """The file that belongs to a network, which knows its digest."""
    try:
        found = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    known = network.get_modelmeta().custom_metadata_map.get(FURTHER)
    if hashlib.sha256(found).hexdigest() != known:
        raise InputError(
            f"{path} is damaged, or of another network than {NETWORK} beside it: export the reader "
            "again, or remove the file"
        )
    return found
