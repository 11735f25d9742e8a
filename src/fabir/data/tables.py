"""Reads and writes tables row by row: .jsonl, .csv and .tsv, plain or .gz, and .parquet.

The callers define the meaning of the columns.
"""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

from fabir.errors import InputError
from fabir.files import check_output, open_text, replacing

KINDS = ".jsonl", ".csv", ".tsv", ".parquet"
_AT_ONCE = 1024  # rows of a .parquet file to read at a time
_GROUP = 16 * 1024  # rows per row group of a written .parquet file
_LONGEST_CELL = 2**31 - 1  # the largest C long on every platform; csv's default is 131,072

Row = dict[str, Any]


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
    """The kind of table, one of `KINDS`, from the file's suffix; empty for other files."""
    name = str(path)
    if name.endswith(".parquet"):
        return ".parquet"
    return next((kind for kind in KINDS if name.removesuffix(".gz").endswith(kind)), "")


def read_table(path: str | Path) -> Iterator[Numbered]:
    """The rows of a table, without blank lines.

    Bytes that are not UTF-8 become lone surrogates (`surrogateescape`), which `check_text` rejects.

    Raises:
        InputError: the file is not a table, unreadable or damaged, or pyarrow is missing for a
            .parquet file.
    """
    path = Path(path)
    readers = {
        ".jsonl": _json_rows,
        ".csv": _csv_rows,
        ".tsv": _csv_rows,
        ".parquet": _parquet_rows,
    }
    kind = table_kind(path)
    if not kind:
        raise InputError(f"{path}: rows are read from {', '.join(KINDS)} files")
    with _reading(path):
        size = max(1, path.stat().st_size)
    return readers[kind](path, size)


def check_text(value: Any, name: str, *, blank: bool = False) -> str:
    """Check that the value of the field `name` is text; `blank` allows blank text.

    Raises:
        InputError: the value is not text, is blank, or cannot be encoded as UTF-8.
    """
    if type(value) is not str:
        kind = "null" if value is None else type(value).__name__
        raise InputError(f'field "{name}": expected a string, got {kind}')
    if not blank and not value.strip():
        raise InputError(f'field "{name}": blank')
    try:
        value.encode()
    except UnicodeEncodeError as error:
        problem = f"not UTF-8, or half a surrogate pair, at character {error.start}"
        raise InputError(f'field "{name}": {problem}') from error
    return value


def row_id(numbered: Numbered) -> str:
    """The field "id", or the row's number if the field is missing or empty.

    Raises:
        InputError: the field is neither text nor an integer.
    """
    id = numbered.row.get("id")
    if id is None or id == "":
        id = numbered.number
    return check_text(str(id) if type(id) is int else id, "id")


def write_table(path: str | Path, rows: Iterable[Row], columns: dict[str, type]) -> None:
    """Write a table atomically; the suffix of `path` gives its kind.

    Args:
        columns: names of the columns in order, with `str`, `int` or `float`; a value may be None
    """
    with replacing(path) as temporary:
        if table_kind(path) == ".parquet":
            _write_parquet(temporary, rows, columns)
            return
        with _open_output(temporary, gzipped=Path(path).suffix == ".gz") as file:
            if table_kind(path) in (".csv", ".tsv"):
                delimiter = "\t" if table_kind(path) == ".tsv" else ","
                writer = csv.DictWriter(file, list(columns), delimiter=delimiter)
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.writelines(json_line(row) for row in rows)


def json_line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into an InputError with its path."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged gzip file ({error}); fetch or pack it again") from error
    except csv.Error as error:
        raise InputError(f"{path}: not valid CSV: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


@contextmanager
def _text(
    path: Path, size: int, newline: str
) -> Iterator[tuple[Iterable[str], Callable[[], float]]]:
    """Yield the lines of a file, and a function that returns the share read so far."""
    with _reading(path), open_text(path, errors="surrogateescape", newline=newline) as file:
        buffer = cast(Any, file).buffer
        raw = buffer.fileobj if path.suffix == ".gz" else buffer.raw
        yield file, lambda: raw.tell() / size


def _json_rows(path: Path, size: int) -> Iterator[Numbered]:
    with _text(path, size, "\n") as (lines, share):
        for number, line in enumerate(lines, 1):
            if number == 1:
                line = line.removeprefix("\ufeff")
            if line.strip():
                yield Numbered(number, *_parsed(line), share())


def _parsed(line: str) -> tuple[Row, str]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {}, f"not valid JSON: {getattr(error, 'msg', error)}"
    if type(value) is not dict:
        return {}, f"expected an object, got {type(value).__name__}"
    return value, ""


def _csv_rows(path: Path, size: int) -> Iterator[Numbered]:
    csv.field_size_limit(_LONGEST_CELL)
    with _text(path, size, "") as (lines, share):
        lines = iter(lines)
        head = next(lines, "").removeprefix("\ufeff")
        delimiter = "\t" if table_kind(path) == ".tsv" else delimiter_of(head)
        rows = csv.reader(chain([head], lines), delimiter=delimiter)
        header = next(rows, None)
        if not header:
            raise InputError(f"{path}: its first line has no names of columns")
        for number, cells in enumerate(filter(None, rows), 1):
            if len(cells) == len(header):
                yield Numbered(number, dict(zip(header, cells, strict=True)), "", share())
            else:
                problem = f"{len(cells)} cells where there are {len(header)} columns"
                yield Numbered(number, {}, problem, share())


def delimiter_of(head: str) -> str:
    """What separates the names of columns in the first line of a table: comma, semicolon or tab."""
    return max(",;\t", key=re.sub(r'"[^"]*"', "", head).count)


def _parquet_rows(path: Path, size: int) -> Iterator[Numbered]:
    pyarrow, parquet = _arrow()
    try:
        with parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            total = max(1, file.metadata.num_rows)
            rows = chain.from_iterable(batch.to_pylist() for batch in file.iter_batches(_AT_ONCE))
            for number, row in enumerate(rows, 1):
                yield Numbered(number, row, "", number / total)
    except (OSError, pyarrow.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read as Parquet: {reason}") from error


def _write_parquet(path: Path, rows: Iterable[Row], columns: dict[str, type]) -> None:
    pyarrow, parquet = _arrow()
    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in batched(rows, _GROUP):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema))


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
        _arrow()


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        message = ".parquet files need pyarrow: pip install 'fabir[parquet]'"
        raise InputError(message) from error
    return pyarrow, parquet


@contextmanager
def _open_output(path: Path, *, gzipped: bool) -> Iterator[io.TextIOBase]:
    """Open a text file for writing. Gzip gets no name and date, so equal rows give equal files."""
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
