"""Windows cover every text, and merging selects the best of their candidates."""

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.answer.windows import Candidates, select_distinct, windows
from fabir.errors import InputError

lengths = st.integers(0, 200)
sizes_and_strides = st.integers(1, 50).flatmap(
    lambda size: st.tuples(st.just(size), st.integers(1, size))
)


@given(lengths, sizes_and_strides)
def test_windows_cover_the_text_and_are_full_sized(length: int, pair: tuple[int, int]) -> None:
    size, stride = pair
    ranges = list(windows(length, size, stride))
    assert {token for start, end in ranges for token in range(start, end)} == set(range(length))
    assert all(end - start == min(size, length) for start, end in ranges)
    gaps = [after - before for (before, _), (after, _) in pairwise(ranges)]
    assert all(gap == stride for gap in gaps[:-1])
    assert all(0 < gap <= stride for gap in gaps[-1:])


@given(st.integers(1, 120), sizes_and_strides)
def test_every_short_span_lies_in_a_window(length: int, pair: tuple[int, int]) -> None:
    size, stride = pair
    ranges = list(windows(length, size, stride))
    span = min(size - stride + 1, length)
    for start in range(length - span + 1):
        assert any(first <= start and start + span <= last for first, last in ranges)


def test_the_last_window_is_shifted_back() -> None:
    assert list(windows(10, 4, 3)) == [(0, 4), (3, 7), (6, 10)]
    assert list(windows(11, 4, 3)) == [(0, 4), (3, 7), (6, 10), (7, 11)]


def test_short_texts_have_one_window_and_empty_ones_none() -> None:
    assert list(windows(4, 4, 2)) == [(0, 4)]
    assert list(windows(3, 4, 2)) == [(0, 3)]
    assert list(windows(0, 4, 2)) == []


def test_stride_may_equal_size() -> None:
    assert list(windows(8, 4, 4)) == [(0, 4), (4, 8)]


@pytest.mark.parametrize(("size", "stride"), [(4, 0), (4, -1), (4, 5), (0, 0)])
def test_windows_that_leave_gaps_are_refused_at_the_call(size: int, stride: int) -> None:
    with pytest.raises(InputError, match=f"stride {stride} does not fit window size {size}"):
        windows(10, size, stride)


Span = tuple[int, int, float]  # start, end, score


DIFFERENT = "".join(map(chr, range(0x4E00, 0x4E00 + 60)))  # no two spans have the same text


def distinct(found: list[Span], k: int, passage: str = DIFFERENT) -> list[Span]:
    starts, ends, scores = np.array(found, float).reshape(-1, 3).T
    others = starts + 0.5, ends + 0.5, starts - 0.5  # columns that only travel along
    candidates = Candidates(starts.astype(int), ends.astype(int), scores, *others)

    def places(start: int, end: int, _: int) -> Iterator[tuple[int, int]]:
        text = re.escape(passage[start:end])
        return (match.span() for match in re.finditer(text, passage, re.IGNORECASE))

    chosen = select_distinct(candidates, k, places)
    assert np.array_equal(chosen.windows, chosen.starts + 0.5)
    assert np.array_equal(chosen.first, chosen.ends + 0.5)
    assert np.array_equal(chosen.last, chosen.starts - 0.5)
    return list(zip(*(column.tolist() for column in chosen[:3]), strict=True))


def test_the_words_of_an_answer_may_stand_in_many_places() -> None:
    """Their number does not multiply the time: one pass for each place would take a minute."""
    starts = np.arange(300_000)
    candidates = Candidates(starts, starts + 1, -starts.astype(float), *[starts] * 3)

    def places(start: int, *_: int) -> list[tuple[int, int]]:
        return [(place, place + 1) for place in range(start % 3, 300_000, 3)]

    chosen = select_distinct(candidates, 3, places)
    assert chosen.starts.tolist() == [0, 1, 2]


def test_a_text_is_chosen_once() -> None:
    passage = "Rain, more rain, and mud"
    first, again, variant, mud = (0, 4, 3.0), (11, 15, 1.0), (6, 15, 2.0), (21, 24, 0.0)
    assert distinct([mud, variant, again, first], 3, passage) == [first, mud]


def test_better_candidates_drop_those_they_overlap() -> None:
    best, inside, touching, apart = (10, 20, 3.0), (12, 15, 2.0), (20, 24, 1.0), (0, 5, 0.0)
    found = [apart, inside, touching, best, best]
    assert distinct(found, 10) == [best, touching, apart]
    assert distinct(found, 2) == [best, touching]
    assert distinct([], 3) == []


def test_equal_scores_prefer_the_earlier_then_the_shorter() -> None:
    found = [(5, 9, 1.0), (0, 4, 1.0), (0, 2, 1.0)]
    assert distinct(found, 3) == [(0, 2, 1.0), (5, 9, 1.0)]


candidates = st.lists(
    st.builds(
        lambda start, length, score: (start, start + length, float(score)),
        st.integers(0, 30),
        st.integers(1, 10),
        st.integers(-3, 3),
    )
)


@given(candidates, st.integers(0, 8))
def test_selection_is_distinct_ranked_complete_and_blind_to_order(
    found: list[Span], k: int
) -> None:
    chosen = distinct(found, k)
    everything = distinct(found, len(found))
    assert chosen == everything[:k]
    assert distinct(found[::-1], k) == chosen
    assert [score for *_, score in chosen] == sorted((s for *_, s in chosen), reverse=True)
    taken = [position for start, end, _ in everything for position in range(start, end)]
    assert len(taken) == len(set(taken))
    for start, end, score in found:
        assert any(s < end and start < e and better >= score for s, e, better in everything)
