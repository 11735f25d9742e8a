"""Finds the header of a block of cells: the rows that name its columns."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from fabir.documents.tables import MAX_NAME

_AMONG = 3  # the first full rows, among which the header is or begins
_RARE = 0.25  # the most cells of a column that may look as its header does
_PERIOD = re.compile(r"(?:19|20)\d\d(?:-\d\d-\d\d)?")
_NUMBER = re.compile(r"\W{0,3}\d")
_UNIT = 3  # the most letters of a number with its unit
_NO_VALUE = re.compile(r"\W+|n\W?a\W?|none|tbd|unknown", re.IGNORECASE)
_LABEL = re.compile(r"(?!.*: )[^\n]{0,99}[^\s.!?:;,]")
_ALIKE = 0.8  # the least part of a column of values that is of one kind
# Kinds of texts that cells of a column have and its name lacks, and how many such cells tell it.
_QUESTION, _NAME = re.compile(r".*\w\?"), re.compile(r"[^\W\d_a-z]\S*(?: [^\W\d_a-z]\S*)+")
_TELLING = (
    (_QUESTION, 2),
    (re.compile(r"\S+ .*\w[.!]"), 3),
    (re.compile(r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+\.\S+"), 3),
    (_NAME, 3),
)
# Kinds of cells: a text, a year or a date, another value. One may name those of a greater kind.
TEXT, COUNT, VALUE = range(3)


class Cell(NamedTuple):
    """A cell that is not blank.

    is_text: whether it is no number, date or truth value
    look: its font and fill
    width: how many columns it covers
    repeats: whether it is merged with the cell above, whose text it has
    """

    text: str
    is_text: bool = True
    look: str = ""
    width: int = 1
    repeats: bool = False


Cells = Mapping[int, Cell]  # by their columns, ascending


class Header(NamedTuple):
    """Names of columns, which stand in the rows from `start` to before `end`."""

    start: int
    end: int
    names: dict[int, str]


def find_header(rows: Sequence[Cells], needs_evidence: bool) -> Header | None:
    """The header of a block; None if it has none.

    A header has texts, or years, above cells of another kind. Or it looks unlike the cells below.
    The first full row of a block with three columns may be one without such evidence. Two columns
    may also be a form: labels with their values.

    Args:
        rows: the first rows of the block
        needs_evidence: whether it may not
    """
    filled = [_filled(row) for row in rows]

    def named(number: int) -> int:
        return filled[number] * are_names(rows[number])

    several = [count for count in filled if count > 1] or [1]
    usual = Counter(several[len(several) // 2 :]).most_common(1)[0][0]
    full = [n for n, count in enumerate(filled) if count >= max(min(2, usual), usual / 2)]
    may_be = (n for n in full[:_AMONG] if are_names(rows[n]) or begins_count(rows[n:]))
    first = next(may_be, len(rows))
    whole = [rows[n] for n in full if n > first]
    below = whole[len(whole) // 2 :]
    if not below:
        return None
    kinds, looks = kinds_of(below), _Looks(below)
    body = next((n for n in full if n > first and _has_value(rows[n], kinds)), 0)
    best = max(range(first, body), key=named, default=first)
    least = 2 if usual == 1 else 1  # a date below a title is no column
    above = [kind for n, kind in _kinds(rows[best]).items() if kinds.get(n, 0) >= kind + least]
    form = are_labelled([rows[first], *whole])
    if body and not form and (TEXT in above or len(above) > 1):  # one year may be an amount
        return _header(rows, best, body, looks)
    body = first + sum(1 for _ in takewhile(looks.differ, rows[first:]))
    if first < body < len(rows) - 2 * (usual == 1):
        return _header(rows, max(range(first, body), key=named), body, looks)
    if usual == 2:
        is_header = _reads_differently(rows[first], whole)
    else:
        is_header = usual > 2 and not needs_evidence and _may_name(rows[first], kinds)
    if form or not is_header:
        return None
    return Header(first, first + 1, _names(rows[first : first + 1]))


def are_labelled(rows: Sequence[Cells]) -> bool:
    """Whether rows are no table below its header but labels, each with its value.

    A colon ends most labels, also the first. Or there are two columns, and the values below the
    first are not of one kind.
    """
    pairs = [list(row.values()) for row in rows if len(row) > 1]
    colons = [pair[0].text.endswith(":") for pair in pairs]
    if colons and colons[0] and sum(colons) > len(colons) / 2:
        return True
    if any(len(pair) > 2 or _kind(pair[0]) != TEXT for pair in pairs):
        return False
    values = [pair[1] for pair in pairs[1:] if not _NO_VALUE.fullmatch(pair[1].text)]
    kinds = [(_kind(value) != TEXT, value.is_text) for value in values]
    return bool(kinds) and max(Counter(kinds).values()) < _ALIKE * len(kinds)


def _reads_differently(names: Cells, below: Sequence[Cells]) -> bool:
    """Whether the cells of a column are all questions, links or the like, and its name is not."""
    for column, name in names.items():
        texts = [row[column].text for row in below if column in row]
        for pattern, least in _TELLING:
            is_like = pattern.fullmatch(name.text) or (pattern == _NAME and not name.text.isalpha())
            if not is_like and len(texts) >= least and all(map(pattern.fullmatch, texts)):
                return True
    return False


def kinds_of(rows: Sequence[Cells]) -> dict[int, int]:
    """The usual kind of the cells in each column."""
    found: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for row in rows:
        for column, cell in row.items():
            found[column][_kind(cell)] += 1
    return {column: kinds.most_common(1)[0][0] for column, kinds in found.items()}


def are_names(cells: Cells) -> bool:
    """Whether a row has only short texts, years, and three or more numbers from 0 or 1 on."""
    short = all(len(each.text) <= MAX_NAME and "://" not in each.text for each in cells.values())
    return short and max(_kinds(cells).values(), default=VALUE) < VALUE


def begins_count(rows: Sequence[Cells]) -> bool:
    """Whether the first row has names, and a 0 with which a column of numbers of rows begins."""
    column = next(iter(rows[0]), 0)
    counted = [row[column].text for row in rows[:3] if column in row]
    names = {n: cell for n, cell in rows[0].items() if n != column}
    no_value = (_NO_VALUE.fullmatch(cell.text) for cell in names.values())
    return counted == ["0", "1", "2"] and are_names(names) and not any(no_value)


def label_of(cell: Cell) -> str:
    """What a cell says of the value after it, without a colon; empty if it is no label."""
    text = cell.text.rstrip(" :")
    return text if _kind(cell) == TEXT and _LABEL.fullmatch(text) else ""


def _kind(cell: Cell) -> int:
    if _PERIOD.fullmatch(cell.text):
        return COUNT
    if not cell.is_text:
        return VALUE
    is_number = _NUMBER.match(cell.text) and sum(map(str.isalpha, cell.text)) <= _UNIT
    return VALUE if is_number else TEXT


def _kinds(cells: Cells) -> dict[int, int]:
    """The kind of each cell of a row that may name columns: 1, 2, 3 ... count them."""
    kinds = {column: _kind(cell) for column, cell in cells.items()}
    values = [column for column, kind in kinds.items() if kind == VALUE]
    numbers = [cells[column].text for column in values]
    if len(numbers) > 2 and numbers[0] in ("0", "1"):
        first = int(numbers[0])
        if numbers == [str(first + step) for step in range(len(numbers))]:
            kinds |= dict.fromkeys(values, COUNT)
    return kinds


def _may_name(cells: Cells, below: Mapping[int, int]) -> bool:
    """Whether no year of a row is above other years."""
    return all(kind < below.get(column, VALUE) for column, kind in _kinds(cells).items() if kind)


def _has_value(cells: Cells, kinds: Mapping[int, int]) -> bool:
    """Whether a row has a number or the like where others have it."""
    return any(_kind(cell) == kinds.get(column) != TEXT for column, cell in cells.items())


def _header(rows: Sequence[Cells], best: int, body: int, looks: "_Looks") -> Header:
    """The header with the row `best`, and rows next to it that name the columns with it."""
    start, end = best, best + 1
    while start and _names_groups(rows[start - 1], rows[best], looks):
        start -= 1
    while end < body and len(rows[end]) > 1 and looks.differ(rows[best], rows[end]):
        end += 1
    return Header(start, end, _names(rows[start:end]))


def _names_groups(above: Cells, names: Cells, looks: "_Looks") -> bool:
    """Whether a row above names has those of groups of columns.

    It is above most names that are not unique, or it looks like a header and covers all but one.
    """
    covered = _names([above]).keys()
    counts = Counter(cell.text for cell in names.values())
    again = {column for column, cell in names.items() if counts[cell.text] > 1}
    is_wide = len(names.keys() - covered) < 2 and looks.differ(names, above)
    return _filled(above) > 1 and (is_wide or len(again & covered) > len(again) / 2)


def _names(rows: Sequence[Cells]) -> dict[int, str]:
    """The texts above each column, from several rows such as "Sales" and "2019"."""
    names: dict[int, list[str]] = {}
    for row in rows:
        level = {}
        for column, cell in row.items():  # a cell of its own comes after a wide one before it
            text = cell.text.rstrip(" :")
            level |= dict.fromkeys(range(column, column + cell.width), text)
        for column, text in level.items():
            if text not in names.setdefault(column, []):
                names[column].append(text)
    return {column: " ".join(texts) for column, texts in sorted(names.items())}


def _filled(cells: Cells) -> int:
    return sum(not cell.repeats for cell in cells.values())


class _Looks:
    """How the cells of each column look."""

    def __init__(self, rows: Sequence[Cells]) -> None:
        self._shares: dict[int, dict[str, float]] = {}
        looks: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for row in rows:
            for column, cell in row.items():
                looks[column][cell.look] += 1
        for column, found in looks.items():
            self._shares[column] = {look: n / found.total() for look, n in found.items()}

    def differ(self, *rows: Cells) -> bool:
        """Whether most cells of each row look as few others in their columns do."""
        return all(map(self._differs, rows))

    def _differs(self, cells: Cells) -> bool:
        shares = [
            self._shares[column].get(cell.look, 0)
            for column, cell in cells.items()
            if column in self._shares
        ]
        return sum(share <= _RARE for share in shares) > len(shares) / 2
