"""Calibration of a model's probabilities on data that it was not trained on.

Two logistic regressions are fitted, see `fabir.runtime.settings.Confidence`. Half of the weight is
on questions asked of their passage, and half on the same asked of all passages of their article
joined, which are several windows. So the probabilities hold for texts of any length. `score` is
fitted to questions with an answer; for `no_answer` those without one have half of the weight.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fabir.answer.files import no_answer_probabilities, predictions, read_dataset
from fabir.answer.merging import Reading, logistic
from fabir.answer.predictor import Predictor
from fabir.data.checks import check_labelled
from fabir.data.dataset import Dataset, Passage, Question
from fabir.errors import InputError
from fabir.evaluation.squad import f1, question_scores
from fabir.progress import track
from fabir.runtime.settings import FEATURES, Confidence, completed

RIGHT = 0.5  # the least F1 of an answer that counts as right
LONG = 2000  # questions asked of whole articles, at most
BINS = 15
_LEAST = 5  # questions without an answer in each half of the articles, to fit `no_answer`
_RIDGE = 1e-3
_AS_GOOD = 0.005  # F1 as good as the best
_OF_NO_ANSWER = FEATURES.index("elsewhere")  # it tells nothing about whether there is an answer


class Asked(NamedTuple):
    """Questions that were asked, an entry each.

    features: [questions, features] of the best answer
    right: whether its F1 is at least 0.5
    none: whether the text has no answer
    long: whether the text is a whole article
    fold: parity of the article
    """

    features: np.ndarray
    right: np.ndarray
    none: np.ndarray
    long: np.ndarray
    fold: np.ndarray


class Calibrated(NamedTuple):
    """What was fitted, and how well: see `calibrate`."""

    confidence: Confidence
    no_answer_threshold: float
    report: dict[str, Any]


def calibrate(predictor: Predictor, data: Dataset) -> Calibrated:
    """Fit the probabilities of a predictor's model.

    The report has expected calibration errors over 15 bins of equal width, of questions asked of
    their passages (`passages`) and of whole articles (`articles`), with the shares of questions for
    which they are fitted. Each half of the articles is judged by weights that were fitted on the
    other half.

    Without unanswerable questions in `data`, or with too few, only `score` is fitted. With them the
    threshold is the highest no-answer probability with which F1 is at most 0.5 below the best:
    where F1 is as good, few answers are withheld.

    Raises:
        InputError: fewer than two articles, or every second one lacks answers, or no answer is
            right or none is wrong, or a question is not labelled.
    """
    check_labelled(data)
    by_title: defaultdict[str, list[Passage]] = defaultdict(list)
    for passage in data.passages:
        by_title[passage.title].append(passage)
    articles = list(by_title.values())
    if len(articles) < 2:
        raise InputError(
            "calibration needs questions about at least two articles, which titles tell apart: "
            "give a table a column `title` before fabir convert"
        )
    asked, readings = _ask(predictor, data, articles)
    right = asked.right[~asked.none]
    if right.all() or not right.any():
        raise InputError("all answers are right, or none is: there is nothing to calibrate")
    if len(set(asked.fold[~asked.none])) < 2:
        raise InputError(
            "no question of every second article has an answer: take more articles with answers"
        )
    has_none = _enough(asked)
    confidence = _fit(asked, has_none)
    if not has_none:
        confidence = replace(confidence, no_answer=predictor.model.confidence.no_answer)
    halves = [_fit(Asked(*(x[asked.fold == fold] for x in asked)), has_none) for fold in (0, 1)]
    report: dict[str, Any] = {"questions": len(data)}
    report["score"] = _errors(asked, [half.score for half in halves], asked.right, 0)
    threshold = predictor.model.no_answer_threshold
    if has_none:
        weights = [half.no_answer for half in halves]
        report["no_answer"] = _errors(asked, weights, asked.none, 0.5)
        threshold = _threshold(data, readings, confidence)
    return Calibrated(confidence, threshold, report)


def expected_calibration_error(
    said: np.ndarray, was: np.ndarray, bins: int = BINS, weights: np.ndarray | None = None
) -> float:
    """The mean distance of a bin's mean probability from how often it came true, weighted by the
    bin's size (Naeini et al. 2015). Bins have equal width.

    Shape: said, was, weights [n]
    """
    weights = np.ones(len(said)) if weights is None else weights
    place = np.minimum((said * bins).astype(int), bins - 1)
    sums = [np.bincount(place, values * weights, bins) for values in (said, was)]
    return float(np.abs(sums[0] - sums[1]).sum() / max(weights.sum(), 1e-9))


def _enough(asked: Asked) -> bool:
    """Whether there are enough questions without an answer to fit the probability of that."""
    counts = np.bincount(asked.fold[asked.none & ~asked.long], minlength=2)
    if (enough := bool(counts.min() >= _LEAST)) or not counts.any():
        return enough
    print(
        f"the no-answer probability stays as it is: fitting it takes {_LEAST} questions without an "
        f"answer in each half of the articles (every second one), not {counts[0]} and {counts[1]}",
        file=sys.stderr,
    )
    return False


def _ask(
    predictor: Predictor, data: Dataset, articles: Sequence[Sequence[Passage]]
) -> tuple[Asked, dict[str, Reading]]:
    """Ask each question of its passage, and some of their whole article."""
    readings = dict(read_dataset(predictor, data))
    rows = []
    pairs: list[tuple[str, str]] = []
    known: list[tuple[Question, int]] = []  # with its article
    step = max(1, -(-len(data) // LONG))
    number = 0
    for place, article in enumerate(articles):
        text = "\n".join(passage.text for passage in article)
        for passage in article:
            for question in passage.questions:
                rows.append(_row(readings[question.id], question, False, place))
                number += 1
                if number % step == 0:
                    pairs.append((question.text, text))
                    known.append((question, place))
    found = track(predictor.read_all(pairs), "asking whole articles", len(pairs))
    rows += [
        _row(reading, question, True, place)
        for reading, (question, place) in zip(found, known, strict=True)
    ]
    columns = list(zip(*(row for row in rows if row[0]), strict=True))
    if not columns:
        raise InputError("the data has no question with a passage to answer from")
    return Asked(*map(np.array, columns)), readings


def _row(
    reading: Reading, question: Question, long: bool, place: int
) -> tuple[tuple[float, ...], bool, bool, bool, int]:
    answers = [answer.text for answer in question.answers]
    right = bool(answers and reading.answers) and f1(reading.answers[0].text, answers) >= RIGHT
    return reading.features, right, not answers, long, place % 2


def _fit(asked: Asked, has_none: bool) -> Confidence:
    score = logistic_regression(asked.features, asked.right, _weights(asked, 0))
    if not has_none:
        return Confidence(score)
    others = asked.features[:, :_OF_NO_ANSWER]
    none = logistic_regression(others, asked.none, _weights(asked, 0.5))
    return Confidence(score, completed(none))


def _weights(asked: Asked, unanswerable: float) -> np.ndarray:
    """Weights of questions with which whole articles count as much as passages, and questions
    without an answer have a share in each. Their sum is the number of questions."""
    weights = np.zeros(len(asked.none))
    for long in (False, True):
        for none, share in ((False, 1 - unanswerable), (True, unanswerable)):
            group = (asked.long == long) & (asked.none == none)
            weights[group] = share / max(group.sum(), 1)
    return weights * len(weights) / weights.sum()


def logistic_regression(
    inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> tuple[float, ...]:
    """Coefficients of maximum likelihood, with a slight ridge, by Newton's method. A step that goes
    too far is halved.

    Shape: inputs [n, k], targets and weights [n] -> k numbers
    """
    ridge = _RIDGE * np.eye(inputs.shape[1])

    def loss(coefficients: np.ndarray) -> float:
        logits = inputs @ coefficients
        errors = np.logaddexp(0, logits) - targets * logits
        return float(weights @ errors + coefficients @ ridge @ coefficients / 2)

    found = np.zeros(inputs.shape[1])
    for _ in range(50):
        chances = logistic(inputs @ found)
        slope = inputs.T @ (weights * (targets - chances)) - ridge @ found
        curve = (inputs * (weights * chances * (1 - chances))[:, None]).T @ inputs + ridge
        step = np.linalg.solve(curve, slope)
        steps = (found + step / 2**halvings for halvings in range(30))
        before = loss(found)
        better = next((each for each in steps if loss(each) < before), None)
        if better is None:
            break
        found = better
    return tuple(round(float(x), 5) for x in found)


def _errors(
    asked: Asked, weights: list[tuple[float, ...]], truth: np.ndarray, unanswerable: float
) -> dict[str, float]:
    """Calibration errors; each fold is judged by the weights of the other one.

    `unanswerable` is the share of questions without an answer.
    """
    other = np.array(weights)[1 - asked.fold]  # [questions, features]
    said = logistic((asked.features * other).sum(axis=1))
    counts = _weights(asked, unanswerable)
    groups = {"passages": ~asked.long, "articles": asked.long}
    return {
        name: round(expected_calibration_error(said[group], truth[group], weights=counts[group]), 4)
        for name, group in groups.items()
    }


def _threshold(data: Dataset, readings: dict[str, Reading], confidence: Confidence) -> float:
    chances = no_answer_probabilities(readings) | {
        id: float(logistic(np.dot(reading.features, confidence.no_answer)))
        for id, reading in readings.items()
        if reading.features
    }
    _, f1s = question_scores(data, predictions(readings))
    answered = {question.id for _, question in data.questions if question.answers}
    said = np.array([chances[id] for id in f1s])
    given = np.array([f1s[id] if id in answered else 0.0 for id in f1s])
    withheld = np.array([float(id not in answered) for id in f1s])
    tried = np.linspace(0, 1, 201)
    scores = np.array([np.where(said > each, withheld, given).mean() for each in tried])
    return float(tried[scores >= scores.max() - _AS_GOOD].max())
