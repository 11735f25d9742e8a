"""Records of .jsonl, .csv and .parquet files: each has a text, and optionally a title and an id."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from fabir.data.tables import delimiter_of
from fabir.errors import InputError

MAX_LINE = 16 << 20  # characters of a line
_TEXT = "text", "content", "contents", "body"
_ROWS = 64  # rows of a Parquet file to read at a time

Skip = Callable[[str], None]


class Record(NamedTuple):
    """A text, its title, and its name and line in the file."""

    text: str
    title: str
    name: str
    line: int | None = None


def read_jsonl(path: Path, skip: Skip) -> Iterator[Record]:
    """One JSON object per line. Other lines are skipped."""
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(_lines(file), 1):
            try:
                record = json.loads(line) if line.strip() else {}
                if not isinstance(record, dict):
                    raise ValueError("not an object")
            except (ValueError, RecursionError) as error:
                skip(f"line {number} is not a JSON object: {error}")
                continue
            yield _record(record, number, number)


def read_csv(path: Path, skip: Skip) -> Iterator[Record]:
    """One record per row. Line 1 names the columns; commas, semicolons or tabs separate them."""
    csv.field_size_limit(MAX_LINE)
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = _lines(file)
        head = next(lines, "")
        delimiter = delimiter_of(head)
        names = next(csv.reader([head], delimiter=delimiter), [])
        rows = csv.reader(lines, delimiter=delimiter)
        line = 2
        for number, row in enumerate(rows, 1):
            if len(row) > len(names):
                skip(f"line {line} has {len(row)} fields, the first line {len(names)}")
            else:
                yield _record(dict(zip(names, row, strict=False)), number, line)
            line = rows.line_num + 2


def read_parquet(path: Path, skip: Skip) -> Iterator[Record]:
    """One record per row. Only text columns and the column `id` are read."""
    import pyarrow.parquet
    import pyarrow.types as types

    with pyarrow.parquet.ParquetFile(path) as file:
        columns = [
            field.name
            for field in file.schema_arrow
            if types.is_string(field.type)
            or types.is_large_string(field.type)
            or (field.name == "id" and types.is_integer(field.type))
        ]
        batches = file.iter_batches(_ROWS, columns=columns)
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        for number, row in enumerate(rows, 1):
            yield _record(row, number)


def _lines(file: io.TextIOBase) -> Iterator[str]:
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise InputError(f"a line has more than {MAX_LINE >> 20} million characters")
        yield line


def _record(record: Mapping[str, Any], number: int, line: int | None = None) -> Record:
    """A record's text is its text field, or else all its strings, one per line."""
    cells = {name: value for name, value in record.items() if isinstance(value, str)}
    text = next((cells[name] for name in _TEXT if cells.get(name, "").strip()), None)
    if text is None:
        rest = (value for name, value in cells.items() if name not in ("id", "title"))
        text = "\n".join(value for value in rest if value.strip())
    name = record.get("id")
    name = str(name)[:200] if isinstance(name, int | str) and name != "" else str(number)
    return Record(text_of(text), title_of(cells.get("title")), text_of(name), line)


def text_of(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode. The length stays the same."""
    return text.encode("utf-8", "replace").decode("utf-8")


def title_of(title: object) -> str:
    return text_of(title) if isinstance(title, str) else ""
