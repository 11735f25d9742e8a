"""What a passage's layout says of where an answer stands: in a row, a list's item or a line that a
question names, and in a column that it names.

Small networks bind a cell badly to the name of its column and to its row's other cells, which may
stand far away. So the logits of words there are raised by how much of the question stands beside
them, and by how much of the column's name stands in the question.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from fabir.text.dates import may_have_date, name_months
from fabir.text.normalise import STOP_WORDS

# What is added to logits at most. Fitted to held-back tables and documents, see dev/LOG.md.
_ROW, _LINE, _COLUMN = 1.7, 0.45, 1.15
_beginning = itemgetter(slice(5))  # the letters of a word that count: "crosses" is "crossing"
_SHORTEST = 3  # letters of a column's short name: "lat" is "latitude"

_BLOCK = re.compile(r"(?:[^\n]+(?:\n|\Z))+")  # lines without an empty one between
_FILLED = re.compile(r"^[^\S\n]*\S[^\n]*", re.MULTILINE)  # a line that is not blank
_GAP = re.compile(r"\t|(?<=\S)[^\S\n]{3,}(?=\S)")
_LABELLED = re.compile(r"\s*([^\s:][^:\n]{0,40}?):[^\S\n]+(?=\S)")
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

Words = frozenset[str]
_NO_WORDS: Words = frozenset()


class Piece(NamedTuple):
    """A cell, or a line that is no part of a table.

    start, end: half-open character offsets
    row: number of its row; a line is a row of its own
    name: words of its column's name; none for a line
    """

    start: int
    end: int
    row: int
    name: Words


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The pieces of a passage, in their order.

    rows: the words of each row, without names of columns
    weights: what is added to the logits of a row that has all words of the question
    """

    pieces: list[Piece]
    rows: list[Words]
    weights: list[float]

    def place(self, starts: np.ndarray) -> np.ndarray:
        """The number of the piece in which each word begins, -1 for none.

        Shape: starts [words], character offsets -> [words]
        """
        begins, ends = np.array([piece[:2] for piece in self.pieces]).T
        found = np.searchsorted(begins, starts, side="right") - 1
        return np.where(starts < ends[found], found, -1)

    def support(self, question: str) -> np.ndarray:
        """What is added to the logits of each piece's words; the last number is 0, for words of
        none. What a row has of the question counts the more, the fewer rows have it.

        Shape: -> [pieces + 1] float32
        """
        asked = _words(name_months(question))
        shared = [row & asked for row in self.rows]
        counts = Counter(chain.from_iterable(shared))
        rarity = {word: math.log((len(shared) + 1) / n) for word, n in counts.items()}
        whole = sum(rarity.values()) if len(shared) > 1 else math.inf
        of_rows = [
            weight * sum(map(rarity.__getitem__, words)) / whole if words else 0.0
            for weight, words in zip(self.weights, shared, strict=True)
        ]
        named = asked | {word[:n] for word in asked for n in range(_SHORTEST, len(word))}
        of_pieces = [
            of_rows[piece.row] + _COLUMN * len(piece.name & named) / max(len(piece.name), 1)
            for piece in self.pieces
        ]
        return np.array([*of_pieces, 0.0], np.float32)


def find_layout(text: str, unwrapped: str) -> Layout | None:
    """The layout of a passage; None if it is one line.

    Args:
        unwrapped: as `fabir.text.lines.divide` has it
    """
    if "\n" not in text:
        return None
    layout = Layout([], [], [])
    dated = name_months if may_have_date(text) else str  # most texts have no date
    for block in _BLOCK.finditer(text):
        weight = _ROW
        lines = [found.span() for found in _FILLED.finditer(text, *block.span())]
        rows = _aligned(text, lines) or _labelled(text, lines)
        if not rows:
            weight = _LINE
            lines = [found.span() for found in _FILLED.finditer(unwrapped, *block.span())]
            rows = [[Cell(*line)] for line in lines]
        for row in rows:
            layout.pieces.extend(
                Piece(start, end, len(layout.rows), _words(name) if name else _NO_WORDS)
                for start, end, name in row
            )
            cells = "\n".join(text[start:end] for start, end, _ in row)
            layout.rows.append(_words(dated(cells)))
            layout.weights.append(weight)
    return layout if layout.pieces else None


class Cell(NamedTuple):
    """Half-open character offsets, and the name of the column."""

    start: int
    end: int
    name: str = ""


def _aligned(text: str, lines: Sequence[tuple[int, int]]) -> list[list[Cell]]:
    """The rows of a table below the names of its columns; none if the lines are no table."""
    names = [text[slice(*place)] for place in _split(text, *lines[0])] if len(lines) > 1 else []
    if len(names) < 2:
        return []
    split = [list(_split(text, *line)) for line in lines[1:]]
    fits = [len(row) == len(names) for row in split]
    if 2 * sum(fits) < len(fits):
        return []
    rows = [
        map(Cell, *zip(*row, strict=True), names if fit else repeat(""))
        for row, fit in zip(split, fits, strict=True)
    ]
    return [[cell for cell in row if cell.start < cell.end] for row in rows]


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Half-open offsets of the cells of a line, empty ones between tabs too."""
    gaps = chain.from_iterable(gap.span() for gap in _GAP.finditer(text, start, end))
    borders = [start, *gaps, end]
    for begin, stop in zip(borders[::2], borders[1::2], strict=True):
        cell = text[begin:stop]
        stop = begin + len(cell.rstrip())
        yield min(stop, begin + len(cell) - len(cell.lstrip())), stop


def _labelled(text: str, lines: Sequence[tuple[int, int]]) -> list[list[Cell]]:
    """One row of lines with a name and a value each; none if most lines have no name."""
    found = [(_LABELLED.match(text, *line), line[1]) for line in lines]
    row = [Cell(label.end(), end, label[1]) for label, end in found if label]
    different = len({cell.name for cell in row}) == len(row)
    return [row] if 2 * len(row) > len(lines) and different else []


def _words(text: str) -> Words:
    """The beginnings of a text's words with content."""
    words = set(_WORD.findall(_CAMEL.sub(" ", text).lower()))
    return frozenset(map(_beginning, words - STOP_WORDS))
