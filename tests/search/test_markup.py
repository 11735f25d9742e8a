"""The text of HTML: what a reader of the page would see, in paragraphs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.search.markup import read_markup


def test_scripts_and_styles_are_no_text() -> None:
    page = """<!doctype html><title>Kites &amp; wind</title><style>p { color: red }</style>
    <script>if (a < b) alert("stolen")</script><p onclick="alert('x > y')">A kite <b>fl</b>ies.</p>
    <!-- <p>hidden</p> --><SCRIPT SRC=x>more</SCRIPT><noscript>switch it on</noscript>"""
    assert read_markup(page) == ("Kites & wind", "A kite flies.")


def test_blocks_are_paragraphs_and_breaks_are_lines() -> None:
    page = "<h1>Rain</h1>\n<p>It  falls\ndown.<br>Then&nbsp;stops.</p><ul><li>one<li>two</ul>"
    assert read_markup(page)[1] == "Rain\n\nIt falls down.\nThen stops.\n\none\n\ntwo"


def test_cells_of_a_table_stay_apart() -> None:
    page = "<table><tr><td>Height</td><td>9 m</td></tr><tr><td>Age</td></tr></table>"
    assert read_markup(page)[1] == "Height 9 m\n\nAge"


def test_what_only_looks_like_markup_is_text() -> None:
    assert read_markup("1 < 2 &lt;script&gt; <3")[1] == "1 < 2 <script> <3"


@given(st.lists(st.sampled_from(["<", ">", "'", '"', "p", "/", "!--", "-->", "script", " ", "&"])))
def test_any_page_has_a_text(parts: list[str]) -> None:
    title, text = read_markup("".join(parts))
    assert title == title.strip()
    assert text == text.strip()


STARTS = ["<!", "<a ", "</", "<!--", "<a b='", '<a "', "<script>", "<div>", "<title>", "&#x", "<?"]


@pytest.mark.parametrize("start", STARTS)
def test_hostile_pages_take_linear_time(start: str) -> None:
    assert "secret" not in read_markup("<script>secret</script>" + start * 100_000)[1]
