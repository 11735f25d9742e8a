"""Sheets with several blocks: each has its own header, and no cell is lost."""

from collections.abc import Sequence

from fabir.documents.sheet_blocks import Row, Text, sheet_texts
from fabir.documents.sheet_headers import Cell

Value = str | float


def rows(*lines: Sequence[Value]) -> list[Row]:
    """The rows of a sheet; blank texts are no cells."""
    found = []
    for number, line in enumerate(lines, 1):
        cells = {
            column: Cell(str(value), is_text=isinstance(value, str))
            for column, value in enumerate(line)
            if value != ""
        }
        if cells:
            found.append(Row(number, number, cells))
    return found


def texts(*lines: Sequence[Value]) -> list[str]:
    return [found.text for found in sheet_texts(rows(*lines))]


def test_each_block_has_its_own_header() -> None:
    assert texts(
        ["Item", "Amount"],
        ["Salary", 950],
        [],
        ["Pump", "Litres", "Built"],
        ["Wick", 410, "old"],
    ) == ["Item: Salary\nAmount: 950", "Pump: Wick\nLitres: 410\nBuilt: old"]


def test_a_title_above_a_block_is_its_heading() -> None:
    found = list(sheet_texts(rows(["Income"], ["Item", "Amount"], ["Salary", 950], ["Gifts", 20])))
    assert found == [
        Text(1, "", "Income"),
        Text(3, "Income", "Item: Salary\nAmount: 950"),
        Text(4, "Income", "Item: Gifts\nAmount: 20"),
    ]


def test_a_block_without_a_header_may_have_a_heading() -> None:
    found = list(sheet_texts(rows(["Spent"], [2336, 0.62])))
    assert found == [Text(1, "", "Spent"), Text(2, "Spent", "2336\n0.62")]


def test_blocks_stand_side_by_side() -> None:
    assert texts(
        ["Income", "", "", "Summary", ""],
        ["Item", "Amount", "", "Total", "Balance"],
        ["Salary", 950, "", "much", 20],
        ["Gifts", 20, "", "", ""],
        ["Rent", 30, "", "", ""],
        ["Other", 40, "", "", ""],
    ) == [
        "Income",
        "Item: Salary\nAmount: 950",
        "Item: Gifts\nAmount: 20",
        "Item: Rent\nAmount: 30",
        "Item: Other\nAmount: 40",
        "Summary",
        "Total: much\nBalance: 20",
    ]


def test_a_blank_row_may_end_only_one_of_them() -> None:
    assert texts(
        ["Pump", "Litres", "", "Area", "Wells"],
        ["Wick", 410, "", "North", 3],
        ["", "", "", "South", 4],
        ["Item", "Amount", "", "East", 5],
        ["Rent", 800, "", "West", 6],
        ["Gas", 50, "", "", ""],
        ["Fees", 60, "", "", ""],
        ["Food", 70, "", "", ""],
        ["Books", 80, "", "", ""],
    ) == [
        "Pump: Wick\nLitres: 410",
        "Item: Rent\nAmount: 800",
        "Item: Gas\nAmount: 50",
        "Item: Fees\nAmount: 60",
        "Item: Food\nAmount: 70",
        "Item: Books\nAmount: 80",
        "Area: North\nWells: 3",
        "Area: South\nWells: 4",
        "Area: East\nWells: 5",
        "Area: West\nWells: 6",
    ]


def test_a_table_twice_in_the_same_rows_is_two_blocks() -> None:
    found = texts(["City", "People", "", "City", "People"], ["Wick", 7, "", "Oban", 8])
    assert found == ["City: Wick\nPeople: 7", "City: Oban\nPeople: 8"]


def test_a_blank_column_in_a_table_does_not_part_it() -> None:
    assert texts(
        ["Item", "", "2023", "2024", "", "2023", "2024"],
        ["Rent", "", 800, 810, "", 1, 2],
        ["Food", "", 300, 310, "", 3, 4],
    ) == [
        "Item: Rent\n2023: 800\n2024: 810\n2023: 1\n2024: 2",
        "Item: Food\n2023: 300\n2024: 310\n2023: 3\n2024: 4",
    ]
    assert (
        texts(
            ["Pump", "Built", "", "Area", "Owner"],
            ["Wick", 1934, "", "North", "Bo"],
            ["Marl", 1911, "", "South", "Al"],
        )[0]
        == "Pump: Wick\nBuilt: 1934\nArea: North\nOwner: Bo"
    )


def test_a_few_remarks_beside_a_table_stay_in_their_rows() -> None:
    table = [[f"Pump {number}", number * 10, "", ""] for number in range(9)]
    table[2][3], table[7][3] = "leaks", "closed"
    found = texts(["Pump", "Litres", "", ""], *table)
    assert found[2] == "Pump: Pump 2\nLitres: 20\nleaks"


def test_a_table_goes_on_after_a_blank_row() -> None:
    found = texts(
        ["Area", "Pumps", "Share"], ["North", 7, 0.5], [], ["South", 3, "few"], ["East", 4]
    )
    assert found[1:] == ["South\n3\nfew", "East\n4"]
    found = texts(["Area", "Pumps", "Share"], ["North", 7, 0.5], [], ["South", 3, 0.1], ["East", 4])
    assert found[1:] == ["Area: South\nPumps: 3\nShare: 0.1", "Area: East\nPumps: 4"]


def test_other_columns_or_a_heading_end_the_table() -> None:
    table = ["Item", "Amount"], ["Salary", 950]
    assert texts(*table, [], ["where", "Wick"], ["who", "Bo"])[1:] == ["where: Wick", "who: Bo"]
    assert texts(*table, [], ["Phones"], ["Bo", 555], ["Al", 556])[1:] == [
        "Phones",
        "Bo: 555",
        "Al: 556",
    ]


def test_a_blank_row_may_follow_the_header() -> None:
    found = texts(["Waterworks"], ["Pump", "Litres"], [], ["Wick", 410], ["Marl", 320])
    assert found[2:] == ["Pump: Wick\nLitres: 410", "Pump: Marl\nLitres: 320"]


def test_notes_above_a_table_are_lines() -> None:
    assert texts(
        ["Lots of people"],
        ["write notes", "", "", "here"],
        ["at", "the", "", "top"],
        ["Name", "Job", "Age", "Died"],
        ["Bo", "actor", 69, "2016-01-10"],
        ["Al", "cook", 60, "2016-12-27"],
    ) == [
        "Lots of people\nwrite notes, here\nat, the, top",
        "Name: Bo\nJob: actor\nAge: 69\nDied: 2016-01-10",
        "Name: Al\nJob: cook\nAge: 60\nDied: 2016-12-27",
    ]


def test_a_text_alone_in_its_row_has_no_name() -> None:
    table = ["Pump", "Litres", "Built"], ["Wick", 410, 1934], ["All figures are estimates"]
    assert texts(*table)[1] == "All figures are estimates"


def test_names_that_are_too_long_for_a_row_are_kept() -> None:
    names = [["North " + "n" * 150, "x"], ["Pump " + "p" * 150, "x"]]
    cells = [
        {column: Cell(text, look="bold") for column, text in enumerate(line)} for line in names
    ]
    body = [{0: Cell("Wick"), 1: Cell("7", is_text=False)}] * 3
    numbered = [Row(number, number, row) for number, row in enumerate([*cells, *body], 1)]
    assert any("p" * 150 in found.text for found in sheet_texts(numbered))


def test_long_blocks_side_by_side_lose_nothing() -> None:
    lines = [["Pump", "Litres", "", "City", "People"]]
    lines += [[f"p{n}", n, "", *((f"c{n}", n) if n < 50 else ("", ""))] for n in range(300)]
    lines[250][3] = "far below"
    found = texts(*lines)
    assert {f"Pump: p{n}\nLitres: {n}" for n in range(300)} <= set(found)
    assert {f"City: c{n}\nPeople: {n}" for n in range(50)} <= set(found)
    assert "far below" in "\n".join(found)


def test_a_label_stands_before_its_value() -> None:
    assert texts(
        ["Name:", "Ida Strand", "Town:", "Corm"], ["Born:", 1974, "Wells:", "Leaks:", "none"]
    ) == ["Name: Ida Strand\nTown: Corm", "Born: 1974\nWells:\nLeaks: none"]
    assert texts(["Is it open?", "yes"], ["Tel: 77", "no"]) == ["Is it open?\nyes", "Tel: 77\nno"]


def test_texts_that_repeat_or_stand_alone_are_no_labels() -> None:
    assert texts(["North", "Wick"], ["North", "Marl"]) == ["North\nWick", "North\nMarl"]
    assert texts(["Total", 410]) == ["Total\n410"]
    assert texts([1, "one"], [2, "two"]) == ["1\none", "2\ntwo"]
