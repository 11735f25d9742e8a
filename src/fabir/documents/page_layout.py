"""Words on a page, the pieces of lines that they make, and rows of pieces that are one line.

Places are in points, from the left and from the top of the page.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

SAME_SIZE = 1.12  # a larger ratio of sizes is between text of different kinds
_CELL = 0.9  # a wider space, in line heights, separates cells or columns
_AFTER_SENTENCE = 2.0  # the same after a full stop
COLUMN_LINES = 3  # least number of lines in a column of text
_PROSE = 12  # least mean number of characters in the lines of a column
_RUN_ON = 0.3  # least share of a column's lines that begin with a small letter
_CELL_GAP = "   "
_LEADER = re.compile(r"(?:\s*[.·…]){5,}\s*")
_DOTS = ".·…"
_TOUCHING = 0.2  # most space between a word and a raised number after it, in line heights
_SMALLER = 0.9  # most height of a raised number, in that of the word before it
_RAISED = 0.2, 0.8  # how far it stands above the word's line, in line heights
_NO_BASE = "([{<+-−–=/*×·"  # what has no exponent
_EXPONENT = re.compile(r"[+−-]?\d+(?:,\d+)*")
_MARK = re.compile(r"[^\w\s]|\(?\w{1,4}[.)]|\d+(?:\.\d+)+")  # of an item of a list, or a section


Box = tuple[float, float, float, float]  # left, top, right, bottom


class Word(NamedTuple):
    """quarter: clockwise turns by 90 degrees. The places are those after turning it upright."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    bold: bool = False
    quarter: int = 0


@dataclass(slots=True)
class Line:
    """A piece of a line, or a whole line, or a row of a table.

    top, bottom: those of a word of the size that most letters have; first: width of its first word
    cells: number of parts with wide spaces between them
    joint: what stands before a line of a table's cell; "" if that depends on the lines of the cell
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    bold: bool
    quarter: int
    first: float
    cells: int = 1
    joint: str | None = None

    @property
    def size(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass(slots=True)
class Page:
    """columns: lines in reading order, a column or a part of one; notes: paragraphs after them"""

    columns: list[list[Line]]
    notes: list[str] = field(default_factory=list)


def rows(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines that stand beside each other, from top to bottom, each row from left to right."""
    row: list[Line] = []
    for line in sorted(lines, key=attrgetter("middle")):
        if row and line.middle > (row[0].middle + row[0].bottom) / 2:
            yield sorted(row, key=attrgetter("left"))
            row = []
        row.append(line)
    if row:
        yield sorted(row, key=attrgetter("left"))


def pieces_of(words: Iterable[Word]) -> Iterator[Line]:
    """Join words that follow each other in the file and on the page; "^" before raised numbers."""
    piece: Line | None = None
    last: Word | None = None
    letters: Counter[float] = Counter()  # of each size
    for word in words:
        if piece and last and _follows(piece, word):
            piece.text += ("^" if _is_exponent(last, word) else " ") + word.text
            piece.left, piece.right = min(piece.left, word.left), max(piece.right, word.right)
            piece.bold &= word.bold
            size = _count(letters, word)
            if letters[size] == max(letters.values()):
                piece.top, piece.bottom = word.top, word.bottom
        else:
            if piece:
                yield piece
            piece = Line(*word, first=word.right - word.left)
            letters.clear()
            _count(letters, word)
        last = word
    if piece:
        yield piece


def _count(letters: Counter[float], word: Word) -> float:
    """Count the letters of a word among those of its size, which is returned.

    Dots of a leader are no letters: some files have their own, small height for them.
    """
    size = round(word.bottom - word.top, 1)
    letters[size] += len(word.text.strip(_DOTS))
    return size


def is_exponent(text: str, base: str) -> bool:
    """Whether a raised text may be an exponent of what is before it, or a mark of a note."""
    return bool(_EXPONENT.fullmatch(text)) and base[-1:] not in _NO_BASE


def _is_exponent(last: Word, word: Word) -> bool:
    return bool(
        is_exponent(word.text, last.text)
        and word.left - last.right < _TOUCHING * (last.bottom - last.top)
        and is_raised(last[1:5], word[1:5])
    )


def is_raised(base: Box, mark: Box) -> bool:
    """Whether a mark stands above the line of the text before it, in smaller letters."""
    height = base[3] - base[1]
    least, most = _RAISED
    smaller = mark[3] - mark[1] < _SMALLER * height
    return smaller and least * height < base[3] - mark[3] < most * height


def _follows(piece: Line, word: Word) -> bool:
    height = min(piece.size, word.bottom - word.top)
    shared = min(piece.bottom, word.bottom) - max(piece.top, word.top)
    if word.text[0] in _DOTS and not word.text.strip(_DOTS):
        height, shared = piece.size, shared + piece.size / 2
    gap = max(word.left - piece.right, piece.left - word.right)
    return shared > height / 2 and -height < gap < height * _CELL


def is_prose(pieces: Collection[Line]) -> bool:
    if len(pieces) < COLUMN_LINES:
        return False
    begins = [piece.text[0] for piece in pieces if piece.text[0].isalpha()]
    run_on = sum(not letter.isupper() for letter in begins)
    length = sum(len(piece.text) for piece in pieces) / len(pieces)
    return length >= _PROSE and len(begins) > 1 and run_on >= _RUN_ON * len(begins)


def join(row: Sequence[Line]) -> Line:
    """One line of the pieces of a row, without dots that lead from one to the next."""
    text, cells = row[0].text, 1
    for left, right in pairwise(row):
        apart = are_cells(left, right) and not (left is row[0] and _MARK.fullmatch(left.text))
        cells += apart
        text += (_CELL_GAP if apart else " ") + right.text
    text, leaders = _LEADER.subn(_CELL_GAP, text)
    if len(row) == 1 and not leaders:
        return row[0]
    longest = max(row, key=lambda piece: len(piece.text))
    return replace(
        longest,
        text=text.strip(),
        left=min(piece.left for piece in row),
        right=max(piece.right for piece in row),
        bold=all(piece.bold for piece in row),
        first=row[0].first,
        cells=cells + leaders,
    )


def are_cells(left: Line, right: Line) -> bool:
    """Whether the space between two pieces of a row is wide."""
    small, large = sorted((left.size, right.size))
    sentence = left.text[-1] in ".!?" and large < SAME_SIZE * small
    return right.left - left.right > (_AFTER_SENTENCE if sentence else _CELL) * large
