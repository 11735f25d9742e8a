"""From start and end scores to the best spans of tokens (eq. 19 of the FABIR paper).

This module handles arrays only. Offsets and text are added later.
"""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from fabir.errors import InputError

# Masks fill padding with -inf or a large negative number. No real token has a logit this low.
PADDING = -1e4


class Spans(NamedTuple):
    """The best `k` spans of each passage, best first; where fewer exist, 0, 0 and -inf."""

    start: np.ndarray  # [batch, k] int64, the first token
    end: np.ndarray  # [batch, k] int64, the last token, inclusive
    score: np.ndarray  # [batch, k] float32, start score + end score


def top_spans(
    start: np.ndarray,
    end: np.ndarray,
    *,
    max_words: int = 15,
    k: int = 1,
    lines: np.ndarray | None = None,
    punctuation: np.ndarray | None = None,
) -> Spans:
    """Maximise `start[i] + end[j]` subject to `i <= j < i + max_words` (eq. 19, in logarithms).

    Args:
        start: [batch, passage] logits or log-probabilities of the first token; -1e4 or less at
            padding.
        end: [batch, passage] the same for the last token.
        max_words: the longest span, in tokens.
        k: how many spans of each passage, overlapping ones included.
        lines: [batch, passage] a number for each token. A span lies within tokens of one number,
            and within none of a negative one.
        punctuation: [batch, passage] bool, whether a token has neither letter, digit nor symbol.
            A span has another token.

    Among equal scores the earlier start comes first, then the shorter span. The first spans do not
    change when `k` grows. Memory is proportional to `batch * passage * max_words`.

    Raises:
        InputError: `max_words` or `k` is below 1.
        ValueError: `start` and `end` are not matrices of one shape.
    """
    if max_words < 1 or k < 1:
        raise InputError(f"max_words is {max_words} and k is {k}: both must be at least 1")
    if start.ndim != 2 or start.shape != end.shape:
        raise ValueError(f"start {start.shape} and end {end.shape} must be one shape")
    scores = _banded(start, end, max_words)  # [batch, passage, words]
    words = scores.shape[2]
    if lines is not None:
        scores[lines[:, :, None] != _band(lines, words, -1)] = -np.inf
        scores[lines < 0] = -np.inf
    if punctuation is not None:
        _drop_punctuation(scores, punctuation)

    starts = None
    if k > 1:  # the k best spans lie within the k starts whose best spans are best
        starts = np.sort(_first(scores.max(axis=2), k), axis=1)  # [batch, kept]
        scores = np.take_along_axis(scores, starts[:, :, None], axis=1)
    kept = scores.reshape(len(scores), scores.shape[1] * words)
    order = _first(kept, k)
    row = np.arange(len(scores))[:, None]
    score, first, word = kept[row, order], order // words, order % words
    if starts is not None:
        first = starts[row, first]

    real = score > -np.inf
    spans = Spans(
        start=np.zeros((len(scores), k), np.int64),
        end=np.zeros((len(scores), k), np.int64),
        score=np.full((len(scores), k), -np.inf, np.float32),
    )
    for column, found in zip(spans, (first, first + word, score), strict=True):
        np.copyto(column[:, : found.shape[1]], found, where=real)
    return spans


def _first(scores: np.ndarray, k: int) -> np.ndarray:
    """Indices of the `k` highest scores of each row, best first; the earlier among equal ones.

    Shape: scores [batch, n] -> [batch, min(k, n)]
    """
    if k == 1 and scores.shape[1]:
        return scores.argmax(axis=1)[:, None]
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def _drop_punctuation(scores: np.ndarray, punctuation: np.ndarray) -> None:
    """Set the scores of spans of punctuation alone to -inf, in place.

    Shape: scores [batch, passage, words], punctuation [batch, passage]
    """
    words = scores.shape[2]
    following = _band(punctuation, words, False)
    row, first = np.nonzero(punctuation)
    for word in range(words):
        kept = following[row, first, word]
        row, first = row[kept], first[kept]
        scores[row, first, word] = -np.inf


def _banded(start: np.ndarray, end: np.ndarray, max_words: int) -> np.ndarray:
    """[batch, passage, words]: the score of the span from token i to token i + word."""
    words = max(1, min(max_words, start.shape[1]))
    end = np.where(end > PADDING, end, np.float32(-np.inf)).astype(np.float32, copy=False)
    start = np.where(start > PADDING, start, np.float32(-np.inf)).astype(np.float32, copy=False)
    return start[:, :, None] + _band(end, words, -np.inf)


def _band(values: np.ndarray, words: int, beyond: float) -> np.ndarray:
    """[batch, passage, words]: at i, word the value of token i + word; `beyond` after the last."""
    batch, passage = values.shape
    padded = np.full((batch, passage + words), beyond, values.dtype)
    padded[:, :passage] = values
    row, column = padded.strides
    # Row i of the view begins at value i.
    return as_strided(padded, (batch, passage, words), (row, column, column), writeable=False)
