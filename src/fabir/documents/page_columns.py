"""Columns of a page in reading order: found by the white space between them.

Places are in points, from the left and from the top of the page.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf
from operator import attrgetter
from statistics import median

from fabir.documents.page_layout import Line, Word, is_prose, pieces_of, rows

_GUTTER = 0.4  # least width of the space between columns, in line heights
_TERM = 20  # more characters than a usual line has in a column of terms
_ABOVE = 1.5  # most space between tables beside each other and their names, in line heights
_ROWS = 3  # least number of rows of a table beside another one
_left, _right = attrgetter("left"), attrgetter("right")


@dataclass(slots=True)
class _Gutter:
    """White space between columns, and the pieces of lines on both sides of it, by their ids."""

    left: float
    right: float
    top: float
    bottom: float
    before: dict[int, Line]
    after: dict[int, Line]


def columns(words: Iterable[Word]) -> Iterator[list[Line]]:
    """The pieces of lines of a page, column by column in reading order.

    Args:
        words: in the order of the file
    """
    pieces = list(pieces_of(words))
    order = {id(piece): number for number, piece in enumerate(pieces)}
    pairs = {
        id(left): id(right)
        for left, right in pairwise(pieces)
        if left.right < right.left and _is_beside(left, right)
    }
    gutters = [each for each in _gutters(pieces) if _divides(each, order, pairs)]
    for gutter in gutters:
        _raise(gutter, pieces)
        _lower(gutter, pieces)
    yield from _columns(pieces, gutters)


def _gutters(pieces: Sequence[Line]) -> Iterator[_Gutter]:
    """The spaces between pieces that stand beside each other."""
    if not pieces:
        return
    least = _GUTTER * median(piece.size for piece in pieces)
    opened: list[_Gutter] = []
    near: list[Line] = []  # pieces that may stand beside the next one
    for piece in chain.from_iterable(rows(pieces)):
        for gutter in [each for each in opened if not _narrow(each, piece, least)]:
            opened.remove(gutter)
            gutter.bottom = piece.top
            yield gutter
        near = [each for each in near if _is_beside(each, piece)]
        before = max((each for each in near if each.right < piece.left), key=_right, default=None)
        after = min((each for each in near if each.left > piece.right), key=_left, default=None)
        for left, right in ((before, piece), (piece, after)):
            if left and right and right.left - left.right >= least:
                _open(opened, left, right)
        near.append(piece)
    for gutter in opened:
        gutter.bottom = max(piece.bottom for piece in pieces)
        yield gutter


def _is_beside(piece: Line, other: Line) -> bool:
    shared = min(piece.bottom, other.bottom) - max(piece.top, other.top)
    return shared > min(piece.size, other.size) / 3


def _open(opened: list[_Gutter], left: Line, right: Line) -> None:
    """Note that two pieces face each other: across an open gutter, or across a new one."""
    for gutter in opened:
        if left.right <= gutter.left and gutter.right <= right.left:
            break
    else:
        gutter = _Gutter(left.right, right.left, max(left.top, right.top), 0, {}, {})
        opened.append(gutter)
    gutter.before[id(left)] = left
    gutter.after[id(right)] = right


def _narrow(gutter: _Gutter, piece: Line, least: float) -> bool:
    """Whether the gutter goes on beside a piece; makes it as narrow as the piece needs."""
    left, right = gutter.left, gutter.right
    if piece.left <= left:
        left = max(left, piece.right)
    elif piece.right >= right:
        right = min(right, piece.left)
    elif piece.right > left and piece.left < right:
        return False
    if right - left < least:
        return False
    gutter.left, gutter.right = left, right
    return True


def _divides(gutter: _Gutter, order: dict[int, int], pairs: dict[int, int]) -> bool:
    """Whether a gutter is between columns of text, or between tables beside each other.

    A table is written row by row, text column by column. Text that is written row by row has full
    lines, and its lines on the left are longer than terms with their meanings beside them.

    Args:
        order: places in the file, by ids of pieces
        pairs: ids of pieces that stand beside each other and follow each other in the file
    """
    before, after = gutter.before, gutter.after
    if is_prose(before.values()) and is_prose(after.values()):
        lefts = [left for left in before if pairs.get(left) in after]
        rights = [pairs[left] for left in lefts]
        if 2 * len(lefts) < len(before):
            return True
        terms = sum(len(before[each].text) for each in lefts) < _TERM * len(lefts)
        return not terms and (_wraps(before, lefts) or _wraps(after, rights))
    ends, begins = before.keys() & pairs.values(), after.keys() & pairs.keys()
    in_order = max(order[each] for each in before) < min(order[each] for each in after)
    return in_order and min(len(ends), len(begins)) >= _ROWS


def _wraps(pieces: dict[int, Line], chosen: Iterable[int]) -> bool:
    """Whether most lines that begin with a small letter had no room in the line before."""
    lines = [pieces[each] for each in chosen]
    right = max(map(_right, lines), default=0)
    full = [
        " " in line.text and last.right + line.first + line.size / 4 > right
        for last, line in pairwise(lines)
        if line.text[0].islower()
    ]
    return 2 * sum(full) > len(full)


def _raise(gutter: _Gutter, pieces: Sequence[Line]) -> None:
    """Let a gutter begin above a row that has headings, or names of columns, on both sides.

    Then let it go on upwards beside lines of the column on its right.
    """
    sides = gutter.before.values(), gutter.after.values()
    above = _just_above(gutter, pieces, 1.0 if any(map(is_prose, sides)) else _ABOVE)
    left = max((each.right for each in above if each.left < gutter.left), default=inf)
    right = min((each.left for each in above if each.left >= gutter.left), default=-inf)
    is_row = all(_is_beside(*pair) for pair in pairwise(above))
    if is_row and max(left, gutter.left) < min(right, gutter.right):
        gutter.top = min(each.top for each in above)
    while _go_on_above(gutter, above := _just_above(gutter, pieces)):
        gutter.top = min(each.top for each in above)


def _just_above(gutter: _Gutter, pieces: Iterable[Line], most: float = 1.0) -> list[Line]:
    """Pieces above a gutter. most: space between them, in line heights"""
    return [
        each
        for each in pieces
        if each.middle < gutter.top and gutter.top - each.bottom < most * each.size
    ]


def _go_on_above(gutter: _Gutter, above: Iterable[Line]) -> bool:
    """Whether pieces are lines of the columns, with one in the column on the right."""
    column = gutter.after.values()
    left, right = median(map(_left, column)), max(map(_right, column))
    after = [each for each in above if each.right > gutter.left]
    return bool(after) and all(
        abs(each.left - left) < each.size / 4 and each.right < right + each.size for each in after
    )


def _lower(gutter: _Gutter, pieces: Iterable[Line]) -> None:
    """Let a gutter end above a bold row that is below both columns: it is a heading of the rest."""
    end = max(each.bottom for each in chain(gutter.before.values(), gutter.after.values()))
    below = [each for each in pieces if end <= each.middle < gutter.bottom]
    is_row = all(_is_beside(*pair) for pair in pairwise(below))
    if below and is_row and all(each.bold for each in below):
        gutter.bottom = min(each.top for each in below)


def _columns(pieces: list[Line], gutters: list[_Gutter]) -> Iterator[list[Line]]:
    """Parts of the page in reading order: above a gutter, left of it, right of it, below it."""
    if not gutters or not pieces:
        yield from [pieces] if pieces else []
        return
    tallest = max(gutters, key=lambda gutter: gutter.bottom - gutter.top)
    parts: list[list[Line]] = [[], [], [], []]
    for piece in pieces:
        if piece.middle < tallest.top:
            parts[0].append(piece)
        elif piece.middle > tallest.bottom:
            parts[3].append(piece)
        else:
            parts[1 if piece.left < tallest.left else 2].append(piece)
    rest = [gutter for gutter in gutters if gutter is not tallest]
    for part in parts:
        yield from _columns(part, rest)
