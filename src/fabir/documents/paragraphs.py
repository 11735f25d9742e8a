"""Paragraphs and tables of formatted documents, whatever the format, as one text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fabir.documents.base import MAX_BYTES, Document, text_of
from fabir.documents.tables import row_text
from fabir.errors import InputError

_BETWEEN = "\n\n"  # between paragraphs
_SOFT_HYPHEN = "\u00ad"
_LAYOUT = 1000  # a cell with more characters than that holds text that is only laid out as a table
_NAME = 100  # the most characters of a column's name
_YEAR = re.compile(r"(1[5-9]|20)\d\d")


class Paragraph(NamedTuple):
    text: str
    heading: bool = False


# A cell's paragraphs; None if the cell before it covers this column too.
Cell = Sequence[Paragraph] | None


class TextBuilder:
    """Joins paragraphs to a document, which knows its headings and where its pages begin."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._headings: list[tuple[int, int]] = []
        self._pages: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def begin_page(self) -> None:
        self._pages.append(self._length)

    def add(self, paragraphs: Iterable[Paragraph]) -> None:
        """
        Raises:
            InputError: the text becomes too long.
        """
        for paragraph in paragraphs:
            text = text_of(paragraph.text).replace(_SOFT_HYPHEN, "").strip()
            if not text:
                continue
            if paragraph.heading:
                self._headings.append((self._length, self._length + len(text)))
            self._texts.append(text)
            self._length += len(text) + len(_BETWEEN)
            if self._length > MAX_BYTES:
                raise InputError(f"more than {MAX_BYTES >> 20} million characters: split it")

    def document(self, title: str) -> Document:
        text = _BETWEEN.join(self._texts)
        pages = tuple(min(begin, len(text)) for begin in self._pages)  # the last may be empty
        return Document(text, title, pages=pages, headings=tuple(self._headings))


def comment(author: str, paragraphs: Iterable[Paragraph]) -> list[Paragraph]:
    """One paragraph that says whose words these are: they are not the document's."""
    label = f"Comment by {author}" if author else "Comment"
    return [Paragraph(f"{label}: " + "\n".join(each.text for each in paragraphs))]


def small_number(text: str | None, default: int, most: int) -> int:
    """A whole number in an attribute, `most` if it is larger, `default` if it is none."""
    if not text or len(text) > 9 or not text.isdecimal():
        return default
    return min(int(text), most)


def table_paragraphs(rows: Sequence[Sequence[Cell]], marked: int = 0) -> Iterator[Paragraph]:
    """A paragraph for each row: its cells, each with the name of its column.

    The names are in the first `marked` rows, or else in the first row with several cells if it
    looks like names. A row with only one filled cell, or with a long text, is its paragraphs.
    """
    names: list[str] = []
    named: set[int] = set()
    undecided = not marked
    for number, row in enumerate(rows):
        cells = [_cell_text(cell) for cell in row]
        if number < marked:
            names = _joined(names, _spread(row, cells))
        elif sum(map(bool, cells)) < 2 or max(map(len, cells)) > _LAYOUT:
            yield from (paragraph for cell in row for paragraph in cell or ())
        elif undecided and _heads(cells, rows[number + 1 :]):
            names, undecided = _spread(row, cells), False
        elif not names and len(cells) == 2 and len(cells[0]) <= _NAME:
            yield Paragraph(row_text([cells[0].rstrip(" :")], [cells[1]]))
            undecided = False
        else:
            named.update(column for column, cell in enumerate(cells) if cell)
            yield Paragraph(row_text(names, cells))
            undecided = False
    # Names of columns without cells are text too.
    rest = [name for column, name in enumerate(names) if name and column not in named]
    yield Paragraph("\n".join(dict.fromkeys(rest)))


def _are_names(cells: Sequence[str]) -> bool:
    """Whether a row may name columns: two or more short, distinct texts, or years after a text."""
    filled = [cell for cell in cells if cell]
    rest = filled[1:] if cells and cells[0] else filled
    if len(filled) < 2 or len(set(filled)) < len(filled) or len(filled) < len(cells) - 1:
        return False
    if len(rest) > 1 and all(_YEAR.fullmatch(cell) for cell in rest):
        return True
    return all(len(cell) <= _NAME and not _is_value(cell) for cell in filled)


def _heads(cells: Sequence[str], below: Sequence[Sequence[Cell]]) -> bool:
    """Whether a row that may name columns does. Two columns may also be a form's."""
    if not below or not _are_names(cells):
        return False
    if len(cells) > 2:
        return True
    columns = list(zip(*([_cell_text(cell) for cell in row] for row in below), strict=False))
    form = any(cell.endswith(":") for cell in (cells[0], *columns[0]))
    return len(below) > 1 and not form and any(all(map(_is_value, each)) for each in columns)


def _is_value(cell: str) -> bool:
    """Whether a text begins with a digit, after a currency or the like."""
    return bool(re.match(r"\W?\d|\W\W?\d", cell))


def _cell_text(cell: Cell) -> str:
    return "\n".join(filter(None, (paragraph.text.strip() for paragraph in cell or ())))


def _spread(row: Sequence[Cell], cells: Sequence[str]) -> list[str]:
    """Names of columns; a cell that covers several columns names them all."""
    names: list[str] = []
    for cell, text in zip(row, cells, strict=True):
        names.append(names[-1] if cell is None and names else " ".join(text.split()))
    return names


def _joined(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """Names that stand in several rows, such as "Sales 2019"."""
    length = max(len(above), len(below))
    pairs = zip(*([*names, *[""] * (length - len(names))] for names in (above, below)), strict=True)
    return [upper if upper == lower else f"{upper} {lower}".strip() for upper, lower in pairs]
