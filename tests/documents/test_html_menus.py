"""Menus in HTML pages: short links alone, outside of the main content."""

import pytest

from fabir.documents.html import read_page

MENU = "<ul><li><a href=/>Home</a><li><a href=b>News</a><li><a href=c>Food and drink</a>"
MENU += "<li><a href=d>Old mills</a></ul>"
PAGE = "<h1>Bridges</h1><p>It was built of oak."
BEGUN = ["Bridges", "It was built of oak."]
LISTED = ["Home", "News", "Food and drink", "Old mills"]


def texts(page: str) -> list[str]:
    return [paragraph.text for paragraph in read_page(page).paragraphs]


@pytest.mark.parametrize(
    "page",
    [
        MENU + PAGE,
        f"{MENU}<main>{PAGE}</main>{MENU}",
        f"{PAGE}<footer>{MENU}</footer>",
        f"<div><a href=a>Home</a> | <a href=b>News</a> | <a href=c><b>Old</b> mills</a>"
        f"<div><a href=d><p>Boats</a></div></div>{PAGE}",
    ],
)
def test_menus_outside_of_the_main_content_are_left_out(page: str) -> None:
    assert texts(page) == BEGUN


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (PAGE + MENU, [*BEGUN, *LISTED]),  # such as an index
        (f"<main>{PAGE}{MENU}</main>", [*BEGUN, *LISTED]),
        (f"{MENU}<h2>Bridges</h2><p>Oak.", [*LISTED, "Bridges", "Oak."]),  # where does it begin?
        (MENU, LISTED),
        (f"<a href=a>Home</a><p><a href=b>News</a>{PAGE}", ["Home", "News", *BEGUN]),
        (f"{'<p><a href=a>We open the mill daily</a>' * 4}{PAGE}",
         [*["We open the mill daily"] * 4, *BEGUN]),
        (f"{'<p><a href=a>It rains.</a>' * 4}{PAGE}", [*["It rains."] * 4, *BEGUN]),
        (f"{'<p><a href=a>Mills</a> of Wick' * 4}{PAGE}", [*["Mills of Wick"] * 4, *BEGUN]),
        (f"{'<p><a name=a>Mills</a>' * 4}{PAGE}", [*["Mills"] * 4, *BEGUN]),
    ],
)  # fmt: skip
def test_other_links_are_text(page: str, expected: list[str]) -> None:
    assert texts(page) == expected
