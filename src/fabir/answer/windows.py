"""Overlapping windows over a text of any length, and the best of their candidates.

This module handles lengths and offsets only. Others turn text into tokens, and offsets into text.
"""

from collections.abc import Iterator
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


def select_distinct(passage: str, found: Candidates, k: int) -> Candidates:
    """Return the best `k` different answers, best first; fewer where fewer exist.

    A candidate that shares a character with a better one is a variant of the same answer and is
    dropped. So is the same span from another window, and so is a candidate with the text of a
    better one, in upper or lower case. Among equal scores the earlier start comes first, then the
    shorter span. The first answers do not change when `k` grows.
    """
    starts, ends, scores = found[:3]
    left = np.lexsort((ends, starts, -scores))
    chosen: dict[str, int] = {}
    while len(chosen) < k and len(left):
        best = left[0]
        chosen.setdefault(passage[starts[best] : ends[best]].lower(), best)
        if len(chosen) < k:
            left = left[(ends[left] <= starts[best]) | (starts[left] >= ends[best])]
    rows = list(chosen.values())
    return Candidates(*(column[rows] for column in found))
