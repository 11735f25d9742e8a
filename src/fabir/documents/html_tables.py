"""Tables of HTML pages: their rows as paragraphs, or their cells where they only lay out a page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fabir.documents.paragraphs import Cell, Paragraph, small_number, table_paragraphs

_MAX_COLUMNS = 64  # that one cell covers
_MAX_ROWS = 1000  # that one cell covers
_MAX_HEADS = 8  # rows of column names
_REPEATED = 200  # the most characters of a cell that each row it covers repeats


@dataclass(slots=True)
class _TableCell:
    paragraphs: list[Paragraph]
    names: bool  # a cell of kind <th>
    columns: int
    rows: int
    contents: bool = False  # whether its last text leads to places of the page as a whole


class Table:
    """A table that is being read.

    Args:
        outer: the paragraphs that the table's own are added to
        layout: whether the table only lays out a page, so that its cells are blocks of text
    """

    def __init__(self, outer: list[Paragraph], layout: bool) -> None:
        self.outer, self.layout = outer, layout
        self._rows: list[list[_TableCell]] = []
        self._heads: list[bool] = []  # whether a row is in the table's head

    def begin_row(self, in_head: bool) -> None:
        self._rows.append([])
        self._heads.append(in_head)

    def begin_cell(self, names: bool, attributes: Mapping[str, str | None]) -> list[Paragraph]:
        """The list that the cell's paragraphs are to be added to. A cell of 0 rows has all that
        follow."""
        cell = _TableCell(
            paragraphs=[],
            names=names,
            columns=max(1, small_number(attributes.get("colspan"), 1, _MAX_COLUMNS)),
            rows=small_number(attributes.get("rowspan"), 1, _MAX_ROWS) or _MAX_ROWS,
        )
        if not self._rows:  # a cell in the caption, which a browser's parser leaves there
            self.begin_row(in_head=False)
        self._rows[-1].append(cell)
        return cell.paragraphs

    def note_links(self, contents: bool) -> None:
        """Note of a paragraph of the cell that is open whether all of it leads to places of the
        page. Rows of cells with one such paragraph each, as in an index, are left out."""
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].contents = contents

    def paragraphs(self) -> Iterator[Paragraph]:
        given = [each for each in zip(self._rows, self._heads, strict=True) if each[0]]
        kept = [each for each in given if not _is_index(each[0])]
        rows = [row for row, _ in kept]
        if len(kept) < len(given) and all(map(_is_named, rows)):
            return  # the names of an index's columns and letters are all that is left
        if self.layout or not _is_data(rows):
            yield from (each for row in rows for cell in row for each in cell.paragraphs)
            return
        heads = [head or all(cell.names for cell in row) for row, head in kept]
        grid = _grid(rows)
        title = next((n for n, row in enumerate(rows) if len(row) > 1), len(rows))
        marked = next((n for n, head in enumerate(heads[title:]) if not head), len(rows) - title)
        yield from table_paragraphs(grid[:title])
        if marked > _MAX_HEADS:
            marked = 0
        if not marked and any(row[0].names for row in rows[title:]):
            for cells in grid[title:]:  # each row has a name, not each column
                yield from table_paragraphs([cells])
        else:
            yield from table_paragraphs(grid[title:], marked)


def _is_index(row: list[_TableCell]) -> bool:
    """Whether a row has several texts, all of which lead to places of the page."""
    texts = [cell for cell in row if cell.paragraphs]
    return len(texts) > 1 and all(
        cell.contents and len(cell.paragraphs) == 1 and not cell.names for cell in texts
    )


def _is_named(row: list[_TableCell]) -> bool:
    return all(cell.names for cell in row if cell.paragraphs)


def _is_data(rows: list[list[_TableCell]]) -> bool:
    """Whether a table has more than one row or a <th>, and no heading in a <td>."""
    cells = [cell for row in rows for cell in row]
    headings = (each.heading for cell in cells if not cell.names for each in cell.paragraphs)
    return (len(rows) > 1 or any(cell.names for cell in cells)) and not any(headings)


def _grid(rows: list[list[_TableCell]]) -> list[list[Cell]]:
    """The cells by row and column. A short cell is in all rows that it covers."""
    grid: list[list[Cell]] = []
    covered: dict[int, tuple[int, list[Cell]]] = {}  # until a row: cells from a column on
    for number, row in enumerate(rows):
        line: list[Cell] = []
        for cell in row:
            _take_covered(line, covered, number)
            cells: list[Cell] = [cell.paragraphs, *[None] * (cell.columns - 1)]
            if cell.rows > 1:
                short = sum(len(each.text) for each in cell.paragraphs) <= _REPEATED
                repeated: list[Cell] = cells if short else [[]] * cell.columns
                covered[len(line)] = number + cell.rows, repeated
            line += cells
        _take_covered(line, covered, number)
        grid.append(line)
    return grid


def _take_covered(
    line: list[Cell], covered: dict[int, tuple[int, list[Cell]]], number: int
) -> None:
    """Add the cells of earlier rows that cover the next columns of row `number`."""
    while len(line) in covered:
        until, cells = covered[len(line)]
        if until <= number:
            del covered[len(line)]
            return
        line += cells
