"""What a trained model is to whatever answers with it, and the choice of who computes it."""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fabir.data.batches import Batch, Steps
from fabir.errors import InputError
from fabir.runtime.settings import Calibration
from fabir.runtime.store import is_exported
from fabir.text.vocabulary import Vocabulary


class Model(Protocol):
    """A trained model: a `TorchModel`, or one exported to ONNX, an `OnnxModel`.

    Its three steps are those of every network (`fabir.readers.network`). Each runs on one processor
    of a CPU; several threads may ask at a time.
    """

    vocabulary: Vocabulary
    no_answer_threshold: float
    calibration: Calibration

    @property
    def steps(self) -> Steps:
        """What lengths in a batch are padded to multiples of."""
        ...

    @property
    def batch_words(self) -> int:
        """Padded passage words that are best read at once."""
        ...

    @property
    def parallel(self) -> int:
        """How many batches at a time are read fastest, each in a thread of its own."""
        ...

    def embed(self, batch: Batch[np.ndarray], questions_only: bool = False) -> Any:
        """A vector for each word type of a batch, as `encode` and `answer` take it.

        Args:
            questions_only: types that are in no question have any vector: all that `answer` needs
        """
        ...

    def encode(self, batch: Batch[np.ndarray], vectors: Any) -> np.ndarray:
        """[passages, passage, features] float32: what is known of passages without a question."""
        ...

    def answer(
        self, batch: Batch[np.ndarray], vectors: Any, encoded: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Start and end logits, [batch, passage] float32 each; padding of `encoded` is ignored."""
        ...

    def clear(self) -> None:
        """Forget the vectors of words seen so far."""
        ...


def logits(model: Model, batch: Batch[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Start and end logits of a batch, all three steps of a model."""
    vectors = model.embed(batch)
    return model.answer(batch, vectors, model.encode(batch, vectors))


def load_model(folder: Path) -> Model:
    """The model in `folder`, from its graph if it was exported; else torch is needed.

    Raises:
        InputError: no model's folder, a damaged one, or torch is missing.
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
            f"{folder} was not exported, so it takes torch to read it: "
            "pip install 'fabir[train]', or `fabir export` it where that is installed"
        ) from error
    return TorchModel.load(folder)
