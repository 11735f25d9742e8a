"""fabir finds the answer to a question in a text, with its offsets.

Public names are imported on first use, so that `import fabir` and `fabir --help` are instant.
"""

import importlib
import os
import warnings
from typing import TYPE_CHECKING, Any

# A thread that spins while it waits takes a shared processor away from the others, which makes them
# up to twenty times slower. The variable must be set before the first import of torch.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# ONNX Runtime 1.29 and later store a device number in the home folder and send telemetry to
# Microsoft. The variable must be set before onnxruntime is imported, which reads it only then.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from fabir.answer.pipeline import pipeline
    from fabir.answer.predictor import Answer, Predictor
    from fabir.bulk.run import answer_rows
    from fabir.data.squad import Dataset, read_squad, write_squad
    from fabir.errors import InputError
    from fabir.evaluation.squad import evaluate
    from fabir.runtime.torch_model import TorchModel
    from fabir.text.tokens import Tokens, tokenise

__version__ = "0.1.0"

_WHERE = {
    "Answer": "fabir.answer.predictor",
    "Dataset": "fabir.data.squad",
    "InputError": "fabir.errors",
    "Predictor": "fabir.answer.predictor",
    "Tokens": "fabir.text.tokens",
    "TorchModel": "fabir.runtime.torch_model",
    "answer_rows": "fabir.bulk.run",
    "evaluate": "fabir.evaluation.squad",
    "pipeline": "fabir.answer.pipeline",
    "read_squad": "fabir.data.squad",
    "tokenise": "fabir.text.tokens",
    "write_squad": "fabir.data.squad",
}

__all__ = [
    "Answer",
    "Dataset",
    "InputError",
    "Predictor",
    "Tokens",
    "TorchModel",
    "answer_rows",
    "evaluate",
    "pipeline",
    "read_squad",
    "tokenise",
    "write_squad",
]


def __getattr__(name: str) -> Any:
    if name == "Reader":
        message = "fabir.Reader is called fabir.TorchModel now"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        name = "TorchModel"
    if name not in _WHERE:
        raise AttributeError(f"module 'fabir' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_WHERE[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        message = f"fabir.{name} needs torch: pip install 'fabir[train]'"
        raise ModuleNotFoundError(message, name="torch") from error
