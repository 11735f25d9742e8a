"""Reads OpenDocument texts as a word processor shows them: without what is deleted or hidden."""

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import Path
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, descend, text_in
from fabir.documents.base import Document, Report, telling_title, title_of
from fabir.documents.list_numbers import with_number
from fabir.documents.opendocument_lists import LIST_STYLES, Lists, OpenList
from fabir.documents.paragraphs import (
    Cell,
    Paragraph,
    Run,
    TextBuilder,
    comment,
    joined_runs,
    small_number,
    table_paragraphs,
)
from fabir.errors import InputError

_BLOCKS = "text:p", "text:h", "text:list", "table:table", "text:section"
_GONE = "text:tracked-changes", "office:forms"  # deletions; settings of form fields
_OBJECTS = "draw:object", "draw:object-ole"
_IN_LINE = "text:span", "text:a"
_MARGINS = "style:header", "style:footer"
_NO_TEXT = {"svg:title", "svg:desc", "text:ruby-text", "text:hidden-text", "title", "desc"}
_CHARACTERS = {"text:s": " ", "text:tab": "\t", "text:line-break": "\n"}
_MANIFEST = "META-INF/manifest.xml"
_MAX_COLUMNS = 256
_BOLD = "bold", "600", "700", "800", "900"
_MAX_BASES = 20  # styles that one is based on
_RAISED = re.compile(r"super|[1-9]")
_SPACES = re.compile(r"[ \t\r\n]+")


def read_odt(path: Path, report: Report) -> Iterator[Document]:
    """Notes and comments follow the paragraph that they are in; headers and footers the text."""
    with Archive(path) as archive:
        check_password(archive)
        reader = Reader(archive, report)
        text = TextBuilder()
        for block in archive.elements("content.xml", _BLOCKS, _GONE):
            text.add(reader.blocks([block]))
            report.alive()
        if not text:
            report.lost("no text: only pictures?")
        if "styles.xml" in archive:
            margins = reader.blocks(archive.elements("styles.xml", _MARGINS))
            text.add(dict.fromkeys(Paragraph(each.text) for each in margins))
        title = stated_title(archive) or reader.title
    yield text.document(title_of(path, title))


def check_password(archive: Archive) -> None:
    if _MANIFEST in archive and archive.mentions(_MANIFEST, b"encryption-data"):
        raise InputError("has a password: save it without one")


def stated_title(archive: Archive) -> str:
    if "meta.xml" not in archive:
        return ""
    return telling_title(text_in(next(archive.elements("meta.xml", {"dc:title"}), None)))


class Reader:
    """Turns blocks of OpenDocument's XML into paragraphs.

    title: text of the first paragraph that has the style Title

    Args:
        chart: elements of a chart to be read
    """

    def __init__(self, archive: Archive, report: Report, chart: tuple[str, ...] = _BLOCKS) -> None:
        self.title = ""
        self._chart = chart
        self._archive, self._report = archive, report
        self._titles, self._hidden = {"Title"}, set()
        self._objects: set[str] = set()  # parts that were read
        self._looks: dict[str, list[Element]] = {}  # of the styles: their properties, last ones win
        self._unnumbered: set[str] = set()  # styles of headings without numbers
        self._lists = Lists()
        for part in ("styles.xml", "content.xml"):
            if part in archive:
                names = "style:style", *LIST_STYLES
                self._know_styles(archive.elements(part, names, {"office:body"}))

    def _know_styles(self, styles: Iterable[Element]) -> None:
        for style in styles:
            if style.tag in LIST_STYLES:
                self._lists.know_style(style)
                continue
            name, properties = style.get("style:name", ""), child(style, "style:text-properties")
            parent = style.get("style:parent-style-name", "")
            if parent in self._titles:
                self._titles.add(name)
            if not style.get("style:list-style-name", parent not in self._unnumbered):
                self._unnumbered.add(name)
            if style.get("style:family") in ("paragraph", "text"):
                own = [] if properties is None else [properties]
                self._looks[name] = [*self._looks.get(parent, ()), *own][-_MAX_BASES:]
            display = "" if properties is None else properties.get("text:display", "")
            if display == "none" or (not display and parent in self._hidden):
                self._hidden.add(name)

    def blocks(self, elements: Iterable[Element]) -> Iterator[Paragraph]:
        for element in elements:
            if element.tag in ("text:p", "text:h"):
                yield from self._paragraph(element)
            elif element.tag == "text:list":
                yield from self._list(element)
            elif element.tag == "table:table":
                yield from self._table(element)
            elif element.tag in _OBJECTS:
                yield from self._object(element)
            elif element.tag not in _NO_TEXT and not self._is_hidden(element):
                yield from self.blocks(element)

    def _list(self, element: Element, outer: OpenList | None = None) -> Iterator[Paragraph]:
        found = self._lists.begin_list(element, outer)
        for item in element:
            self._lists.begin_item(item, found)
            for each in item:
                if each.tag == "text:list":
                    yield from self._list(each, found)
                else:
                    yield from self.blocks([each])
            self._lists.end_item()
            self._report.alive()

    def _object(self, element: Element) -> Iterator[Paragraph]:
        """A formula as it was typed, or the title and the table of a chart."""
        part = f"{element.get('href', '').removeprefix('./')}/content.xml"
        if part not in self._archive or part in self._objects:
            self._report.lost("a file that is embedded in the text is not read")
            return
        self._objects.add(part)
        formula = next(self._archive.elements(part, {"annotation"}), None)
        if formula is None:
            yield from self.blocks(self._archive.elements(part, self._chart, _GONE))
        yield Paragraph(text_in(formula).strip())

    def _paragraph(self, element: Element) -> Iterator[Paragraph]:
        if self._is_hidden(element):
            return
        after: list[Paragraph] = []
        style = element.get("text:style-name")
        number = self._lists.next(element, style not in self._unnumbered)
        runs = list(self._pieces(element, after, Run("")))
        filled = any(run.text for run in runs)
        is_title = style in self._titles
        found = joined_runs(runs, filled and (is_title or element.tag == "text:h"))
        if is_title and not self.title:
            self.title = found.text
        yield found._replace(text=with_number(number, found.text))
        yield from after

    def _pieces(self, element: Element, after: list[Paragraph], outer: Run) -> Iterator[Run]:
        """Texts of the line; what stands outside of the line goes to `after`."""
        look = reduce(_changed, self._looks.get(element.get("text:style-name", ""), ()), outer)
        yield look._replace(text=_SPACES.sub(" ", element.text or ""))
        for each in element:
            if each.tag in _CHARACTERS:
                times = small_number(each.get("text:c"), 1, 1000)
                yield Run(_CHARACTERS[each.tag] * times)
            elif each.tag == "text:note":
                after += self.blocks(part for part in each if part.tag == "text:note-body")
            elif each.tag == "office:annotation":
                words = self.blocks(part for part in each if part.tag.startswith("text:"))
                after += comment(text_in(child(each, "dc:creator")), words)
            elif each.tag in (*_BLOCKS, *_OBJECTS):
                after += self.blocks([each])
            elif each.tag not in _NO_TEXT and not self._is_hidden(each):
                yield from self._pieces(each, after, look)
            yield look._replace(text=_SPACES.sub(" ", each.tail or ""))

    def _is_hidden(self, element: Element) -> bool:
        """Whether an element, its style or a mark in it says that it is not shown."""
        marks = descend(element, "text:hidden-paragraph", _IN_LINE.__contains__)
        return (
            element.get("text:style-name") in self._hidden
            or element.get("text:display") == "none"
            or any(mark.get("text:is-hidden") == "true" for mark in marks)
        )

    def _table(self, table: Element) -> Iterator[Paragraph]:
        rows: list[list[Cell]] = []
        spans: dict[int, int] = {}
        for row in descend(table, "table:table-row", _may_hold):
            cells, spans = self._row(row, rows[-1] if rows else [], spans)
            rows.append(cells)
        heads = (each for each in table if each.tag == "table:table-header-rows")
        marked = sum(1 for head in heads for _ in descend(head, "table:table-row", _may_hold))
        yield from table_paragraphs(rows, marked)

    def _row(
        self, row: Element, above: list[Cell], spans: dict[int, int]
    ) -> tuple[list[Cell], dict[int, int]]:
        """The cells by columns, and `spans` for the next row.

        A cell that is merged with the one above repeats it.

        Args:
            spans: how many more rows the cell above covers, by column
        """
        cells: list[Cell] = []
        below: dict[int, int] = {}
        for element in row:
            column = len(cells)
            room = _MAX_COLUMNS - column
            times = small_number(element.get("table:number-columns-repeated"), 1, room)
            if element.tag == "table:covered-table-cell":
                for covered in range(column, column + times):
                    left = spans.get(covered, 0)
                    cells.append(above[covered] if left and covered < len(above) else None)
                    below.setdefault(covered, max(0, left - 1))
            elif element.tag == "table:table-cell":
                cells += [list(self.blocks(element))] * times
                rows = small_number(element.get("table:number-rows-spanned"), 1, 1 << 20)
                columns = small_number(element.get("table:number-columns-spanned"), 1, room)
                below.update(dict.fromkeys(range(column, column + columns), rows - 1))
        return cells, below


def _may_hold(name: str) -> bool:
    """Whether rows of a table may stand in an element, such as a group of them."""
    return name.startswith("table:table-")


def _changed(look: Run, properties: Element) -> Run:
    """A look with what the properties of a style say of it."""
    weight = properties.get("font-weight")
    position = properties.get("style:text-position")  # such as "super 58%" or "-33% 58%"
    return Run(
        "",
        weight in _BOLD if weight else look.bold,
        bool(_RAISED.match(position)) if position else look.raised,
    )
