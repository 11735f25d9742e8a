"""From the candidates of a passage's windows to its answers.

This module handles spans, masses and offsets. `answer.batching` runs the model on windows.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fabir.answer.windows import Candidates, select_distinct
from fabir.runtime.settings import FEATURES, UNCALIBRATED, Confidence

_HEAD = FEATURES.index("head")
_LEAST = 0.01  # probability of another place: no answer is surer than that


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of the passage: `text == passage[start:end]`.

    `score` is the probability that it is right if the passage has an answer: that its F1 with a
    true answer is at least 0.5. A model that is not calibrated gives the probability of its first
    word times that of its last, over the whole passage.
    """

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's result for one question and passage.

    answers: the best spans that do not overlap, whatever `no_answer` is
    no_answer: probability that the passage has no answer. For a model that cannot tell, it is one
        minus the best span's score. It is 1 if there is no span.
    features: of the best answer, that probabilities are made of; see `fabir.runtime.settings`
    """

    answers: list[Answer]
    no_answer: float
    features: tuple[float, ...] = field(default=(), compare=False, repr=False)

    def given(self, threshold: float) -> list[Answer]:
        """The answers, or an empty list if `no_answer` is above `threshold`."""
        return self.answers if self.no_answer <= threshold else []


class Found(NamedTuple):
    """A window's result: candidate spans, the log-sum-exp of its start and of its end logits, a
    head's logit of no answer, and the start and end logit of a place for no answer."""

    candidates: Candidates
    start_mass: float
    end_mass: float
    head: float | None = None
    no_start: float = -np.inf
    no_end: float = -np.inf


def merge(
    passage: str,
    windows_found: list[Found],
    top_k: int,
    confidence: Confidence = UNCALIBRATED,
) -> Reading:
    """The best answers of a passage's windows.

    All windows share one softmax: logits are comparable across windows, so their masses add up. A
    passage's no-answer logits are those of the least convinced window, or, if the model's
    confidence has a `no_answer`, what that says of the best answer.

    Args:
        windows_found: of each window of the passage
        confidence: turns what was found into calibrated probabilities
    """
    if not windows_found:
        return Reading([], 1.0)
    no_start, no_end = min(((f.no_start, f.no_end) for f in windows_found), key=sum)
    masses = [(no_start, no_end), *((f.start_mass, f.end_mass) for f in windows_found)]
    start_mass, end_mass = np.logaddexp.reduce(masses)
    columns = zip(*(found.candidates for found in windows_found), strict=True)
    best = select_distinct(Candidates(*map(np.concatenate, columns)), top_k)
    mass, windows = start_mass + end_mass, np.log(len(windows_found))
    features = _features(best, mass, windows)
    scores = np.exp(features[:, 1])
    if confidence.score:  # the order is that of the spans, so no score may exceed an earlier one
        scores = np.minimum.accumulate(logistic(features @ confidence.score))
    rows = zip(best.starts.tolist(), best.ends.tolist(), scores.tolist(), strict=True)
    answers = [Answer(passage[start:end], start, end, score) for start, end, score in rows]
    if confidence.no_answer:
        none = logistic(features[0] @ confidence.no_answer)
    elif windows_found[0].head is not None:
        none = logistic(features[0, _HEAD])
    elif no_start > -np.inf:
        none = logistic(no_start + no_end - best.scores[0])
    else:
        none = 1 - scores[0]
    return Reading(answers, float(none), tuple(features[0].tolist()))


def logistic(x: Any) -> Any:
    """The logistic function, of numbers or arrays."""
    return np.exp(-np.logaddexp(0, -x))


def _features(best: Candidates, mass: float, windows: float) -> np.ndarray:
    """The features of a `Confidence`. Shape: [answers, 10]"""
    bias = np.ones(len(best.scores))
    span = (best.scores - mass).clip(max=0)  # rounding may exceed it
    place = (best.places - mass).clip(max=0)
    elsewhere = np.log(np.maximum(-np.expm1(place), _LEAST))
    found = [span, place, best.heads]
    products = [each * windows for each in (bias, *found)]
    return np.stack([bias, *found, *products, elsewhere, elsewhere * windows], axis=1)
