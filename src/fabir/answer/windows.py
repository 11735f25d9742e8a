"""Overlapping windows over a text of any length, and the best of their candidates.

This module handles lengths and offsets only. Others turn text into tokens, and offsets into text.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from fabir.errors import InputError


class Candidates(NamedTuple):
    """Candidate answers: half-open character offsets into the passage, log-scores, the number of
    their window, and their first and last word in it.

    These are arrays and not a list of objects, because a window of 400 words has 6,000 spans.
    """

    starts: np.ndarray
    ends: np.ndarray
    scores: np.ndarray
    windows: np.ndarray
    first: np.ndarray
    last: np.ndarray


Places = Callable[[int, int, int], Iterable[tuple[int, int]]]


def windows(length: int, size: int, stride: int) -> Iterator[tuple[int, int]]:
    """Yield half-open token ranges that cover `[0, length)`, each of at most `size` tokens.

    Windows start `stride` tokens apart. The last window ends at `length` and has the full size; a
    text shorter than `size` has one shorter window, and an empty text has none. Every span of at
    most `size - stride + 1` tokens lies wholly in at least one window. With `stride == size`
    windows do not overlap, so a span of several tokens across a border is lost.

    Raises:
        InputError: not `0 < stride <= size`. The call raises it, before the first window.
    """
    if not 0 < stride <= size:
        raise InputError(
            f"window stride {stride} does not fit window size {size}: "
            "choose a stride from 1 to the size, or some words would be in no window"
        )
    last = max(length - size, 0)
    starts = chain(range(0, last, stride), [last] if length else [])
    return ((start, min(start + size, length)) for start in starts)


def select_distinct(found: Candidates, k: int, places: Places) -> Candidates:
    """Return the best `k` different answers, best first; fewer where fewer exist.

    A candidate that shares a character with a better one is a variant of the same answer and is
    dropped. So is the same span from another window, and so is one that shares a character with
    another place of the better one's words. Among equal scores the earlier start comes first, then
    the shorter span. The first answers do not change when `k` grows.

    Args:
        places: where the words of a candidate stand, by its window, first and last word: offsets
    """
    starts, ends, scores = found[:3]
    left = np.lexsort((ends, starts, -scores))
    chosen: list[int] = []
    while len(chosen) < k and len(left):
        best = left[0]
        chosen.append(best)
        if len(chosen) < k:
            taken = places(*(int(column[best]) for column in found[3:]))
            left = left[~_touches(starts[left], ends[left], taken)]
    return Candidates(*(column[chosen] for column in found))


def _touches(starts: np.ndarray, ends: np.ndarray, places: Iterable[tuple[int, int]]) -> np.ndarray:
    """Whether each span shares a character with one of the places."""
    begins, stops = np.array(sorted(places)).T
    before = np.searchsorted(begins, ends)  # places that begin before the span ends
    return (before > 0) & (np.maximum.accumulate(stops)[before - 1] > starts)
