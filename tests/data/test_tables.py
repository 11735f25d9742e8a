"""Tables come back as they were written, are read in little memory, and damage is named."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.tables import (
    KINDS,
    check_id,
    check_table,
    check_text,
    column_types,
    json_line,
    read_header,
    read_table,
    table_kind,
    write_table,
)
from fabir.errors import InputError

COLUMNS = {"text": str, "count": int, "share": float}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ROWS = st.lists(
    st.tuples(TEXT, st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False))
)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [row.row for row in read_table(path)]


@pytest.mark.parametrize(
    "name",
    ["t.jsonl", "t.csv", "t.tsv", "t.parquet", "t.jsonl.gz", "t.csv.gz", "T.CSV.GZ", "t.ndjson"],
)
@given(values=ROWS)
def test_what_is_written_is_read(
    name: str, values: list[tuple[str, int, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    if name == "t.parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("table") / name
    rows = [dict(zip(COLUMNS, value, strict=True)) for value in values]
    write_table(path, rows, COLUMNS)
    if table_kind(path) in (".csv", ".tsv"):
        rows = [{key: str(value) for key, value in row.items()} for row in rows]
    assert rows_of(path) == rows
    shares = [row.share for row in read_table(path)]
    assert shares == sorted(shares)
    assert [row.number for row in read_table(path)] == list(range(1, len(rows) + 1))


def test_nothing_stays_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    row = dict.fromkeys(COLUMNS)
    for kind in KINDS:
        write_table(tmp_path / f"t{kind}", [row], COLUMNS)
    found = [rows_of(tmp_path / f"t{kind}")[0] for kind in KINDS]
    nothing = dict.fromkeys(COLUMNS, "")
    assert found == [row, nothing, nothing, row]


def test_equal_rows_make_equal_files(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(tmp_path / name, [dict.fromkeys(COLUMNS, 1)], COLUMNS)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_first_line_says_what_separates_cells(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    lines = [["question", "context", "id"], ["Who?", '"a, b; c\td"', "1"]]
    path.write_text("".join(delimiter.join(line) + "\n" for line in lines))
    assert rows_of(path) == [{"question": "Who?", "context": "a, b; c\td", "id": "1"}]


def test_what_stands_in_names_separates_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('question,"a; b; c; d"\n1,2\n')
    (tmp_path / "t.tsv").write_text("who, when, where\tcontext\n1\t2\n")
    assert rows_of(tmp_path / "t.csv") == [{"question": "1", "a; b; c; d": "2"}]
    assert rows_of(tmp_path / "t.tsv") == [{"who, when, where": "1", "context": "2"}]


def test_what_spreadsheets_write(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeffa,b\r\n"1, ""x""\r\ny",2\r\n\r\n3\r\n'.encode())
    first, second = read_table(path)
    assert first.row == {"a": '1, "x"\r\ny', "b": "2"}
    assert (second.number, second.problem) == (2, "1 cells where there are 2 columns")


def test_a_cell_may_be_a_book(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "x" * 300_000 + "\n")
    assert len(rows_of(path)[0]["a"]) == 300_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.txt", b"", "rows are read from .jsonl, .ndjson, .csv, .tsv"),
        ("t.parquet.gz", b"", "rows are read from .jsonl, .ndjson, .csv, .tsv"),
        ("t.csv", b"", "its first line has no names of columns"),
        ("t.csv", "größe\n1\n".encode("cp1252"), "t.csv: not UTF-8; convert the file, .* iconv"),
        ("t.tsv", "a\tb\n".encode("utf-16"), "t.tsv: not UTF-8"),
        ("t.parquet", b"PAR1", "cannot be read as Parquet"),
        ("t.jsonl.gz", b"{}\n", "damaged gzip file"),
        ("t.csv.gz", gzip.compress(b"a\n1\n" * 9, mtime=0)[:-9], "damaged gzip file"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    if name == "t.parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        rows_of(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    for kind in KINDS:
        with pytest.raises(InputError, match="cannot read"):
            read_table(tmp_path / f"no{kind}")


def test_pyarrow_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'fabir\[parquet\]'"):
        check_table(tmp_path / "t.parquet")


def test_numbers_that_are_not_finite_become_null_in_json(tmp_path: Path) -> None:
    row = {"text": "é", "shares": [float("nan"), 1.5, float("inf")]}
    write_table(tmp_path / "t.jsonl", [row], {})
    assert rows_of(tmp_path / "t.jsonl") == [{"text": "é", "shares": [None, 1.5, None]}]
    assert json.loads(json_line(row, exact=True))["shares"][2] == float("inf")


def test_numbers_that_are_not_finite_are_missing_in_json(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        '{"a": NaN, "b": [Infinity, 1], "c": -Infinity}\n'
        '{"a": 1e999, "b": [-1e999, 1e99], "c": 0.5}\n'
    )
    assert rows_of(tmp_path / "t.jsonl") == [
        {"a": None, "b": [None, 1], "c": None},
        {"a": None, "b": [None, 1e99], "c": 0.5},
    ]


class Text(str):
    """Text of another kind, as numpy has it."""

    def __str__(self) -> str:
        return "another"


def test_every_kind_of_text_is_text() -> None:
    found = check_text(Text("Who?"), "question")
    assert (type(found), found) == (str, "Who?")
    for blank in ("", " \n", "\u200b", " \ufeff\u00ad "):
        with pytest.raises(InputError, match='field "question": blank'):
            check_text(Text(blank), "question")
        assert check_text(blank, "question", blank=True) == blank
    for value, kind in ((None, "null"), (b"Who?", "bytes"), (1, "int")):
        with pytest.raises(InputError, match=f'"question": expected a string, got {kind}'):
            check_text(value, "question")


def test_columns_and_types_come_from_all_rows() -> None:
    rows = [{"a": 1, "b": True, "c": None}, {"a": 0.5, "d": [1]}, {"a": None, "e": 2**63, "f": 1}]
    assert column_types(rows, ["f"]) == {
        "f": int,
        "a": float,
        "b": bool,
        "c": str,
        "d": str,
        "e": str,
    }


def test_a_large_whole_number_is_never_made_a_float() -> None:
    exact, large = 2**53, 2**53 + 1
    assert column_types([{"a": exact}, {"a": 0.5}]) == {"a": float}
    assert column_types([{"a": exact}, {"a": -large}]) == {"a": int}
    assert column_types([{"a": large}, {"a": 0.5}]) == {"a": str}


def test_a_header_has_the_names_and_types(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b;;\n")
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n')
    assert read_header(tmp_path / "t.csv") == {"a": str, "b": str, "": str}
    assert read_header(tmp_path / "t.jsonl") == {}


def test_two_columns_of_one_name_are_refused_if_they_are_needed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,b\n1,2,3\n")
    with pytest.raises(InputError, match=r't\.csv: two columns are called "b": rename one'):
        rows_of(tmp_path / "t.csv")
    (row,) = read_table(tmp_path / "t.csv", {"a"})
    assert row.row["a"] == "1"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("T.CSV", ".csv"),
        ("t.NDJSON.gz", ".jsonl"),
        ("t.Parquet", ".parquet"),
        ("t.parquet.gz", ""),
        ("t.xlsx", ""),
        ("csv", ""),
    ],
)
def test_the_ending_is_the_kind(name: str, kind: str) -> None:
    assert table_kind(name) == kind


def test_lines_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes('{"a": 1}\n'.encode("utf-16"))
    assert "not UTF-8" in next(read_table(tmp_path / "t.jsonl")).problem


@pytest.mark.parametrize(
    ("value", "id"),
    [(2.0, 2), (7, 7), ("7", "7"), (0, 0), ("", None), (None, None), (float("nan"), None)],
)
def test_ids_are_texts_or_whole_numbers(value: Any, id: Any) -> None:
    found = check_id(value, "id")
    assert (type(found), found) == (type(id), id)


@pytest.mark.parametrize("value", [2.5, True, float("inf"), [1], {"a": "x" * 99}])
def test_other_ids_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r'"id": .{3,43} is no text or whole number: cast it$'):
        check_id(value, "id")
