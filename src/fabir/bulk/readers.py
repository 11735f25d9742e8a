"""The models of a bulk run: from whatever names them, and what identifies them."""

import hashlib
import json
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fabir.answer.predictor import Predictor
from fabir.runtime.locate import find_model
from fabir.runtime.store import model_files


def find_reader(reader: Any) -> Predictor | list[str]:
    """A predictor, if it is one or a pipeline; else the folders of the models that are named.

    Raises:
        InputError: there is no such folder or name.
    """
    predictor = getattr(reader, "predictor", reader)
    if isinstance(predictor, Predictor):
        return predictor
    several = isinstance(reader, Iterable) and not isinstance(reader, str)
    named: Any = reader if several else [reader]
    return [str(find_model(each)) for each in named]


def as_predictor(reader: Any) -> Predictor:
    """The predictor of what `find_reader` takes.

    Raises:
        InputError: there is no such model, or it cannot be loaded.
    """
    found = find_reader(reader)
    return found if isinstance(found, Predictor) else Predictor.load(found)


def digest_of(reader: Predictor | list[str]) -> str:
    """A checksum of all that decides what a predictor, or the models in folders, answer."""
    digest = hashlib.sha256()
    for part in _parts(reader):
        digest.update(part)
    return digest.hexdigest()


def _parts(reader: Predictor | list[str]) -> Iterator[bytes]:
    if not isinstance(reader, Predictor):
        for folder in reader:
            yield from _content(Path(folder))
        return
    options = reader.window, reader.stride, reader.max_words, reader.max_question, reader.threshold
    yield json.dumps(options).encode()
    model: Any = reader.model
    rules = model.no_answer_threshold, model.calibration, model.confidence
    yield repr(rules).encode()  # an ensemble has its own
    for each in getattr(model, "models", [model]):
        if hasattr(each, "folder"):
            yield pickle.dumps(each)  # of an exported model, with the checksums of its files
        else:
            with TemporaryDirectory() as folder:
                each.save(folder)
                yield from _content(Path(folder))


def _content(folder: Path) -> Iterator[bytes]:
    """The bytes of a model's files."""
    for path in model_files(folder).values():
        yield path.read_bytes()
