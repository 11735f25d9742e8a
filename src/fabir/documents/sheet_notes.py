"""What stands beside the cells of a sheet: comments, text boxes, titles of charts, page margins."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, text_in, value
from fabir.documents.drawings import body_paragraphs, linked_paragraphs
from fabir.documents.office import FALLBACK, parts_of_kind, relations
from fabir.documents.paragraphs import Paragraph, Run, comment, joined_runs, small_number

Comments = dict[int, dict[str, str]]  # by the row's number and the column's letters

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_ANCHORS = "twoCellAnchor", "oneCellAnchor", "absoluteAnchor"
_ADVICE = "/?linkid=870924"  # of Excel to older programs, before a line "Comment:"
_CODE = re.compile(r'&(?:"[^"]*"|K[\dA-F]{6}|\d{1,3}|.)', re.DOTALL)
_TYPED = re.compile(r"(?<!&)(?:&&)*&[DTPNFAZG]")  # dates, numbers of pages, names of files


def rich_text(element: Element | None) -> str:
    """The text of a cell or a comment."""
    pieces = () if element is None else element
    if len(pieces) == 1 and pieces[0].tag == "s:t":
        return unescaped(text_in(pieces[0]))
    runs = (
        Run("".join(text_in(each) for each in piece.iter("s:t")), raised=_is_raised(piece))
        for piece in pieces
        if piece.tag in ("s:t", "s:r")
    )
    return unescaped(joined_runs(runs).text)


def _is_raised(run: Element) -> bool:
    return value(child(run, "s:rPr", "s:vertAlign"), "val") == "superscript"


def unescaped(text: str) -> str:
    """Excel writes control characters as "_x000D_"."""
    return _ESCAPE.sub(lambda code: chr(int(code[1], 16)), text) if "_x" in text else text


def sheet_comments(archive: Archive, sheet: str) -> Comments:
    """The comments on the cells of a sheet."""
    found: Comments = defaultdict(dict)
    for part in parts_of_kind(relations(archive, sheet), archive, "comments"):
        authors: list[str] = []
        for each in archive.elements(part, {"s:author", "s:comment"}):
            if each.tag == "s:author":
                authors.append(text_in(each))
                continue
            number = small_number(each.get("authorId"), len(authors), len(authors))
            author = authors[number] if number < len(authors) else ""
            text = _said(rich_text(child(each, "s:text")), author)
            place = re.fullmatch(r"([A-Z]{1,3})(\d{1,7})", each.get("ref", ""))
            if text and place:
                known = "" if author.startswith("tc=") else author  # a thread has a mere code
                found[int(place[2])][place[1]] = comment(known, [Paragraph(text)])[0].text
    return found


def _said(text: str, author: str) -> str:
    """A comment without its author's name and without Excel's advice before a thread."""
    said = text.strip().removeprefix(f"{author}:")
    _, advice, behind = said.partition(_ADVICE)
    return ((advice and behind.lstrip().partition("\n")[2]) or said).strip()


def sheet_drawings(archive: Archive, sheet: str) -> Iterator[tuple[int, str]]:
    """The texts of boxes and diagrams, and titles of charts, with the rows at which they begin.

    The values of a chart are those of cells.
    """
    for part in parts_of_kind(relations(archive, sheet), archive, "drawing"):
        related = relations(archive, part)
        for anchor in archive.elements(part, _ANCHORS, {FALLBACK}):
            row = small_number(text_in(child(anchor, "from", "row")), 0, 1 << 20) + 1
            yield row, _joined(_drawn(anchor))
            for diagram in anchor.iter("dgm:relIds"):
                yield row, _joined(linked_paragraphs(archive, related, diagram))
            for chart in anchor.iter("c:chart"):
                name = chart.get("r:id", "")
                if name in related and related[name].part in archive:
                    titles = archive.elements(related[name].part, {"c:title"}, {FALLBACK})
                    yield row, _joined(each for title in titles for each in body_paragraphs(title))


def _drawn(anchor: Element) -> Iterator[Paragraph]:
    for body in anchor.iter("txBody"):
        yield from body_paragraphs(body)


def _joined(paragraphs: Iterable[Paragraph]) -> str:
    return "\n".join(filter(None, (each.text.strip() for each in paragraphs)))


def margin_texts(margins: Element) -> Iterator[str]:
    """The texts above and below the printed pages, without codes such as that of the page."""
    for each in margins:
        parts = re.split("&[LCR]", text_in(each).replace("&&", "\0"))
        for part in (part.replace("\0", "&&") for part in parts):
            text = _CODE.sub(lambda code: "&" * (code[0] == "&&"), unescaped(part)).strip()
            if not _TYPED.search(part) and any(map(str.isalpha, text)):
                yield text
