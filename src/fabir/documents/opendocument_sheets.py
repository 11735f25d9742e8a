"""Reads OpenDocument spreadsheets: a document for each row, with the texts that cells show."""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, text_in
from fabir.documents.base import MAX_UNPACKED, Document, Report, title_of
from fabir.documents.opendocument import Reader, check_password, stated_title
from fabir.documents.paragraphs import comment, small_number
from fabir.documents.sheet_blocks import Row, Text, sheet_texts
from fabir.documents.sheet_headers import Cell
from fabir.documents.sheets import (
    COLUMNS,
    MAX_ROW,
    NO_TEXT,
    ROWS,
    is_amount,
    sheet_documents,
    tell_hidden,
    without,
)
from fabir.errors import InputError

_CONTENT, _STYLES = "content.xml", "styles.xml"
_TABLE, _COLUMN, _ROW = "table:table", "table:table-column", "table:table-row"
_CELL, _COVERED = "table:table-cell", "table:covered-table-cell"
_GONE = "table:tracked-changes", "office:forms"
_TITLES = "chart:title", "chart:subtitle"  # the values of a chart are those of cells
_MARGINS = "style:header", "style:footer"
_TYPED = frozenset(  # fields in margins
    f"text:{name}" for name in ("date", "file-name", "page-count", "page-number", "sheet-name")
) | {"text:time", "text:title"}
_VALUES = tuple(f"office:{kind}value" for kind in ("", "string-", "boolean-", "date-", "time-"))
_TEXTS = "", "string"  # types of cells
_LOOK = "font-weight", "font-style", "font-size", "color", "background-color"
_USUAL = "", "normal", "transparent"
_COPIES = 100_000  # rows that are written once, with their number
_SHORT = 40  # bytes that Python needs for a short text; a file repeats a cell with fewer


def read_ods(path: Path, report: Report) -> Iterator[Document]:
    """As `read_xlsx` does it. If very many rows repeat the one above, some are read."""
    with Archive(path, MAX_UNPACKED) as archive:
        check_password(archive)
        book = _Workbook(archive, report)
        title = title_of(path, stated_title(archive))
        for name, texts in book.sheets():
            yield from sheet_documents(path, title, name, texts, alone=book.shown == 1)
        tell_hidden(book.hidden, report)


class _Style(NamedTuple):
    """How cells look. Or whether a sheet is hidden, and on which kind of page it is printed."""

    look: tuple[str, ...] = ("",) * len(_LOOK)
    hides: bool = False
    page: str = ""


_PLAIN = _Style()


class _Sheet:
    """What a sheet's columns and rows say of the rows below, and what stands beside the cells.

    columns: hidden ones
    unseen: those of them with texts
    comments: their texts by the numbers of rows
    drawn: texts of shapes, with the numbers of rows
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns: set[int] = set()
        self.unseen: set[int] = set()
        self.comments: defaultdict[int, list[str]] = defaultdict(list)
        self.drawn: dict[str, int] = {}
        self._count = 0  # of columns
        self._styles: dict[int, str] = {}
        self._above: dict[int, tuple[Cell, int]] = {}  # merged ones, each with its last row

    def add_columns(self, element: Element) -> None:
        times = small_number(element.get("table:number-columns-repeated"), 1, COLUMNS)
        places = range(self._count, min(self._count + times, COLUMNS))
        self._count = places.stop
        if _is_hidden(element):
            self.columns.update(places)
        if style := element.get("table:default-cell-style-name"):
            self._styles.update(dict.fromkeys(places, style))

    def style(self, cell: Element, column: int) -> str:
        return cell.get("table:style-name") or self._styles.get(column, "")

    def cover(self, column: int, cell: Cell, last: int) -> None:
        """Note that a cell covers those below it, to the row `last`."""
        self._above[column] = cell, last

    def merged(self, cells: dict[int, Cell], number: int, is_hidden: bool) -> dict[int, Cell]:
        """The cells of a row, with those that are merged with the ones above."""
        left = {}
        for column, (cell, last) in self._above.items():
            if number <= last:
                cells.setdefault(column, cell)
                left[column] = cell._replace(repeats=cell.repeats or not is_hidden), last
        self._above = left
        return dict(sorted(cells.items()))


class _Workbook:
    """The sheets of a workbook.

    shown: how many sheets are not hidden
    hidden: how many sheets, rows, columns and cells were not read
    """

    def __init__(self, archive: Archive, report: Report) -> None:
        self._archive, self._report = archive, report
        self._reader = Reader(archive, report, _TITLES)
        self._styles: dict[tuple[str, str], _Style] = {}
        self._margins: dict[str, list[str]] = {}
        self._tables: list[Element] = []
        for part in (_STYLES, _CONTENT):
            if part in archive:
                names = "style:style", "style:master-page"
                self._know(archive.elements(part, names, {_TABLE, *_GONE}, opened={_TABLE}))
        self.shown = sum(not self._style(table).hides for table in self._tables)
        self.hidden: Counter[str] = Counter(sheet=len(self._tables) - self.shown)
        self._length, self._copied = 0, 0  # of all texts; rows

    def _know(self, elements: Iterable[Element]) -> None:
        for element in elements:
            name = element.get("style:name", "")
            if element.tag == _TABLE:
                self._tables.append(element)
                continue
            if element.tag == "style:master-page":
                self._margins[name] = list(self._margin_texts(element))
                continue
            family = element.get("style:family", "")
            parent = self._styles.get((family, element.get("style:parent-style-name", "")), _PLAIN)
            own = {key: text for each in element for key, text in each.items()}
            look = (own.get(key, old) for key, old in zip(_LOOK, parent.look, strict=True))
            self._styles[family, name] = _Style(
                tuple("" if text in _USUAL else text for text in look),
                own.get("table:display") == "false",
                element.get("style:master-page-name", ""),
            )

    def _margin_texts(self, page: Element) -> Iterator[str]:
        """The texts above and below the printed pages, but no fields such as the page's number."""
        for margin in page:
            if margin.tag in _MARGINS and margin.get("style:display") != "false":
                for line in margin.iter("text:p"):
                    if _TYPED.isdisjoint(each.tag for each in line.iter()):
                        yield from (each.text for each in self._reader.blocks([line]) if each.text)

    def _style(self, table: Element) -> _Style:
        return self._styles.get(("table", table.get("table:style-name", "")), _PLAIN)

    def sheets(self) -> Iterator[tuple[str, Iterator[Text]]]:
        """The names and the texts of the sheets that are shown, each to be read before the next."""
        with closing(self._parts()) as all_parts:
            for table, parts in groupby(all_parts, lambda each: each[0]):
                if not self._style(table).hides:
                    sheet = _Sheet(table.get("table:name", "")[:200])
                    margins = self._margins.get(self._style(table).page, [])
                    yield sheet.name, self._texts(sheet, (part for _, part in parts), margins)

    def _parts(self) -> Generator[tuple[Element, Element]]:
        """The columns, rows and shapes of all sheets, each with its sheet."""
        table = Element(_TABLE)
        wanted = {_COLUMN, _ROW, "table:shapes"}
        for each in self._archive.elements(_CONTENT, wanted, _GONE, opened={_TABLE}):
            if each.tag == _TABLE:
                table = each
            else:
                yield table, each

    def _texts(
        self, sheet: _Sheet, parts: Iterable[Element], margins: Iterable[str]
    ) -> Iterator[Text]:
        """The texts of a sheet. Row 0 is none: margins, and shapes that are in no cell."""
        for number, heading, text in sheet_texts(self._rows(sheet, parts)):
            yield Text(number, heading, "\n\n".join([text, *sheet.comments.pop(number, ())]))
        yield from (Text(row, "", text) for row, each in sheet.comments.items() for text in each)
        yield from (Text(row, "", text) for text, row in sheet.drawn.items())
        yield from (Text(0, "", text) for text in margins)
        self.hidden["column"] += len(sheet.unseen)

    def _rows(self, sheet: _Sheet, parts: Iterable[Element]) -> Iterator[Row]:
        """The rows that are shown and not empty."""
        number, hidden_rows = 1, 0  # of the next row
        for part in parts:
            if part.tag == _COLUMN:
                sheet.add_columns(part)
                continue
            if part.tag != _ROW:
                self._draw(sheet, part, 0)
                continue
            times = small_number(part.get("table:number-rows-repeated"), 1, ROWS)
            is_hidden = _is_hidden(part)
            cells = sheet.merged(self._cells(sheet, part, number), number, is_hidden)
            if cells and number + times > ROWS + 1:
                raise InputError(f"sheet {sheet.name} has more than {ROWS:,} rows")
            self._report.alive()
            if is_hidden:
                hidden_rows += times
                self.hidden["row"] += times * bool(cells)
            elif cells := without(sheet.columns, cells, sheet.unseen):
                for row in range(number, number + self._count(cells, times)):
                    yield Row(row, row - hidden_rows, cells)
            number += times

    def _count(self, cells: dict[int, Cell], times: int) -> int:
        """How often a row is read that stands in the sheet so many times."""
        copies = min(times - 1, _COPIES - self._copied)
        self._copied += copies
        length = sum(len(cell.text) + _SHORT for cell in cells.values())
        self._length += length * (1 + copies)
        if length > MAX_ROW or self._length > MAX_UNPACKED:
            raise InputError("its cells repeat texts: too much text for the size of the file")
        return 1 + copies

    def _cells(self, sheet: _Sheet, row: Element, number: int) -> dict[int, Cell]:
        """The cells of a row that are not blank."""
        cells: dict[int, Cell] = {}
        column = 0
        for each in row:
            if each.tag not in (_CELL, _COVERED):
                continue
            times = small_number(each.get("table:number-columns-repeated"), 1, COLUMNS)
            places = range(column, column + times)
            column += times
            cell = self._cell(sheet, each, places.start, number) if each.tag == _CELL else None
            if cell and places.stop > COLUMNS:
                raise InputError(f"sheet {sheet.name} has more than {COLUMNS:,} columns")
            if cell:
                cells |= dict.fromkeys(places, cell)
            if each.tag == _CELL and not _is_hidden(row) and places.start not in sheet.columns:
                self._note(sheet, each, number)
        return cells

    def _cell(self, sheet: _Sheet, element: Element, column: int, number: int) -> Cell | None:
        text = self._text(sheet, element, number)
        if NO_TEXT.fullmatch(text):
            return None
        look = self._styles.get(("table-cell", sheet.style(element, column)), _PLAIN).look
        width = small_number(element.get("table:number-columns-spanned"), 1, COLUMNS - column)
        is_text = element.get("office:value-type", "") in _TEXTS
        cell = Cell(text, is_text, " ".join(look), max(1, width))
        rows = small_number(element.get("table:number-rows-spanned"), 1, ROWS)
        if rows > 1:
            sheet.cover(column, cell, number + rows - 1)
        return cell

    def _text(self, sheet: _Sheet, cell: Element, number: int) -> str:
        """What a cell shows, or its value if the file does not say that."""
        shown = [each for each in cell if each.tag.startswith("text:")]
        given = next((cell.get(key, "") for key in _VALUES if key in cell.attrib), "")
        if not shown and not given and "table:formula" in cell.attrib:
            self._report.lost(f"{sheet.name}, row {number}: a formula without its result")
        if not shown:
            return given.upper() if cell.get("office:value-type") == "boolean" else given
        text = "\n".join(each.text for each in self._reader.blocks(shown)).strip()
        self.hidden["cell"] += not text and is_amount(given)
        return text

    def _note(self, sheet: _Sheet, cell: Element, number: int) -> None:
        """Keep a cell's comments and shapes."""
        for each in cell:
            if each.tag == "office:annotation":
                words = self._reader.blocks(part for part in each if part.tag.startswith("text:"))
                author = text_in(child(each, "dc:creator"))
                sheet.comments[number].append(comment(author, words)[0].text)
            elif each.tag.startswith("draw:"):
                self._draw(sheet, [each], number)

    def _draw(self, sheet: _Sheet, shapes: Iterable[Element], number: int) -> None:
        for shape in shapes:
            lines = (each.text.strip() for each in self._reader.blocks([shape]))
            if text := "\n".join(filter(None, lines)):
                sheet.drawn[text] = number


def _is_hidden(element: Element) -> bool:
    """Whether a row or a column is hidden, perhaps by a filter."""
    return element.get("table:visibility", "visible") != "visible"
