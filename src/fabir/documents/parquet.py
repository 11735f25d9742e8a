"""Parquet files: each row is a document, as in other files of records."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fabir.documents.base import MAX_BYTES, Document, Report
from fabir.documents.fields import Field
from fabir.documents.records import MAX_LINE, record_document
from fabir.errors import InputError

MAX_ROWS = 1 << 20  # of a file that has fewer bytes
MAX_REPEATED = 1 << 30  # characters of a file that is less than a hundredth of that
_PART = 1 << 20  # bytes to read at a time
_ROWS = 64  # rows to read at a time, fewer if they are large


def read_parquet(path: Path, report: Report) -> Iterator[Document]:
    """A document for each row."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path, buffer_size=_PART, pre_buffer=False) as file:
        size, length = path.stat().st_size, 0
        if file.metadata.num_rows > max(MAX_ROWS, size):
            raise InputError(f"it has {file.metadata.num_rows:,} rows in {size:,} bytes")
        most = max(MAX_REPEATED, 100 * size)
        for number, fields in enumerate(_rows(file), 1):
            document = record_document(path, fields, str(number), report)
            length += len(document.text)
            if length > most:
                raise InputError(f"its texts have more than {most >> 20} million characters")
            yield document


def _rows(file: Any) -> Iterator[list[Field]]:
    """The rows. As many are read at once as fit in memory, each with the largest possible text."""
    names = file.schema_arrow.names
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        columns = (group.column(column) for column in range(group.num_columns))
        largest = max((column.total_uncompressed_size for column in columns), default=0)
        rows = min(max(1, MAX_BYTES // max(1, largest)), _ROWS)
        for batch in file.iter_batches(rows, [number]):
            for row in range(len(batch)):
                values = [_value(column, row) for column in batch.columns]
                yield list(zip(names, values, strict=True))


def _rounded(value: Any, kind: Any) -> Any:
    """Floats of 32 bits, also in structs and lists, with the digits that they have: Python would
    show more."""
    if isinstance(value, float) and kind == "float":
        return float(str(np.float32(value)))
    if isinstance(value, dict):
        return {field.name: _rounded(value[field.name], field.type) for field in kind}
    if isinstance(value, list) and hasattr(kind, "item_type"):
        return [(key, _rounded(item, kind.item_type)) for key, item in value]
    if isinstance(value, list) and hasattr(kind, "value_type"):
        return [_rounded(item, kind.value_type) for item in value]
    return value


def _value(column: Any, row: int) -> Any:
    """A value of a column.

    Raises:
        InputError: it is longer than `MAX_LINE`.
    """
    scalar = column[row]
    try:
        value = _rounded(scalar.as_py(), scalar.type)
    except (ValueError, OverflowError):  # a time that Python cannot hold
        value = scalar.cast("string").as_py()
    if isinstance(value, str | bytes) and len(value) > MAX_LINE:
        raise InputError(f"a value has more than {MAX_LINE >> 20} million characters")
    return value
