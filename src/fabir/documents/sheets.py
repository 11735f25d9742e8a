"""Reads Excel workbooks: a document for each row, with numbers and dates as Excel shows them."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, text_in, value
from fabir.documents.base import MAX_BYTES, MAX_UNPACKED, Document, Report, text_of, title_of
from fabir.documents.number_formats import BUILT_IN, EPOCH, EPOCH_1904, shown
from fabir.documents.office import main_part, parts_of_kind, relations, stated_title
from fabir.documents.paragraphs import small_number
from fabir.documents.tables import find_names, row_text
from fabir.errors import InputError

MAX_ROW = 16 << 20  # characters: a cell names a shared text, however long, with a few bytes
_ROWS, _COLUMNS = 1 << 20, 1 << 14  # Excel's own limits
_SAMPLE = 50  # rows among which the names of the columns are looked for
_MERGED = 100_000  # cells that repeat the one above
_PLACE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DEFAULT_NAME = re.compile(r"(sheet|tabelle|feuil|hoja|foglio|blad|ark)\s?\d*", re.IGNORECASE)


class _Row(NamedTuple):
    """A row's number, and its filled cells in ascending order of their columns, from 0."""

    number: int
    cells: dict[int, str]


def read_xlsx(path: Path, report: Report) -> Iterator[Document]:
    """The row that names the columns is in no document of its own; rows above it are in one.

    Hidden sheets, rows and columns are read too.
    """
    with Archive(path, MAX_UNPACKED) as archive:
        outer = relations(archive)
        book = _Workbook(archive, main_part(archive, outer), report)
        title = title_of(path, stated_title(archive, outer))
        for name, part in book.sheets:
            full = title if _DEFAULT_NAME.fullmatch(name) else f"{title}: {name}"
            for number, text in _texts(book.rows(name, part)):
                line = number if len(book.sheets) == 1 else None
                place = text_of(f"{name}!{number}")
                yield Document(text_of(text), title_of(path, full), place, line=line)
                report.alive()


def _texts(rows: Iterator[_Row]) -> Iterator[tuple[int, str]]:
    """Numbers and texts of the rows."""
    first = list(islice(rows, _SAMPLE))
    width = 1 + max((column for row in first for column in row.cells), default=0)
    above, names = find_names([_dense(row.cells, width) for row in first])
    if above:
        lines = (", ".join(row.cells.values()) for row in first[:above])
        yield first[0].number, "\n".join(lines)
    unused = dict.fromkeys(column for column, name in enumerate(names) if name)
    for row in chain(first[above + bool(names) :], rows):
        columns = [names[column] if column < len(names) else "" for column in row.cells]
        yield row.number, row_text(columns, list(row.cells.values()))
        for column in row.cells.keys() & unused:
            del unused[column]
    if unused:  # names of columns without cells are text too
        yield first[above].number, "\n".join(names[column] for column in unused)


def _dense(cells: dict[int, str], width: int) -> list[str]:
    return [cells.get(column, "") for column in range(width)]


class _Workbook:
    """The sheets of a workbook, and what their cells refer to.

    sheets: name and part of each
    """

    def __init__(self, archive: Archive, main: str, report: Report) -> None:
        self._archive, self._report = archive, report
        related = relations(archive, main)
        known = set(parts_of_kind(related, archive, "worksheet"))
        self.sheets = [
            (sheet.get("name", "")[:200], related[sheet.get("r:id", "")].part)
            for sheet in archive.elements(main, {"s:sheet"})
            if sheet.get("r:id") in related and related[sheet.get("r:id", "")].part in known
        ]
        self._shared = list(
            _shared_texts(archive, parts_of_kind(related, archive, "sharedStrings"))
        )
        self._codes = [
            code
            for part in parts_of_kind(related, archive, "styles")
            for code in _format_codes(archive, part)
        ]
        settings = next(archive.elements(main, {"s:workbookPr"}), None)
        self._epoch = EPOCH_1904 if value(settings, "date1904") in ("1", "true") else EPOCH
        self._length = 0  # of all texts

    def rows(self, sheet: str, part: str) -> Iterator[_Row]:
        """The rows of a sheet that are not empty.

        Raises:
            InputError: a cell is outside of Excel's limits, or the texts are too long.
        """
        repeated = _repeated(self._archive, part)
        number, above = 0, {}
        for row in self._archive.elements(part, {"s:row"}):
            number = small_number(row.get("r"), number + 1, _ROWS + 1)
            if number > _ROWS:
                raise InputError(f"sheet {sheet} has more than {_ROWS:,} rows")
            cells = self._cells(row, sheet)
            for column in repeated.get(number, ()):
                cells[column] = cells.get(column) or above.get(column, "")
            above = {column: cells[column] for column in sorted(cells) if cells[column].strip()}
            self._count(above)
            if above:
                yield _Row(number, above)

    def _cells(self, row: Element, sheet: str) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = -1
        for cell in row:
            if cell.tag != "s:c":
                continue
            place = _PLACE.fullmatch(cell.get("r", ""))
            column = _column(place[1]) if place else column + 1
            if column >= _COLUMNS:
                raise InputError(f"sheet {sheet} has more than {_COLUMNS:,} columns")
            if child(cell, "s:f") is not None and child(cell, "s:v") is None:
                self._report.lost(f"{sheet}!{cell.get('r')}: a formula without its result")
            cells[column] = self._text(cell)
        return cells

    def _text(self, cell: Element) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return _rich_text(child(cell, "s:is"))
        text = text_in(child(cell, "s:v"))
        if kind == "s":
            return _at(self._shared, text)
        if kind == "b":
            return "TRUE" if text == "1" else "FALSE"
        if kind == "n":
            return shown(text, _at(self._codes, cell.get("s", "0")), self._epoch)
        return _unescaped(text)

    def _count(self, cells: dict[int, str]) -> None:
        length = sum(map(len, cells.values()))
        self._length += length
        if length > MAX_ROW or self._length > MAX_UNPACKED:
            raise InputError("its cells repeat long texts: too much text for the size of the file")


def _shared_texts(archive: Archive, parts: list[str]) -> Iterator[str]:
    """The texts that cells name by their number. All are in memory."""
    length = 0
    for part in parts:
        for each in archive.elements(part, {"s:si"}, {"s:rPh"}):  # rPh: how to pronounce it
            text = _rich_text(each)
            length += len(text) + 40  # what Python needs for a short one
            if length > 2 * MAX_BYTES:
                raise InputError(f"more than {2 * MAX_BYTES >> 20} MiB of texts: split it")
            yield text


def _rich_text(element: Element | None) -> str:
    texts = () if element is None else element.iter("s:t")
    return _unescaped("".join(each.text or "" for each in texts))


def _unescaped(text: str) -> str:
    """Excel writes control characters as "_x000D_"."""
    return _ESCAPE.sub(lambda code: chr(int(code[1], 16)), text) if "_x" in text else text


def _format_codes(archive: Archive, part: str) -> Iterator[str]:
    """The code of the number format of each style of cells."""
    codes = dict(BUILT_IN)
    for element in archive.elements(part, {"s:numFmt", "s:cellXfs"}):
        if element.tag == "s:numFmt":
            codes[element.get("numFmtId", "")] = element.get("formatCode", "")
        else:
            yield from (codes.get(style.get("numFmtId", ""), "") for style in element)


def _repeated(archive: Archive, part: str) -> dict[int, list[int]]:
    """The columns in each row whose cell is merged with the one above. Some, if there are many."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    if not archive.mentions(part, b"mergeCell"):
        return found
    left = _MERGED
    for merged in archive.elements(part, {"s:mergeCell"}):
        first, _, last = (_PLACE.fullmatch(each) for each in merged.get("ref", "").partition(":"))
        if first and last:
            rows = range(int(first[2]) + 1, int(last[2]) + 1)[:left]
            left -= len(rows)
            for row in rows:
                found[row].append(_column(first[1]))
    return found


def _column(letters: str) -> int:
    """0 for A, 25 for Z, 26 for AA."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _at(texts: list[str], number: str) -> str:
    index = small_number(number, len(texts), len(texts))
    return texts[index] if index < len(texts) else ""
