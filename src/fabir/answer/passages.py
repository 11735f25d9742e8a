"""A cache of passages: their windows, and a model's encodings of these.

This module handles words and arrays. The meaning of the features is the model's own.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from fabir.answer.layout import Layout, find_layout
from fabir.answer.windows import windows
from fabir.locks import make_lock
from fabir.runtime.memory import BUDGET
from fabir.text.lines import divide
from fabir.text.tokens import Tokeniser
from fabir.text.units import is_blank, place_words

_WORD = 80  # bytes, about, of a word and its offsets
# Unicode counts them as punctuation, but they may be what is asked for.
_SYMBOLS = "#%&*/@\\§¶†‡‰‱"


@dataclass(slots=True, eq=False)
class Part:
    """One window of a passage. It compares by identity, and questions about it share it.

    lines: the number of the line or cell in which each word stands; -1 for a mark that a model
        reads between two; None if there is one line
    punctuation: whether the least answer with a word is punctuation alone; None if this holds for
        all words of the passage or for none
    layout: that of the passage; None if it is one line
    pieces: the number of the piece of the layout in which each word stands, -1 for none
    """

    words: list[str]
    starts: np.ndarray  # character offsets of the least answer with a word, see `place_words`
    ends: np.ndarray
    lines: np.ndarray | None = None
    punctuation: np.ndarray | None = None
    layout: Layout | None = None
    pieces: np.ndarray | None = None
    encoded: np.ndarray | None = None  # [words, features], once a model has encoded it


class PassageCache:
    """The parts of passages and their encodings, within a budget of bytes.

    Args:
        window: words of a part at most
        stride: words from one part's beginning to the next
        budget: bytes; see `fabir.runtime.memory`
        tokeniser: the model's

    Raises:
        InputError: a stride that does not fit the window.
    """

    def __init__(
        self, window: int, stride: int, budget: int = BUDGET, tokeniser: Tokeniser = "fabir"
    ) -> None:
        windows(0, window, stride)  # checks both
        self.window, self.stride, self.budget = window, stride, budget
        self.tokeniser: Tokeniser = tokeniser
        self._lock = make_lock()
        self.clear()

    def parts(self, passage: str) -> list[Part]:
        """The parts of a passage, from the cache or split now."""
        with self._lock:
            cached = self._parts.get(passage)
        if cached is not None:
            return cached
        parts = self._split(passage)
        with self._lock:
            self._make_room(len(passage) + _WORD * count_words(parts))
            return self._parts.setdefault(passage, parts)

    def get(self, parts: list[Part], length: int) -> np.ndarray:
        """Encodings of cached parts: [parts, length, features], padded with zeros."""
        rows = [part.encoded for part in parts if part.encoded is not None]
        encoded = np.zeros((len(parts), length, rows[0].shape[1]), np.float32)
        for place, row in zip(encoded, rows, strict=True):
            place[: len(row)] = row
        return encoded

    def put(self, parts: list[Part], encoded: np.ndarray, lengths: list[int]) -> None:
        """Cache the encodings of parts, [parts, length, features], the first `lengths` words of
        each."""
        with self._lock:
            self._make_room(sum(lengths) * encoded.itemsize * encoded.shape[2])
            for part, rows, length in zip(parts, encoded, lengths, strict=True):
                part.encoded = rows[:length].copy()

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._parts: dict[str, list[Part]] = {}
            self._size = 0

    def _make_room(self, size: int) -> None:
        self._size += size
        if self._size > self.budget:
            self._parts.clear()
            self._size = size

    def _split(self, passage: str) -> list[Part]:
        if is_blank(passage):
            return []
        divided = divide(passage)
        words, starts, ends = place_words(passage, self.tokeniser, divided.text)
        lines = np.searchsorted(divided.breaks, starts) if divided.breaks else None
        if lines is not None:
            lines[np.isin(starts, divided.marks)] = -1
        punctuation = _find_punctuation(divided.text, words, starts, ends)
        layout = find_layout(passage, divided.unwrapped)
        pieces = layout and layout.place(starts)
        return [
            Part(
                words[begin:end],
                starts[begin:end],
                ends[begin:end],
                None if lines is None else lines[begin:end],
                None if punctuation is None else punctuation[begin:end],
                layout,
                None if pieces is None else pieces[begin:end],
            )
            for begin, end in windows(len(words), self.window, self.stride)
        ]


def count_words(parts: Iterable[Part]) -> int:
    """Words of all parts. A word that stands in several parts is counted once for each."""
    return sum(len(part.words) for part in parts)


@cache
def is_punctuation(character: str) -> bool:
    """Whether a character is punctuation: neither a letter, a digit nor a symbol such as %."""
    return unicodedata.category(character)[0] == "P" and character not in _SYMBOLS


def _find_punctuation(
    text: str, words: list[str], starts: np.ndarray, ends: np.ndarray
) -> np.ndarray | None:
    """`Part.punctuation` of a whole passage. Shape: starts, ends -> [words] bool"""

    @cache  # words of one unit, which may be long, have the same place
    def is_alone(start: int, end: int) -> bool:
        return all(map(is_punctuation, text[start:end]))

    found = np.zeros(len(words), bool)
    for i in [i for i, word in enumerate(words) if not word[0].isalnum()]:
        found[i] = is_alone(starts[i], ends[i])
    return found if found.any() and not found.all() else None
