"""Quotes in comma-separated values, which may stand after backslashes or be wrong."""

import csv
import re
from collections.abc import Iterable
from typing import Any

_ESCAPED = re.compile(r'(?<!\\)((?:\\\\)*)\\"')


def csv_reader(lines: Iterable[str], delimiter: str, strict: bool = False) -> Any:
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict)


def has_backslashes(lines: list[str], delimiter: str) -> bool:
    """Whether a backslash stands before quotes in a cell, as MySQL writes them."""
    changed = list(map(doubled, lines))
    return changed != lines and count_errors(changed, delimiter) < count_errors(lines, delimiter)


def doubled(line: str) -> str:
    """A line in which quotes in a cell are written twice instead of after a backslash."""
    return _ESCAPED.sub(r'\1""', line) if '\\"' in line else line


def count_errors(lines: Iterable[str], delimiter: str) -> int:
    """How many rows have quotes where the format allows none, or one that is not closed."""
    reader, errors = csv_reader(lines, delimiter, strict=True), 0
    while True:
        try:
            next(reader)
        except StopIteration:
            return errors
        except csv.Error:
            errors += 1


def lone_row(line: str, delimiter: str, width: int) -> list[str]:
    """The cells of one line; if they are less than `width`, quotes are taken for text."""
    row = next(csv_reader([line], delimiter), [])
    if len(row) < width:
        line = line.rstrip("\r\n")
        row = next(csv.reader([line], delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
    return row
