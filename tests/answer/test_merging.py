"""Calibrated probabilities: two logistic functions of what was found in a passage."""

import math

import numpy as np
import pytest

from fabir.answer.merging import Found, merge
from fabir.answer.windows import Candidates
from fabir.runtime.settings import Confidence

TEXT = "Rain falls from clouds."


def window(*spans: tuple[int, int, float, float], mass: float, head: float | None) -> Found:
    """Spans are start, end, log-score, log-mass within; `mass` is that of starts, and of ends."""
    starts, ends, scores, places = (np.array(column) for column in zip(*spans, strict=True))
    heads = np.full(len(starts), head or 0.0)
    return Found(Candidates(starts, ends, scores, places, heads), mass, mass, head)


def test_probabilities_are_logistic_functions_of_the_features() -> None:
    windows = [
        window((0, 4, -1.0, -0.5), mass=0.0, head=-2.0),
        window((16, 22, -3.0, -2.5), mass=-1.0, head=1.5),
    ]
    confidence = Confidence(
        (0.5, 0.25, 0.125, -1.0, 0.75, 1.5, -0.25, 0.375, -0.5, 0.875),
        (-0.5, 0.0, 0.25, 2.0, 1.0, 0.125, 0.5, -1.0, 0.625, -0.125),
    )
    reading = merge(TEXT, windows, 2, confidence)
    mass = 2 * math.log(math.exp(0.0) + math.exp(-1.0))
    found = [(-1.0 - mass, -0.5 - mass, -2.0), (-3.0 - mass, -2.5 - mass, 1.5)]
    log = math.log(2)
    elsewhere = [math.log(1 - math.exp(place)) for _, place, _ in found]
    expected = [
        (1.0, *three, log, *(log * each for each in three), other, other * log)
        for three, other in zip(found, elsewhere, strict=True)
    ]
    assert reading.features == pytest.approx(expected[0])
    for answer, features in zip(reading.answers, expected, strict=True):
        z = np.dot(confidence.score, features)
        assert answer.score == pytest.approx(1 / (1 + math.exp(-z)))
    z = np.dot(confidence.no_answer, expected[0])
    assert reading.no_answer == pytest.approx(1 / (1 + math.exp(-z)))
    assert [answer.text for answer in reading.answers] == ["Rain", "clouds"]


def test_a_score_is_not_above_the_one_before() -> None:
    """The second answer has more mass around it, but the first stays first for every top_k."""
    found = window((0, 4, -1.0, -0.9), (16, 22, -1.1, -0.2), mass=0.0, head=None)
    confidence = Confidence((0.0, 0.0, 1.0, *[0.0] * 7))
    first, second = merge(TEXT, [found], 2, confidence).answers
    assert (first.text, second.text) == ("Rain", "clouds")
    assert first.score == second.score
    assert merge(TEXT, [found], 1, confidence).answers == [first]


def test_no_answer_is_surer_than_99_in_100() -> None:
    found = window((0, 4, -1e-4, 1e-6), mass=0.0, head=None)
    reading = merge(TEXT, [found], 1, Confidence((*[0.0] * 8, -1.0, 0.0)))
    assert reading.features[-2] == pytest.approx(math.log(0.01))
    assert reading.answers[0].score == pytest.approx(100 / 101)


@pytest.mark.parametrize("head", [None, 1.25])
def test_without_calibration_scores_are_the_spans_probabilities(head: float | None) -> None:
    reading = merge(TEXT, [window((0, 4, -1.0, -0.5), mass=0.25, head=head)], 1)
    assert reading.answers[0].score == pytest.approx(math.exp(-1.5))
    none = 1 - math.exp(-1.5) if head is None else 1 / (1 + math.exp(-head))
    assert reading.no_answer == pytest.approx(none)
