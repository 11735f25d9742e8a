"""Which rows of a block of cells name its columns."""

import pytest

from fabir.documents.sheet_headers import Cell, find_header

BOLD = "*"


def block(text: str) -> list[dict[int, Cell]]:
    """Semicolons separate rows, bars cells; a star marks a bold cell, `>` one column more."""
    return [
        {
            column: Cell(
                word.strip(" *>"),
                is_text=not word.strip(" *>").replace(".", "").isdecimal(),
                look=BOLD if BOLD in word else "",
                width=1 + word.count(">"),
            )
            for column, word in enumerate(line.split("|"))
            if word.strip()
        }
        for line in text.split(";")
    ]


def header(text: str, needs_evidence: bool = True) -> tuple[int, int, str] | None:
    found = find_header(block(text), needs_evidence)
    return found and (found.start, found.end, "|".join(found.names.values()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pump|Litres;Wick|410;Marl|320", (0, 1, "Pump|Litres")),
        ("Litres;410;320", (0, 1, "Litres")),
        ("Works|of Wick;Pump|Area|Litres|Built;a|b|1|2;c|d|3|4", (1, 2, "Pump|Area|Litres|Built")),
        ("|5|4|3|2;Pump|a|b|c|d;Wick|1|2|3|4;Marl|2|3|4|5", (1, 2, "Pump|a|b|c|d")),
        ("|2023|2024;North|5.1|6.2;South|7.1|8.2", (0, 1, "2023|2024")),
        ("Pump|1|2|3;Wick|yes|no|no;Marl|no|no|yes", None),
        ("Bo|1|2;Al|3|4", None),
        ("Salary|2000;Rent|800;Food|300", None),
        ("Annual report;2024-05-31", None),
        ("Wick|North;Marl|South", None),
        ("Pump|https://wick.example;Wick|7;Marl|8", None),
        ("Pump*|Area*;Wick|North;Marl|South", (0, 1, "Pump|Area")),
        ("Pumps*;Wick;Marl;Harr", (0, 1, "Pumps")),
        ("Pumps*;Wick", None),
        ("where*|Wick;who*|Bo", None),
        ("where*|Wick;who|Bo;when|now", None),
        ("a*|b*;c|d;e*|f*;g|h;i*|j*;k|l", None),
        ("0|Pump|Litres;1|Wick|410;2|Marl|320", (0, 1, "0|Pump|Litres")),
        ("0*|Pump*|Area*;1|Wick|North;2|Marl|South", (0, 1, "0|Pump|Area")),
        ("0|Wick|n/a;1|Marl|320;2|Harr|95", None),
        ("0|Wick|North;1|Marl|South;2|Harr|West", None),
        ("0|Pump|Litres;9|Wick|410;7|Marl|320", None),
        ("Pump|Amount:;Wick|410", (0, 1, "Pump|Amount")),
        ("Applicant|Ida;Town|Corm;Born|1974;Phone|555", None),
        ("Purpose|tests;Author|Ida;Date|2013;Pages|7;Copies|20", None),
        ("Name:|Ida;Born:|1974", None),
        ("Name:|Works|Town:|Corm;Built:|1934|Wells:|7;Closed:|1951|Leaks:|3", None),
        ("|2019|2020;Sales:|5.1|6.2;Costs:|7.3|8.4", (0, 1, "2019|2020")),
        ("Bridge|Orla bridge;Built|1822;Length|40 m", None),
        ("Town|People;Corm|1200;Varn|n/a;Harle|950;Oban|-", (0, 1, "Town|People")),
        ("Weight|Feed;179|bean;160|oats", (0, 1, "Weight|Feed")),
        ("", None),
    ],
)
def test_a_header_names_other_kinds_of_cells_or_looks_unlike_them(
    text: str, expected: tuple[int, int, str] | None
) -> None:
    assert header(text) == expected


def test_the_first_full_row_may_be_a_header_without_evidence() -> None:
    text = "Pump|Area|Owner;Wick|North|Bo;Marl|South|Al"
    assert header(text, needs_evidence=False) == (0, 1, "Pump|Area|Owner")
    assert header(text, needs_evidence=True) is None
    assert header("Bo|cook|1999;Al|actor|2001", needs_evidence=False) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Question|Answer;When is it open?|From 9.;Who runs it?|Bo", (0, 1, "Question|Answer")),
        ("Name|Town;Ida Strand|Corm;Nils Berg|Varn;Lise Brandt|Harle", (0, 1, "Name|Town")),
        (
            "name|link;Wick|www.wick.example;Marl|www.marl.example;Harr|www.h.example",
            (0, 1, "name|link"),
        ),
        ("Activity|Driving a car;code|A7;location|Europe;unit|kilometer", None),
        ("Purpose|To test it.;Scope|All of it.;Note|None of this.;Use|It is free.", None),
        ("Ida Strand|Corm;Nils Berg|Varn;Lise Brandt|Harle", None),
        ("Links;www.wick.example;www.marl.example;www.h.example", None),
    ],
)
def test_two_columns_of_texts_have_names_if_all_cells_of_one_read_differently(
    text: str, expected: tuple[int, int, str] | None
) -> None:
    assert header(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Pump*|Share*|Least*;|of all*|salary*;Wick|1|2;Marl|3|4;Harr|3|4",
            (0, 2, "Pump|Share of all|Least salary"),
        ),
        (
            "|North>*||South>*|;Pump*|old*|new*|old*|new*;Wick|1|2|3|4;Marl|5|6|7|8",
            (0, 2, "Pump|North old|North new|South old|South new"),
        ),
        (
            "|North>||South>|;Pump|old|new|old|new;Wick|1|2|3|4;Marl|5|6|7|8",
            (0, 2, "Pump|North old|North new|South old|South new"),
        ),
        ("Our|pumps|;Pump|Litres|Built;Wick|1|2;Marl|5|6", (1, 2, "Pump|Litres|Built")),
        ("|Q1*|Q2*;Division A*||;North|1|2;South|3|4;East|5|6", (0, 1, "Q1|Q2")),
    ],
)
def test_names_in_several_rows_are_joined(text: str, expected: tuple[int, int, str]) -> None:
    assert header(text) == expected
