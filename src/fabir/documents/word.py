"""Reads Word files as Word shows them: insertions and results of fields in, deletions out."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, descend, value
from fabir.documents.base import Document, Report, title_of
from fabir.documents.drawings import linked_paragraphs
from fabir.documents.list_numbers import with_number
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
    Run,
    TextBuilder,
    comment,
    joined_runs,
    table_paragraphs,
)
from fabir.documents.symbol_fonts import in_font
from fabir.documents.word_numbers import Numbering
from fabir.documents.word_styles import (
    MAX_COLUMNS,
    PLAIN,
    is_on,
    is_outlined,
    look_of,
    number_in,
    read_styles,
)

_FILES = "w:altChunk", "w:subDoc", "OLEObject"  # parts of the text that are files of their own
_BLOCKS = "w:p", "w:tbl", *_FILES
_GONE = "w:del", "w:moveFrom", FALLBACK
_CHARACTERS = {"w:tab": "\t", "w:ptab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}
_PROPERTIES = {"w:pPr", "w:rPr", "w:sdtPr", "w:sdtEndPr", "w:tblPr", "w:tblGrid"}
_NO_TEXT = _PROPERTIES | {"w:rt", "w:instrText"}  # readings of characters, codes of fields
_NOTES = {  # by what refers to them: their part, and the element of each; notes have comments
    "w:commentReference": ("comments", "w:comment"),
    "w:footnoteReference": ("footnotes", "w:footnote"),
    "w:endnoteReference": ("endnotes", "w:endnote"),
}
_ON = "1", "true", "on"
_FIRST_ROW = 0x20  # the bit of `w:tblLook` for it
_OUTSIDE = {*_NOTES, *_FILES, "c:chart", "dgm:relIds", "w:txbxContent", "textpath"}


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
        for each in reader.apart(archive.elements(part, _BLOCKS, _GONE))
    )
    yield from dict.fromkeys(texts)


class _Reader:
    """Turns blocks of Word's XML into paragraphs.

    title: text of the first paragraph that has the style Title
    """

    def __init__(self, archive: Archive, related: dict[str, Relation], report: Report) -> None:
        self.title = ""
        self._archive, self._related, self._report = archive, related, report
        self._kept: list[Run] = []  # a paragraph whose end is deleted: the next one goes on there
        self._styles = read_styles(archive, related)
        self._numbers = Numbering(archive, related, self._styles.numbers, report)
        self._notes: dict[tuple[str, str], list[Paragraph]] = {}
        for reference, (kind, name) in _NOTES.items():
            for part in parts_of_kind(related, archive, kind, lost=report.lost):
                for note in archive.elements(part, {name}, _GONE):
                    paragraphs = [Paragraph(each.text) for each in self.apart(note)]
                    if kind == "comments":
                        paragraphs = comment(note.get("w:author", ""), paragraphs)
                    self._notes[reference, note.get("w:id", "")] = paragraphs

    def apart(self, elements: Iterable[Element]) -> list[Paragraph]:
        """All of a text beside the main one, such as a note, whose items are counted anew."""
        with self._numbers.apart():
            return list(self._story(elements))

    def _story(self, elements: Iterable[Element]) -> Iterator[Paragraph]:
        """All of a text that stands alone, such as a cell."""
        yield from self.blocks(elements)
        yield from self.rest()

    def blocks(self, elements: Iterable[Element]) -> Iterator[Paragraph]:
        for element in elements:
            if element.tag == "w:p":
                yield from self._paragraph(element)
            elif element.tag == "w:tbl":
                yield from self.rest()
                yield from self._table(element)
            elif element.tag in _FILES:
                yield from self._lose_file()
            elif element.tag not in _NO_TEXT:
                yield from self.blocks(element)

    def rest(self) -> Iterator[Paragraph]:
        """What `blocks` keeps for the paragraph after its last one, if there is none."""
        kept, self._kept = self._kept, []
        yield joined_runs(kept)

    def _lose_file(self) -> Sequence[Paragraph]:
        self._report.lost("a file that is embedded in the text is not read")
        return ()

    def _paragraph(self, element: Element) -> Iterator[Paragraph]:
        after: list[Paragraph] = []
        properties = child(element, "w:pPr")
        style = value(child(properties, "w:pStyle"), "w:val")
        pieces = self._pieces(element, after, self._styles.looks.get(style, PLAIN))
        runs, self._kept = [*self._kept, *_shown(pieces)], []
        if _ends_deleted(properties):
            self._kept = runs
        else:
            yield from self._joined(runs, properties, style)
        yield from after

    def _joined(
        self, runs: list[Run], properties: Element | None, style: str
    ) -> Iterator[Paragraph]:
        """A paragraph behind its number; an empty one may have a number too."""
        filled = any(run.text for run in runs)
        is_heading = style in self._styles.headings or is_outlined(properties)
        found = joined_runs(runs, filled and is_heading)
        if filled and style in self._styles.titles and not self.title:
            self.title = found.text
        number = self._numbers.next(properties, style, filled)
        if filled or number:
            yield found._replace(text=with_number(number, found.text))

    def _pieces(
        self, element: Element, after: list[Paragraph], look: Run, font: str = ""
    ) -> Iterator[Run | Element]:
        """Texts and the marks of fields; what stands outside of the line goes to `after`."""
        for piece in element:
            text = _own_text(piece, font)
            if text is not None:
                yield Run(text, look.bold, look.raised)
            elif piece.tag == "w:fldChar":
                yield piece
            elif piece.tag == "w:r":
                yield from self._run(piece, after, look)
            elif piece.tag in _OUTSIDE:
                after += self._outside(piece)
            elif piece.tag == "m:sup":
                yield from self._pieces(piece, after, look._replace(raised=True), font)
            elif piece.tag == "m:den":
                yield Run("/")
                yield from self._pieces(piece, after, look, font)
            elif piece.tag not in _NO_TEXT:
                yield from self._pieces(piece, after, look, font)

    def _outside(self, piece: Element) -> Iterable[Paragraph]:
        if piece.tag in _NOTES:
            return self._notes.pop((piece.tag, piece.get("w:id", "")), ())
        if piece.tag == "w:txbxContent":
            return self.apart(piece)
        if piece.tag == "textpath":  # WordArt
            return [Paragraph(piece.get("string", ""))]
        if piece.tag in _FILES:
            return self._lose_file()
        return linked_paragraphs(self._archive, self._related, piece)

    def _run(self, run: Element, after: list[Paragraph], look: Run) -> Iterator[Run | Element]:
        properties, font = child(run, "w:rPr"), ""
        if properties is not None:
            style = self._styles.looks.get(value(child(properties, "w:rStyle"), "w:val"), PLAIN)
            both = (one or other for one, other in zip(look[1:], style[1:], strict=True))
            look = look_of(properties, Run("", *both))
            font = value(child(properties, "w:rFonts"), "w:ascii")
        if not look.hidden:
            yield from self._pieces(run, after, look, font)

    def _table(self, table: Element) -> Iterator[Paragraph]:
        rows: list[list[Cell]] = []
        marked = 0
        for row in descend(table, "w:tr", _may_hold):
            properties = child(row, "w:trPr")
            if child(properties, "w:del") is not None:
                continue
            rows.append(self._row(row, properties, rows[-1] if rows else []))
            if len(rows) == 1 and self._has_bold_head(table):
                rows[0] = [cell and [each._replace(bold=True) for each in cell] for cell in rows[0]]
            if marked == len(rows) - 1 and is_on(properties, "w:tblHeader"):
                marked += 1
        yield from table_paragraphs(rows, marked)

    def _has_bold_head(self, table: Element) -> bool:
        """Whether the table's style has a bold first row, and the table uses it."""
        properties = child(table, "w:tblPr")
        look = child(properties, "w:tblLook")
        uses = value(look, "w:firstRow") in _ON or _hexadecimal(value(look, "w:val")) & _FIRST_ROW
        style = value(child(properties, "w:tblStyle"), "w:val")
        return bool(uses) and style in self._styles.bold_heads

    def _row(self, row: Element, properties: Element | None, above: list[Cell]) -> list[Cell]:
        """The cells by columns; one that is merged with the cell above repeats it."""
        cells: list[Cell] = [[]] * number_in(properties, "w:gridBefore", 0)
        for element in descend(row, "w:tc", _may_hold):
            cell = list(self._story(element))
            settings = child(element, "w:tcPr")
            merged = child(settings, "w:vMerge")
            if merged is not None and merged.get("w:val") != "restart" and len(cells) < len(above):
                cell = above[len(cells)] or []
            cells.append(cell)
            cells += [None] * (number_in(settings, "w:gridSpan", 1) - 1)
        return cells[:MAX_COLUMNS]


def _shown(pieces: Iterable[Run | Element]) -> Iterator[Run]:
    """The texts without the codes of fields, which stand between their `begin` and `separate`.

    Check boxes and lists to choose from have no text, but a state, which stands in their `begin`.
    """
    codes, states = [False], [""]  # of the fields that are open: whether the code goes on
    for piece in pieces:
        if isinstance(piece, Run):
            if not any(codes):
                yield piece
                states[-1] = ""
        elif piece.get("w:fldCharType") == "begin":
            codes.append(True)
            states.append(_state(child(piece, "w:ffData")))
        elif piece.get("w:fldCharType") == "separate":
            codes[-1] = False
        elif len(codes) > 1:
            codes.pop()
            state = states.pop()
            if state and not any(codes):
                yield Run(state)


def _state(field: Element | None) -> str:
    """What a form's check box or list shows."""
    box, choices = child(field, "w:checkBox"), child(field, "w:ddList")
    if box is not None:
        state = "w:default" if child(box, "w:checked") is None else "w:checked"
        return "☒" if is_on(box, state) else "☐"
    if choices is None:
        return ""
    entries = [value(each, "w:val") for each in choices if each.tag == "w:listEntry"]
    chosen = number_in(choices, "w:result", number_in(choices, "w:default", 0))
    return entries[chosen] if chosen < len(entries) else ""


def _may_hold(name: str) -> bool:
    """Whether rows or cells may stand in an element, such as a content control."""
    return name not in _NO_TEXT


def _ends_deleted(properties: Element | None) -> bool:
    mark = child(properties, "w:rPr")
    return mark is not None and any(child(mark, name) is not None for name in _GONE)


def _own_text(piece: Element, font: str) -> str | None:
    """The text of an element that is nothing but text; None for others."""
    if piece.tag in ("w:t", "m:t", "a:t"):
        return in_font(piece.text or "", font)
    if piece.tag == "w:sym":
        return _symbol(piece)
    return _CHARACTERS.get(piece.tag)


def _symbol(element: Element) -> str:
    """A character by its code. A code of an unknown font says nothing."""
    code = _hexadecimal(element.get("w:char", ""))
    character = chr(code) if 0 < code < 0x110000 else ""
    shown = in_font(character, element.get("w:font", ""))
    return "" if "\ue000" <= shown <= "\uf8ff" else shown


def _hexadecimal(number: str) -> int:
    """A number's value; 0 if it is none."""
    try:
        return int(number, 16)
    except ValueError:
        return 0
