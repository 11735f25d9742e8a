"""Pieces of lines in bands: what stands beside each other, in blocks from left to right."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from operator import attrgetter

from fabir.documents.page_layout import Line, are_cells, join, rows

_APART = 0.3  # least space between blocks, in line heights
_STEP = 0.7, 1.5  # from line to line of a cell, in line heights
_ALIGNED = 2.0  # most distance between the sides or middles of lines in a cell, in line heights
_SAME_CELL = 1.2  # a larger ratio of sizes is between cells
_LEVEL = 0.25  # most distance between the middles of lines in a row, in line heights
_WIDTH = 20  # the most cells of two rows that are looked at
_ADDRESS = 10  # the most lines of an address
_left = attrgetter("left")
_WORD = re.compile(r"[^\W\d_]{4}")  # what marks, numbers and formulas lack
_ITEM = re.compile(r"\(?\w{1,3}[.)]")
_YEAR = re.compile(r"(1[5-9]|20)\d\d")
# Such as "$ 12.5", "Rs 0" or "24 months".
_MEASURE = re.compile(r"(?:[^\W\d]{1,3}\.?\s)?\W{0,2}\d[\d.,]*\W?\s?\w{0,8}")


class Block:
    """Pieces that stand below each other, with space on both sides."""

    def __init__(self, pieces: list[Line]) -> None:
        self.pieces = pieces
        self.left = min(piece.left for piece in pieces)
        self.right = max(piece.right for piece in pieces)
        self.top = min(piece.top for piece in pieces)
        self.bottom = max(piece.bottom for piece in pieces)
        self.size = pieces[0].size

    @cached_property
    def lines(self) -> list[Line]:
        return to_lines(self.pieces)

    @cached_property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def is_bold(self) -> bool:
        return all(piece.bold for piece in self.pieces)

    @property
    def is_partly_bold(self) -> bool:
        return any(piece.bold for piece in self.pieces) and not self.is_bold

    @property
    def is_year(self) -> bool:
        return bool(_YEAR.fullmatch(self.text))

    @cached_property
    def is_value(self) -> bool:
        """Whether it is a number, a date or a code: digits, and not many letters."""
        digits = sum(map(str.isdigit, self.text))
        letters = sum(map(str.isalpha, self.text))
        if not digits or _ITEM.fullmatch(self.text):
            return False
        is_code = digits > 2 and 2 * digits >= letters and not any(map(str.isspace, self.text))
        return is_code or digits >= letters or bool(_MEASURE.fullmatch(self.text))

    @property
    def is_filler(self) -> bool:
        """Whether it may stand in place of a value, such as a dash or "n/a"."""
        return not self.is_value and (len(self.text) <= 3 or not any(map(str.isalpha, self.text)))


Band = list[Block]


def to_lines(pieces: Iterable[Line]) -> list[Line]:
    """A line for each row."""
    return [line for row in rows(pieces) if (line := join(row)).text]


def bands(pieces: Sequence[Line]) -> Iterator[Band]:
    """Cells that stand beside each other, or beside one of the others, from top to bottom.

    Args:
        pieces: in the order of the file, where the lines of a cell follow each other
    """
    band: list[Line] = []
    bottom = 0.0
    for cell in sorted(_cells(pieces), key=_top):
        if band and bottom - _top(cell) < cell[0].size / 3:
            yield from _rows_apart(blocks(band))
            band = []
        lowest = max(piece.bottom for piece in cell)
        bottom = max(bottom, lowest) if band else lowest
        band += cell
    if band:
        yield from _rows_apart(blocks(band))


def _cells(pieces: Sequence[Line]) -> Iterator[list[Line]]:
    """Pieces that follow each other in the file, and below or above each other on the page."""
    cell = list(pieces[:1])
    for number in range(1, len(pieces)):
        if not _is_next_line(pieces[number - 1], pieces[number]) or _is_table_edge(pieces, number):
            yield cell
            cell = []
        cell.append(pieces[number])
    if cell:
        yield cell


def _is_table_edge(pieces: Sequence[Line], number: int) -> bool:
    """Whether one of two lines is a cell of a first or last row of a table, the other one no cell.

    A line above or below a table stands above or below the next cell too.
    """
    last, piece = pieces[number - 1], pieces[number]
    if number > 1 and _is_over(pieces[number - 2], piece) and _is_beside(pieces[number - 2], last):
        return _begins_rows(pieces[max(0, number - _WIDTH) : number][::-1])
    if number + 1 == len(pieces) or not _is_over(pieces[number + 1], last):
        return False
    return _begins_rows(pieces[number : number + _WIDTH])


def _begins_rows(pieces: Sequence[Line]) -> bool:
    """Whether two rows of several cells come first."""
    end = 1
    while end < len(pieces) and _is_beside(pieces[end - 1], pieces[end]):
        end += 1
    return 1 < end < len(pieces) - 1 and _is_beside(pieces[end], pieces[end + 1])


def _is_beside(piece: Line, other: Line) -> bool:
    """Whether they are cells of a row."""
    level = abs(piece.middle - other.middle) < _LEVEL * piece.size
    return level and are_cells(*sorted((piece, other), key=_left))


def _is_over(piece: Line, other: Line) -> bool:
    return min(piece.right, other.right) > max(piece.left, other.left)


def _is_next_line(last: Line, piece: Line) -> bool:
    small, large = sorted((last.size, piece.size))
    least, most = _STEP
    return (
        last.bold == piece.bold
        and large < _SAME_CELL * small
        and least * small < abs(piece.top - last.top) < most * large
        and _is_over(last, piece)
        and _shift(last, piece) < _ALIGNED * large
    )


def _shift(last: Line, piece: Line) -> float:
    """The least distance between the left sides, right sides or middles of two lines."""
    left, right = piece.left - last.left, piece.right - last.right
    return min(abs(left), abs(right), abs(left + right) / 2)


def _top(cell: Iterable[Line]) -> float:
    return min(piece.top for piece in cell)


def blocks(pieces: Iterable[Line]) -> Band:
    """Pieces divided where there is space from top to bottom."""
    found: list[list[Line]] = []
    right = 0.0
    for piece in sorted(pieces, key=lambda piece: piece.left):
        if not found or piece.left - right > _APART * piece.size:
            found.append([])
            right = piece.right
        found[-1].append(piece)
        right = max(right, piece.right)
    return [Block(each) for each in found]


def _rows_apart(band: Band) -> list[Band]:
    """The rows of a table that is written column by column, or of its head; else the band."""
    if _is_table(band) or _is_head(band):
        return [blocks(row) for row in rows(piece for block in band for piece in block.pieces)]
    return [band]


def _is_table(band: Band) -> bool:
    if len(band) < 2 or min(len(block.pieces) for block in band) < 2:
        return False
    longest = max(band, key=lambda block: len(block.lines))
    level = all(
        len(block.lines) > 1 and not _flows(block) and _is_level(block, longest) for block in band
    )
    return level and any(map(_is_column, band)) and len(groups(band)) == 1


def _is_head(band: Band) -> bool:
    """Whether three bold blocks or more begin level with each other, and one has a gap."""
    return (
        len(band) > 2
        and all(block.is_bold for block in band)
        and all(abs(block.top - band[0].top) < _LEVEL * block.size for block in band)
        and any(map(_has_gap, band))
    )


def _has_gap(block: Block) -> bool:
    """Whether its lines do not follow each other."""
    return any(after.top - last.top > _STEP[1] * last.size for last, after in pairwise(block.lines))


def _is_column(block: Block) -> bool:
    """Whether most lines are values, or labels."""
    cells = [Block([line]) for line in block.lines]
    return 2 * sum(cell.is_value or cell.text.endswith(":") for cell in cells) >= len(cells)


def groups(band: Band) -> list[list[Line]]:
    """The pieces of a band, divided between blocks of lines that are not rows of one table."""
    found = [list(band[0].pieces)]
    for left, right in pairwise(band):
        if _are_apart(left, right):
            found.append([])
        found[-1] += right.pieces
    return found


def _are_apart(left: Block, right: Block) -> bool:
    """Whether the lines of two blocks are not level, or both are texts or addresses."""
    if len(left.pieces) + len(right.pieces) < 3:
        return False
    short, long = sorted((left, right), key=lambda block: len(block.lines))
    if len(long.lines) < 2 or not (_WORD.search(short.text) and _WORD.search(long.text)):
        return False
    if not _is_level(short, long):
        return not _has_pairs(left, right)
    return len(short.lines) > 1 and all(_is_address(each) or _flows(each) for each in (left, right))


def _is_level(block: Block, other: Block) -> bool:
    """Whether each line of a block is level with a line of the other one."""
    return len(_level(block, other)) == len(block.lines)


def _level(block: Block, other: Block) -> list[Line]:
    """The lines of a block that are level with a line of the other one."""
    middles = sorted(line.middle for line in other.lines)
    found = []
    for line in block.lines:
        nearest = bisect_left(middles, line.middle - _LEVEL * line.size)
        if nearest < len(middles) and middles[nearest] <= line.middle + _LEVEL * line.size:
            found.append(line)
    return found


def _has_pairs(left: Block, right: Block) -> bool:
    """Whether most lines on the right are values, level with lines on the left that are none."""
    values = sum(Block([line]).is_value for line in _level(right, left))
    labels = not any(Block([line]).is_value for line in left.lines)
    return labels and values > 1 and 2 * values > len(right.lines)


def has_rows_apart(band: Band) -> bool:
    """Whether a part of the band is rows of its own, such as labels and values beside a text."""
    apart = groups(band)
    return len(apart) > 1 and any(_is_table(blocks(group)) for group in apart)


def _is_address(block: Block) -> bool:
    """Whether some lines have numbers and others have none, and not most are values."""
    count = len(block.lines)
    numbers = sum(any(map(str.isdigit, line.text)) for line in block.lines)
    values = sum(Block([line]).is_value for line in block.lines)
    few = 2 * values <= count if count > 4 else 2 * values < count
    return few and count <= _ADDRESS and count / 4 <= numbers < count


def _flows(block: Block) -> bool:
    """Whether most lines go on with the sentence of the line before."""
    on = [last.text[-1] in ",-" or line.text[0].islower() for last, line in pairwise(block.lines)]
    return bool(on) and 2 * sum(on) >= len(on)
