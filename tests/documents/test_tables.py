"""Rows of tables: their text, their delimiter and the names of their columns."""

import csv

import pytest

from fabir.documents.tables import MAX_NAME, delimiter_of, find_names, row_text


def test_a_cell_stands_beside_the_name_of_its_column() -> None:
    assert (
        row_text(["Film", "Director"], ["Jaws", " Spielberg "]) == "Film: Jaws\nDirector: Spielberg"
    )


def test_a_cell_without_a_name_stands_alone_and_a_blank_one_not_at_all() -> None:
    assert row_text(["Town", "", "Town"], ["Wick", "pier", " ", "1934"]) == "Town: Wick\npier\n1934"
    assert row_text(["A", "A"], ["1", "2"]) == "A: 1\nA: 2"


def test_a_name_is_one_short_line() -> None:
    assert row_text(["Full\n name"], ["Bo"]) == "Full name: Bo"
    assert row_text(["n" * 10_000], ["Bo"]) == "n" * MAX_NAME + ": Bo"


@pytest.mark.parametrize(
    ("table", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b;c\n1,5;2,5;3\n", ";"),
        ("a\tb\nx, y\tz\n", "\t"),
        ("id|name\n1|Bo; Al\n", "|"),
        ('"a;b;c",d\n"x;y;z",1\n', ","),
        ("# Author: somebody\nid;name\n1;Bo, Al\n", ";"),
        ("word\none\n", ","),
        ("", ","),
    ],
)
def test_the_delimiter_with_the_most_regular_rows_wins(table: str, delimiter: str) -> None:
    assert delimiter_of(table.splitlines(keepends=True)) == delimiter


@pytest.mark.parametrize(
    ("table", "above", "names"),
    [
        ("Team,Town\nBlues,STL\n", 0, "Team,Town"),
        ("Stanley Cups,,\nTeam,Location,Cups\nBlues,STL,1\n", 1, "Team,Location,Cups"),
        ("Rainfall\nin mm\nTown,Jan,Feb\nWick,70,51\nOban,90,61\n", 2, "Town,Jan,Feb"),
        ("Team,,,Cups\nBlues,STL,x,1\nFlyers,PHI,y,2\n", 0, "Team,,,Cups"),
        (
            "see\nsee,notes\nat,the,top,of,their\nName,Job,Age,Kids,Born,Died\n"
            "Bo,actor,4,T,1990,2000\nAl,cook,5,F,1980,2001\n",
            3,
            "Name,Job,Age,Kids,Born,Died",
        ),
        ("name\nBo\n", 0, "name"),
        ("name\nBo\nAl, the cook\nEd\nIda\n", 0, "name"),
        ("Film,Year\n", 0, ""),
        ("Town,1990,1991\nWick,5.1,5.2\n", 0, "Town,1990,1991"),
        (",0,1\na,5.1,5.2\n", 0, ",0,1"),
        ("id,100022,100025\nid1,TRUE,FALSE\n", 0, "id,100022,100025"),
        ("age,town\nBo,4,Wick\nAl,5,Oban\n", 0, ",age,town"),
        ("a,b\n1,2,\n3,4,\n", 0, "a,b"),
        ("1,Blues,STL\n2,Flyers,PHI\n", 0, ""),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", 0, ""),
        ("", 0, ""),
    ],
)
def test_the_names_of_columns_are_found(table: str, above: int, names: str) -> None:
    rows = list(csv.reader(table.splitlines()))
    assert find_names(rows) == (above, names.split(",") if names else [])
