"""Reads PowerPoint presentations: slides are pages, with the speaker's notes."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, text_in, value
from fabir.documents.base import Document, Report, title_of
from fabir.documents.drawings import body_paragraphs, linked_paragraphs
from fabir.documents.office import (
    FALLBACK,
    Relation,
    main_part,
    parts_of_kind,
    relations,
    stated_title,
)
from fabir.documents.paragraphs import Cell, Paragraph, TextBuilder, comment, table_paragraphs
from fabir.progress import counted

_SHAPES = "p:sp", "p:graphicFrame", "p:pic"
_TITLES = "title", "ctrTitle"
_MARGINS = "hdr", "ftr", "dt"  # what several slides repeat is given once
_MAX_COLUMNS = 256
_ON = "1", "true"
_OFF = "0", "false"


def read_pptx(path: Path, report: Report) -> Iterator[Document]:
    """A slide's title comes first, its notes and comments last. Tables and charts are rows.

    Hidden slides are left out, as hidden sheets are, but count as pages.
    """
    with Archive(path) as archive:
        outer = relations(archive)
        main = main_part(archive, outer)
        related = relations(archive, main)
        text = TextBuilder()
        reader, hidden = _Reader(archive, related), 0
        for number, each in enumerate(archive.elements(main, {"p:sldId"}), 1):
            part = related.get(each.get("r:id", ""), Relation("", "")).part
            slide = reader.slide(part) if part in archive else _Slide(lost="is not in the file")
            hidden += slide.hidden
            if slide.lost:
                report.lost(f"slide {number} {slide.lost}")
            text.begin_page()
            text.add(slide.paragraphs)
            report.alive()
        if hidden:
            report.hidden(counted(hidden, "hidden slide"))
        title = stated_title(archive, outer) or reader.title
    yield text.document(title_of(path, title))


class _Slide(NamedTuple):
    paragraphs: Sequence[Paragraph] = ()
    lost: str = ""
    hidden: bool = False


class _Reader:
    """Reads slides one after the other.

    title: text of the first title
    """

    def __init__(self, archive: Archive, related: dict[str, Relation]) -> None:
        self.title = ""
        self._archive = archive
        self._authors = {
            author.get("id", ""): author.get("name", "")
            for part in parts_of_kind(related, archive, "commentAuthors", "authors")
            for author in archive.elements(part, {"p:cmAuthor", "author"})
        }
        self._given: set[str] = set()  # footers and the like of the slides before

    def slide(self, part: str) -> _Slide:
        root = next(self._archive.elements(part, {"p:sld"}, {"p:cSld"}), None)
        if value(root, "show") in _OFF:
            return _Slide(hidden=True)
        related = relations(self._archive, part)
        titles: list[Paragraph] = []
        rest: list[Paragraph] = []
        pictures = objects = False
        for shape in self._archive.elements(part, _SHAPES, {FALLBACK}):
            pictures |= shape.tag == "p:pic"
            objects |= next(shape.iter("p:oleObj"), None) is not None
            heading = _placeholder(shape) in _TITLES
            (titles if heading else rest).extend(self._shape(shape, related, heading))
        for notes in parts_of_kind(related, self._archive, "notesSlide"):
            for shape in self._archive.elements(notes, {"p:sp"}, {FALLBACK}):
                if _placeholder(shape) == "body":
                    rest += self._shape(shape, {}, False)
        rest += self._comments(related)
        paragraphs = [each for each in titles + rest if each.text.strip()]
        self.title = self.title or next((each.text for each in titles if each.text.strip()), "")
        lost = "has no text: only pictures?" if pictures and not paragraphs else ""
        lost = "has an embedded file, which is not read" if objects else lost
        return _Slide(paragraphs, lost)

    def _comments(self, related: dict[str, Relation]) -> Iterator[Paragraph]:
        """Comments and replies to them, of old and new PowerPoint."""
        for part in parts_of_kind(related, self._archive, "comments"):
            for outer in self._archive.elements(part, {"p:cm", "cm"}):
                for each in (outer, *outer.iter("reply")):
                    old, new = child(each, "p:text"), child(each, "txBody")
                    words = body_paragraphs(new) if old is None else [Paragraph(text_in(old))]
                    yield from comment(self._authors.get(each.get("authorId", ""), ""), words)

    def _shape(
        self, shape: Element, related: dict[str, Relation], heading: bool
    ) -> Iterator[Paragraph]:
        kind = _placeholder(shape)
        paragraphs = list(body_paragraphs(child(shape, "p:txBody"), heading))
        if kind in _MARGINS:
            paragraphs = [each for each in paragraphs if each.text not in self._given]
            self._given.update(each.text for each in paragraphs)
        if kind != "sldNum":
            yield from paragraphs
        for table in shape.iter("a:tbl"):
            yield from _table(table)
        yield from linked_paragraphs(self._archive, related, shape)


def _placeholder(shape: Element) -> str:
    """What the layout has a shape for, such as "title"; empty for other shapes."""
    return value(child(shape, "p:nvSpPr", "p:nvPr", "p:ph"), "type")


def _table(table: Element) -> Iterator[Paragraph]:
    rows: list[list[Cell]] = []
    for row in table.iter("a:tr"):
        cells: list[Cell] = []
        for element in islice((each for each in row if each.tag == "a:tc"), _MAX_COLUMNS):
            cell: Cell = list(body_paragraphs(child(element, "a:txBody")))
            if element.get("hMerge") in _ON:
                cell = None
            elif element.get("vMerge") in _ON and rows and len(cells) < len(rows[-1]):
                cell = rows[-1][len(cells)]
            cells.append(cell)
        rows.append(cells)
    marked = value(child(table, "a:tblPr"), "firstRow") in _ON
    yield from table_paragraphs(rows, int(marked and len(rows) > 1))
