"""Columns of pages in PDF files: text in columns, and tables beside each other."""

from pathlib import Path

import pytest

from pdf_pages import BOLD, at, lines, text_of

pytest.importorskip("pypdfium2")
PATHS = (
    ("draw path with current pen", "draw_path(path)"),
    ("draw path with pen", "draw_path(path,pen)"),
    ("draw path on picture", "draw(picture,path)"),
    ("draw visible portion of line through pairs", "draw_line(pair,pair)"),
)
ARRAYS = (
    ("pop last element", "pop()"),
    ("delete the elements with indices from i to j", "delete(i,j)"),
    ("return sorted array", "sort(a)"),
    ("search array", "search(a,key)"),
)

PEOPLE = ("Ida Holm", "12345"), ("Bo Lind", "23456"), ("Al Marsh", "34567")
NAMES = (50, "Person"), (210, "Matr. No."), (320, "Person"), (480, "Matr. No.")


def table(left: float, down: float, rows: tuple[tuple[str, str], ...]) -> str:
    """Rows of two cells, written row by row."""
    return "".join(
        at(left, down + 12 * number, first, size=8) + at(left + 160, down + 12 * number, last, 8)
        for number, (first, last) in enumerate(rows)
    )


def as_text(rows: tuple[tuple[str, str], ...]) -> str:
    return "\n".join("   ".join(row) for row in rows)


def test_rows_of_a_table_are_whole_although_their_cells_read_like_text(tmp_path: Path) -> None:
    assert text_of(tmp_path, table(50, 100, PATHS)) == as_text(PATHS)


def test_tables_beside_each_other_are_read_one_by_one(tmp_path: Path) -> None:
    heads = at(50, 84, "Paths", font="F2"), at(320, 84, "Arrays", font="F2")
    left, right = heads[0] + table(50, 100, PATHS), heads[1] + table(320, 100, ARRAYS)
    text = text_of(tmp_path, left + right, fonts=BOLD)
    assert text == f"Paths\n\n{as_text(PATHS)}\n\nArrays\n\n{as_text(ARRAYS)}"


def test_a_table_of_four_columns_that_is_written_row_by_row_stays_whole(tmp_path: Path) -> None:
    rows = [
        table(50, 100 + 12 * number, (left,)) + table(320, 100 + 12 * number, (right,))
        for number, (left, right) in enumerate(zip(PATHS, ARRAYS, strict=True))
    ]
    expected = [left + right for left, right in zip(PATHS, ARRAYS, strict=True)]
    assert text_of(tmp_path, "".join(rows)) == "\n".join("   ".join(row) for row in expected)


def test_names_of_columns_stay_above_each_of_two_tables(tmp_path: Path) -> None:
    names = (at(left, 100, name, font="F2", size=8) for left, name in NAMES)
    numbered = (
        at(295, 112 + 12 * number, str(number), size=8) + table(320, 112 + 12 * number, (person,))
        for number, person in enumerate(PEOPLE)
    )
    both = table(50, 112, PEOPLE), *numbered
    text = text_of(tmp_path, "".join([*names, *both]), fonts=BOLD)
    assert text.count("Person: Ida Holm\nMatr. No.: 12345") == 2


def test_a_heading_below_two_columns_is_read_after_both(tmp_path: Path) -> None:
    left, right = (
        "".join(at(x, 100 + 12 * n, f"{word} that flows over {n}", size=8) for n in range(4))
        for x, word in ((50, "water"), (320, "wind"))
    )
    heading = at(50, 160, "The mill", font="F2", size=8)
    below = at(50, 176, "It stands by the river and " + "turns " * 20, size=8)
    text = text_of(tmp_path, left + heading + right + below, fonts=BOLD)
    assert text.index("wind that flows") < text.index("The mill") < text.index("It stands")


def test_a_column_goes_on_beside_a_heading_of_the_other_one(tmp_path: Path) -> None:
    left = at(110, 114, "Abstract", font="F2") + lines(
        50, 140, "The old mill stands on the river", "and it was built of red bricks by", "a mason."
    )
    right = lines(
        320,
        102,
        "it grinds rye for nine villages,",
        "and its two stones are brought from",
        "the hills",
    ) + lines(320, 140, "in the north, where a quarry is", "open to all who come by in", "summer.")
    text = text_of(tmp_path, at(150, 60, "Mills", font="F2") + left + right, fonts=BOLD)
    assert text.index("a mason") < text.index("it grinds rye") < text.index("from the hills")


def statement(left: float, names: tuple[str, str], down: float, *labels: str) -> str:
    """Names of two columns, and below them rows of a label and two values each."""
    places = left + 120, left + 180
    heads = "".join(at(place, 100, name) for place, name in zip(places, names, strict=True))
    return heads + "".join(
        at(left, down + 17 * number, label)
        + "".join(at(place, down + 17 * number, f"{number}1,{number}52") for place in places)
        for number, label in enumerate(labels, 1)
    )


def test_tables_beside_each_other_have_the_names_above_them(tmp_path: Path) -> None:
    mills = statement(
        50, ("2020", "2021"), 108, "Net profit", "Cash flow", "Sales of flour", "Total"
    )
    kites = statement(
        350, ("Stock", "Surplus"), 110, "Dividends", "Adjusted", "Purchase", "Balance"
    )
    text = text_of(tmp_path, mills + kites)
    assert text.startswith("Net profit\n2020: 11,152\n2021: 11,152\n\nCash flow\n2020: 21,252")
    assert text.endswith("Balance\nStock: 41,452\nSurplus: 41,452")
