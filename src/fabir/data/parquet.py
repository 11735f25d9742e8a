"""Reads and writes Parquet files row by row. The values of a row are those that JSON has.

A date, a timestamp or a decimal number is text in a row, and is written as what it was. A date that
no calendar has, such as a database's infinity, is its number as text. A UUID is text there too.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fabir.data.addresses import open_file
from fabir.errors import InputError

_AT_ONCE = 1024  # rows to read at a time
_NUMBER = re.compile(r"-?\d+")


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
            for row in _rows(_as_json(batch), path):
                number += 1
                yield row, number / total


def write_batches(
    path: str | Path, batches: Iterable[Sequence[dict[str, Any]]], columns: dict[str, Any]
) -> None:
    """Write each batch of rows as a row group.

    Args:
        columns: the names, each with a Python type (`bool`, `float`, `int`, `str`) or an Arrow type
            that `kept_type` gives
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
    for name, times in Counter(names).items():
        if times > 1 and name != "" and (wanted is None or name in wanted):
            raise InputError(f'{path}: two columns are called "{name}": rename one')


def kept_type(kind: Any) -> Any:
    """The Arrow type that a column of an Arrow type is written with; None if it cannot be written.

    It is the same one if a row gives back its values as they were. Else values that JSON has as
    texts are texts: UUIDs, and what dates there are in lists and structs.
    """
    arrow, _ = import_arrow()
    types, inside = arrow.types, _json_type(kind)
    same = _is_date(kind) or types.is_decimal(kind)
    if types.is_dictionary(kind):
        same = types.is_string(kind.value_type) or types.is_large_string(kind.value_type)
        # All row groups together may have more categories than one has.
        kind = arrow.dictionary(arrow.int32(), kind.value_type, kind.ordered)
    elif types.is_fixed_size_list(kind):
        same = inside is not None and inside.value_type == kind.value_type
    return kind if same else inside


def common_type(kinds: Sequence[Any]) -> Any:
    """The Arrow type that can hold values of all types; None if there is none.

    The types are those that `kept_type` gives. If all are null, the common type is text. Categories
    beside texts are texts, and lists of several fixed sizes are lists.
    """
    arrow, _ = import_arrow()
    types = arrow.types
    loose = [
        _json_type(kind) if types.is_dictionary(kind) or types.is_fixed_size_list(kind) else kind
        for kind in kinds
    ]
    for tried in (kinds, loose):
        schemas = [arrow.schema([("", kind)]) for kind in tried]
        with suppress(arrow.ArrowException):
            common = arrow.unify_schemas(schemas, promote_options="permissive").field(0).type
            return arrow.string() if arrow.types.is_null(common) else common
    return None


def is_exact(kind: Any, common: Any) -> bool:
    """Whether every value of an Arrow type is the same in the common type of it and others."""
    types = import_arrow()[0].types
    if types.is_struct(kind):
        return all(is_exact(part.type, common.field(part.name).type) for part in kind)
    if types.is_nested(kind):
        return is_exact(kind.value_type, common.value_type)
    if types.is_uint64(kind) or _is_date(kind):  # of another unit it may be beyond the common one
        return kind == common
    if types.is_decimal(common) and types.is_integer(kind):  # Arrow may have made it too narrow
        return len(str(2**kind.bit_width)) <= common.precision - common.scale
    return not types.is_floating(common) or not (types.is_int64(kind) or types.is_decimal(kind))


def as_text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if type(value) is str else to_json(value)


def to_json(value: Any) -> str:
    """A value as JSON, which has no infinite number and no NaN: they become null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return to_json(json.loads(json.dumps(value), parse_constant=lambda _: None))


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
    if (
        _is_date(kind)
        or types.is_decimal(kind)
        or types.is_string_view(kind)
        or _is_text_extension(kind)
    ):
        return arrow.string()
    if types.is_nested(kind):
        return _json_type_of_parts(kind)
    numbers = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    texts = types.is_string(kind) or types.is_large_string(kind)
    return kind if numbers or texts or types.is_null(kind) else None


def _json_type_of_parts(kind: Any) -> Any:
    """The type that lists and structs have in a row; None if they cannot be there."""
    arrow, _ = import_arrow()
    types = arrow.types
    if types.is_map(kind) or types.is_union(kind):
        return None
    fields = [kind.field(number) for number in range(kind.num_fields)]
    if len({each.name for each in fields}) < len(fields):
        return None
    if any(_json_type(each.type) is None or _is_rebuilt(each.type) for each in fields):
        return None
    parts = [each.with_type(_json_type(each.type)) for each in fields]
    if types.is_struct(kind):
        return arrow.struct(parts)
    large = types.is_large_list(kind) or types.is_large_list_view(kind)
    return arrow.large_list(parts[0]) if large else arrow.list_(parts[0])


def _is_text_extension(kind: Any) -> bool:
    """Whether values of an extension type of Arrow are texts in a row."""
    return getattr(kind, "extension_name", "") in ("arrow.uuid", "arrow.json")


def _is_rebuilt(kind: Any) -> bool:
    """Whether Arrow has no right cast of these values: they are made anew from Python's."""
    types = import_arrow()[0].types
    views = types.is_list_view(kind) or types.is_large_list_view(kind)
    return views or _is_text_extension(kind)


def _as_json(batch: Any) -> Any:
    """The batch with its values as a row has them; those of other types stay."""
    arrow, _ = import_arrow()
    columns = map(_json_column, batch.columns)
    return arrow.RecordBatch.from_arrays(list(columns), names=batch.schema.names)


def _rows(batch: Any, path: str | Path) -> list[dict[str, Any]]:
    """The rows of a batch. Bytes of a text that are not UTF-8 become lone surrogates."""
    try:
        return batch.to_pylist()
    except ValueError:  # of a column that is no text as it should be
        columns = [_values(*each, path) for each in zip(batch.schema, batch.columns, strict=True)]
        return [
            dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)
        ]


def _values(field: Any, column: Any, path: str | Path) -> list[Any]:
    arrow, _ = import_arrow()
    if arrow.types.is_string(field.type) or arrow.types.is_large_string(field.type):
        values = column.cast(arrow.large_binary()).to_pylist()
        return [
            each if each is None else each.decode("utf-8", "surrogateescape") for each in values
        ]
    try:
        return column.to_pylist()
    except ValueError as error:
        raise InputError(f'{path}: column "{field.name}" cannot be read: {error}') from error


def _json_column(column: Any) -> Any:
    arrow, _ = import_arrow()
    kind = _json_type(column.type)
    if _is_text_extension(column.type):
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        column = arrow.array(texts, kind)
    elif _is_rebuilt(column.type):
        column = arrow.array(column.to_pylist(), arrow.large_list(column.type.value_field))
    if _is_date(column.type):
        return _texts_of_dates(column)
    return column if kind is None else column.cast(kind)


def _texts_of_dates(column: Any) -> Any:
    """Texts of dates, and the numbers of those that would be no date or another when read again."""
    arrow, _ = import_arrow()
    texts = column.cast(arrow.string())
    with suppress(arrow.ArrowInvalid):
        if texts.cast(column.type).equals(column):
            return texts
    numbers = column.cast(_number_type(column.type)).cast(arrow.string())

    def written(date: Any, text: Any, number: Any) -> Any:
        with suppress(arrow.ArrowInvalid):
            if text.cast(column.type).equals(date):
                return text
        return number

    return arrow.array(list(map(written, column, texts, numbers)), arrow.string())


def _number_type(kind: Any) -> Any:
    arrow, _ = import_arrow()
    return arrow.int32() if arrow.types.is_date32(kind) else arrow.int64()


def _dates(values: list[Any], kind: Any) -> Any:
    """An Arrow array of the texts of dates, or of their numbers."""
    arrow, _ = import_arrow()
    import pyarrow.compute

    is_number = [value is not None and _NUMBER.fullmatch(value) is not None for value in values]
    texts = [None if number else value for value, number in zip(values, is_number, strict=True)]
    dates = arrow.array(texts, arrow.string()).cast(kind)
    if not any(is_number):
        return dates
    numbers = [int(value) if n else None for value, n in zip(values, is_number, strict=True)]
    others = arrow.array(numbers, _number_type(kind)).cast(kind)
    return pyarrow.compute.call_function("coalesce", [dates, others])


def _is_date(kind: Any) -> bool:
    types = import_arrow()[0].types
    return types.is_timestamp(kind) or types.is_date(kind)


def _array(values: list[Any], kind: Any) -> Any:
    """An Arrow array of values of rows."""
    arrow, _ = import_arrow()
    inside = _json_type(kind)
    if arrow.types.is_floating(inside):
        values = [None if value is None else float(value) for value in values]
    elif arrow.types.is_string(inside) or arrow.types.is_large_string(inside):
        values = [None if _is_missing(value) else as_text(value) for value in values]
    return _dates(values, kind) if _is_date(kind) else arrow.array(values, inside).cast(kind)


def _is_missing(value: Any) -> bool:
    """Whether a value of a column of text is missing; a number that is not finite is."""
    return value is None or (type(value) is float and not math.isfinite(value))
