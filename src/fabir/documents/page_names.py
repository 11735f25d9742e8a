"""Names of the columns of tables on pages: one for each column, and some above several columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fabir.documents.page_bands import Band, Block, blocks
from fabir.documents.page_layout import Line, rows

_LONGEST = 80, 120  # characters of a name in one row of names, and of a column's whole name
_CENTRED = 1.5  # most distance from the middle of the columns below, in line heights
# A name begins with a letter, a digit or the sign of a unit.
_BEGINS = re.compile(r"[(*]?[^\W_]|[#%$€£№°Δ±]\W?\w{0,9}$")
# What has a value itself, such as "Median: 4.3", a code, the number of a page.
_NO_NAME = re.compile(r".*(?::\s*\W?\d|\d{6})|(?=(?:[^\s\d]*\d){3})\S+$|[ivx]{2,5}$")


@dataclass(eq=False)
class Column:
    left: float
    right: float
    name: str = ""

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    def has(self, block: Block) -> bool:
        return min(self.right, block.right) > max(self.left, block.left)


def can_name(block: Block) -> bool:
    """Whether it may be the name of a column, or a label."""
    if sum(len(piece.text) for piece in block.pieces) > _LONGEST[0]:
        return False
    text = block.text
    return block.is_year or bool(
        _BEGINS.match(text) and not _NO_NAME.match(text) and not block.is_value
    )


class Names:
    """
    Args:
        heads: the bands of the names; the last one has one for each column

    blocks: the names of one column each
    """

    def __init__(self, heads: Sequence[Band]) -> None:
        self.heads = heads
        self.blocks: list[Block] = []
        self._uppers: list[tuple[Band, list[Block]]] = [(band, []) for band in heads[:-1]]
        for block in heads[-1]:
            names, rest = _split(block)
            self.blocks += names
            self._uppers += [(blocks(row), names) for row in rows(rest)]

    def columns(self) -> list[Column]:
        return [Column(block.left, block.right) for block in self.blocks]

    def has_rows(self, bands: Sequence[Band], columns: Sequence[Column]) -> bool:
        """Whether a band has a block above each name, and no other: it is a row of the table."""
        places = [[column for column in columns if column.has(name)] for name in self.blocks]
        return any(
            places == [[column for column in columns if column.has(block)] for block in band]
            for band in bands
        )

    def give(self, columns: Sequence[Column]) -> bool:
        """Name the columns; returns whether all names stand above columns and are short."""
        for band, below in self._uppers:
            inner = [each for each in columns if any(map(each.has, below))] or columns[1:]
            named: set[Column] = set()
            for block in band:
                over = _over(block, band, inner) or [each for each in columns if each.has(block)]
                alone = len(band) == 1 and not below
                if not over or named.intersection(over):
                    return False
                if alone and (
                    len(over) < 2 or columns[0] in over or _is_caption(block, over, columns)
                ):
                    return False
                named.update(over)
                _add(block, over)
        for block in self.blocks:
            _add(block, [column for column in columns if column.has(block)])
        return all(len(column.name) <= _LONGEST[1] for column in columns)


def _split(block: Block) -> tuple[list[Block], list[Line]]:
    """The names beside each other below a common name, and the rest; else the block."""
    lowest, rest = [], []
    for piece in block.pieces:
        is_above = any(
            other.top > piece.middle and min(other.right, piece.right) > max(other.left, piece.left)
            for other in block.pieces
        )
        (rest if is_above else lowest).append(piece)
    names = blocks(lowest)
    return (names, rest) if len(names) > 1 else ([block], [])


def _is_caption(block: Block, over: Sequence[Column], columns: Sequence[Column]) -> bool:
    """Whether a text above all columns but the first is too long to be a part of their names."""
    return len(over) == len(columns) - 1 and len(block.text) > _LONGEST[0] / 2


def _over(block: Block, band: Band, columns: Sequence[Column]) -> list[Column]:
    """The columns in the middle of which a name stands, if they are several."""
    over = [
        column
        for column in columns
        if block is min(band, key=lambda each: abs(2 * each.middle - column.left - column.right))
    ]
    if len(over) < 2:
        return []
    middle = (over[0].left + over[-1].right) / 2
    return over if abs(middle - block.middle) < _CENTRED * block.size else []


def _add(block: Block, columns: Sequence[Column]) -> None:
    name = block.text.rstrip(" :")
    for column in columns:
        if column.name != name:
            column.name = f"{column.name} {name}".strip()
