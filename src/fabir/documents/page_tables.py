"""Pieces of lines to lines in reading order: rows of tables, blocks beside each other, other rows.

A row of a table whose columns have clear names is a paragraph of lines "name: cell". What is less
clear stays as it is: the cells of a row with wide spaces between them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from fabir.documents.page_layout import Line, join, rows
from fabir.documents.tables import row_text

_APART = 0.5  # least space between blocks, in line heights
_STEP = 0.7, 1.5  # from line to line of a cell, in line heights
_SAME_CELL = 1.2  # a larger ratio of sizes is between cells
_LEVEL = 0.25  # most distance between the middles of lines in a row, in line heights
_NAME = 80  # the most characters of the name of a column
_LEVELS = 3  # the most rows of names
_GAP = 4.0  # most space between rows of a table, in line heights, ...
_WIDER = 1.6  # ... or in the largest space between the rows above
_PURE = 0.75  # least share of values in a column of values
_YEAR = re.compile(r"(1[5-9]|20)\d\d")
_MEASURE = re.compile(r"\W{0,2}\d[\d.,]*\W?\s?\w{0,8}")  # such as "$ 12.5" or "24 months"


@dataclass
class _Block:
    """Pieces that stand below each other, apart from those on both sides."""

    pieces: list[Line]

    @cached_property
    def left(self) -> float:
        return min(piece.left for piece in self.pieces)

    @cached_property
    def right(self) -> float:
        return max(piece.right for piece in self.pieces)

    @cached_property
    def top(self) -> float:
        return min(piece.top for piece in self.pieces)

    @cached_property
    def bottom(self) -> float:
        return max(piece.bottom for piece in self.pieces)

    @property
    def size(self) -> float:
        return self.pieces[0].size

    @cached_property
    def lines(self) -> list[Line]:
        return to_lines(self.pieces)

    @cached_property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def is_bold(self) -> bool:
        return all(piece.bold for piece in self.pieces)

    @cached_property
    def is_value(self) -> bool:
        """Whether it is a number, a date, a code: of digits more than of letters."""
        digits = sum(map(str.isdigit, self.text))
        letters = sum(map(str.isalpha, self.text))
        return digits > 0 and (digits >= letters or bool(_MEASURE.fullmatch(self.text)))

    @property
    def is_filler(self) -> bool:
        """Whether it may stand in place of a value, such as a dash or "n/a"."""
        return not self.is_value and (len(self.text) <= 3 or not any(map(str.isalpha, self.text)))

    @property
    def can_name(self) -> bool:
        return len(self.text) <= _NAME and bool(not self.is_value or _YEAR.fullmatch(self.text))


_Band = list[_Block]  # blocks beside each other, from left to right


def to_lines(pieces: Iterable[Line]) -> list[Line]:
    """A line for each row."""
    return [line for row in rows(pieces) if (line := join(row)).text]


def parts(pieces: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines of a column of a page in reading order, in parts that are read one by one."""
    plain: list[Line] = []
    bands = [band for each in _bands(pieces) for band in _single_rows(each)]
    number = 0
    while number < len(bands):
        if table := _find_table(bands, number):
            found = table.parts()
            number += table.length
        else:
            groups = _groups(bands[number])
            found = (part for group in groups for part in parts(group)) if len(groups) > 1 else ()
            number += 1
        ...


def _cells(pieces: Sequence[Line]) -> Iterator[list[Line]]:
    """Pieces that follow each other in the file, and below or above each other on the page."""
    cell = list(pieces[:1])
    for last, piece in pairwise(pieces):
        if not _is_next_line(last, piece):
            yield cell
            cell = []
        cell.append(piece)
    if cell:
        yield cell


def _is_next_line(last: Line, piece: Line) -> bool:
    small, large = sorted((last.size, piece.size))
    least, most = _STEP
    return (
        last.bold == piece.bold
        and large < _SAME_CELL * small
        and least * small < abs(piece.top - last.top) < most * large
        and min(last.right, piece.right) > max(last.left, piece.left)
    )


def _bands(pieces: Sequence[Line]) -> Iterator[_Band]:
    """Cells that stand beside each other, or beside one of the others, from top to bottom."""
    band: list[Line] = []
    bottom = 0.0
    for top, cell in sorted(((min(p.top for p in cell), cell) for cell in _cells(pieces)), key=lambda each: each[0]):
        if band and bottom - top < cell[0].size / 3:
            yield _blocks(band)
            band = []
        bottom = max([bottom if band else -inf, *(piece.bottom for piece in cell)])
        band += cell
    if band:
        yield _blocks(band)


def _blocks(pieces: Sequence[Line]) -> _Band:
    blocks: list[list[Line]] = []
    right = 0.0
    for piece in sorted(pieces, key=lambda piece: piece.left):
        if not blocks or piece.left - right > _APART * piece.size:
            blocks.append([])
            right = piece.right
        blocks[-1].append(piece)
        right = max(right, piece.right)
    return [_Block(block) for block in blocks]
