"""fabir finds the answer to a question in a text, with its offsets.

Public names are imported on first use, so that `import fabir` and `fabir --help` are instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabir.answer.pipeline import pipeline
    from fabir.answer.predictor import Answer, Predictor
    from fabir.bulk.frames import answer_frame
    from fabir.bulk.run import answer_rows
    from fabir.data.dataset import Dataset
    from fabir.data.squad import read_squad, write_squad
    from fabir.errors import InputError
    from fabir.evaluation.squad import evaluate
    from fabir.process_settings import tune_process
    from fabir.runtime.torch_model import TorchModel
    from fabir.search.asker import Asker
    from fabir.search.index import Index
    from fabir.text.tokens import Tokens, tokenise

__version__ = "0.1.0"

_WHERE = {
    "Answer": "fabir.answer.predictor",
    "Asker": "fabir.search.asker",
    "Dataset": "fabir.data.dataset",
    "Index": "fabir.search.index",
    "InputError": "fabir.errors",
    "Predictor": "fabir.answer.predictor",
    "Tokens": "fabir.text.tokens",
    "TorchModel": "fabir.runtime.torch_model",
    "answer_frame": "fabir.bulk.frames",
    "answer_rows": "fabir.bulk.run",
    "evaluate": "fabir.evaluation.squad",
    "pipeline": "fabir.answer.pipeline",
    "read_squad": "fabir.data.squad",
    "tokenise": "fabir.text.tokens",
    "tune_process": "fabir.process_settings",
    "write_squad": "fabir.data.squad",
}

__all__ = [
    "Answer",
    "Asker",
    "Dataset",
    "Index",
    "InputError",
    "Predictor",
    "Tokens",
    "TorchModel",
    "answer_frame",
    "answer_rows",
    "evaluate",
    "pipeline",
    "read_squad",
    "tokenise",
    "tune_process",
    "write_squad",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'fabir' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_WHERE[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        message = f"fabir.{name} needs torch: pip install 'fabir[train]'"
        raise ModuleNotFoundError(message, name="torch") from error
