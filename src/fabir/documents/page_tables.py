"""Tables on pages: bands of blocks that are rows of columns with clear names."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fabir.documents.page_bands import Band, Block, has_rows_apart
from fabir.documents.page_layout import Line, is_prose
from fabir.documents.page_names import Column, Names, can_name
from fabir.documents.tables import row_text

_LEVELS = 4  # the most rows of names
_FAR = 4.0  # most space between the names and the first row, in line heights
_WIDER = 1.6  # most space between rows, in the largest space between the rows above
_PURE = 0.75  # least share of values in a column of values
_SAMPLE = 20  # bands that tell whether it is a table
_MARK = 5  # the most characters of a mark in a column of marks, such as "yes", "F / M" or "-"
_WORD = re.compile(r"[^\W\d_]{4}")
# A number, perhaps with a unit or a sign of money before or after it, but no date.
_MEASURE = re.compile(r"([^\W\d]{1,3}\.?\s?)?\W{0,3}\d[\d.,]*\W{0,2}[^\W\d]{0,8}")

_Row = dict[Column, Block]


def find_table(found: Sequence[Band], begin: int) -> "Table | None":
    """The table whose names begin with a band, if there is one."""
    for end in range(begin + 1, min(begin + 1 + _LEVELS, len(found))):
        heads = found[begin:end]
        if not all(map(can_name, heads[-1])):
            return None
        if len(heads) > 1 and _top(heads[-1]) - _bottom(heads[-2]) > heads[-1][0].size:
            return None
        if len(heads[-1]) > 1 and _can_head(heads[-1], found[end : end + 3]):
            table = Table(Names(heads))
            table.take(found, end, min(end + _SAMPLE, len(found)))
            if table.is_clear(found[begin - 1] if begin else []):
                table.take(found, begin + table.length, len(found))
                return table
    return None


def _can_head(names: Band, below: Sequence[Band]) -> bool:
    """Whether only it is bold, or values or marks are below.

    A year is no name of the first column.
    """
    row = next((band for band in below if len(band) > 1), [])
    if not row or (names[0].is_year and row[0].right > names[0].left):
        return False
    bolder = _is_bold(names) and not _is_bold(row)
    return bolder or any(block.is_value or _is_mark(block) for block in row)


def _top(band: Band) -> float:
    return min(block.top for block in band)


def _bottom(band: Band) -> float:
    return max(block.bottom for block in band)


class Table:
    """Columns and rows. A row of one cell is a line between the rows of several ones.

    length: number of bands
    """

    def __init__(self, names: Names) -> None:
        self.length = len(names.heads)
        self._names = names
        self._columns = names.columns()
        self._rows: list[_Row] = []
        self._has_titles = False
        self._titles = 0  # rows at the top that are titles of the others
        self._widest = 0.0  # space between rows

    def take(self, found: Sequence[Band], begin: int, end: int) -> None:
        """Take the rows among bands, as far as the table goes."""
        taken = self.length
        waiting: list[_Row] = []
        for number in range(begin, end):
            band = found[number]
            gap = _top(band) - _bottom(found[number - 1])
            limit = _WIDER * self._widest if self._rows else _FAR * band[0].size
            if gap > limit or self._begins_anew(band, found[number + 1 : number + 2]):
                return
            if len(band) == 1 and not self._continues(band[0], gap):
                waiting.append({self._columns[0]: band[0]})
                if not self._may_wait(band[0], len(waiting)):
                    return
                continue
            if len(band) > 1:
                row = {} if has_rows_apart(band) else self._place(band)
                if not row:
                    return
                self._rows += [*waiting, row]
                self._has_titles |= _is_title(band)
                waiting = []
            self._widest = max(self._widest, gap, band[0].size)
            self.length = taken + number + 1 - begin

    def _place(self, band: Band) -> _Row:
        """Blocks by columns; empty if they are no cells of the columns.

        Values beside the columns are a new column, and so is what stands on the left of them. Other
        blocks are part of the cell on their left.
        """
        row: _Row = {}
        new: list[Column] = []
        for block in band:
            places = self._places(block)
            if len(places) > 1:
                return {}
            if not places and not block.is_value:
                places = [column for column in self._columns if column.right <= block.left][-1:]
            if not places:
                places = [Column(block.left, block.right)]
                new += places
            place = places[0]
            if place in row:
                if block.is_value and row[place].is_value:
                    return {}
                block = Block(row[place].pieces + block.pieces)
            row[place] = block
        placed = len(row) - len(new)
        if placed + bool(self._rows) < 2 or 2 * placed < len(band):
            return {}
        for column, block in row.items():
            if sum(each.has(block) for each in self._columns) < 2:
                column.left = min(column.left, block.left)
                column.right = max(column.right, block.right)
        self._columns = sorted([*self._columns, *new], key=lambda column: column.left)
        return row

    def _places(self, block: Block) -> list[Column]:
        """The columns of a block; one for a value of one word that is wider than its column."""
        places = [column for column in self._columns if column.has(block)]
        if len(places) > 1 and self._rows and block.is_value and " " not in block.text:
            over = [column for column in places if block.left < column.middle < block.right]
            return over if len(over) == 1 else places
        return places

    def _begins_anew(self, band: Band, after: Sequence[Band]) -> bool:
        """Whether a band names the columns of another table."""
        if len(band) < 2 or not self._rows or any(block.is_value for block in band):
            return False
        if _is_title(band) and not self._has_titles and not all(map(_is_bold, after)):
            return True
        below = [
            block
            for column, cell in self._rows[0].items()
            for block in band
            if cell.is_value and column.has(block)
        ]
        return bool(below) and not any(block.is_filler for block in below)

    def _continues(self, block: Block, gap: float) -> bool:
        """Add a lone block to the cell above it if it is a line of it."""
        places = [column for column in self._columns if column.has(block)]
        if len(places) != 1 or places[0] is self._columns[0] or not self._rows:
            return False
        above = self._rows[-1].get(places[0])
        if not above or gap > block.size or abs(above.left - block.left) > block.size / 4:
            return False
        self._rows[-1][places[0]] = Block(above.pieces + block.pieces)
        return True

    def _may_wait(self, block: Block, count: int) -> bool:
        """Whether a lone block may stand between rows, such as the title of a group of rows."""
        wide = sum(column.has(block) for column in self._columns) > 1
        return count < 3 and len(block.lines) < 3 and not (wide and len(self._rows) < 2)

    def is_clear(self, above: Band) -> bool:
        """Whether it is a table and the columns have names, which they get.

        Args:
            above: the band above the names
        """
        names = self._names.blocks
        self._titles = self._count_titles()
        rows = [row for row in self._rows[self._titles :] if len(row) > 1]
        named = [column for column in self._columns if any(map(column.has, names))]
        others = [column for column in self._columns[1:] if column not in named]
        colons = [block.text.endswith(":") for block in names]
        if not rows or len(named) < len(names) or len(others) > max(1, len(named) // 3):
            return False
        if not all(map(can_name, names)):
            return False
        if any(colons) and not (all(colons) and len(rows) == 1):
            return False
        if len(rows) == 1 and not self._is_alone(rows[0]):
            return False
        heads = self._names.heads
        if all(map(_is_bold, heads)) and not all(_is_bold(row.values()) for row in rows):
            letters = len(names) == 2 and any(len(block.text) == 1 for block in names)
            clear = _is_plain(named, rows) or self._has_values(named, rows)
            clear = clear and not letters  # of two columns of an index
        else:
            clear = self._has_values(named, rows) or self._has_marks(rows)
        return clear and not self._is_below(above) and self._names.give(self._columns)

    def _count_titles(self) -> int:
        """How many rows just below bold names are bold, and not as long as the names."""
        if not all(map(_is_bold, self._names.heads)):
            return 0
        least = len(self._names.blocks)
        rows = enumerate(self._rows)
        return next((n for n, row in rows if len(row) >= least or not _is_bold(row.values())), 0)

    def _is_alone(self, row: _Row) -> bool:
        """Whether one row with names above it may be a whole table."""
        texts = [block.text for block in self._names.blocks]
        return (
            len(self._rows) == 1
            and len(set(texts)) == len(texts)
            and not any(text[:1].islower() for text in texts)
            and not any(block.text[:1].islower() for block in row.values())
        )

    def _has_values(self, named: Sequence[Column], rows: Sequence[_Row]) -> bool:
        """Whether a column has values below a name that is none."""
        names, first = self._names, rows[0]
        years = [block for block in names.blocks if block.is_year]
        if any(
            column.has(year) and _is_count(first.get(column)) for year in years for column in named
        ):
            return False
        uppers = names.heads[:-1]
        few = len(names.blocks) == 2
        if (uppers and (few or len(rows) == 1)) or names.has_rows(uppers, self._columns):
            return False
        if few and _are_mixed(
            [row[column] for row in rows for column in named[1:] if column in row]
        ):
            return False
        if len(rows) == 1:
            values = sum(block.is_value for block in first.values())
            enough = len(first) if few else len(names.blocks) / 2
            return values >= enough and len(first) >= len(names.blocks)
        return any(
            column in first and first[column].is_value and _are_values(column, rows, few)
            for column in named
        )

    def _has_marks(self, rows: Sequence[_Row]) -> bool:
        """Whether a column of three or more has marks below a name that is a word."""
        names = self._names.blocks
        full = [row for row in rows if len(row) >= len(names)]
        if len(names) < 3 or len(self._names.heads) > 1 or len(full) < max(3, len(rows) / 2):
            return False
        return not any(name.text[0].islower() for name in names) and any(
            all(map(_is_mark, cells)) and len(name.text) > max(len(each.text) for each in cells)
            for name in names
            if _WORD.search(name.text)
            for column in self._columns
            if column.has(name) and (cells := [row[column] for row in full if column in row])
        )

    def _is_below(self, above: Band) -> bool:
        """Whether the band above the names is a row too, so that the names are none."""
        return (
            bool(above)
            and _top(self._names.heads[0]) - _bottom(above) < above[0].size
            and not any(block.is_value for block in above)
            and self._names.has_rows([above], self._columns)
        )

    def parts(self) -> Iterator[list[Line]]:
        """The lines of each cell, and names of columns without cells."""
        for column in self._columns:
            if column.name and not any(column in row and row[column].lines for row in self._rows):
                line = self._names.blocks[0].lines[0]
                yield [replace(line, text=column.name, joint="\n\n")]
        for number, row in enumerate(self._rows):
            named = len(row) > 1 and number >= self._titles
            joint = "\n\n"
            for column in self._columns:
                lines = row[column].lines if column in row else []
                if lines:
                    yield cell_lines(column.name if named else "", lines, joint)
                    joint = "\n"


def cell_lines(name: str, lines: Sequence[Line], joint: str) -> list[Line]:
    """The lines of a cell, with its name. joint: what stands before them"""
    first = replace(lines[0], text=row_text([name], [lines[0].text]), joint=joint)
    return [first, *(replace(line, joint="") for line in lines[1:])]


def _is_plain(named: Sequence[Column], rows: Sequence[_Row]) -> bool:
    """Whether no cell below bold names is bold in part, and no column is a text."""
    cells = [block for row in rows for block in row.values()]
    if _is_bold(rows[0].values()) or 4 * sum(cell.is_partly_bold for cell in cells) > len(cells):
        return False
    columns = ([row[column].lines for row in rows if column in row] for column in named)
    return not any(is_prose([line for lines in each for line in lines]) for each in columns if each)


def _is_bold(found: Iterable[Block]) -> bool:
    return all(block.is_bold for block in found)


def _is_title(band: Band) -> bool:
    return _is_bold(band) and not any(block.is_value for block in band)


def _is_count(block: Block | None) -> bool:
    """Whether it is a number that may be mistaken for a year."""
    return block is not None and len(block.text) == 4 and block.text.isdecimal()


def _is_mark(block: Block) -> bool:
    return len(block.text) <= _MARK and not block.is_value and not _WORD.search(block.text)


def _are_mixed(values: Sequence[Block]) -> bool:
    """Whether they are of several kinds, such as a number, a date and a code: a label has each."""
    kinds = Counter(_kind(value) for value in values)
    return bool(kinds) and max(kinds.values()) < _PURE * len(values)


def _kind(value: Block) -> str:
    """Whether it is a number with a unit or without one, has other letters, or has signs only."""
    if _MEASURE.fullmatch(value.text):
        return "number"
    return "letters" if any(map(str.isalpha, value.text)) else "signs"


def _are_values(column: Column, rows: Sequence[_Row], all_of_them: bool) -> bool:
    told = [row[column] for row in rows if column in row and not row[column].is_filler]
    least = len(told) if all_of_them else _PURE * len(told)
    return bool(told) and sum(block.is_value for block in told) >= least
