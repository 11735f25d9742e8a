"""Rows of tables: what separates the cells, which row names the columns, and rows as text."""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest

MAX_NAME = 200  # characters; every row repeats the names
_KNOWN = 1000  # names that are kept as one line
_DELIMITERS = ",;\t|"


def row_text(names: Sequence[str], cells: Sequence[str]) -> str:
    """A line "name: cell" for each cell that is not blank; a cell without a name stands alone.

    `names` may be shorter than `cells`, and may have blank and repeated names. A name is one line
    and has at most `MAX_NAME` characters.
    """
    lines = []
    for number, cell in enumerate(cells):
        if cell := cell.strip():
            name = _one_line(names[number]) if number < len(names) else ""
            lines.append(f"{name}: {cell}" if name else cell)
    return "\n".join(lines)


@lru_cache(_KNOWN)
def _one_line(name: str) -> str:
    return " ".join(name[:MAX_NAME].split())


def delimiter_of(lines: Sequence[str]) -> str:
    """The delimiter of a table's first lines: comma, semicolon, tab or vertical bar.

    That with the most regular rows wins, by the pattern score of van den Burg et al. (2019),
    "Wrangling messy CSV files by detecting row and type patterns".
    """

    def regularity(delimiter: str) -> float:
        rows = csv.reader(lines, delimiter=delimiter)
        lengths = Counter(len(row) for row in rows if row)
        score = sum(count * (length - 1) / length for length, count in lengths.items())
        return score / max(1, len(lengths))

    return max(_DELIMITERS, key=regularity)


def find_names(rows: Sequence[Sequence[str]]) -> tuple[int, list[str]]:
    """How many rows stand above the names of the columns, and these names.

    Rows above have fewer cells than half of a usual row further down; a title has one. Or they end
    before the last column, and the next row does not and can be the names. There are no
    names if the first full row is data, or the last row. If most rows have a cell more than there
    are names, the first column has no name.

    Args:
        rows: the first rows of a table, without blank ones
    """
    filled = [sum(map(bool, map(str.strip, row))) for row in rows]
    usual = max(Counter(filled[len(filled) // 2 :]).most_common(1), default=(0, 0))[0]
    least = max(2, usual / 2) if usual > 1 else 0
    above = next((number for number, count in enumerate(filled) if count >= least), 0)
    ends = [_end(row) for row in rows]
    last = max(Counter(ends[len(ends) // 2 :]).most_common(1), default=(0, 0))[0]
    while 0 < above < len(rows) - 2 and ends[above] < last <= ends[above + 1]:
        if not _can_be_names(rows[above + 1], rows[above + 2]):
            break
        above += 1
    body = rows[above + 1 :]
    if not body or not _can_be_names(rows[above], body[0]):
        return above, []
    names = [name[:MAX_NAME] for name in rows[above]]
    longer = sum(len(row) == len(names) + 1 and bool(row[-1].strip()) for row in body)
    return above, ["", *names] if longer > len(body) / 2 else names


def _end(row: Sequence[str]) -> int:
    """The number of the last column that is not blank, from 1."""
    return max((number for number, cell in enumerate(row, 1) if cell.strip()), default=0)


def _can_be_names(row: Sequence[str], below: Sequence[str]) -> bool:
    """Whether `row` has no number above a number, or such as are names: years, or 1, 2, 3 ..."""
    pairs = zip_longest(row, below[: len(row)], fillvalue="")
    numbers = [float(cell) for cell, other in pairs if is_number(cell) and is_number(other)]
    if len(numbers) > 1 and numbers[0] in (0, 1):
        return numbers == [numbers[0] + step for step in range(len(numbers))]
    return all(number.is_integer() and 1000 <= number <= 2100 for number in numbers)


def is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
