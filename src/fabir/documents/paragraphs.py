"""Paragraphs and tables of formatted documents, whatever the format, as one text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, zip_longest
from typing import NamedTuple

from fabir.documents.base import MAX_BYTES, Document, text_of
from fabir.documents.list_numbers import NUMBER
from fabir.documents.tables import MAX_NAME, row_text
from fabir.errors import InputError

_BETWEEN = "\n\n"  # between paragraphs
_SOFT_HYPHEN = "\u00ad"
_LAYOUT = 1000  # a cell with more characters than that holds text that is only laid out as a table
_NAME = 100  # the most characters of a column's name
_STACKED = 3  # paragraphs of each cell of a row that is a whole table
_YEAR = re.compile(r"(1[5-9]|20)\d\d")
_MARKS = frozenset("☐☑☒✓✔✗✘•")  # they say nothing of what they stand before
_NUMBER = re.compile(NUMBER)
_BOLD_HEADING = re.compile(r"\W*[^\W\d_][^\n]{0,78}[^\s.!:;,]")
EXPONENT = re.compile(r"[+−-]?\d+")


class Paragraph(NamedTuple):
    """
    bold: whether all of its text is bold
    row: whether it is a row of a table
    """

    text: str
    heading: bool = False
    bold: bool = False
    row: bool = False


class Run(NamedTuple):
    """A piece of a paragraph; `raised` if it is a superscript, `hidden` if it is not shown."""

    text: str
    bold: bool = False
    raised: bool = False
    hidden: bool = False


def joined_runs(runs: Iterable[Run], heading: bool = False) -> Paragraph:
    """A paragraph. A raised number has "^" before it: 10 with an exponent of 6 is not 106."""
    filled = [run for run in runs if run.text]
    texts: list[str] = []
    for raised, group in groupby(filled, lambda run: run.raised):
        text = "".join(run.text for run in group)
        after_word = bool(texts) and not texts[-1][-1].isspace()
        is_exponent = raised and after_word and EXPONENT.fullmatch(text.strip())
        texts.append(f"^{text}" if is_exponent else text)
    looks = {run.bold for run in filled if not run.text.isspace()}
    return Paragraph("".join(texts), heading, looks == {True})


# A cell's paragraphs; None if the cell before it covers this column too.
Cell = Sequence[Paragraph] | None


class TextBuilder:
    """Joins paragraphs to a document, which knows its headings and where its pages begin."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._headings: list[tuple[int, int]] = []
        self._bold_line: tuple[int, int] | None = None  # the last paragraph, if it is one
        self._pages: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def begin_page(self) -> None:
        self._pages.append(self._length)

    def add(self, paragraphs: Iterable[Paragraph]) -> None:
        """A bold line above text that is not bold is a heading, whatever its style.

        Raises:
            InputError: the text becomes too long.
        """
        for paragraph in paragraphs:
            text = text_of(paragraph.text).replace(_SOFT_HYPHEN, "").strip()
            if not text:
                continue
            span = self._length, self._length + len(text)
            bold = paragraph.bold and not paragraph.row
            if self._bold_line and not (bold or paragraph.heading):
                self._headings.append(self._bold_line)
            if paragraph.heading:
                self._headings.append(span)
            may_head = bold and not paragraph.heading and _BOLD_HEADING.fullmatch(text)
            self._bold_line = span if may_head else None
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
    looks like names. A row with only one filled cell, with a long text, or without names and with
    a table in a cell is its paragraphs.
    """
    names: list[str] = []
    named: set[int] = set()
    undecided = not marked
    rows = [*rows[:marked], *chain.from_iterable(map(_unstacked, rows[marked:]))]
    for number, row in enumerate(rows):
        cells = _texts(row)
        if number < marked:
            names = _joined(names, _spread(row, cells))
        elif _is_layout(cells) or (not names and _has_table(row)):
            yield from _blocks(row)
        elif not names and len(cells) == 2 and _NUMBER.fullmatch(cells[0]):
            yield from _item(row)
        elif undecided and _heads(row, rows[number + 1 :]):
            names, undecided = _spread(row, cells), False
        elif not names and len(cells) == 2 and _is_label(cells[0]):
            yield Paragraph(row_text([cells[0].rstrip(" :")], [cells[1]]), row=True)
            undecided = False
        else:
            for column, (name, cell) in enumerate(zip(names, cells, strict=False)):
                if cell and len(name) <= MAX_NAME:  # of a longer name only a part is beside it
                    named.add(column)
            yield Paragraph(row_text(names, cells), row=True)
            undecided = False
    # Names of columns without cells, and long names, are text too.
    rest = [name for column, name in enumerate(names) if name and column not in named]
    yield Paragraph("\n".join(dict.fromkeys(rest)))


def _unstacked(row: Sequence[Cell]) -> Sequence[Sequence[Cell]]:
    """The rows of a table that is written into one row: each of its cells has a short line for each
    of them, and one has values."""
    stacks = [_lines(cell or ()) for cell in row]
    filled = [stack for stack in stacks if stack]
    height = len(filled[0]) if filled else 0
    if len(filled) < 2 or height < _STACKED or any(len(stack) != height for stack in filled):
        return [row]
    if any(paragraph.row for paragraph in _blocks(row)) or not any(map(_are_values, filled[1:])):
        return [row]
    if max(len(line) for stack in filled for line in stack) > _NAME:
        return [row]
    return [
        [
            cell and [Paragraph(line) for line in stack[number : number + 1]]
            for cell, stack in zip(row, stacks, strict=True)
        ]
        for number in range(height)
    ]


def _lines(cell: Sequence[Paragraph]) -> list[str]:
    """The lines of a cell that are not blank; a sign alone at the top goes with the first one."""
    lines = [line.strip() for paragraph in cell for line in paragraph.text.split("\n")]
    lines = [line for line in lines if line]
    if len(lines) > 1 and not any(map(str.isalnum, lines[0])):
        lines[:2] = [" ".join(lines[:2])]
    return lines


def _are_values(texts: Sequence[str]) -> bool:
    """Whether all are values, or signs such as a currency, and some are values."""
    return any(map(_is_value, texts)) and not any(
        _has_letter(text) and not _is_value(text) for text in texts
    )


def _is_layout(cells: Sequence[str]) -> bool:
    """Whether a row has only one filled cell, or a long text."""
    return sum(map(bool, cells)) < 2 or max(map(len, cells)) > _LAYOUT


def _blocks(row: Sequence[Cell]) -> Iterator[Paragraph]:
    return (paragraph for cell in row for paragraph in cell or ())


def _item(row: Sequence[Cell]) -> Iterator[Paragraph]:
    """The paragraphs of a row whose first one is nothing but the number of the second."""
    number, first, *rest = (each for each in _blocks(row) if each.text.strip())
    yield first._replace(text=f"{number.text.strip()} {first.text.lstrip()}")
    yield from rest


def _is_label(cell: str) -> bool:
    """Whether a text may name the one beside it."""
    return len(cell) <= _NAME and cell not in _MARKS


def _has_table(row: Sequence[Cell]) -> bool:
    return any(paragraph.row for paragraph in _blocks(row))


def _heads(row: Sequence[Cell], below: Sequence[Sequence[Cell]]) -> bool:
    """Whether a row names columns: it alone is bold, or it looks like names of what is below."""
    cells, lines = _texts(row), [texts for texts in map(_texts, below) if any(texts)]
    labels = [cell.endswith(":") for cell in _filled(cells)]
    if any(labels) != all(labels) or max(map(len, cells)) > _NAME:
        return False
    following = next((each for each in below if len(_filled(_texts(each))) > 1), None)
    if following is None:
        return False
    if _is_bold(row) and not _is_bold(following) and not any(map(_is_value, cells)):
        return True
    columns = list(zip_longest(*lines, fillvalue=""))[: len(cells)]
    if len(cells) == 2 and not _has_values(cells, columns):
        return False
    return _are_names(cells, columns, len(_filled(_spread(row, cells))))


def _has_values(cells: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether two columns have values, and no labels: they may also be a form's."""
    values = [all(map(_is_value, column)) for column in columns]
    is_form = any(label.endswith(":") for label in (cells[0], *columns[0]))
    return not is_form and (any(values) if len(columns[0]) > 1 else all(values))


def _is_bold(row: Sequence[Cell]) -> bool:
    """Whether all that a row has is bold. Its cells cover one column each, unlike a form's."""
    filled = (each for each in _blocks(row) if each.text.strip())
    return None not in row and all(each.bold for each in filled)


def _are_names(cells: Sequence[str], columns: Sequence[Sequence[str]], covered: int) -> bool:
    """Whether texts look like names of columns, with what is below them.

    They are distinct, and one is blank at most. Or a text is above nothing but values, and half
    are blank at most. Years after a text may be names too.

    Args:
        columns: the texts below each cell
        covered: the number of columns that the texts cover
    """
    filled = _filled(cells)
    rest = filled[1:] if cells[0] else filled
    good = len(set(filled)) == len(filled) >= len(cells) - 1
    if good and len(rest) > 1 and all(map(_YEAR.fullmatch, rest)):
        return True
    above = [_is_above_values(*each) for each in zip_longest(cells, columns, fillvalue="")]
    if any(_is_value(cell) and not known for cell, known in zip(cells, above, strict=True)):
        return False
    return good or (any(above) and covered >= len(cells) / 2)


def _is_above_values(name: str, column: Sequence[str]) -> bool:
    """Whether nothing but values is below a text; "2 beds" may be above numbers without words."""
    values = _filled(column)
    if not name or not values or not all(map(_is_value, values)):
        return False
    return not _is_value(name) or (_has_letter(name) and not any(map(_has_letter, values)))


def _is_value(cell: str) -> bool:
    """Whether a text begins with a digit, after a currency or the like."""
    return bool(re.match(r"\W?\d|\W\W?\d", cell))


def _has_letter(cell: str) -> bool:
    return any(map(str.isalpha, cell))


def _filled(cells: Iterable[str]) -> list[str]:
    return [cell for cell in cells if cell]


def _texts(row: Sequence[Cell]) -> list[str]:
    return [_cell_text(cell) for cell in row]


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
