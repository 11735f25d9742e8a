"""Scores of models by groups of questions, as numbers. `evaluation.report` shows them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fabir.answer.files import predictions
from fabir.answer.predictor import Reading
from fabir.data.checks import check_labelled
from fabir.data.dataset import Dataset
from fabir.errors import InputError
from fabir.evaluation.breakdown import GROUPINGS, UNKNOWN_WORDS
from fabir.evaluation.calibration import RIGHT
from fabir.evaluation.squad import question_scores
from fabir.text.vocabulary import Vocabulary

RESAMPLES = 1000  # of the bootstrap
BINS = 10  # of the calibration curve, all with the same number of questions
WORST = 50  # questions that are shown


def check_answered(data: Dataset) -> None:
    """Check before long work that the data has answers.

    Raises:
        InputError: no question has an answer, or one is not labelled.
    """
    if not any(question.answers for _, question in data.questions):
        raise InputError("there is nothing to analyse: no question of the file has an answer")
    check_labelled(data)


def analyse(
    data: Dataset,
    found: Mapping[str, Mapping[str, Reading]],
    thresholds: Mapping[str, float],
    vocabularies: Mapping[str, Vocabulary],
) -> dict[str, Any]:
    """Break the scores of several models down by groups of questions.

    Args:
        data: questions with their references
        found: for each model's name its readings by question id
        thresholds: for each model's name the no-answer probability above which there is no answer
        vocabularies: for each model's name the words that it has vectors for

    Returns:
        Plain values for JSON. `readers` has for each model `groups` by grouping and label, with
        `count`, and with `f1` and `exact` as `[mean, lower, upper]` in percent; the bounds are a
        bootstrap's 95 % interval. It also has `calibration`, and for SQuAD 2.0 data `no_answer`, a
        confusion matrix. All models but the first have `difference`, how much higher their scores
        are than the first one's on the same questions, with an interval too. `questions` has one
        row for each question. `worst` has the numbers of the rows with the lowest F1.

    Raises:
        InputError: no question has an answer, one is not labelled, or `found` is empty.
    """
    check_answered(data)
    pairs = list(data.questions)
    if not found:
        raise InputError("there is nothing to analyse: name models")
    questions: list[dict[str, Any]] = [
        {
            "id": question.id,
            "title": passage.title,
            "question": question.text,
            "references": list(dict.fromkeys(answer.text for answer in question.answers)),
            **{each.name: each.group(passage, question) for each in GROUPINGS},
            "readers": {},
        }
        for passage, question in pairs
    ]
    models: dict[str, Any] = {}
    for name, readings in found.items():
        given = predictions(dict(readings), partial(Reading.given, threshold=thresholds[name]))
        unknown = [
            {each.name: each.group(question, vocabularies[name]) for each in UNKNOWN_WORDS}
            for _, question in pairs
        ]
        models[name] = _measure(data, name, readings, given, questions, unknown)
    first, *others = models
    for name in others:
        models[name]["difference"] = summary(_scores(questions, name) - _scores(questions, first))
    return {"readers": models, "questions": questions, "worst": _worst(questions)}


def _measure(
    data: Dataset,
    name: str,
    readings: Mapping[str, Reading],
    given: Mapping[str, str],
    questions: list[dict[str, Any]],
    unknown: Sequence[Mapping[str, str | None]],
) -> dict[str, Any]:
    """What `analyse` returns of one model; its answers are added to the rows of `questions`.

    Args:
        given: the text of each given answer, by question id
        unknown: of each question its groups by words that the model has no vectors for
    """
    exact, f1 = question_scores(data, given)
    ids = [row["id"] for row in questions]
    scores = np.array([(f1[id], exact[id]) for id in ids], float) * 100
    answerable = not data.has_unanswerable
    sure = np.array([_confidence(readings[id], given[id], answerable) for id in ids])
    rows = zip(questions, scores, sure, unknown, strict=True)
    for row, (row_f1, row_exact), confidence, lacking in rows:
        row["readers"][name] = {
            "answer": given[row["id"]],
            "f1": round(float(row_f1), 2),
            "exact": round(float(row_exact)),
            "confidence": round(float(confidence), 4),
            **lacking,
        }
    model = {
        "all": summary(scores),
        "groups": {
            **{each.name: _grouped(questions, each, scores) for each in GROUPINGS},
            **{each.name: _grouped(unknown, each, scores) for each in UNKNOWN_WORDS},
        },
        "calibration": calibration_of(sure, scores[:, 0] >= 100 * RIGHT),
    }
    return model | {"no_answer": _confusion(questions, given)} if not answerable else model


def _scores(questions: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """[questions, 2]: F1 and EM of a model."""
    given = [row["readers"][name] for row in questions]
    return np.array([(each["f1"], each["exact"]) for each in given], float)


def _confidence(reading: Reading, text: str, answerable: bool) -> float:
    """The probability that what a model says is right: its answer, or that there is none."""
    if not text:
        return reading.no_answer
    return reading.answers[0].score * (1 if answerable else 1 - reading.no_answer)


def summary(scores: np.ndarray) -> dict[str, Any]:
    """Means with 95 % intervals, by resampling questions.

    Shape:
        scores: [questions, 2], F1 and EM
    """
    count = len(scores)
    random = np.random.default_rng(0)  # the same scores give the same intervals
    means = np.empty((RESAMPLES, 2))
    for resample in means:
        resample[:] = scores[random.integers(0, count, count)].mean(axis=0)
    lower, upper = np.quantile(means, (0.025, 0.975), axis=0)
    columns = zip(scores.mean(axis=0), lower, upper, strict=True)
    f1, exact = ([round(float(value), 2) for value in column] for column in columns)
    return {"count": count, "f1": f1, "exact": exact}


def _grouped(rows: Sequence[Mapping[str, Any]], grouping: Any, scores: np.ndarray) -> Any:
    """Scores of the groups; each row has the label of its question by the grouping's name."""
    labels = np.array([row[grouping.name] or "" for row in rows])
    return {
        label: summary(scores[labels == label])
        for label in grouping.labels
        if (labels == label).any()
    }


def calibration_of(sure: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """How often answers of a given confidence are right, and the expected calibration error."""
    order = np.argsort(sure, kind="stable")
    bins = [part for part in np.array_split(order, BINS) if len(part)]
    curve = [(float(sure[part].mean()), float(right[part].mean())) for part in bins]
    sizes = [len(part) / len(order) for part in bins]
    error = sum(s * abs(said - was) for s, (said, was) in zip(sizes, curve, strict=True))
    return {
        "curve": [[round(said, 4), round(was, 4)] for said, was in curve],
        "error": round(error, 4),
    }


def _confusion(questions: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> dict[str, int]:
    """Counts of questions by two facts: they have an answer, and the model gave one."""
    counts = {"has, given": 0, "has, not given": 0, "has not, given": 0, "has not, not given": 0}
    for row in questions:
        has = "has" if row["references"] else "has not"
        counts[f"{has}, {'given' if texts[row['id']] else 'not given'}"] += 1
    return counts


def _worst(questions: Sequence[Mapping[str, Any]]) -> list[int]:
    """The questions with the lowest F1 over all models; among equals the most confident first."""

    def badness(number: int) -> tuple[float, float]:
        given = questions[number]["readers"].values()
        return sum(each["f1"] for each in given), -sum(each["confidence"] for each in given)

    return sorted(range(len(questions)), key=badness)[:WORST]
