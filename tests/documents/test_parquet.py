"""Parquet files as documents: no value of a row is lost without a word."""

import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fabir.documents.reading import read_documents
from fabir.errors import InputError


def read(path: Path, lost: list[str] | None = None) -> list[str]:
    """The texts of a file; nothing is lost unless `lost` collects it."""
    reasons: list[str] = []
    found = [document.text for document in read_documents(path, reasons.append)]
    assert lost is not None or not reasons, reasons
    if lost is not None:
        lost += reasons
    return found


def write_parquet(path: Path, columns: dict[str, Any], **options: Any) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table(columns), path, **options)


def test_every_type_of_parquet_is_text(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    write_parquet(
        tmp_path / "a.parquet",
        {
            "town": arrow.array(["Corm", "Corm"]).dictionary_encode(),
            "rivers": [["Orla", "Tarn"], None],
            "note": [b"by the sea", None],
            "price": [Decimal("34.90"), None],
            "people": [51234.0, float("nan")],
            "ratio": arrow.array([0.1, None], arrow.float32()),
            "founded": [date(1330, 5, 1), None],
            "seen": [datetime(2020, 5, 1), datetime(2020, 5, 1, 9, 30)],
            "nanoseconds": arrow.array([None, 1], arrow.timestamp("ns")),
            "mayor": [{"name": "Lise"}, None],
            "heights": arrow.array([[("mill", 40)], None], arrow.map_("string", "int32")),
            "port": [True, False],
        },
    )
    first, second = read(tmp_path / "a.parquet")
    assert first.splitlines() == [
        "town: Corm",
        "rivers: Orla, Tarn",
        "note: by the sea",
        "price: 34.90",
        "people: 51234",
        "ratio: 0.1",
        "founded: 1330-05-01",
        "seen: 2020-05-01",
        "mayor.name: Lise",
        "heights.mill: 40",
        "port: true",
    ]
    assert second.splitlines() == [
        "town: Corm",
        "seen: 2020-05-01 09:30:00",
        "nanoseconds: 1970-01-01 00:00:00.000000001",
        "port: false",
    ]


def test_columns_of_one_name_are_kept_in_parquet(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    table = arrow.Table.from_arrays([arrow.array(["1934"]), arrow.array(["1951"])], ["at", "at"])
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == ["at: 1934\nat: 1951"]


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", {"name": ["Bo", "Al"], "picture": [b"\xff\xd8", b"\xff"]})
    lost: list[str] = []
    assert read(tmp_path / "a.parquet", lost) == ["name: Bo", "name: Al"]
    assert 'record 1: field "picture" is not text (and 1 more)' in lost[0]


def test_parquet_that_unpacks_to_far_more_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabir.documents.parquet.MAX_LINE", 1000)
    write_parquet(tmp_path / "a.parquet", {"text": ["x" * 1001] * 40})
    with pytest.raises(InputError, match="a value has more than"):
        read(tmp_path / "a.parquet")
    monkeypatch.setattr("fabir.documents.parquet.MAX_REPEATED", 1000)
    write_parquet(tmp_path / "b.parquet", {"text": ["x" * 900] * 10_000})
    with pytest.raises(InputError, match="its texts have more than"):
        read(tmp_path / "b.parquet")
    monkeypatch.setattr("fabir.documents.parquet.MAX_ROWS", 10_000)
    write_parquet(tmp_path / "c.parquet", {"n": [0] * 10_001})
    with pytest.raises(InputError, match="10,001 rows in"):
        read(tmp_path / "c.parquet")


def test_the_extra_for_parquet_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    with pytest.raises(InputError, match=r"need pyarrow.*: pip install 'fabir\[parquet\]'"):
        read(tmp_path / "a.parquet")


def test_few_rows_are_read_at_once_if_texts_may_be_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(tmp_path / "a.parquet", {"text": [f"{n} " * 200 for n in range(100)]})
    whole = read(tmp_path / "a.parquet")
    monkeypatch.setattr("fabir.documents.parquet.MAX_BYTES", 100)
    assert read(tmp_path / "a.parquet") == whole


def test_floats_of_32_bits_have_their_own_digits_also_in_structs_and_lists(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    single = arrow.float32()
    columns = {
        "price": arrow.array([19.99], single),
        "item": arrow.array([{"price": 19.99, "name": None}], arrow.struct(
            [("price", single), ("name", arrow.string())]
        )),
        "all": arrow.array([[19.99, 2]], arrow.list_(single)),
        "by": arrow.array([[("day", 0.1)]], arrow.map_(arrow.string(), single)),
    }  # fmt: skip
    write_parquet(tmp_path / "a.parquet", columns)
    [found] = read(tmp_path / "a.parquet")
    assert found.startswith("price: 19.99\nitem.price: 19.99\nall: 19.99")
    assert "0.1" in found
    assert "0.10000000149" not in found
