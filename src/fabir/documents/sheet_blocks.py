"""Cuts a sheet into blocks, and gives their rows as text, each cell with its column's name.

Blank rows and columns separate blocks. Each may have its own header.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, takewhile
from typing import NamedTuple

from fabir.documents.sheet_headers import (
    TEXT,
    VALUE,
    Cell,
    Cells,
    Header,
    are_names,
    find_header,
    kinds_of,
    label_of,
)
from fabir.documents.tables import MAX_NAME, row_text

_SAMPLE = 100  # rows in which the columns and the header of a block are looked for
_ALIKE = 0.6  # the least part of the rows that two sides of one table have in common
_DENSE = 0.7  # the least part of its rows that a block fills
_LIST = 3  # the least rows of a block with one column
_NEAR = 4  # the most rows from a header to rows without one, if blank rows are between them
_MATCH = 0.75  # the least part of the columns whose kinds match those of an earlier block
_HEADING = 100  # the most characters of a heading
_PARTS = 50  # the most parts that blank columns separate
_KNOWN = 20  # the last blocks whose names may hold for a later one


class Row(NamedTuple):
    """A row's number in the sheet, its place among the rows that are shown, and its cells."""

    number: int
    place: int
    cells: Cells


class Text(NamedTuple):
    """The text of one or more rows, the number of the first, and the heading of their block."""

    number: int
    heading: str
    text: str


class _Known(NamedTuple):
    """Names of columns, the kinds of the cells below, and the place of the last row of names.

    There are no kinds if the names stand alone between blank rows.
    """

    names: dict[int, str]
    kinds: dict[int, int]
    place: int


def sheet_texts(rows: Iterable[Row]) -> Iterator[Text]:
    """The texts of a sheet's rows. The lines above a header are one text."""
    known: list[_Known] = []
    for _, numbered in groupby(enumerate(rows), lambda each: each[1].place - each[0]):
        band = (row for _, row in numbered)
        head = list(islice(band, _SAMPLE))
        starts = _starts([row.cells for row in head])
        blocks = [_Block(known) for _ in starts]
        for row in chain(head, band):
            for block, cells in zip(blocks, _cut(row.cells, starts), strict=True):
                yield from block.add(Row(row.number, row.place, cells))
        for block in blocks:
            yield from block.end()


def _starts(rows: Sequence[Cells]) -> list[int]:
    """The first columns of the blocks that stand side by side; 0 for the first block."""
    rows = [cells for cells in rows if len(cells) > 1]
    parts: list[tuple[int, int]] = []  # columns without a blank one between them
    for start, end in sorted({(n, n + each.width) for row in rows for n, each in row.items()}):
        if parts and start <= parts[-1][1]:
            parts[-1] = parts[-1][0], max(end, parts[-1][1])
        else:
            parts.append((start, end))
    if not 1 < len(parts) <= _PARTS:
        return [0]
    starts = [0]
    left, *others = zip(
        *(_cut(cells, [start for start, _ in parts]) for cells in rows), strict=True
    )
    for (start, _), right in zip(parts[1:], others, strict=True):
        if _are_apart(left, right):
            starts.append(start)
            left = right
        else:
            left = [{**one, **two} for one, two in zip(left, right, strict=True)]
    return starts


def _cut(cells: Cells, starts: Sequence[int]) -> list[Cells]:
    """The cells of a row from each of the columns to the next one."""
    if len(starts) == 1:
        return [cells]
    parts: list[dict[int, Cell]] = [{} for _ in starts]
    for column, cell in cells.items():
        parts[bisect(starts, column) - 1][column] = cell
    return [*parts]


def _are_apart(left: Sequence[Cells], right: Sequence[Cells]) -> bool:
    """Whether two sides of a blank column are two blocks.

    They are one if they fill the same rows, unless the right side repeats the names of the left.
    They are one, too, if the right side has only numbers: the left one says of what.
    """
    cells = list(filter(None, right))
    if min(kinds_of(cells[len(cells) // 2 :]).values()) == VALUE:
        return False
    pairs = [pair for pair in zip(left, right, strict=True) if any(pair)]
    both = [pair for pair in pairs if all(pair)]
    again = any(len(two) > 1 and _texts(two) <= _texts(one) for one, two in both[:3])
    return (again or len(both) < _ALIKE * len(pairs)) and _is_block(left) and _is_block(right)


def _texts(cells: Cells) -> set[str]:
    return {cell.text for cell in cells.values()}


def _is_block(rows: Sequence[Cells]) -> bool:
    """Whether a side has few blank rows, and several columns or a list of texts."""
    filled = [number for number, cells in enumerate(rows) if cells]
    if len(filled) < _DENSE * (filled[-1] - filled[0] + 1):
        return False
    kinds = kinds_of(rows)
    return len(kinds) > 1 or (len(filled) >= _LIST and not any(kinds.values()))


class _Block:
    """Collects the rows of a block until its header can be found, and gives their texts.

    Args:
        known: the names of earlier blocks; those of this one are added
    """

    def __init__(self, known: list[_Known]) -> None:
        self._known, self._place = known, 0
        self._begin()

    def _begin(self) -> None:
        self._rows: list[Row] = []
        self._names: dict[int, str] | None = None  # not looked for yet
        self._unused: dict[str, None] = {}
        self._heading, self._number = "", 0
        self._is_form = False

    def add(self, row: Row) -> Iterator[Text]:
        """The texts that the next row makes known. If it follows a blank row, a block begins."""
        if not row.cells:
            return
        if row.place > self._place + 1:
            yield from self.end()
        self._place = row.place
        row = Row(row.number, row.place, _without_repeated_values(row.cells))
        if row.cells and self._names is not None:
            yield self._text(row, self._names)
        elif row.cells:
            self._rows.append(row)
            if len(self._rows) == _SAMPLE:
                yield from self._head()

    def end(self) -> Iterator[Text]:
        """The texts that are left. After it, another block may begin."""
        yield from self._head()
        if self._unused:  # names of columns without cells are text too
            yield Text(self._number, self._heading, "\n".join(self._unused))
        self._begin()

    def _head(self) -> Iterator[Text]:
        """The texts of the rows that wait for their names."""
        del self._known[:-_KNOWN]
        rows, self._rows = self._rows, []
        if not rows:
            return
        cells = [row.cells for row in rows]
        header = find_header(cells, needs_evidence=any(each.kinds for each in self._known))
        titles = sum(1 for _ in takewhile(lambda each: len(each) == 1, cells))
        start, end, self._names = header or Header(titles, titles, {})
        if header and start:
            yield Text(rows[0].number, "", "\n".join(map(_line, cells[:start])))
        elif not header:
            yield from (self._text(row, {}) for row in rows[:start])
        if end == len(rows):
            return
        self._heading, self._number = _heading(cells[:start]), rows[start].number
        place, kinds = rows[end].place, kinds_of(cells[end:])
        if header:
            self._unused = dict.fromkeys(self._names.values())
            self._known.append(_Known(self._names, kinds, place))
        elif not self._heading:
            self._names = self._earlier_names(kinds, place)
        self._is_form = _is_form(cells[end:])
        if len(rows) == end + 1 and are_names(cells[end]):
            alone = {column: cell.text for column, cell in cells[end].items()}
            self._known.append(_Known(alone, {}, place))
        yield from (self._text(row, self._names) for row in rows[end:])

    def _earlier_names(self, kinds: dict[int, int], place: int) -> dict[int, str]:
        """The names of the last block before that has the same columns."""
        for names, others, its_place in reversed(self._known):
            if len(kinds) < 2 or not kinds.keys() <= names.keys() | others.keys():
                continue
            alike = sum(others.get(column) == kind for column, kind in kinds.items())
            is_header = not others and any(kinds.values()) and place <= its_place + _NEAR
            if is_header or alike >= _MATCH * len(kinds):
                return names
        return {}

    def _text(self, row: Row, names: dict[int, str]) -> Text:
        """A text that is alone in its row gets no name of three or more: it may be a note."""
        cells = row.cells
        if len(names) > 2 and len(cells) == 1 and all(cell.is_text for cell in cells.values()):
            names = {}
        own = {
            column: cell
            for column, cell in cells.items()
            if not cell.repeats or cell.text not in names.get(column, "")
        }
        if self._unused:
            for name in (names[column] for column in own.keys() & names.keys()):
                if len(name) <= MAX_NAME:  # of a longer name only a part is beside the cell
                    self._unused.pop(name, None)
        if names:
            columns = [names.get(column, "") for column in own]
            text = row_text(columns, [cell.text for cell in own.values()])
        else:
            text = _labelled([*own.values()], self._is_form)
        return Text(row.number, self._heading, text)


def _without_repeated_values(cells: Cells) -> Cells:
    """The cells of a row without repeated numbers, which may be totals; nothing if all repeat.

    Repeated numbers before the first cell of the row's own stay: they tell groups of rows.
    """
    if not any(cell.repeats for cell in cells.values()):
        return cells
    first = next((column for column, cell in cells.items() if not cell.repeats), None)
    if first is None:
        return {}
    return {n: cell for n, cell in cells.items() if n <= first or cell.is_text or not cell.repeats}


def _is_form(rows: Sequence[Cells]) -> bool:
    """Whether rows have two columns, of which the first has different texts."""
    kinds = kinds_of(rows)
    labels = [cells[min(kinds)].text for cells in rows if min(kinds) in cells]
    is_distinct = len(set(labels)) == len(labels) > 1
    return len(kinds) == 2 and kinds[min(kinds)] == TEXT and is_distinct


def _labelled(cells: Sequence[Cell], is_form: bool) -> str:
    """Cells without names of columns; a label stands before its value.

    A label ends with a colon. In a form the first cell is one, too.
    """
    names, texts = [], []
    label = ""
    for number, cell in enumerate(cells):
        if label and not cell.text.endswith(":"):
            names[-1], texts[-1] = label, cell.text
            label = ""
            continue
        names.append("")
        texts.append(cell.text)
        may_be = cell.text.endswith(":") or (is_form and number == 0 and len(cells) == 2)
        label = label_of(cell) if may_be else ""
    return row_text(names, texts)


def _line(cells: Cells) -> str:
    return ", ".join(cell.text for cell in cells.values())


def _heading(above: Sequence[Cells]) -> str:
    """The last text above a table if it has one or two cells."""
    texts = [cells for cells in above if any(cell.is_text for cell in cells.values())]
    line = _line(texts[-1]) if texts and len(texts[-1]) < 3 else ""
    return line if len(line) <= _HEADING else ""
