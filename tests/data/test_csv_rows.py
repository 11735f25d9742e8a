"""No row of a CSV file takes in others: a quote that is not closed is named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.csv_rows import not_utf8, read_csv
from fabir.data.tables import read_header, read_table
from fabir.errors import InputError

HEAD = "id,question,context\n"
LAST = "8,Who?,y\n9,Who?,z\n"


def cells_of(text: str, *, tabs: bool = False) -> list[list[str]]:
    header, rows = read_csv("t.csv", text.splitlines(keepends=True), tabs=tabs)
    return [header, *rows]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f'{HEAD}1,Who?,"The mill\n{LAST}', "row 1"),
        (f'{HEAD}1,Who?,x\n\n2,"Who?,x\n{LAST}', "row 2"),
        (f'{HEAD}{LAST}3,Who?,"cut off', "row 3"),
        (f'{HEAD}{LAST}3,Who?,"cut off\n', "row 3"),
        (f'{HEAD}1,Who?,"The mill\n2,Who?,"of stone"\n{LAST}', "row 1"),
        (f'{HEAD}1,Who?,"The mill\n2,"Who?","of stone"\n{LAST}', "row 1"),
        (f'id,"question,context\n{LAST}', "its first line"),
    ],
)
def test_a_quote_that_is_not_closed_is_named(tmp_path: Path, text: str, place: str) -> None:
    for name, content in (("t.csv", text), ("t.tsv", text.replace(",", "\t"))):
        (tmp_path / name).write_text(content)
        message = rf"{name}: {place}: a cell begins with a quote that is not closed"
        with pytest.raises(InputError, match=message) as caught:
            list(read_table(tmp_path / name))
        assert "\n" not in str(caught.value)
    if place == "its first line":
        with pytest.raises(InputError, match="its first line: a cell begins with a quote"):
            read_header(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ('1,"a ""mill""\nof stone\n",x', ["1", 'a "mill"\nof stone\n', "x"]),
        ('1,"Titanic" sank,x', ["1", "Titanic sank", "x"]),  # as pandas reads it
        ('1,a 5" pipe,x', ["1", 'a 5" pipe', "x"]),
        ('1,"","x"', ["1", "", "x"]),
    ],
)
def test_other_quotes_are_read(row: str, cells: list[str]) -> None:
    expected = [["id", "question", "context"], cells, ["8", "Who?", "y"], ["9", "Who?", "z"]]
    assert cells_of(f"{HEAD}{row}\n{LAST}") == expected
    assert cells_of(f"{HEAD}{LAST}{row}")[-1] == cells


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        ('"Go home," said Ada.', '"Go home," said Ada.'),
        ('"a ""mill"" of stone"', 'a "mill" of stone'),
        ('"He said \\"go\\" to Ada."', '"He said \\"go\\" to Ada."'),
        ('a 5" pipe', 'a 5" pipe'),
    ],
)
def test_between_tabs_a_quote_may_be_part_of_the_text(cell: str, read: str) -> None:
    head = HEAD.replace(",", "\t")
    rows = cells_of(f'{head}1\t{cell}\t"x"\n2\t\t{cell}\n', tabs=True)
    assert rows[1:] == [["1", read, "x"], ["2", "", read]]


def test_quotes_behind_backslashes_are_named() -> None:
    row = '1,Who?,"He said \\"go\\" to Ada."\n'
    with pytest.raises(InputError, match=r"t\.csv: row 2: a quote .* a backslash before it: write"):
        cells_of(f"{HEAD}8,Who?,y\n{row}")
    assert cells_of(f'{HEAD}1,Who?,"C:\\mill\\"\n')[1] == ["1", "Who?", "C:\\mill\\"]


def test_a_quote_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabir.data.csv_rows._LONGEST_CELL", 1000)
    lines = iter([HEAD, '1,Who?,"The mill\n', *["8,Who?,y\n"] * 10_000])
    _, rows = read_csv("t.csv", lines, tabs=False)
    with pytest.raises(InputError, match=r"t\.csv: row 1: a cell begins with a quote"):
        list(rows)
    assert len(list(lines)) > 9000
    with pytest.raises(InputError, match=r"t\.csv: row 1 is not valid CSV: field larger"):
        cells_of(f"{HEAD}1,Who?,{'x' * 1001}\n")


@given(st.lists(st.lists(st.text('ab,"\n ;é'), min_size=2, max_size=2)))
def test_every_text_may_stand_in_quotes(rows: list[list[str]]) -> None:
    quoted = ["a,b\n", *(",".join('"' + c.replace('"', '""') + '"' for c in row) for row in rows)]
    text = quoted[0] + "".join(f"{row}\n" for row in quoted[1:])
    assert cells_of(text) == [["a", "b"], *rows]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_told_by_its_first_bytes(tmp_path: Path, encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    for name, text in (("t.csv", "a,b\n1,é\n"), ("t.tsv", "a\tb\n"), ("t.jsonl", '{"a": 1}\n')):
        (tmp_path / name).write_bytes((mark + text).encode(encoding))
        try:
            problem = next(read_table(tmp_path / name)).problem
        except InputError as error:
            problem = str(error)
        assert "not UTF-8 but UTF-16; convert the file, for example with iconv -f UTF-16" in problem
    assert "iconv -f CP1252" in not_utf8("gr\udcf6\udcdfe")
    assert not_utf8("größe") == ""
