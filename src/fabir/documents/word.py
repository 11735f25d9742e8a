"""Reads Word files as Word shows them: insertions and results of fields in, deletions out."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, value
from fabir.documents.base import Document, Report, title_of
from fabir.documents.drawings import linked_paragraphs
from fabir.documents.office import (
    FALLBACK,
    Relation,
    main_part,
    parts_of_kind,
    relations,
    stated_title,
)
from fabir.documents.paragraphs import (
    Cell,
    Paragraph,
    TextBuilder,
    comment,
    small_number,
    table_paragraphs,
)

_BLOCKS = "w:p", "w:tbl", "w:altChunk"
_GONE = "w:del", "w:moveFrom", FALLBACK
_CHARACTERS = {"w:tab": "\t", "w:ptab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}
_PROPERTIES = {"w:pPr", "w:rPr", "w:sdtPr", "w:sdtEndPr", "w:tblPr", "w:tblGrid"}
_NO_TEXT = _PROPERTIES | {"w:rt", "w:instrText"}  # readings of characters, codes of fields
_NOTES = {  # by what refers to them: their part, and the element of each; notes have comments
    "w:commentReference": ("comments", "w:comment"),
    "w:footnoteReference": ("footnotes", "w:footnote"),
    "w:endnoteReference": ("endnotes", "w:endnote"),
}
_MAX_COLUMNS = 63  # Word's own limit
_OFF = "0", "false", "off"


def read_docx(path: Path, report: Report) -> Iterator[Document]:
    """Notes and comments follow the paragraph that refers to them; headers and footers the text."""
    with Archive(path) as archive:
        outer = relations(archive)
        main = main_part(archive, outer)
        related = relations(archive, main)
        reader = _Reader(archive, related, report)
        text = TextBuilder()
        for block in archive.elements(main, _BLOCKS, _GONE):
            text.add(reader.blocks([block]))
            report.alive()
        text.add(reader.rest())
        if not text:
            report.lost("no text: only pictures?")
        text.add(_margins(archive, reader, related))
        title = stated_title(archive, outer) or reader.title
    yield text.document(title_of(path, title))


def _margins(
    archive: Archive, reader: "_Reader", related: dict[str, Relation]
) -> Iterator[Paragraph]:
    """Headers and footers; what several of them repeat is given once."""
    parts = parts_of_kind(related, archive, "header", "footer")
    texts = (
        Paragraph(each.text)
        for part in parts
        for each in reader.story(archive.elements(part, _BLOCKS, _GONE))
    )
    yield from dict.fromkeys(texts)


class _Reader:
    """Turns blocks of Word's XML into paragraphs.

    title: text of the first paragraph that has the style Title
    """

    def __init__(self, archive: Archive, related: dict[str, Relation], report: Report) -> None:
        self.title = ""
        self._archive, self._related, self._report = archive, related, report
        self._kept = ""  # a paragraph whose end is deleted: the next one goes on there
        self._headings, self._titles = _heading_styles(archive, related)
        self._notes: dict[tuple[str, str], list[Paragraph]] = {}
        for reference, (kind, name) in _NOTES.items():
            for part in parts_of_kind(related, archive, kind):
                for note in archive.elements(part, {name}, _GONE):
                    paragraphs = [Paragraph(each.text) for each in self.story(note)]
                    if kind == "comments":
                        paragraphs = comment(note.get("w:author", ""), paragraphs)
                    self._notes[reference, note.get("w:id", "")] = paragraphs

    def story(self, elements: Iterable[Element]) -> Iterator[Paragraph]:
        """All of a text that stands alone, such as a note or a cell."""
        yield from self.blocks(elements)
        yield from self.rest()

    def blocks(self, elements: Iterable[Element]) -> Iterator[Paragraph]:
        for element in elements:
            if element.tag == "w:p":
                yield from self._paragraph(element)
            elif element.tag == "w:tbl":
                yield from self.rest()
                yield from self._table(element)
            elif element.tag == "w:altChunk":
                self._report.lost("a file that is embedded in the text is not read")
            elif element.tag not in _NO_TEXT:
                yield from self.blocks(element)

    def rest(self) -> Iterator[Paragraph]:
        """What `blocks` keeps for the paragraph after its last one, if there is none."""
        kept, self._kept = self._kept, ""
        yield Paragraph(kept)

    def _paragraph(self, element: Element) -> Iterator[Paragraph]:
        after: list[Paragraph] = []
        kept, self._kept = self._kept, ""
        text = kept + "".join(_shown(self._pieces(element, after)))
        properties = child(element, "w:pPr")
        if _ends_deleted(properties):
            self._kept = text
        elif text:
            style = value(child(properties, "w:pStyle"), "w:val")
            if style in self._titles and not self.title:
                self.title = text
            yield Paragraph(text, style in self._headings or _outlined(properties))
        yield from after

    def _pieces(self, element: Element, after: list[Paragraph]) -> Iterator[str | Element]:
        """Texts and the marks of fields; what stands outside of the line goes to `after`."""
        for piece in element:
            tag = piece.tag
            if tag in ("w:t", "m:t", "a:t"):
                yield piece.text or ""
            elif tag in _CHARACTERS:
                yield _CHARACTERS[tag]
            elif tag == "w:fldChar":
                yield piece
            elif tag == "w:sym":
                yield _symbol(piece)
            elif tag in _NOTES:
                after += self._notes.pop((tag, piece.get("w:id", "")), ())
            elif tag in ("c:chart", "dgm:relIds"):
                after += linked_paragraphs(self._archive, self._related, piece)
            elif tag == "w:txbxContent":
                after += self.story(piece)
            elif tag not in _NO_TEXT and not (tag == "w:r" and _hidden(piece)):
                yield from self._pieces(piece, after)

    def _table(self, table: Element) -> Iterator[Paragraph]:
        rows: list[list[Cell]] = []
        marked = 0
        for row in _descend(table, "w:tr"):
            properties = child(row, "w:trPr")
            if child(properties, "w:del") is not None:
                continue
            rows.append(self._row(row, properties, rows[-1] if rows else []))
            if marked == len(rows) - 1 and _is_on(properties, "w:tblHeader"):
                marked += 1
        yield from table_paragraphs(rows, marked)

    def _row(self, row: Element, properties: Element | None, above: list[Cell]) -> list[Cell]:
        """The cells by columns; one that is merged with the cell above repeats it."""
        cells: list[Cell] = [[]] * _number(properties, "w:gridBefore", 0)
        for element in _descend(row, "w:tc"):
            cell = list(self.story(element))
            settings = child(element, "w:tcPr")
            merged = child(settings, "w:vMerge")
            if merged is not None and merged.get("w:val") != "restart" and len(cells) < len(above):
                cell = above[len(cells)] or []
            cells.append(cell)
            cells += [None] * (_number(settings, "w:gridSpan", 1) - 1)
        return cells[:_MAX_COLUMNS]


def _shown(pieces: Iterable[str | Element]) -> Iterator[str]:
    """The texts without the codes of fields, which stand between their `begin` and `separate`."""
    codes = [False]  # for each field that is open: whether its code goes on
    for piece in pieces:
        if isinstance(piece, str):
            if not any(codes):
                yield piece
        elif piece.get("w:fldCharType") == "begin":
            codes.append(True)
        elif piece.get("w:fldCharType") == "separate":
            codes[-1] = False
        elif len(codes) > 1:
            codes.pop()


def _descend(element: Element, name: str) -> Iterator[Element]:
    """The rows of a table or the cells of a row, also those in content controls."""
    for each in element:
        if each.tag == name:
            yield each
        elif each.tag not in _NO_TEXT:
            yield from _descend(each, name)


def _ends_deleted(properties: Element | None) -> bool:
    mark = child(properties, "w:rPr")
    return mark is not None and any(child(mark, name) is not None for name in _GONE)


def _hidden(run: Element) -> bool:
    return _is_on(child(run, "w:rPr"), "w:vanish")


def _is_on(properties: Element | None, name: str) -> bool:
    found = child(properties, name)
    return found is not None and found.get("w:val") not in _OFF


def _number(properties: Element | None, name: str, default: int) -> int:
    return small_number(value(child(properties, name), "w:val"), default, _MAX_COLUMNS)


def _symbol(element: Element) -> str:
    """A character by its code. Fonts of symbols have codes of their own, which say nothing."""
    try:
        character = chr(int(element.get("w:char", ""), 16))
    except (ValueError, OverflowError):
        return ""
    return "" if "\ue000" <= character <= "\uf8ff" else character


def _heading_styles(archive: Archive, related: dict[str, Relation]) -> tuple[set[str], set[str]]:
    """The ids of the styles of headings, and of those that are based on the style Title."""
    styles = {
        style.get("w:styleId", ""): style
        for part in parts_of_kind(related, archive, "styles")
        for style in archive.elements(part, {"w:style"})
    }
    headings, titles = set(), set()
    for name in styles:
        for style in _bases(styles, name):
            known = value(child(style, "w:name"), "w:val").lower()
            if known == "title":
                titles.add(name)
            elif known.startswith("heading ") or _outlined(child(style, "w:pPr")):
                headings.add(name)
    return headings | titles, titles


def _bases(styles: dict[str, Element], name: str) -> Iterator[Element]:
    """A style and those that it is based on."""
    for _ in range(20):  # there may be circles
        if name not in styles:
            return
        yield styles[name]
        name = value(child(styles[name], "w:basedOn"), "w:val")


def _outlined(properties: Element | None) -> bool:
    """Whether paragraphs are in the outline: levels are 0 to 8, and 9 is body text."""
    return _number(properties, "w:outlineLvl", 9) < 9
