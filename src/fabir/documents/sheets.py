"""Reads Excel workbooks: a document for each row, with numbers and dates as Excel shows them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, text_in, value
from fabir.documents.base import MAX_BYTES, MAX_UNPACKED, Document, Report, text_of, title_of
from fabir.documents.number_formats import BUILT_IN, EPOCH, EPOCH_1904, shown
from fabir.documents.office import main_part, parts_of_kind, relations, stated_title
from fabir.documents.paragraphs import small_number
from fabir.documents.sheet_blocks import Row, Text, sheet_texts
from fabir.documents.sheet_headers import Cell
from fabir.documents.sheet_notes import (
    Comments,
    margin_texts,
    rich_text,
    sheet_comments,
    sheet_drawings,
    unescaped,
)
from fabir.errors import InputError
from fabir.progress import counted

MAX_ROW = 16 << 20  # characters: a cell names a shared text, however long, with a few bytes
ROWS, COLUMNS = 1 << 20, 1 << 14  # Excel's own limits
_MERGED = 100_000  # rows of merged cells
_PLACE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
# Blank, or an error.
NO_TEXT = re.compile(
    r"\s*(?:(?:#(?:REF!|NAME\?|DIV/0!|N/A|VALUE!|NUM!|NULL!|SPILL!|CALC!|FIELD!)|Err:5\d\d)\s*)?"
)
_DEFAULT_NAME = re.compile(r"(sheet|tabelle|feuil|hoja|foglio|blad|ark)\s?\d*", re.IGNORECASE)


def read_xlsx(path: Path, report: Report) -> Iterator[Document]:
    """A document for each row of the sheets that are shown.

    The rows that name the columns are in no document of their own; rows above them are in one.
    Comments follow their rows; boxes, titles of charts and margins of pages follow the sheet.
    """
    with Archive(path, MAX_UNPACKED) as archive:
        outer = relations(archive)
        book = _Workbook(archive, main_part(archive, outer), report)
        title = title_of(path, stated_title(archive, outer))
        for name, part in book.sheets + book.charts:
            texts = book.texts(name, part)
            yield from sheet_documents(path, title, name, texts, alone=len(book.sheets) == 1)
        tell_hidden(book.hidden, report)


def sheet_documents(
    path: Path, title: str, name: str, texts: Iterable[Text], alone: bool
) -> Iterator[Document]:
    """The documents of a sheet, which may be the only one of its workbook."""
    full = title if _DEFAULT_NAME.fullmatch(name) else f"{title}: {name}"
    for number, heading, text in texts:
        line = number if number and alone else None
        place = text_of(f"{name}!{number}" if number else name)
        under = title_of(path, f"{full}: {heading}" if heading else full)
        yield Document(text_of(text), under, place, line=line)


def tell_hidden(hidden: Counter[str], report: Report) -> None:
    """Report how many sheets, rows, columns and cells were not read, such as "2 hidden rows"."""
    counts = ((kind, hidden[kind]) for kind in ("sheet", "row", "column", "cell"))
    if told := ", ".join(counted(n, f"hidden {kind}") for kind, n in counts if n):
        report.hidden(told)


class _Style(NamedTuple):
    """The code of a cell's number format, and its font and fill."""

    code: str = ""
    look: str = ""


_PLAIN = _Style()


class _Span(NamedTuple):
    """The part of a merged cell in a row: how many columns it has, and whether it begins above."""

    width: int
    begins_above: bool


class _Workbook:
    """The sheets of a workbook, and what their cells refer to.

    sheets: name and part of each that is shown
    charts: the same of sheets that have only a chart
    hidden: how many sheets, rows, columns and cells were not read
    """

    def __init__(self, archive: Archive, main: str, report: Report) -> None:
        self._archive, self._report = archive, report
        related = relations(archive, main)
        self.hidden: Counter[str] = Counter()
        self.sheets: list[tuple[str, str]] = []
        self.charts: list[tuple[str, str]] = []
        sheets = parts_of_kind(related, archive, "worksheet", lost=report.lost)
        lists = dict.fromkeys(parts_of_kind(related, archive, "chartsheet"), self.charts)
        lists |= dict.fromkeys(sheets, self.sheets)
        for sheet in archive.elements(main, {"s:sheet"}):
            part = related[sheet.get("r:id", "")].part if sheet.get("r:id") in related else ""
            if part in lists and sheet.get("state", "visible") == "visible":
                lists[part].append((sheet.get("name", "")[:200], part))
            elif part in lists:
                self.hidden["sheet"] += 1
        shared = parts_of_kind(related, archive, "sharedStrings", lost=report.lost)
        self._shared = list(_shared_texts(archive, shared))
        self._styles = {
            str(number): style
            for part in parts_of_kind(related, archive, "styles")
            for number, style in enumerate(_cell_styles(archive, part))
        }
        settings = next(archive.elements(main, {"s:workbookPr"}), None)
        self._epoch = EPOCH_1904 if value(settings, "date1904") in ("1", "true") else EPOCH
        self._length = 0  # of all texts

    def texts(self, sheet: str, part: str) -> Iterator[Text]:
        """The texts of a sheet. Row 0 is none: the margins of printed pages.

        Raises:
            InputError: a cell is outside of Excel's limits, or the texts are too long.
        """
        comments = sheet_comments(self._archive, part)
        margins: dict[str, None] = {}
        for number, heading, text in sheet_texts(self._rows(sheet, part, comments, margins)):
            yield Text(number, heading, "\n\n".join([text, *comments.pop(number, {}).values()]))
        others = [(row, text) for row, each in comments.items() for text in each.values()]
        drawn = {text: row for row, text in sheet_drawings(self._archive, part) if text}
        others += ((row, text) for text, row in drawn.items())
        yield from (Text(row, "", text) for row, text in others)
        yield from (Text(0, "", text) for text in margins)

    def _rows(
        self, sheet: str, part: str, comments: Comments, margins: dict[str, None]
    ) -> Iterator[Row]:
        """The rows of a sheet that are shown and not empty.

        Args:
            comments: loses those on hidden cells
            margins: gets the texts in the margins of printed pages
        """
        merged = _merged(self._archive, part)
        number, hidden_rows = 0, 0
        above: dict[int, Cell] = {}  # merged ones
        columns: set[int] = set()  # hidden ones
        unseen: set[int] = set()  # those with texts
        for row in self._archive.elements(part, {"s:col", "s:row", "s:headerFooter"}):
            if row.tag == "s:headerFooter":
                margins.update(dict.fromkeys(margin_texts(row)))
                continue
            is_hidden = row.get("hidden") in ("1", "true")
            if row.tag == "s:col":
                columns.update(_range_of(row) if is_hidden else ())
                continue
            number = small_number(row.get("r"), number + 1, ROWS + 1)
            if number > ROWS:
                raise InputError(f"sheet {sheet} has more than {ROWS:,} rows")
            spans = merged.get(number, {})
            cells = _merge(self._cells(row, sheet), spans, above)
            self._count(cells)
            self._report.alive()
            above = {n: cells[n]._replace(repeats=not is_hidden) for n in spans if n in cells}
            for letters in list(comments.get(number, ())):
                if is_hidden or _column(letters) in columns:
                    del comments[number][letters]
            if is_hidden:
                hidden_rows += 1
                self.hidden["row"] += bool(cells)
            elif cells := without(columns, cells, unseen):
                yield Row(number, number - hidden_rows, cells)
        self.hidden["column"] += len(unseen)

    def _cells(self, row: Element, sheet: str) -> dict[int, Cell]:
        """The cells of a row that are not blank."""
        cells: dict[int, Cell] = {}
        column = -1
        for cell in row:
            if cell.tag != "s:c":
                continue
            place = _PLACE.fullmatch(cell.get("r", ""))
            column = _column(place[1]) if place else column + 1
            if column >= COLUMNS:
                raise InputError(f"sheet {sheet} has more than {COLUMNS:,} columns")
            if child(cell, "s:f") is not None and child(cell, "s:v") is None:
                self._report.lost(f"{sheet}!{cell.get('r')}: a formula without its result")
            style = self._styles.get(cell.get("s", "0"), _PLAIN)
            text = self._text(cell, style.code)
            if text and not NO_TEXT.fullmatch(text):
                cells[column] = Cell(text, cell.get("t", "n") not in ("n", "b"), style.look)
            else:
                cells.pop(column, None)
        return cells

    def _text(self, cell: Element, code: str) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return rich_text(child(cell, "s:is"))
        text = text_in(child(cell, "s:v"))
        if kind == "s":
            return _at(self._shared, text)
        if kind == "b":
            return "TRUE" if text == "1" else "FALSE"
        if kind == "n":
            amount = shown(text, code, self._epoch)
            self.hidden["cell"] += not amount and is_amount(text)
            return amount
        return unescaped(text)

    def _count(self, cells: dict[int, Cell]) -> None:
        length = sum(len(cell.text) for cell in cells.values())
        self._length += length
        if length > MAX_ROW or self._length > MAX_UNPACKED:
            raise InputError("its cells repeat long texts: too much text for the size of the file")


def _shared_texts(archive: Archive, parts: list[str]) -> Iterator[str]:
    """The texts that cells name by their number. All are in memory."""
    length = 0
    for part in parts:
        for each in archive.elements(part, {"s:si"}, {"s:rPh"}):  # rPh: how to pronounce it
            text = rich_text(each)
            length += len(text) + 40  # what Python needs for a short one
            if length > 2 * MAX_BYTES:
                raise InputError(f"more than {2 * MAX_BYTES >> 20} MiB of texts: split it")
            yield text


def _cell_styles(archive: Archive, part: str) -> Iterator[_Style]:
    """The styles of cells, by their number."""
    codes = dict(BUILT_IN)
    for element in archive.elements(part, {"s:numFmt", "s:cellXfs"}):
        if element.tag == "s:numFmt":
            codes[element.get("numFmtId", "")] = element.get("formatCode", "")
            continue
        for style in element:
            look = f"{style.get('fontId', '0')} {style.get('fillId', '0')}"
            yield _Style(codes.get(style.get("numFmtId", ""), ""), look)


def _merged(archive: Archive, part: str) -> dict[int, dict[int, _Span]]:
    """The merged cells in each row by their columns. Some, if there are many."""
    found: defaultdict[int, dict[int, _Span]] = defaultdict(dict)
    if not archive.mentions(part, b"mergeCell"):
        return found
    left = _MERGED
    for merged in archive.elements(part, {"s:mergeCell"}):
        first, _, last = (_PLACE.fullmatch(each) for each in merged.get("ref", "").partition(":"))
        if first and last:
            column = _column(first[1])
            width = max(1, _column(last[1]) + 1 - column)
            rows = range(int(first[2]), int(last[2]) + 1)[:left]
            left -= len(rows)
            for row in rows:
                found[row][column] = _Span(width, row > rows.start)
    return found


def _merge(
    cells: dict[int, Cell], spans: dict[int, _Span], above: dict[int, Cell]
) -> dict[int, Cell]:
    """The cells of a row with their widths, and with those that are merged with the ones above."""
    for column, span in spans.items():
        if span.begins_above and column in above:
            cells.setdefault(column, above[column])
        if column in cells:
            cells[column] = cells[column]._replace(width=span.width)
    return dict(sorted(cells.items()))


def without(hidden: set[int], cells: dict[int, Cell], unseen: set[int]) -> dict[int, Cell]:
    """The cells outside of hidden columns. A merged cell is in the first column that is shown.

    Args:
        unseen: gets the hidden columns with texts
    """
    if hidden.isdisjoint(cells):
        return cells
    shown = {}
    for column, cell in cells.items():
        places = range(column, column + cell.width)
        place = next((place for place in places if place not in hidden), None)
        if place is None:
            unseen.add(column)
        else:
            shown[place] = cell._replace(width=places.stop - place)
    return shown


def _range_of(columns: Element) -> range:
    first, last = (small_number(columns.get(end), 0, COLUMNS) for end in ("min", "max"))
    return range(max(0, first - 1), last)


def _column(letters: str) -> int:
    """0 for A, 25 for Z, 26 for AA."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def is_amount(text: str) -> bool:
    """Whether a text is a number other than 0, which formats often hide."""
    try:
        return float(text) != 0
    except ValueError:
        return False


def _at(texts: list[str], number: str) -> str:
    index = small_number(number, len(texts), len(texts))
    return texts[index] if index < len(texts) else ""
