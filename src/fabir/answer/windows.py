"""Overlapping windows over a text of any length, and the merging of what they found.

Knows lengths and offsets only: the Predictor turns text into tokens and tokens into text.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from fabir.errors import InputError


class Candidates(NamedTuple):
    """Possible answers: half-open character offsets into the passage, and log-scores.

    Arrays and not a list of objects: a window of 400 words has 6,000 spans.
    """

    starts: np.ndarray
    ends: np.ndarray
    scores: np.ndarray


def windows(length: int, size: int, stride: int) -> Iterator[tuple[int, int]]:
    """Yield half-open token ranges that cover `[0, length)`, each of at most `size` tokens.

    Windows start `stride` tokens apart. The last one ends at `length` and is shifted back to be
    full-sized; only a text shorter than `size` has a shorter window, an empty one has none.
    Every span of at most `size - stride + 1` tokens lies wholly in at least one window; with
    `stride == size` there is no overlap, so longer spans across a border are not seen.

    Raises:
        InputError: not `0 < stride <= size`; at the call, before the first window.
    """
    if not 0 < stride <= size:
        raise InputError(
            f"window stride {stride} does not fit window size {size}: "
            "choose a stride from 1 to the size, or some words would be in no window"
        )
    last = max(length - size, 0)
    starts = chain(range(0, last, stride), [last] if length else [])
    return ((start, min(start + size, length)) for start in starts)


def select_distinct(found: Candidates, k: int) -> Candidates:
    """Return the best `k` candidates that do not overlap, best first; fewer where fewer exist.

    A candidate that shares a character with a better one is a variant of the same answer and is
    dropped, and so is the same span found again in another window. Equal scores: the earlier
    start, then the shorter span. The first answers do not change when `k` grows.
    """
    starts, ends, scores = found
    left = np.lexsort((ends, starts, -scores))
    chosen: list[int] = []
    while len(chosen) < k and len(left):
        best = left[0]
        chosen.append(best)
        if len(chosen) < k:
            left = left[(ends[left] <= starts[best]) | (starts[left] >= ends[best])]
    return Candidates(starts[chosen], ends[chosen], scores[chosen])
