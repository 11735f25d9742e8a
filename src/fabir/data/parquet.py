"""Reads and writes Parquet files row by row. The values of a row are those that JSON has.

A date, a timestamp or a decimal number is text in a row, and is written as what it was.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabir.data.addresses import open_file
from fabir.errors import InputError

_AT_ONCE = 1024  # rows to read at a time


def read_header(path: str | Path, wanted: Collection[str] | None = None) -> dict[str, Any]:
    """Names and Arrow types of the columns.

    Raises:
        InputError: see `read_rows`.
    """
    with _opened(path) as file:
        check_names(path, file.schema_arrow.names, wanted)
        return {field.name: field.type for field in file.schema_arrow}


def read_rows(
    path: str | Path, wanted: Collection[str] | None = None
) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield each row, and the share of the file up to it.

    Args:
        wanted: names of columns; others are not read. None: all columns

    Raises:
        InputError: the file cannot be read, two columns that are read have one name, or pyarrow is
            missing.
    """
    with _opened(path) as file:
        names = file.schema_arrow.names
        check_names(path, names, wanted)
        read = [name for name in names if wanted is None or name in wanted] or names
        total, number = max(1, file.metadata.num_rows), 0
        for batch in file.iter_batches(_AT_ONCE, columns=read):
            for row in _as_json(batch).to_pylist():
                number += 1
                yield row, number / total


def write_batches(
    path: str | Path, batches: Iterable[Sequence[dict[str, Any]]], columns: dict[str, Any]
) -> None:
    """Write each batch of rows as a row group.

    Args:
        columns: the names, each with a Python type (`bool`, `float`, `int`, `str`) or an Arrow type
            for which `is_kept` is true
    """
    arrow, parquet = import_arrow()
    types = {bool: arrow.bool_(), float: arrow.float64(), int: arrow.int64(), str: arrow.string()}
    schema = arrow.schema([(name, types.get(kind, kind)) for name, kind in columns.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            arrays = [_array([row.get(each.name) for row in batch], each.type) for each in schema]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def check_names(path: str | Path, names: Sequence[str], wanted: Collection[str] | None) -> None:
    """Refuse two columns with the same name. Any number of columns may have none.

    Args:
        wanted: the columns that count; None: all

    Raises:
        InputError: there are such columns.
    """
    for name in filter(None, names):
        if (wanted is None or name in wanted) and names.count(name) > 1:
            raise InputError(f'{path}: two columns are called "{name}": rename one')


def is_kept(kind: Any) -> bool:
    """Whether values of an Arrow type come back from a row as they were."""
    return _json_type(kind) is not None


def common_type(kinds: Sequence[Any]) -> Any:
    """The Arrow type that can hold values of all types; None if there is none.

    The types are those for which `is_kept` is true. If all are null, the common type is text.
    """
    arrow, _ = import_arrow()
    schemas = [arrow.schema([("", kind)]) for kind in kinds]
    try:
        common = arrow.unify_schemas(schemas, promote_options="permissive").field(0).type
    except arrow.ArrowException:
        return None
    return arrow.string() if arrow.types.is_null(common) else common


def is_exact(kind: Any, common: Any) -> bool:
    """Whether every value of an Arrow type is the same in the common type of it and others."""
    types = import_arrow()[0].types
    if types.is_struct(kind):
        return all(is_exact(part.type, common.field(part.name).type) for part in kind)
    if types.is_list(kind) or types.is_large_list(kind):
        return is_exact(kind.value_type, common.value_type)
    if types.is_uint64(kind):
        return kind == common
    return not types.is_floating(common) or not (types.is_int64(kind) or types.is_decimal(kind))


def as_text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if type(value) is str else json.dumps(value, ensure_ascii=False)


def import_arrow() -> tuple[Any, Any]:
    """pyarrow and its module `parquet`.

    Raises:
        InputError: pyarrow is missing.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        message = ".parquet files need pyarrow: pip install 'fabir[parquet]'"
        raise InputError(message) from error
    return pyarrow, parquet


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    arrow, parquet = import_arrow()
    with open_file(path) as raw:
        try:
            with parquet.ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False) as file:
                yield file
        except (OSError, arrow.ArrowException) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{path}: cannot be read as Parquet: {reason}") from error


def _json_type(kind: Any) -> Any:
    """The type that values of an Arrow type have in a row; None if they would be others there."""
    arrow, _ = import_arrow()
    types = arrow.types
    if types.is_dictionary(kind):
        return _json_type(kind.value_type)
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_decimal(kind):
        return arrow.string()
    if types.is_struct(kind) or types.is_list(kind) or types.is_large_list(kind):
        parts = [kind.field(number).type for number in range(kind.num_fields)]
        return kind if all(_json_type(part) == part for part in parts) else None
    numbers = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    texts = types.is_string(kind) or types.is_large_string(kind)
    return kind if numbers or texts or types.is_null(kind) else None


def _as_json(batch: Any) -> Any:
    """The batch with its values as a row has them; those of other types stay."""
    arrow, _ = import_arrow()
    kinds = [_json_type(column.type) or column.type for column in batch.columns]
    columns = [column.cast(kind) for column, kind in zip(batch.columns, kinds, strict=True)]
    return arrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _array(values: list[Any], kind: Any) -> Any:
    """An Arrow array of values of rows."""
    arrow, _ = import_arrow()
    inside = _json_type(kind)
    if arrow.types.is_floating(inside):
        values = [None if value is None else float(value) for value in values]
    elif arrow.types.is_string(inside) or arrow.types.is_large_string(inside):
        values = [None if value is None else as_text(value) for value in values]
    return arrow.array(values, inside).cast(kind)
