"""From start and end scores to the best spans of tokens (eq. 19 of the FABIR paper).

Knows arrays only: offsets and text come back in the Predictor.
"""

import math
from typing import NamedTuple

from torch import Tensor
from torch.nn.functional import pad

from fabir.errors import InputError

# Masks in use fill padding with -inf or a large negative number; no real token scores this low.
PADDING = -1e4


class Spans(NamedTuple):
    """The best `k` spans of each passage, best first; where fewer exist, 0, 0 and -inf."""

    start: Tensor  # [batch, k] int64, the first token
    end: Tensor  # [batch, k] int64, the last token, inclusive
    score: Tensor  # [batch, k] float32, start score + end score


def top_spans(start: Tensor, end: Tensor, *, max_words: int = 15, k: int = 1) -> Spans:
    """Maximise `start[i] + end[j]` subject to `i <= j < i + max_words` (eq. 19, in logarithms).

    Args:
        start: [batch, passage] logits or log-probabilities of the first token; -inf, or anything
            down from -1e4, at padding.
        end: [batch, passage] the same for the last token.
        max_words: the longest span, in tokens.
        k: how many spans of each passage, overlapping ones included.

    Equal scores: the earlier start first, then the shorter span. The first spans do not change
    when `k` grows. Memory is proportional to `batch * passage * max_words`.

    Raises:
        InputError: `max_words` or `k` is below 1.
        ValueError: `start` and `end` are not two matrices of the same shape.
    """
    if max_words < 1 or k < 1:
        raise InputError(f"max_words is {max_words} and k is {k}: both must be at least 1")
    if start.ndim != 2 or start.shape != end.shape:
        raise ValueError(f"start {tuple(start.shape)} and end {tuple(end.shape)} must be one shape")
    scores = _banded(start, end, max_words)  # [batch, passage, words]
    words = scores.shape[2]

    # Rank the starts by their best span: the k best spans lie within the first k of them.
    # Stable sorts over positions in reading order are what settles ties.
    ranked = scores.amax(dim=2).sort(dim=1, descending=True, stable=True).indices
    starts = ranked[:, :k].sort(dim=1).values  # [batch, kept]
    kept = scores.gather(1, starts.unsqueeze(2).expand(-1, -1, words)).flatten(1)
    score, order = kept.sort(dim=1, descending=True, stable=True)
    score, order = score[:, :k], order[:, :k]

    first = starts.gather(1, order // words)
    last = first + order % words
    none = score.isneginf()
    missing = (0, k - score.shape[1])
    return Spans(
        start=pad(first.masked_fill(none, 0), missing),
        end=pad(last.masked_fill(none, 0), missing),
        score=pad(score, missing, value=-math.inf),
    )


def _banded(start: Tensor, end: Tensor, max_words: int) -> Tensor:
    """[batch, passage, words]: the score of the span from token i to token i + word."""
    passage = start.shape[1]
    words = max(1, min(max_words, passage))
    start, end = (
        scores.float().masked_fill(scores <= PADDING, -math.inf) for scores in (start, end)
    )
    ends = pad(end, (0, words), value=-math.inf).unfold(1, words, 1)[:, :passage]
    return start.unsqueeze(2) + ends
