"""A model exported to ONNX. It needs numpy and ONNX Runtime, but no torch.

`fabir.export.onnx` writes its folder.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fabir.data.batches import Batch, SpanLogits, Steps
from fabir.errors import InputError
from fabir.process_settings import NO_TELEMETRY, temporary_defaults
from fabir.runtime.memory import VectorTable
from fabir.runtime.processors import lacks_vnni, processors
from fabir.runtime.settings import NEUTRAL, UNCALIBRATED, Calibration, Confidence, Settings
from fabir.runtime.store import (
    ANSWER,
    BUNDLED_MODELS,
    EMBED,
    ENCODE,
    ONNX,
    read_settings,
    read_vocabulary,
    read_words,
)
from fabir.text.vocabulary import Vocabulary

with temporary_defaults(NO_TELEMETRY):
    import onnxruntime

DISABLED_OPTIMIZERS = ["SkipLayerNormFusion"]  # its kernel is five times slower


class _Graph:
    """A session of ONNX Runtime that runs a graph on one processor.

    Args:
        inputs: names of all inputs that the graph may have
        outputs: names of the outputs that it returns
        optional: one more, which the graph may lack

    Raises:
        InputError: the file cannot be read, or has other inputs or outputs.
    """

    def __init__(
        self, path: Path, inputs: Iterable[str], outputs: Iterable[str], optional: str = ""
    ) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # operations are too small to share among threads
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # the arena would keep memory for every length
        if lacks_vnni():  # with VNNI this changes no number and costs a fifth of the speed
            options.add_session_config_entry("session.x64quantprecision", "1")
        try:
            self._session = onnxruntime.InferenceSession(
                path,
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=DISABLED_OPTIMIZERS,
            )
        except Exception as error:  # ONNX Runtime's own errors have no common class
            reason = " ".join(str(error).split())
            raise InputError(f"cannot read {path}: {reason}") from error
        self._path = path
        self._inputs = [each.name for each in self._session.get_inputs()]
        given = {each.name for each in self._session.get_outputs()}
        self._outputs = [*outputs, *({optional} & given)]
        if not set(self._inputs) <= set(inputs) or not set(self._outputs) <= given:
            raise InputError(f"{path} has other inputs or outputs: export the model again")

    def __call__(self, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Run the graph on the arrays that are its inputs; other arrays are ignored."""
        inputs = {name: arrays[name] for name in self._inputs}
        try:
            found = self._session.run(self._outputs, inputs)
        except Exception as error:  # ONNX Runtime's own errors have no common class
            reason = " ".join(str(error).split())[:300]
            raise InputError(
                f"{self._path} does not fit the model's other files: {reason}"
            ) from error
        return [np.asarray(array) for array in found]


@dataclass
class OnnxModel:
    """A network as three graphs of ONNX Runtime, with its word rows and its vocabulary.

    Args:
        words: the arrays of `words.safetensors`: `trained` rows and fixed `rows`; the latter are in
            8 bits if there are `scales`
        folder: the folder of the graphs
        no_answer_threshold: above this no-answer probability there is no answer
        calibration: of scores in a search
        confidence: calibration of the probabilities of answers and of no answer
        digests: the checksums of the folder's files
        reader: the name of the architecture
    """

    vocabulary: Vocabulary
    words: dict[str, np.ndarray]
    folder: Path
    no_answer_threshold: float = 1.0
    calibration: Calibration = NEUTRAL
    confidence: Confidence = UNCALIBRATED
    digests: dict[str, str] = field(default_factory=dict)
    reader: str = ""
    _vectors: VectorTable = field(default_factory=VectorTable, init=False)
    steps = Steps(passage=8, question=4, types=1, characters=1)
    batch_words = 4096  # attention maps fit in the processor's cache

    @classmethod
    def load(cls, folder: str | Path) -> "OnnxModel":
        """Read an exported model.

        Raises:
            InputError: a file is missing, damaged or of another version.
        """
        folder = Path(folder)
        settings = read_settings(folder, ONNX)
        vocabulary = read_vocabulary(folder)
        words = read_words(folder, vocabulary, exported=True)
        model = cls(vocabulary, words, folder.absolute(), *_decisions(settings), settings.files)
        model.reader = settings.reader
        model.open()
        return model

    def __repr__(self) -> str:
        words = len(self.vocabulary.trained) + len(self.vocabulary.fixed)
        return f"<OnnxModel {self.folder.name}: {self.reader}, {words:,} words>"

    def open(self) -> None:
        """Open the graphs. An InputError names a graph that cannot be read."""
        _ = self._embed, self._encode, self._answer

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle or copy holds the folder's path; the model is loaded from there again."""
        bundled = self.folder.parent == BUNDLED_MODELS  # each machine has its own path
        folder = Path(self.folder.name) if bundled else self.folder
        return _reload, (folder, self.digests, *_decisions(self))

    @property
    def parallel(self) -> int:
        return processors()

    def embed(self, batch: Batch[np.ndarray], questions_only: bool = False) -> np.ndarray:
        """[types, features] float32; see `Model`."""
        if not questions_only:
            return self._embedded(batch.words, batch.characters)
        types = np.unique(batch.question)
        found = self._embedded(batch.words[types], batch.characters[types])
        vectors = np.zeros((len(batch.words), found.shape[1]), np.float32)
        vectors[types] = found
        return vectors

    def encode(self, batch: Batch[np.ndarray], vectors: np.ndarray) -> np.ndarray:
        return self._encode({"vectors": vectors, "passage": batch.passage})[0]

    def answer(
        self, batch: Batch[np.ndarray], vectors: np.ndarray, encoded: np.ndarray
    ) -> SpanLogits[np.ndarray]:
        inputs = {**batch._asdict(), "vectors": vectors, "encoded": encoded}
        return SpanLogits(*self._answer(inputs))

    def clear(self) -> None:
        self._vectors.clear()

    def _embedded(self, words: np.ndarray, characters: np.ndarray) -> np.ndarray:
        """[types, dim] float32. Vectors do not depend on context, so they are cached."""
        spelt = np.concatenate([words[:, None], characters], axis=1, dtype=np.int32)
        keys = spelt.view(f"S{4 * spelt.shape[1]}")[:, 0].tolist()  # without zeros at the end

        def compute(new: np.ndarray) -> np.ndarray:
            arrays = {"rows": self._rows(words[new]), "characters": characters[new]}
            return self._embed(arrays)[0]

        return self._vectors(keys, compute)

    def _rows(self, words: np.ndarray) -> np.ndarray:
        """[types, word_dim] float32, zeros for padding. Shape: words [types]"""
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
    def _embed(self) -> _Graph:
        return _Graph(self.folder / EMBED, ["rows", "characters"], ["vectors"])

    @cached_property
    def _encode(self) -> _Graph:
        return _Graph(self.folder / ENCODE, ["vectors", "passage"], ["encoded"])

    @cached_property
    def _answer(self) -> _Graph:
        inputs = *Batch._fields, "vectors", "encoded"
        return _Graph(self.folder / ANSWER, inputs, ["start", "end"], "no_answer")


def _decisions(of: "Settings | OnnxModel") -> tuple[float, Calibration, Confidence]:
    return of.no_answer_threshold, of.calibration, of.confidence


def _reload(
    folder: Path,
    files: dict[str, str],
    threshold: float,
    calibration: Calibration,
    confidence: Confidence,
) -> OnnxModel:
    folder = BUNDLED_MODELS / folder  # which is `folder` itself if that is absolute
    model = OnnxModel.load(folder)
    if model.digests != files:
        raise InputError(f"{folder} holds another model than when it was pickled")
    model.no_answer_threshold = threshold
    model.calibration, model.confidence = calibration, confidence
    return model
