"""What a trained model is to whatever answers with it, and the choice of who computes it."""

from pathlib import Path
from typing import Protocol

import numpy as np

from fabir.data.batches import Batch, Steps
from fabir.errors import InputError
from fabir.runtime.settings import Calibration
from fabir.runtime.store import is_exported
from fabir.text.vocabulary import Vocabulary


class Model(Protocol):
    """A trained model: a `TorchModel`, or one exported to ONNX, an `OnnxModel`."""

    vocabulary: Vocabulary
    no_answer_threshold: float
    calibration: Calibration

    @property
    def steps(self) -> Steps: ...

    @property
    def batch_words(self) -> int: ...

    @property
    def parallel(self) -> int: ...

    def logits(
        self, batch: Batch[np.ndarray], memo: dict[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]: ...

    def clear(self) -> None:
        """Forget whatever was kept of texts seen so far."""


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
