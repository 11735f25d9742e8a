"""Records of .jsonl, .csv and .parquet files: each has a text, maybe a title and an id."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from fabir.errors import InputError

LONGEST = 16 << 20  # characters of a line
_TEXT = "text", "content", "contents", "body"
_ROWS = 64  # of a Parquet file at a time

Skip = Callable[[str], None]


class Record(NamedTuple):
    """A text, its title, its name within the file, and its line there."""

    text: str
    title: str
    name: str
    line: int | None = None


def read_jsonl(path: Path, skip: Skip) -> Iterator[Record]:
    """An object a line. A line that is none is left out."""
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
    """A row a record, named by the first line, between commas, semicolons or tabs."""
    csv.field_size_limit(LONGEST)
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = _lines(file)
        head = next(lines, "")
        delimiter = max(",;\t", key=head.count)
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
    """A row a record; only columns of text and one called id are read."""
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
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise InputError(f"a line has more than {LONGEST >> 20} million characters")
        yield line


def _record(record: Mapping[str, Any], number: int, line: int | None = None) -> Record:
    """The text is the field that is called so; else all that is text, a line each."""
    cells = {name: value for name, value in record.items() if isinstance(value, str)}
    text = next((cells[name] for name in _TEXT if cells.get(name, "").strip()), None)
    if text is None:
        rest = (value for name, value in cells.items() if name not in ("id", "title"))
        text = "\n".join(value for value in rest if value.strip())
    name = record.get("id")
    name = str(name)[:200] if isinstance(name, int | str) and name != "" else str(number)
    return Record(text_of(text), title_of(cells.get("title")), text_of(name), line)


def text_of(text: str) -> str:
    """The same length, with half characters, which no file can hold, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def title_of(title: object) -> str:
    return text_of(title) if isinstance(title, str) else ""
