"""The rows of a .csv or .tsv file, from its lines. What a row means is for the callers to say."""

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from fabir.errors import InputError

# Characters of a cell; csv's default is 131,072. An open quote makes one cell of all that follows.
_LONGEST_CELL = 1 << 26
_ESCAPED = "a quote inside a cell has a backslash before it: write it twice, as CSV has it"
# Text that was read as UTF-8 with `surrogateescape` begins so if it is UTF-16.
_UTF_16 = "\udcff\udcfe", "\udcfe\udcff"


def read_csv(
    path: str | Path, lines: Iterable[str], *, tabs: bool
) -> tuple[list[str], Iterator[list[str]]]:
    """The names of the columns, and the cells of each row; blank lines are left out.

    Args:
        path: the file's name for errors
        lines: lines of the file with their ends, read with `surrogateescape`
        tabs: whether tabs separate cells; else the first line tells

    Raises:
        InputError: there are no names, they are not UTF-8, or a quote is not closed where its cell
            ends. The row of such a quote has other rows in it.
    """
    csv.field_size_limit(_LONGEST_CELL)
    lines = iter(lines)
    head = next(lines, "").removeprefix("\ufeff")
    if problem := not_utf8(head):
        raise InputError(f"{path}: {problem}")
    delimiter = "\t" if tabs else delimiter_of(head)
    rows = _rows(path, chain([head], lines), delimiter)
    header = next(rows, None)
    if not header:
        raise InputError(f"{path}: its first line has no names of columns")
    return header, filter(None, rows)


def delimiter_of(head: str) -> str:
    """What separates the names of columns in the first line of a table: comma, semicolon or tab."""
    return max(",;\t", key=re.sub(r'"[^"]*"', "", head).count)


def not_utf8(text: str) -> str:
    """What is wrong with text that was read with `surrogateescape`, and what to do; empty if it is
    UTF-8."""
    if not any("\udc80" <= character <= "\udcff" for character in text):
        return ""
    known, encoding = (" but UTF-16", "UTF-16") if text.startswith(_UTF_16) else ("", "CP1252")
    return f"not UTF-8{known}; convert the file, for example with iconv -f {encoding} -t UTF-8"


def _rows(path: str | Path, lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """The names of the columns and all rows, also blank ones."""
    taken: list[str] = []  # the lines of one row

    def noted() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line
        taken.append("")

    rows = csv.reader(noted(), delimiter=delimiter)
    number = 0
    while True:
        try:
            cells = next(rows, None)
            if cells is not None and len(taken) > 1:
                _strict(taken, delimiter)
            elif cells is not None and '"' in taken[0]:
                cells = _of_one_line(cells, taken[0], delimiter)
        except csv.Error as error:
            place = f"row {number}" if number else "its first line"
            if str(error) == _ESCAPED:
                raise InputError(f"{path}: {place}: {_ESCAPED}") from error
            if len(taken) == 1:
                raise InputError(f"{path}: {place} is not valid CSV: {error}") from error
            raise InputError(
                f"{path}: {place}: a cell begins with a quote that is not closed; close it, or "
                "write quotes inside a cell twice"
            ) from error
        if cells is None:
            return
        taken.clear()
        number += bool(cells)
        yield cells


def _of_one_line(cells: list[str], line: str, delimiter: str) -> list[str]:
    """The cells of a row in one line, in which text may stand behind a closing quote.

    Where tabs separate cells such a quote is part of the text: many programs write none around it.
    Else the quotes are left out, as other tools do, unless backslashes tell what was meant.
    """
    with suppress(csv.Error):
        _strict([line], delimiter)
        return cells
    if delimiter == "\t":
        return [_literal(cell) for cell in line.rstrip("\r\n").split("\t")]
    if '\\"' in line:
        raise csv.Error(_ESCAPED)
    return cells


def _literal(cell: str) -> str:
    with suppress(csv.Error):
        return "".join(_strict([cell], "\t")[0]) if cell else ""
    return cell


def _strict(lines: list[str], delimiter: str) -> list[list[str]]:
    return list(csv.reader(lines, delimiter=delimiter, strict=True))
