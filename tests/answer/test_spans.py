"""Span decoding against a search over all pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.answer.spans import top_spans
from fabir.errors import InputError

INF = math.inf


def by_brute_force(
    start: list[float], end: list[float], max_words: int, k: int
) -> list[tuple[int, int, float]]:
    """All spans of one passage ranked by score, start, length; filled up to k."""
    pairs = [
        (i, j, start[i] + end[j])
        for i in range(len(start))
        for j in range(i, min(i + max_words, len(end)))
        if start[i] > -1e4 and end[j] > -1e4
    ]
    best = sorted(pairs, key=lambda span: (-span[2], span[0], span[1]))[:k]
    return best + [(0, 0, -INF)] * (k - len(best))


def rows(
    start: np.ndarray, end: np.ndarray, max_words: int, k: int
) -> list[list[tuple[int, int, float]]]:
    spans = top_spans(start, end, max_words=max_words, k=k)
    return [
        list(zip(*columns, strict=True))
        for columns in zip(*(part.tolist() for part in spans), strict=True)
    ]


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two [batch, passage] matrices of small whole numbers, full of ties, padded at random."""
    batch, passage = draw(st.integers(1, 4)), draw(st.integers(0, 12))
    cell = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([-INF, -1e4, -1e30]))
    row = st.lists(cell, min_size=passage, max_size=passage)
    matrix = st.lists(row, min_size=batch, max_size=batch)
    return tuple(np.array(draw(matrix), np.float32).reshape(batch, passage) for _ in range(2))  # pyright: ignore[reportReturnType]


@given(batches(), st.integers(1, 15), st.integers(1, 40))
def test_equals_a_search_over_all_pairs(
    batch: tuple[np.ndarray, np.ndarray], max_words: int, k: int
) -> None:
    start, end = batch
    expected = [
        by_brute_force(s, e, max_words, k)
        for s, e in zip(start.tolist(), end.tolist(), strict=True)
    ]
    assert rows(start, end, max_words, k) == expected


@given(batches(), st.integers(1, 15), st.integers(1, 20), st.integers(0, 20))
def test_the_first_spans_do_not_change_when_k_grows(
    batch: tuple[np.ndarray, np.ndarray], max_words: int, k: int, more: int
) -> None:
    start, end = batch
    longer = rows(start, end, max_words, k + more)
    assert rows(start, end, max_words, k) == [row[:k] for row in longer]


@given(batches(), st.integers(1, 15), st.integers(1, 10), st.integers(1, 9))
def test_padding_changes_nothing(
    batch: tuple[np.ndarray, np.ndarray], max_words: int, k: int, padding: int
) -> None:
    start, end = batch
    filler = np.full((len(start), padding), -1e30)
    padded = np.hstack([start, filler]), np.hstack([end, filler])
    assert rows(*padded, max_words, k) == rows(start, end, max_words, k)


def test_fifteen_words_is_the_default_limit() -> None:
    start, end = np.zeros((1, 40)), np.zeros((1, 40))
    start[0, 10], end[0, 25], end[0, 24] = 9.0, 5.0, 4.0  # 16 words, 15 words
    span = top_spans(start, end)
    assert (span.start.item(), span.end.item(), span.score.item()) == (10, 24, 13.0)


def test_types_and_shapes() -> None:
    spans = top_spans(np.zeros((3, 7), np.float16), np.zeros((3, 7)), k=4)
    assert [part.dtype for part in spans] == [np.int64, np.int64, np.float32]
    assert {part.shape for part in spans} == {(3, 4)}


def test_inputs_are_left_alone() -> None:
    start, end = np.array([[0.0, -1e30]]), np.array([[1.0, -1e30]])
    top_spans(start, end, k=3)
    assert start.tolist() == [[0.0, -1e30]]
    assert end.tolist() == [[1.0, -1e30]]


def test_a_batch_of_nothing() -> None:
    assert top_spans(np.zeros((0, 5)), np.zeros((0, 5)), k=2).start.shape == (0, 2)


@pytest.mark.parametrize(("max_words", "k"), [(0, 1), (15, 0), (-1, 1)])
def test_limits_below_one_are_refused(max_words: int, k: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        top_spans(np.zeros((1, 3)), np.zeros((1, 3)), max_words=max_words, k=k)


@pytest.mark.parametrize("end", [np.zeros((1, 4)), np.zeros((2, 3)), np.zeros(3)])
def test_shapes_that_would_broadcast_are_refused(end: np.ndarray) -> None:
    with pytest.raises(ValueError, match="one shape"):
        top_spans(np.zeros((1, 3)), end)


@given(batches(), st.integers(1, 15), st.integers(1, 40), st.data())
def test_a_span_has_more_than_punctuation(
    batch: tuple[np.ndarray, np.ndarray], max_words: int, k: int, data: st.DataObject
) -> None:
    start, end = batch
    marks = st.lists(st.booleans(), min_size=start.size, max_size=start.size)
    punctuation = np.array(data.draw(marks), bool).reshape(start.shape)
    found = top_spans(start, end, max_words=max_words, k=k, punctuation=punctuation)
    every = top_spans(start, end, max_words=max_words, k=start.shape[1] * 15 + 1)
    for row, marked in enumerate(punctuation):
        spans, expected = (
            [
                (first, last, score)
                for first, last, score in zip(*(each[row].tolist() for each in some), strict=True)
                if score > -INF and not (some is every and marked[first : last + 1].all())
            ]
            for some in (found, every)
        )
        assert spans == expected[:k]


def test_a_span_stays_on_its_line() -> None:
    start, end = np.zeros((2, 4)), np.zeros((2, 4))
    start[:, 1], end[:, 2], end[:, 3] = 9, 9, 8
    lines = np.array([[0, 0, 1, 1], [0, 1, 1, 2]])
    spans = top_spans(start, end, k=6, lines=lines)
    found = [set(zip(*row, strict=True)) for row in zip(spans.start, spans.end, strict=True)]
    assert found[0] == {(0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (3, 3)}
    assert [(int(spans.start[1, 0]), int(spans.end[1, 0]))] == [(1, 2)]
    assert (0, 1) not in found[1]
