"""Reads and writes tables row by row: .jsonl, .csv and .tsv, plain or .gz, and .parquet.

The callers define the meaning of the columns.
"""

import csv
import gzip
import io
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from fabir.data import parquet
from fabir.data.addresses import STDIN, open_file, size_of
from fabir.data.csv_rows import not_utf8, read_csv
from fabir.errors import InputError
from fabir.files import DAMAGED_GZIP, check_output, damaged_gzip, is_gzipped, replacing
from fabir.text.units import is_blank

KINDS = ".jsonl", ".csv", ".tsv", ".parquet"
ENDINGS = ".jsonl, .ndjson, .csv, .tsv (all also .gz) or .parquet"  # in any case
_GROUP = 16 * 1024  # rows per row group of a written .parquet file
_DEEPEST = 500  # lists and objects of a row that are in each other; Python writes some 900
_NO_JSON = "not valid JSON"
_LONGEST_SHOWN = 40  # characters of a value in an error

Row = dict[str, Any]


def _finite(number: str) -> float | None:
    """A number of JSON, which has no NaN and no infinity: None if it is one, or is read as one."""
    return found if math.isfinite(found := float(number)) else None


_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).decode


class Numbered(NamedTuple):
    """A row of a file.

    number: row number from 1; in a .jsonl file the line, in a .csv or .tsv file without the header
    row: the fields; empty if the row is invalid
    problem: the error in the row, or empty
    share: share of the file read so far, from 0 to 1
    """

    number: int
    row: Row
    problem: str
    share: float


def table_kind(path: str | Path) -> str:
    """The kind of table, one of `KINDS`, from the file's ending; empty if it is none of `ENDINGS`.

    Upper and lower case are alike. A .ndjson file has the kind ".jsonl".
    """
    name = str(path).lower()
    if name.endswith(".parquet"):
        return ".parquet"
    ending = PurePath(name.removesuffix(".gz")).suffix.replace(".ndjson", ".jsonl")
    return ending if ending in KINDS and ending != ".parquet" else ""


def read_table(path: str | Path, wanted: Collection[str] | None = None) -> Iterator[Numbered]:
    """The rows of a table, without blank lines.

    Bytes that are not UTF-8 become lone surrogates (`surrogateescape`), which `check_text` rejects.

    Args:
        path: a file, an address that fsspec knows, or "-" for lines of JSON on standard input
        wanted: columns that are needed; of a .parquet file others are not read

    Raises:
        InputError: the file is not a table, unreadable or damaged, two columns that are read have
            one name, or pyarrow is missing for a .parquet file.
    """
    kind = ".jsonl" if str(path) == STDIN else table_kind(path)
    if not kind:
        raise InputError(f"{path}: rows are read from {ENDINGS} files")
    size = size_of(path)
    if kind == ".parquet":
        return _parquet_rows(path, wanted)
    return _json_rows(path, size) if kind == ".jsonl" else _csv_rows(path, size, wanted)


def read_header(path: str | Path, wanted: Collection[str] | None = None) -> dict[str, Any]:
    """The columns of a table: `str` for each of a .csv or .tsv file, the Arrow type for each of a
    .parquet file. Files of other kinds have no header, and give none.

    Args:
        wanted: columns that are needed; the names of others may be there twice

    Raises:
        InputError: see `read_table`.
    """
    kind = table_kind(path)
    if kind == ".parquet":
        return parquet.read_header(path, wanted)
    if kind in (".csv", ".tsv"):
        with _text(path, 0, "") as (lines, _):
            return dict.fromkeys(_csv(path, lines, wanted)[0], str)
    return {}


def check_text(value: Any, name: str, *, blank: bool = False) -> str:
    """The value of the field `name`, which is text; `blank` allows blank text.

    Raises:
        InputError: the value is not text, is blank (see `is_blank`), or cannot be encoded as UTF-8.
    """
    if not isinstance(value, str):
        kind = "null" if value is None else type(value).__name__
        raise InputError(f'field "{name}": expected a string, got {kind}')
    value = str.__str__(value)  # other kinds of text, such as numpy's
    if not blank and is_blank(value):
        raise InputError(f'field "{name}": blank')
    try:
        value.encode()
    except UnicodeEncodeError as error:
        problem = not_utf8(value) or f"half a surrogate pair at character {error.start}"
        raise InputError(f'field "{name}": {problem}') from error
    return value


def check_id(value: Any, name: str, advice: str = "cast it") -> str | int | None:
    """The value of the field `name`, which is an id; None if it is missing: null, NaN or empty.

    A whole number may be a float: other tools write a column of integers so if one is missing.

    Raises:
        InputError: it is neither text nor a whole number; `advice` says what to do about it.
    """
    if value is None or value == "" or value != value:
        return None
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) not in (int, str):
        shown = json_line(value, exact=True).strip()
        shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
        raise InputError(f'field "{name}": {shown} is no text or whole number: {advice}')
    return value if type(value) is int else check_text(value, name)


def row_id(numbered: Numbered) -> str:
    """The field "id" as text, or the row's number if the field is missing or empty.

    Raises:
        InputError: the field is neither text nor a whole number.
    """
    id = check_id(numbered.row.get("id"), "id")
    return str(numbered.number if id is None else id)


def column_types(rows: Iterable[Row], names: Iterable[str] = ()) -> dict[str, type]:
    """The columns of rows in the order of their first appearance, and their Python types.

    Numbers of which some are whole have the type `float`, unless a whole one is too large to be the
    same there. Values of other types, or of several, can only be written as text: the type of their
    column is `str`.

    Args:
        names: columns that are there in any case, and come first
    """
    found: dict[str, set[type]] = {name: set() for name in names}
    for row in rows:
        for name, value in row.items():
            kinds = found.setdefault(name, set())
            if value is not None:
                kinds.add(_kind(value))
    return {name: _common(kinds) for name, kinds in found.items()}


class _Large:
    """The type of whole numbers that 64 bits hold, but not every one of them a float."""


def _kind(value: Any) -> type:
    if type(value) is not int or abs(value) <= 2**53:
        return type(value)
    return _Large if abs(value) < 2**63 else str


def _common(kinds: set[type]) -> type:
    if kinds == {bool}:
        return bool
    for kind, held in ((int, {int, _Large}), (float, {int, float})):
        if kinds and kinds <= held:
            return kind
    return str


def write_table(path: str | Path, rows: Iterable[Row], columns: dict[str, Any]) -> None:
    """Write a table atomically; the suffix of `path` gives its kind.

    A value may be missing or None. What a column cannot hold is written as JSON in text.

    Args:
        columns: names of the columns in order, with `bool`, `float`, `int`, `str`, or the Arrow
            type that a column of a .parquet file gets; in a .jsonl file a row has its own
    """
    with replacing(path) as temporary:
        if table_kind(path) == ".parquet":
            parquet.write_batches(temporary, batched(rows, _GROUP), columns)
            return
        with open_output(temporary, gzipped=is_gzipped(path)) as file:
            if table_kind(path) in (".csv", ".tsv"):
                delimiter = "\t" if table_kind(path) == ".tsv" else ","
                writer = csv.DictWriter(file, list(columns), delimiter=delimiter)
                writer.writeheader()
                writer.writerows(
                    {name: _cell(value) for name, value in row.items()} for row in rows
                )
            else:
                file.writelines(json_line(row) for row in rows)


def _cell(value: Any) -> Any:
    return parquet.as_text(value) if isinstance(value, bool | dict | list) else value


def json_line(row: Any, *, exact: bool = False) -> str:
    """A value as a line of JSON, which has no infinite number and no NaN: they become null.

    Args:
        exact: write them as Python's `json.loads` reads them
    """
    return (json.dumps(row, ensure_ascii=False) if exact else parquet.to_json(row)) + "\n"


@contextmanager
def _text(
    path: str | Path, size: int, newline: str
) -> Iterator[tuple[Iterable[str], Callable[[], float]]]:
    """Yield the lines of a file, and a function that returns the share read so far: 0 if the size
    is not known. Errors of reading become an InputError with the file's name."""
    with open_file(path) as raw:
        stream = gzip.GzipFile(fileobj=raw) if is_gzipped(path) else raw
        text = io.TextIOWrapper(stream, "utf-8", errors="surrogateescape", newline=newline)
        try:
            yield text, lambda: raw.tell() / size if size else 0.0
        except DAMAGED_GZIP as error:
            raise damaged_gzip(path, error) from error
        finally:
            text.detach()  # `open_file` closes what it has opened


def _json_rows(path: str | Path, size: int) -> Iterator[Numbered]:
    with _text(path, size, "\n") as (lines, share):
        for number, line in enumerate(lines, 1):
            if number == 1:
                line = line.removeprefix("\ufeff")
            if line.strip():
                row, problem = _parsed(line)
                if str(path) == STDIN and problem.startswith(_NO_JSON):
                    problem += " (of standard input each line is JSON; a table in CSV is a file)"
                yield Numbered(number, row, problem, share())


def _parsed(line: str) -> tuple[Row, str]:
    try:
        value = _decode(line.strip())
    except (ValueError, RecursionError) as error:
        return {}, not_utf8(line) or f"{_NO_JSON}: {getattr(error, 'msg', error)}"
    if line.count("[") + line.count("{") > _DEEPEST and _depth(value) > _DEEPEST:
        return {}, f"its values are nested more than {_DEEPEST} deep"
    if type(value) is not dict:
        return {}, f"expected an object, got {type(value).__name__}"
    return value, ""


def _depth(value: Any) -> int:
    """How deep a value's lists and objects are nested."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, list | dict)]:
        depth += 1
        level = [
            each for outer in level for each in (outer.values() if type(outer) is dict else outer)
        ]
    return depth


def _csv_rows(path: str | Path, size: int, wanted: Collection[str] | None) -> Iterator[Numbered]:
    with _text(path, size, "") as (lines, share):
        header, rows = _csv(path, lines, wanted)
        for number, cells in enumerate(rows, 1):
            if len(cells) == len(header):
                yield Numbered(number, dict(zip(header, cells, strict=True)), "", share())
            else:
                problem = f"{len(cells)} cells where there are {len(header)} columns"
                yield Numbered(number, {}, problem, share())


def _csv(
    path: str | Path, lines: Iterable[str], wanted: Collection[str] | None
) -> tuple[list[str], Iterator[list[str]]]:
    """`read_csv`, with the names checked."""
    header, rows = read_csv(path, lines, tabs=table_kind(path) == ".tsv")
    parquet.check_names(path, header, wanted)
    return header, rows


def _parquet_rows(path: str | Path, wanted: Collection[str] | None) -> Iterator[Numbered]:
    for number, (row, share) in enumerate(parquet.read_rows(path, wanted), 1):
        yield Numbered(number, row, "", share)


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of `size` items; the last one may be shorter."""
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def check_table(path: str | Path) -> None:
    """Check before long work that a table can be written to `path`.

    Raises:
        InputError: pyarrow is missing for a .parquet file; see `check_output`.
    """
    check_output(path)
    if table_kind(path) == ".parquet":
        parquet.import_arrow()


@contextmanager
def open_output(path: Path, *, gzipped: bool) -> Iterator[io.TextIOBase]:
    """Open a text file for writing. Gzip gets no name and date, so equal data makes equal files."""
    with open(path, "wb") as raw:
        if not gzipped:
            with io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
                yield file
            return
        with (
            gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as stream,
            io.TextIOWrapper(stream, encoding="utf-8", newline="") as file,
        ):
            yield file
