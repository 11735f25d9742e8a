"""Passages split into parts that are read at once, and what is remembered of them between calls.

Knows words and arrays: what a reader makes of them is its own.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from fabir.answer.windows import windows
from fabir.data.batches import Batch
from fabir.locks import make_lock
from fabir.text.tokens import tokenise

KEPT = 1 << 16  # words of passages that are remembered
_CHARACTERS = 16  # that count as a word at least: there are long ones, and white space


@dataclass(slots=True, eq=False)
class Part:
    """Words of a passage that are read at once. Equal to nothing but itself: questions share it."""

    words: list[str]
    starts: np.ndarray  # character offsets
    ends: np.ndarray
    # What a reader made of it without a question, [words, dim] each; nothing yet, or ever.
    encoded: dict[str, np.ndarray] = field(default_factory=dict)


class Passages:
    """The parts of passages: of the last one asked for, and of those before as far as `KEPT` goes.

    Args:
        window: words of a part at most
        stride: words from one part's beginning to the next
    """

    def __init__(self, window: int, stride: int) -> None:
        windows(0, window, stride)  # checks both
        self.window, self.stride = window, stride
        self._known: OrderedDict[str, list[Part]] = OrderedDict()
        self._size = 0
        self._lock = make_lock()

    def __call__(self, passage: str) -> list[Part]:
        with self._lock:
            if passage in self._known:
                self._known.move_to_end(passage)
                return self._known[passage]
        parts = self._split(passage)
        with self._lock:
            if passage not in self._known:
                self._size += _size(passage, parts)
            self._known[passage] = parts
            while self._size > KEPT and len(self._known) > 1:
                self._size -= _size(*self._known.popitem(last=False))
        return parts

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._known.clear()
            self._size = 0

    def _split(self, passage: str) -> list[Part]:
        tokens = tokenise(passage)
        starts, ends = np.array(tokens.starts, np.int64), np.array(tokens.ends, np.int64)
        return [
            Part(tokens.words[begin:end], starts[begin:end], ends[begin:end])
            for begin, end in windows(len(tokens.words), self.window, self.stride)
        ]


def count_words(parts: Iterable[Part]) -> int:
    """Those in several parts as often."""
    return sum(len(part.words) for part in parts)


def recall(parts: list[Part], batch: Batch[np.ndarray]) -> dict[str, np.ndarray]:
    """What was made of a batch's passages, the parts in their order, padded with zeros as they are.

    Shape: each [passages, passage, dim]
    """
    memo = {}
    for name, like in parts[0].encoded.items():
        memo[name] = np.zeros((*batch.passage.shape, like.shape[1]), like.dtype)
        for row, part in zip(memo[name], parts, strict=True):
            row[: len(part.encoded[name])] = part.encoded[name]
    return memo


def remember(parts: list[Part], batch: Batch[np.ndarray], memo: dict[str, np.ndarray]) -> None:
    """The reverse: let each part have its rows."""
    lengths = (batch.passage > 0).sum(axis=1).tolist()
    for row, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        part.encoded = {name: rows[row, :length].copy() for name, rows in memo.items()}


def _size(passage: str, parts: list[Part]) -> int:
    """Words, for what is remembered."""
    return 1 + max(count_words(parts), len(passage) // _CHARACTERS)
