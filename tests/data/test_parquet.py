"""Values of Parquet files come back from rows as they were, whatever their type."""

import datetime
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fabir.data.parquet import (
    check_names,
    common_type,
    is_exact,
    kept_type,
    read_header,
    read_rows,
    to_json,
    write_batches,
)
from fabir.errors import InputError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NOW = datetime.datetime(2024, 2, 29, 12, 30, 1, 5)
KEPT = [
    (pyarrow.bool_(), True),
    (pyarrow.int8(), -7),
    (pyarrow.uint64(), 2**64 - 1),
    (pyarrow.float32(), 0.5),
    (pyarrow.float64(), float("inf")),
    (pyarrow.string(), "é"),
    (pyarrow.large_string(), "é"),
    (pyarrow.date32(), NOW.date()),
    (pyarrow.timestamp("us"), NOW),
    (pyarrow.timestamp("ns"), 1234567890123456789),
    (pyarrow.timestamp("ms", "Europe/Paris"), 1234567890123),
    (pyarrow.timestamp("us"), 2**63 - 1),  # a database's infinity
    (pyarrow.timestamp("ns", "UTC"), 5 - 2**63),
    (pyarrow.date32(), 2**31 - 1),
    (pyarrow.decimal128(12, 3), Decimal("-1.250")),
    (pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), "red"),
    (pyarrow.list_(pyarrow.int32()), [1, None]),
    (pyarrow.list_(pyarrow.float32(), 2), [0.5, None]),
    (pyarrow.struct({"text": pyarrow.list_(pyarrow.string())}), {"text": ["a"]}),
]
LEAP, ID = datetime.date(2024, 2, 29), uuid.UUID(int=5)
TEXT, TEXTS, WHOLE = (
    pyarrow.string(),
    pyarrow.list_(pyarrow.string()),
    pyarrow.list_(pyarrow.int8()),
)
BECOME = [  # type and value of a column, the type that is written, and the value of a row
    (pyarrow.string_view(), "é", TEXT, "é"),
    (pyarrow.list_(pyarrow.string_view()), ["é"], TEXTS, ["é"]),
    (pyarrow.list_view(pyarrow.int8()), [1, None], WHOLE, [1, None]),
    (pyarrow.list_view(pyarrow.date32()), [LEAP], TEXTS, ["2024-02-29"]),
    (pyarrow.large_list_view(pyarrow.int8()), [1], pyarrow.large_list(pyarrow.int8()), [1]),
    (pyarrow.list_(pyarrow.date32()), [LEAP, None], TEXTS, ["2024-02-29", None]),
    (pyarrow.list_(pyarrow.date32(), 1), [LEAP], TEXTS, ["2024-02-29"]),
    (pyarrow.list_(pyarrow.dictionary(pyarrow.int8(), TEXT)), ["red"], TEXTS, ["red"]),
    (
        pyarrow.struct({"d": pyarrow.date32(), "n": pyarrow.int8()}),
        {"d": LEAP, "n": 1},
        pyarrow.struct({"d": TEXT, "n": pyarrow.int8()}),
        {"d": "2024-02-29", "n": 1},
    ),
    (
        pyarrow.list_(pyarrow.struct({"d": pyarrow.list_(pyarrow.date32())})),
        [{"d": [LEAP]}, None],
        pyarrow.list_(pyarrow.struct({"d": TEXTS})),
        [{"d": ["2024-02-29"]}, None],
    ),
]
if hasattr(pyarrow, "uuid"):
    BECOME += [
        (pyarrow.uuid(), ID.bytes, TEXT, str(ID)),
        (pyarrow.json_(), '{"a": 1}', TEXT, '{"a": 1}'),
    ]
REFUSED = [
    pyarrow.binary(),
    pyarrow.binary_view(),
    pyarrow.binary(16),
    pyarrow.time64("us"),
    pyarrow.duration("s"),
    pyarrow.map_(pyarrow.string(), pyarrow.string()),
    pyarrow.list_(pyarrow.binary()),
    pyarrow.list_(pyarrow.list_view(pyarrow.int8())),
    pyarrow.struct({"a": pyarrow.time32("s")}),
    pyarrow.struct([("a", pyarrow.int8()), ("a", pyarrow.int8())]),
    *([pyarrow.list_(pyarrow.uuid())] if hasattr(pyarrow, "uuid") else []),
]


@pytest.mark.parametrize(("kind", "value"), KEPT, ids=lambda each: str(each))
def test_a_value_is_written_as_it_was_read(tmp_path: Path, kind: Any, value: Any) -> None:
    table = pyarrow.table({"a": pyarrow.array([value, None], kind)})
    parquet.write_table(table, tmp_path / "t.parquet")
    header = read_header(tmp_path / "t.parquet")
    rows = [row for row, _ in read_rows(tmp_path / "t.parquet")]
    assert kept_type(kind) == kind
    assert type(rows[0]["a"]) in (bool, int, float, str, list, dict)
    write_batches(tmp_path / "again.parquet", [rows], header)
    assert parquet.read_table(tmp_path / "again.parquet").equals(table)


@pytest.mark.parametrize(("kind", "value", "kept", "in_row"), BECOME, ids=str)
def test_what_json_can_say_is_written(
    tmp_path: Path, kind: Any, value: Any, kept: Any, in_row: Any
) -> None:
    table = pyarrow.table({"a": pyarrow.array([value, None], kind)})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert kept_type(read_header(tmp_path / "t.parquet")["a"]) == kept
    rows = [row for row, _ in read_rows(tmp_path / "t.parquet")]
    assert rows == [{"a": in_row}, {"a": None}]
    assert to_json(rows)
    write_batches(tmp_path / "again.parquet", [rows], {"a": kept})
    assert parquet.read_table(tmp_path / "again.parquet").to_pylist() == rows


@pytest.mark.parametrize("kind", REFUSED, ids=str)
def test_a_type_that_would_be_lost_is_known(kind: Any) -> None:
    assert kept_type(kind) is None


def test_many_row_groups_have_more_categories_than_one(tmp_path: Path) -> None:
    kind = pyarrow.dictionary(pyarrow.int8(), pyarrow.string())
    rows = [{"a": str(number)} for number in range(300)]
    write_batches(tmp_path / "t.parquet", [rows[:99], rows[99:]], {"a": kept_type(kind)})
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == rows


def test_texts_that_are_not_utf8_have_lone_surrogates(tmp_path: Path) -> None:
    wrong = pyarrow.array([b"caf\xe9", b"mill", None]).cast(pyarrow.string(), safe=False)
    numbers = pyarrow.array([1, None, 3])
    parquet.write_table(pyarrow.table({"a": wrong, "n": numbers}), tmp_path / "t.parquet")
    rows = [row for row, _ in read_rows(tmp_path / "t.parquet")]
    assert rows == [{"a": "caf\udce9", "n": 1}, {"a": "mill", "n": None}, {"a": None, "n": 3}]
    inside = pyarrow.table({"b": pyarrow.ListArray.from_arrays([0, 1, 2, 3], wrong.fill_null(""))})
    parquet.write_table(inside, tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r't\.parquet: column "b" cannot be read: .* codec'):
        list(read_rows(tmp_path / "t.parquet"))


def test_only_needed_columns_are_read(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"a": [1], "b": [2]}), tmp_path / "t.parquet")
    assert list(read_rows(tmp_path / "t.parquet", {"b", "c"})) == [({"b": 2}, 1.0)]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    columns = [pyarrow.array([number]) for number in range(3)]
    table = pyarrow.Table.from_arrays(columns, ["a", "a", "b"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match='two columns are called "a": rename one'):
        next(read_rows(tmp_path / "t.parquet"))
    assert list(read_rows(tmp_path / "t.parquet", {"b"})) == [({"b": 2}, 1.0)]


def test_names_of_many_columns_are_checked_in_linear_time() -> None:
    names = [str(number) for number in range(200_000)]
    check_names("a.csv", names, None)  # in quadratic time, minutes
    with pytest.raises(InputError, match='two columns are called "7"'):
        check_names("a.csv", [*names, "7"], None)


def test_a_common_type_holds_all() -> None:
    assert common_type([pyarrow.int32(), pyarrow.int64()]) == pyarrow.int64()
    assert common_type([pyarrow.null(), pyarrow.null()]) == pyarrow.string()
    assert common_type([pyarrow.int32(), pyarrow.string()]) is None
    colours = pyarrow.dictionary(pyarrow.int8(), pyarrow.string())
    assert common_type([colours, colours]) == colours
    assert common_type([colours, pyarrow.string()]) == pyarrow.string()
    assert common_type([colours, pyarrow.int8()]) is None
    pairs, triples = (pyarrow.list_(pyarrow.int8(), size) for size in (2, 3))
    assert common_type([pairs, pairs]) == pairs
    assert common_type([pairs, triples]) == WHOLE


def test_a_common_type_may_change_large_numbers() -> None:
    large, real = pyarrow.int64(), pyarrow.float64()
    digits = pyarrow.decimal128(38, 0)
    assert is_exact(large, digits)
    assert not is_exact(large, pyarrow.decimal128(20, 2))
    assert is_exact(pyarrow.int16(), pyarrow.decimal128(7, 2))
    milliseconds, microseconds = (pyarrow.timestamp(unit) for unit in ("ms", "us"))
    assert not is_exact(milliseconds, microseconds)
    assert is_exact(milliseconds, milliseconds)
    assert is_exact(pyarrow.int32(), real)
    assert is_exact(pyarrow.uint64(), pyarrow.uint64())
    for kind, common in ((large, real), (digits, real), (pyarrow.uint64(), large)):
        assert not is_exact(kind, common)
        assert not is_exact(pyarrow.list_(kind), pyarrow.list_(common))
        assert not is_exact(pyarrow.list_(kind, 2), pyarrow.list_(common))
        both = pyarrow.struct({"b": pyarrow.string(), "a": common})
        assert not is_exact(pyarrow.struct({"a": kind}), both)


def test_text_holds_what_no_other_type_does(tmp_path: Path) -> None:
    rows = [{"a": "x", "b": 2**60 + 1}, {"a": [1, {"b": None}], "b": 0.5}]
    write_batches(tmp_path / "t.parquet", [rows], {"a": str, "b": float, "c": int})
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == [
        {"a": "x", "b": float(2**60), "c": None},
        {"a": '[1, {"b": null}]', "b": 0.5, "c": None},
    ]


def test_a_number_that_is_not_finite_is_missing_among_texts(tmp_path: Path) -> None:
    nan, infinite = float("nan"), float("inf")
    rows = [{"a": nan, "b": nan}, {"a": infinite, "b": infinite}, {"a": [nan, 1], "b": 0.5}]
    write_batches(tmp_path / "t.parquet", [rows], {"a": str, "b": float})
    table = parquet.read_table(tmp_path / "t.parquet")
    assert table["a"].to_pylist() == [None, None, "[null, 1]"]
    assert str(table["b"].to_pylist()) == "[nan, inf, 0.5]"
