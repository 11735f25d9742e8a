"""From the candidates of a passage's windows to its answers.

This module handles spans, masses and offsets. `answer.batching` runs the model on windows.
"""

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fabir.answer.passages import Part
from fabir.answer.spans import Spans
from fabir.answer.windows import Candidates, select_distinct
from fabir.runtime.settings import FEATURES, UNCALIBRATED, Confidence

_SPAN = FEATURES.index("span")
_HEAD = FEATURES.index("head")
_LEAST = 0.01  # probability of another answer: no answer is surer than that
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of the passage: `text == passage[start:end]`.

    `score` is the probability that it is right if the passage has an answer: that its F1 with a
    true answer is at least 0.5. A model that is not calibrated gives the probability of its first
    word times that of its last, over the whole passage. What the same words have elsewhere in the
    passage counts too.
    """

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's result for one question and passage.

    answers: the best spans with different texts that do not overlap, whatever `no_answer` is
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
    """What was found in a window.

    start, end: logits of the part's words
    best: the best spans, enough for the best answers with different places
    every: all spans; None if `best` has them
    start_mass, end_mass: the log-sum-exp of the logits
    head: a head's logit of no answer
    no_start, no_end: logits of a place for no answer
    """

    part: Part
    start: np.ndarray
    end: np.ndarray
    best: Spans
    every: Callable[[], Spans] | None
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
    passage's no-answer logits are those of the least convinced window. If the model's confidence
    has a `no_answer`, or the model a head, what that says of the best answer counts instead.

    Args:
        windows_found: of each window of the passage
        confidence: turns what was found into calibrated probabilities
    """
    if not windows_found:
        return Reading([], 1.0)
    no_start, no_end = min(((f.no_start, f.no_end) for f in windows_found), key=sum)
    masses = [(no_start, no_end), *((f.start_mass, f.end_mass) for f in windows_found)]
    start_mass, end_mass = np.logaddexp.reduce(masses).tolist()
    parts = [found.part for found in windows_found]
    texts = [[word.lower() for word in part.words] for part in parts]

    def places(window: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        words = texts[window][first : last + 1]
        for part, text in zip(parts, texts, strict=True):
            for place in _places(words, text):
                yield int(part.starts[place]), int(part.ends[place + len(words) - 1])

    best = select_distinct(_candidates(parts, [f.best for f in windows_found]), top_k, places)
    if len(best.scores) < top_k and any(found.every for found in windows_found):
        every = [found.every() if found.every else found.best for found in windows_found]
        best = select_distinct(_candidates(parts, every), top_k, places)
    features = _features(windows_found, texts, best, start_mass, end_mass)
    answers = []
    score = 1.0  # the order is that of the best places, so no score may exceed an earlier one
    for start, end, found in zip(best.starts.tolist(), best.ends.tolist(), features, strict=True):
        weights = confidence.score
        score = min(score, _probability(found, weights) if weights else math.exp(found[_SPAN]))
        answers.append(Answer(passage[start:end], start, end, score))
    if confidence.no_answer:
        none = _probability(features[0], confidence.no_answer)
    elif windows_found[0].head is not None:
        none = logistic(features[0][_HEAD])
    elif no_start > -np.inf:
        none = logistic(no_start + no_end - best.scores[0])
    else:
        none = 1 - answers[0].score
    return Reading(answers, float(none), features[0])


def logistic(x: Any) -> Any:
    """The logistic function, of numbers or arrays."""
    return np.exp(-np.logaddexp(0, -x))


def _candidates(parts: Iterable[Part], spans: Iterable[Spans]) -> Candidates:
    """The spans of all windows."""
    columns = [
        (part.starts[start], part.ends[end], score, np.full(len(score), number), start, end)
        for number, (part, (start, end, score)) in enumerate(zip(parts, spans, strict=True))
    ]
    return Candidates(*map(np.concatenate, zip(*columns, strict=True)))


def _features(
    found: Sequence[Found],
    texts: Sequence[list[str]],
    best: Candidates,
    start_mass: float,
    end_mass: float,
) -> list[tuple[float, ...]]:
    """The features of a `Confidence` for each answer.

    Wherever the passage has the words of an answer, in upper or lower case, it says the same: the
    probabilities of all these places add up.

    Args:
        texts: the words of each window in lower case
    """
    several = math.log(len(found))
    features = []
    for number, first, last in zip(*(column.tolist() for column in best[3:]), strict=True):
        words = texts[number][first : last + 1]
        sums = np.zeros(4)
        for window, text in zip(found, texts, strict=True):
            if places := _places(words, text):
                sums += _shares(window, places, len(words), start_mass, end_mass)
        span, place = (
            min(math.log(max(start, _TINY)) + math.log(max(end, _TINY)), 0.0)
            for start, end in sums.reshape(2, 2).tolist()
        )
        elsewhere = math.log(max(-math.expm1(place), _LEAST))
        single = 1.0, span, place, found[number].head or 0.0
        products = [each * several for each in (*single[1:], elsewhere)]
        features.append((*single, several, *products[:-1], elsewhere, products[-1]))
    return features


def _places(words: list[str], text: list[str]) -> list[int]:
    """Where the words stand in the text, as numbers of the first one."""
    count = len(words)
    return [i for i, word in enumerate(text) if word == words[0] and text[i : i + count] == words]


def _shares(
    window: Found, places: list[int], count: int, start_mass: float, end_mass: float
) -> list[float]:
    """Probabilities that the answer starts at one of the places of `count` words, that it ends at
    the last word of one, that it starts within one, and that it ends within one."""
    within = sorted({place + i for place in places for i in range(count)})
    starts, ends = (side[within].astype(np.float64) for side in (window.start, window.end))
    start = dict(zip(within, np.exp(starts - start_mass).tolist(), strict=True))
    end = dict(zip(within, np.exp(ends - end_mass).tolist(), strict=True))
    return [
        sum(start[place] for place in places),
        sum(end[place + count - 1] for place in places),
        sum(start.values()),
        sum(end.values()),
    ]


def _probability(features: tuple[float, ...], weights: tuple[float, ...]) -> float:
    return float(logistic(sum(map(operator.mul, features, weights))))
