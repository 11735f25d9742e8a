"""Items of lists in pages have the numbers that a browser shows."""

import pytest

from fabir.documents.html import read_page


def lines(page: str) -> list[str]:
    return [each.text for each in read_page(page).paragraphs]


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<ol><li>a<li>b</ol><ol><li>c</ol>", ["1. a", "2. b", "1. c"]),
        ("<ol start=5 type=I><li>a<li value=10>b<li>c</ol>", ["V. a", "X. b", "XI. c"]),
        ("<ol reversed><li>a<li>b<p>c</p></ol>", ["2. a", "1. b", "c"]),
        ("<ol reversed start=1 type=A><li>a<li>b</ol>", ["A. a", "0. b"]),
        ("<ol start=-1><li>a<li>b</ol>", ["-1. a", "0. b"]),
        ("<ol type=a start=27><li>a<li type=i>b</ol>", ["aa. a", "xxviii. b"]),
        ("<ol start=3x><li>a<li value=7.5>b<li value=x>c</ol>", ["3. a", "7. b", "8. c"]),
        ("<ol start=9999999999><li>a</ol>", ["1. a"]),
        ("<ul><li>a<ol><li>b</ol><li>c</ul><menu><li>d</menu><li>e", ["a", "1. b", "c", "d", "e"]),
        ("<ol><li>a<ul><li>b</ul><li>c</ol>", ["1. a", "b", "2. c"]),
        ("<ol><li>a</li><ol><li>b</ol><li>c</ol>", ["1. a", "1. b", "2. c"]),
        ("<ol><li><ol type=i><li>a<li>b</ol></ol>", ["1. i. a", "ii. b"]),
        ("<ol><li hidden>a<li style='display:none'>b<li>c</ol>", ["1. c"]),
        ("<ol><li>a<li><img src=b><li>c</ol>", ["1. a", "3. c"]),
        ("<ol><li><p>a<p>b<li><div><b>c</b> d</div></ol>", ["1. a", "b", "2. c d"]),
        ("<ol><li><pre>a\n  b</pre></ol>", ["1. a\n  b"]),
        ("<ol style='list-style: none'><li>a</ol>", ["a"]),
        ("<ol style='color:red;LIST-STYLE-TYPE:lower-alpha'><li>a</ol>", ["a. a"]),
        ("<ul style='list-style: inside decimal'><li>a</ul>", ["1. a"]),
        ("<ol><li style='list-style:square'>a<li>b</ol>", ["a", "2. b"]),
    ],
)
def test_items_have_the_numbers_of_a_browser(page: str, texts: list[str]) -> None:
    assert lines(page) == texts


def test_a_heading_in_an_item_is_still_one() -> None:
    [heading, text] = read_page("<ol><li><h2>Rent</h2>is due</ol>").paragraphs
    assert (heading.text, heading.heading) == ("1. Rent", True)
    assert (text.text, text.heading) == ("is due", False)


def test_lists_deep_in_each_other_have_short_numbers() -> None:
    [text] = lines("<ol><li>" * 3000 + "a")
    assert len(text) <= 101
