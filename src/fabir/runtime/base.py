"""The interface of trained models, and the function that loads a model of either kind."""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fabir.data.batches import Batch, SpanLogits, Steps
from fabir.errors import InputError
from fabir.runtime.settings import Calibration, Confidence
from fabir.runtime.store import is_exported
from fabir.text.vocabulary import Vocabulary


class Model(Protocol):
    """A trained model: a `TorchModel`, or an `OnnxModel`, which is exported.

    Its three steps are those of every network (`fabir.readers.network`). On a CPU each runs on one
    processor. Several threads may call them at a time.
    """

    vocabulary: Vocabulary
    no_answer_threshold: float
    calibration: Calibration
    confidence: Confidence

    @property
    def steps(self) -> Steps:
        """Each length in a batch is padded to a multiple of its step."""
        ...

    @property
    def batch_words(self) -> int:
        """The fastest batch size, in padded passage words."""
        ...

    @property
    def parallel(self) -> int:
        """The fastest number of batches at a time, each in a thread of its own."""
        ...

    def embed(self, batch: Batch[np.ndarray], questions_only: bool = False) -> Any:
        """A vector for each word type of a batch, in the form that `encode` and `answer` take.

        Args:
            questions_only: compute only types in questions, which is all that `answer` needs; the
                other vectors are undefined
        """
        ...

    def encode(self, batch: Batch[np.ndarray], vectors: Any) -> np.ndarray:
        """[passages, passage, features] float32: encodings of passages, without a question."""
        ...

    def answer(
        self, batch: Batch[np.ndarray], vectors: Any, encoded: np.ndarray
    ) -> SpanLogits[np.ndarray]:
        """Float32 logits. Padding of `encoded` is ignored."""
        ...

    def clear(self) -> None:
        """Empty the cache of word vectors."""
        ...


def logits(model: Model, batch: Batch[np.ndarray]) -> SpanLogits[np.ndarray]:
    """The logits of a batch, by all three steps of a model."""
    vectors = model.embed(batch)
    return model.answer(batch, vectors, model.encode(batch, vectors))


def load_model(folder: Path) -> Model:
    """Load the model in `folder`: an exported one from its graphs, else in torch.

    Raises:
        InputError: not a model's folder, a damaged one, or torch is missing.
    """
    if is_exported(folder):
        from fabir.runtime.onnx_model import OnnxModel

        return OnnxModel.load(folder)
    try:
        from fabir.runtime.torch_model import TorchModel
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise InputError(
            f"{folder} is not exported, so it needs torch: pip install 'fabir[train]', "
            "or run `fabir export` where torch is installed"
        ) from error
    return TorchModel.load(folder)
