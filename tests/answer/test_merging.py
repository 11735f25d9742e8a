"""Calibrated probabilities: two logistic functions of what was found in a passage."""

import math
from functools import partial

import numpy as np
import pytest

from fabir.answer.merging import Found, Reading, merge
from fabir.answer.passages import PassageCache
from fabir.answer.spans import Spans, top_spans
from fabir.runtime.settings import UNCALIBRATED, Confidence

TEXT = "Rain falls from grey clouds. Some rain stays in them."


def spans(start: np.ndarray, end: np.ndarray, k: int) -> Spans:
    return Spans(*(column[0] for column in top_spans(start[None], end[None], k=k)))


def window(part: int, start: list[float], end: list[float], head: float | None = None) -> Found:
    """What was found in the first or second six words of the text: logits, and a head's."""
    place = PassageCache(6, 6).parts(TEXT)[part]
    sides = np.array(start, np.float32), np.array(end, np.float32)
    start_mass, end_mass = (float(np.logaddexp.reduce(side.astype(float))) for side in sides)
    return Found(
        place, *sides, spans(*sides, k=1), partial(spans, *sides, k=36), start_mass, end_mass, head
    )


def read(*found: Found, top_k: int = 1, confidence: Confidence = UNCALIBRATED) -> Reading:
    return merge(TEXT, list(found), top_k, confidence)


def test_probabilities_are_logistic_functions_of_the_features() -> None:
    starts = [1.0, 0.0, 0.0, 2.0, 3.0, 0.0], [0.0, 2.0, 0.0, 1.0, 0.0, 0.0]
    ends = [2.0, 0.0, 1.0, 0.0, 3.0, 0.0], [0.0, 2.5, 0.0, 0.0, 0.0, 1.0]
    windows = [window(i, starts[i], ends[i], [-2.0, 1.5][i]) for i in (0, 1)]
    confidence = Confidence(
        (0.5, 0.25, 0.125, -1.0, 0.75, 1.5, -0.25, 0.375, -0.5, 0.875),
        (-0.5, 0.0, 0.25, 2.0, 1.0, 0.125, 0.5, -1.0, 0.625, -0.125),
    )
    reading = read(*windows, top_k=2, confidence=confidence)
    assert [answer.text for answer in reading.answers] == ["clouds", "rain"]
    start, end = (np.exp(side) / np.exp(side).sum() for side in (np.array(starts), np.array(ends)))
    rain = start[0, 0] + start[1, 1], end[0, 0] + end[1, 1]  # in either window
    expected = [(start[0, 4], end[0, 4], -2.0), (*rain, 1.5)]
    log = math.log(2)
    for answer, (first, last, head) in zip(reading.answers, expected, strict=True):
        same = math.log(first) + math.log(last)  # a word begins and ends within itself
        single = same, same, head
        other = math.log(1 - first * last)
        features = [1.0, *single, log, *(log * each for each in single), other, other * log]
        if answer == reading.answers[0]:
            assert reading.features == pytest.approx(features)
            z = np.dot(confidence.no_answer, features)
            assert reading.no_answer == pytest.approx(1 / (1 + math.exp(-z)))
        z = np.dot(confidence.score, features)
        assert answer.score == pytest.approx(1 / (1 + math.exp(-z)))


def test_within_an_answer_of_several_words_others_begin_and_end() -> None:
    logits = [2.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 3.0, 0.0]
    reading = read(window(0, *logits))
    (answer,) = reading.answers
    assert answer.text == "Rain falls from grey clouds"
    start, end = map(np.exp, logits)
    within = math.log(start[:5].sum() / start.sum() * end[:5].sum() / end.sum())
    assert reading.features[2] == pytest.approx(within)
    assert answer.score == pytest.approx(start[0] / start.sum() * end[4] / end.sum())


def test_the_same_words_elsewhere_are_no_doubt() -> None:
    first, second = [3.0, *[-9.0] * 5], [-9.0, 3.0, *[-9.0] * 4]
    twice = read(window(0, first, first), window(1, second, second), top_k=2)
    assert twice.answers[0].text == "Rain"
    assert twice.answers[0].score == pytest.approx(1, abs=1e-3)
    assert twice.answers[1].text != "rain"


def test_a_score_is_not_above_the_one_before() -> None:
    """The second answer has more mass around it, but the first stays first for every top_k."""
    sides = [3.0, -9.0, 2.9, 2.9, 2.9, -9.0], [3.0, -9.0, -9.0, 2.9, 2.9, -9.0]
    confidence = Confidence((0.0, 0.0, 1.0, *[0.0] * 7))
    first, second, *_ = read(window(0, *sides), top_k=2, confidence=confidence).answers
    assert (first.text, second.text) == ("Rain", "from grey")
    assert first.score == second.score
    assert read(window(0, *sides), confidence=confidence).answers == [first]


def test_no_answer_is_surer_than_99_in_100() -> None:
    sure = [20.0, *[-9.0] * 5]
    reading = read(window(0, sure, sure), confidence=Confidence((*[0.0] * 8, -1.0, 0.0)))
    assert reading.features[-2] == pytest.approx(math.log(0.01))
    assert reading.answers[0].score == pytest.approx(100 / 101)


@pytest.mark.parametrize("head", [None, 1.25])
def test_without_calibration_scores_are_the_spans_probabilities(head: float | None) -> None:
    reading = read(window(0, [1.0, *[0.0] * 5], [1.0, *[0.0] * 5], head))
    chance = (math.e / (math.e + 5)) ** 2
    assert reading.answers[0].score == pytest.approx(chance)
    none = 1 - chance if head is None else 1 / (1 + math.exp(-head))
    assert reading.no_answer == pytest.approx(none)
