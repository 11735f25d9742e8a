"""The official metrics of a model on a data set, and the analysis of several models."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fabir.answer.files import ALL, Given, no_answer_probabilities, predictions, read_dataset
from fabir.answer.predictor import Predictor, Reading
from fabir.data.dataset import Dataset
from fabir.evaluation.analysis import analyse
from fabir.evaluation.squad import evaluate
from fabir.plots import short_names
from fabir.runtime.locate import find_model
from fabir.runtime.store import BUNDLED_MODELS


def given_by(predictor: Predictor, data: Dataset) -> Given:
    """Which answers to the questions of `data` are given: those that the predictor gives.

    Without a threshold every question is answered if all of them have answers, as in SQuAD 1.1.
    """
    answered = not data.has_unanswerable and all(each.answers for _, each in data.questions)
    return ALL if answered and predictor.threshold is None else predictor.given


def evaluate_model(
    predictor: Predictor, data: Dataset, no_answer_threshold: float | None = None
) -> dict[str, float | int]:
    """The official metrics of a model's answers to every question of `data`.

    Above the no-answer probability `no_answer_threshold` there is no answer. By default the
    predictor decides, but every question of SQuAD 1.1 data is answered. If the predictor has a
    `threshold`, there are no scores at the best no-answer probabilities.
    """
    found = dict(read_dataset(predictor, data))
    if no_answer_threshold is None:
        if predictor.threshold is not None or not data.has_unanswerable:
            return evaluate(data, predictions(found, given_by(predictor, data)))
        no_answer_threshold = predictor.model.no_answer_threshold
    if not data.has_unanswerable:
        given = partial(Reading.given, threshold=no_answer_threshold)
        return evaluate(data, predictions(found, given))
    return evaluate(data, predictions(found), no_answer_probabilities(found), no_answer_threshold)


def model_names(models: Sequence[str | Path | None]) -> list[str]:
    """Names that tell models apart: of a bundled one its own, of others the ends of their paths.

    Args:
        models: as `find_model` takes them

    Raises:
        InputError: a model is named twice, or as `find_model`.
    """
    folders = [find_model(model).absolute() for model in models]
    own = {folder: folder.name for folder in folders if folder.parent == BUNDLED_MODELS}
    short = dict(zip(folders, short_names(folders), strict=True))
    for folder in short.keys() - own:
        if (BUNDLED_MODELS / short[folder]).exists():  # its name is that of a bundled one
            short[folder] = str(Path(*folder.parts[-2:]))
    return list((short | own).values())


def analyse_models(
    data: Dataset, folders: Mapping[str, Sequence[str | Path | None]]
) -> dict[str, Any]:
    """Answer every question with each model, and break the scores down: see `analyse`.

    Args:
        folders: for each model's name the folder to load it from; of an ensemble, several
    """
    found, thresholds, vocabularies = {}, {}, {}
    for name, named in folders.items():
        predictor = Predictor.load(named)
        found[name] = dict(read_dataset(predictor, data))
        every = given_by(predictor, data) is ALL
        thresholds[name] = 1.0 if every else predictor.model.no_answer_threshold
        vocabularies[name] = predictor.model.vocabulary
    return analyse(data, found, thresholds, vocabularies)
