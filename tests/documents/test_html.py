"""The text of HTML: what a browser shows, in paragraphs."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabir.documents.base import Document
from fabir.documents.html import read_page
from fabir.documents.reading import read_documents
from fabir.errors import InputError

BRIDGE = "The Orla bridge was built in 1822 by Nils Ekdahl."


def text(markup: str) -> str:
    return "\n\n".join(each.text for each in read_page(markup).paragraphs)


def read_file(folder: Path, data: bytes) -> tuple[Document, list[str]]:
    (folder / "my_page.html").write_bytes(data)
    losses: list[str] = []
    [found] = read_documents(folder / "my_page.html", losses.append)
    return found, losses


def test_scripts_and_styles_are_no_text() -> None:
    page = read_page("""<!doctype html><title>Kites &amp; wind</title><style>p { top: 0 }</style>
    <script>if (a < b) alert("stolen")</script><p onclick="alert('x > y')">A kite <b>fl</b>ies.</p>
    <!-- <p>hidden</p> --><SCRIPT SRC=x>more</SCRIPT><noscript>switch it on</noscript>
    <template>later</template><iframe>old</iframe><select><option>Albania</select>""")
    assert page.title == "Kites & wind"
    assert [each.text for each in page.paragraphs] == ["A kite flies."]


def test_what_stands_in_for_scripts_in_the_head_is_no_text() -> None:
    assert text("<head><noscript><div>Enable scripts</div></noscript></head><p>Rain") == "Rain"


def test_blocks_are_paragraphs_and_breaks_are_lines() -> None:
    page = "<h1>Rain</h1>\n<p>It  falls\ndown.<br>Then&nbsp;stops.</p><ul><li>one<li>two</ul>"
    assert text(page) == "Rain\n\nIt falls down.\nThen stops.\n\none\n\ntwo"


def test_what_only_looks_like_markup_is_text() -> None:
    assert text("1 < 2 &lt;script&gt; <3") == "1 < 2 <script> <3"
    assert text("caf&eacute &amp; A&amp;B &#146;") == "café & A&B ’"


@pytest.mark.parametrize(
    "start",
    [
        '<div class="a"">',
        "<img src=x.png alt=Nils's>",
        '<div data-width="75 data-show="no">',
        '<input type="text="" placeholder=x>',
        "<!-->",
        "<!--->",
        "<!-- a --!>",
        "<svg><title>icon</title><style/></svg>",
        "<p><span hidden>secret",
        "<body>a</body></html>",
    ],
)
def test_broken_markup_swallows_nothing(start: str) -> None:
    assert text(f"{start}<p>{BRIDGE}</p>").endswith(BRIDGE)


@pytest.mark.parametrize(
    "start",
    [
        "<p hidden>",
        '<p hidden="until-found">',
        '<p style="display:none">',
        '<p style="color: red; DISPLAY : none !important">',
        '<p style="visibility:hidden">',
        '<p style="color: red; visibility: collapse">',
        "<div hidden><div>",
        "<dialog>",
    ],
)
def test_hidden_elements_are_no_text(start: str) -> None:
    assert text(f"<p>{BRIDGE}</p>{start}12 pounds") == BRIDGE
    assert text('<p style="display: nonesuch">shown') == "shown"
    assert text('<p style="visibility: visible">shown') == "shown"


def test_a_form_shows_what_is_filled_in_and_chosen() -> None:
    page = """<form>Town: <select><option>Varn<option selected>Corm</select> Name:<input
    value="Lise Brandt">, Born: <input type=date value=1974-05-03>
    <input type=hidden value=secret><input type=checkbox value=yes><input type=password value=x>
    <input placeholder="your name"><select multiple><option selected>one<option selected>two"""
    assert text(page) == "Town: Corm Name: Lise Brandt , Born: 1974-05-03 one two"


def test_fields_that_are_filled_in_are_no_table_of_contents() -> None:
    page = (
        "<p>Order form</p><ul><li><label>Name</label><div><input value='Anna Berg'></div></li></ul>"
    )
    assert text(page) == "Order form\n\nName\n\nAnna Berg"
    rows = "<tr><td><input value='Tin'><td><input value=40>" * 2
    assert "Tin" in text(f"<p>Order form</p><table>{rows}</table><p>End.</p>")


def test_a_cell_without_a_row_is_read() -> None:
    page = "<p>Text</p><table><caption><svg><td>x</td></svg></caption><tr><td>a</table>"
    assert text(page).split() == ["Text", "x", "a"]


def test_phrases_in_the_style_of_a_block_are_paragraphs() -> None:
    page = '<span style="color: red; display: block">A one</span><b style="display:flex">B two</b>'
    assert text(page) == "A one\n\nB two"
    assert text('a <span style="display: inline-block">b</span>c') == "a bc"
    assert text('<pre><b style="display: block">a\n</b><b style="display: block">b') == "a\nb"


def test_preformatted_text_keeps_its_lines() -> None:
    assert text("<p>a\nb</p><pre>\none\n  two\n\nthree </pre>") == "a b\n\none\n  two\n\nthree"


def test_exponents_stay_apart_from_what_they_raise() -> None:
    page = "<p>10<sup>6</sup> m<sup>2</sup>, 10<sup>−3</sup>, the 1<sup>st</sup>, H<sub>2</sub>O"
    assert text(page) == "10^6 m^2, 10^−3, the 1st, H2O"
    page = "<p>10<sup><b>6</b></sup>, Corm<sup><a>1</a></sup>, a<sup></sup> 2, a<sup>b</sup>"
    assert text(page) == "10^6, Corm^1, a 2, ab"


def test_soft_hyphens_are_gone() -> None:
    page = read_page("<title>An&shy;nika</title><p>met&shy;eo&#173;ro\u00adlogical")
    assert (page.title, page.paragraphs[0].text) == ("Annika", "meteorological")


def test_headings_have_offsets(tmp_path: Path) -> None:
    markup = "<h1>The <i>library</i></h1><p>It is old.</p><h2>Opening hours</h2><p>From 9:30."
    found, _ = read_file(tmp_path, markup.encode())
    assert [found.text[start:end] for start, end in found.headings] == [
        "The library",
        "Opening hours",
    ]
    assert found.title == "The library"


def test_the_title_is_the_page_s_then_the_first_h1_then_the_file_s(tmp_path: Path) -> None:
    for markup, title in [
        (b"<title> Rain\n in Oslo </title><h1>Rain", "Rain in Oslo"),
        (b"<title></title><h2>Menu</h2><h1>Rain</h1>", "Rain"),
        (b"<svg><title>icon</title></svg><p>Rain", "my page"),
    ]:
        assert read_file(tmp_path, markup)[0].title == title


def test_a_row_of_a_table_has_the_names_of_its_columns() -> None:
    page = """<table><caption>Pumps</caption><thead><tr><th>Pump<th>Built<th>Capacity</thead>
    <tr><td>Wick<td>1934<td>410<tr><td rowspan=2>Marl<td>1911<td>320 litres
    <tr><td>1912<td></table>"""
    assert text(page).split("\n\n") == [
        "Pumps",
        "Pump: Wick\nBuilt: 1934\nCapacity: 410",
        "Pump: Marl\nBuilt: 1911\nCapacity: 320 litres",
        "Pump: Marl\nBuilt: 1912",
    ]


def test_a_bold_row_names_columns_of_text() -> None:
    rows = "<tr><td>Ida Strand<td>Corm</tr><tr><td>Nils Berg<td>Wick</tr>"
    bold = "<table><tr><td><b>Name</b><td><strong>Town</strong></tr>" + rows
    assert text(bold).split("\n\n") == [
        "Name: Ida Strand\nTown: Corm",
        "Name: Nils Berg\nTown: Wick",
    ]
    plain = text(bold.replace("<b>Name</b>", "<b>Na</b>me"))
    assert "Name: Ida Strand" not in plain


def test_names_of_columns_in_two_rows_are_joined() -> None:
    page = """<table><tr><th><th colspan=2>Sales<tr><th>Town<th>2019<th>2020
    <tr><th>Wick<td>5<td>6</table>"""
    assert text(page) == "Town: Wick\nSales 2019: 5\nSales 2020: 6"


def test_a_first_row_without_th_can_have_the_names_too() -> None:
    page = """<table><tr><td>Grade<td>Tensile strength<td>Elongation
    <tr><td>Bars<td>890<td>12<tr><td>Rods<td>900<td>13</table>"""
    assert text(page).split("\n\n")[0] == "Grade: Bars\nTensile strength: 890\nElongation: 12"


def test_a_row_that_begins_with_its_name() -> None:
    page = """<table><tr><th colspan=2>Varn<tr><th>Population<td>51,234<br>(2020)
    <tr><th>Area<td>40 ha</table>"""
    assert text(page) == "Varn\n\nPopulation: 51,234\n(2020)\n\nArea: 40 ha"


def test_cells_of_a_table_stay_apart() -> None:
    page = "<table><tr><td>Height</td><td>9 m</td></tr><tr><td>Age</td></tr></table>"
    assert text(page) == "Height: 9 m\n\nAge"


def test_cells_that_lay_out_a_page_are_blocks() -> None:
    page = """<table><tr><td>Home<td><h1>Kites</h1><p>A kite flies.</p>
    <table><tr><th>Kite<th>Price<tr><td>Red<td>5</table></table>"""
    assert text(page) == "Home\n\nKites\n\nA kite flies.\n\nKite: Red\nPrice: 5"
    assert (
        text("<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>") == "a\n\nb\n\nc\n\nd"
    )


def test_navigation_is_left_out_and_frames_of_the_site_are_at_the_end() -> None:
    page = f"""<header><p>Open daily</p><nav><a>Home</a></nav></header>
    <div role=navigation>Contact us</div>
    <main><article><header><h1>Bridges</h1></header><p>{BRIDGE}<footer>By Ann</footer></article>
    </main><footer>Telephone 555 1234</footer>"""
    assert text(page).split("\n\n") == [
        *("Bridges", BRIDGE, "By Ann"),
        *("Open daily", "Telephone 555 1234"),
    ]


@pytest.mark.parametrize(
    "links",
    [
        '<div id="nav"><a href="a.html">Mills</a> <a href="b.html">Boats</a></div>',
        '<ul class="top navbar"><li><a href="a.html">Mills</a></ul>',
        '<p>Next: <a href="#Index" accesskey="n" rel="next">Index</a>, up: <a href="#Top">Time</a>',
        '<table><tr><td><a rel="prev" href="a.html">Mills</a><td><a rel=next>Boats</a></table>',
        '<table><tr><td><td><a href="#a">of oak</a>:<td><a href="#b">Mills</a></table>',
        "<table><tr><th>A<th>B<tr><th>O<td><tr><td><a href=#a>C</a><td><a href=#b>D</a></table>",
        '<ul><li><a href="#a">Mills</a><ol><li><a href="#b"><b>Old</b> boats</a></ol></ul>',
        '<table><tr><td>Jump: <a href="#B">B</a> <a href="#C">C</a> <a href="#R">R</a></table>',
    ],
)
def test_links_to_other_places_are_navigation(links: str) -> None:
    assert text(f"{links}<h1>Bridges</h1><p>{BRIDGE}") == f"Bridges\n\n{BRIDGE}"


def test_text_with_links_is_none() -> None:
    notes = "It was built of oak. <a href='#1'>1</a> <a href='#2'>2</a> <a href='#3'>3</a>"
    assert text(f"<p>{notes}").endswith("oak. 1 2 3")
    long = f"<p>{BRIDGE * 10} <a rel=next href=b.html>Next</a>"
    assert text(long).endswith("Next")
    assert text("<div class=nav><h1>Mills</h1></div>") == "Mills"
    assert text("<p>See:<ul><li>the <a href=#a>Mills</a><li><a href=b>Boats</a></ul>") == (
        "See:\n\nthe Mills\n\nBoats"
    )
    assert text("<ul><li><h2><a href=#a>Mills</a></h2>of oak</ul>") == "Mills\n\nof oak"
    inner = "<table><tr><td><h2>Boats</h2><td>of <a href=#a>oak</a></table>"
    layout = f"<table><tr><td><a href=#a>Mills</a><td>{inner}</table>"
    assert text(layout) == "Mills\n\nBoats\n\nof oak"
    assert text(f"<table><tr><td>{inner}<td>{inner}</table>").count("of oak") == 2
    cells = "<li><table><tr><th>Mill<th>Built<tr><td><a href=#a>Ida's</a><td>1910</table>"
    assert "Mill: Ida's" in text(cells)


def test_links_without_a_space_between_are_words_of_their_own() -> None:
    """Unless the second one goes on in lower case; style sheets set them apart."""
    assert text("<p><a href=a>Sign in</a><a href=b>2</a><a href=c>FAQ</a>") == "Sign in 2 FAQ"
    assert text("<p><a href=a>Foot</a><a href=b>ball</a> <a href=c>A</a>B") == "Football AB"
    assert text("<p><a href=a>A</a>/<a href=b>B</a>") == "A/B"
    assert text("<pre><a href=a>print</a><a href=b>Line</a></pre>") == "printLine"


def test_signs_that_link_to_a_heading_are_no_text() -> None:
    page = '<h1>Guide<a href="#guide">¶</a></h1><h2>Tar<span><a href="#tar">#</a></span></h2>'
    assert text(f'{page}<p><a href="#oak">Oak</a> #1') == "Guide\n\nTar\n\nOak #1"


def test_a_table_within_a_heading_is_a_table() -> None:
    """The parser puts it there if the heading has no end."""
    table = "<table><tr><th>Mill<th>Built<tr><td>Otto's<td>1902<tr><td>Ida's<td>1910</table>"
    assert text(f"<h2>{table}</h2>") == text(table)
    (heading, *_) = read_page(f"<h2>{table}Mills</h2>").paragraphs[::-1]
    assert heading.heading


def test_an_article_is_never_taken_for_navigation() -> None:
    assert text(f"<nav><a>Home</a><main><p>{BRIDGE}</main></nav>").endswith(BRIDGE)
    assert text(f"<header><h1>Bridges</h1></header><p>{BRIDGE}") == f"Bridges\n\n{BRIDGE}"
    assert text("<nav><ul><li>Chapter 1<li>Chapter 2</ul></nav>") == "Chapter 1\n\nChapter 2"


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="windows-1252">', "cp1252"),
        ('<meta http-equiv=Content-Type content="text/html; charset=iso-8859-1">', "cp1252"),
        ("<meta charset=utf-8>", "utf-8"),
        ("<meta charset=iso-8859-2>", "utf-8-sig"),
        ("<meta charset=utf-8>", "utf-16"),
        ("", "utf-32"),
        ('<?xml version="1.0" encoding="macintosh"?>', "mac_roman"),
        ("<meta charset=nonsense>", "utf-8"),
    ],
)
def test_the_page_says_its_encoding(tmp_path: Path, head: str, encoding: str) -> None:
    found, losses = read_file(tmp_path, f"{head}<p>Zoë’s café".encode(encoding))
    assert (found.text, losses) == ("Zoë’s café", [])


def test_bytes_against_the_declared_encoding_are_named(tmp_path: Path) -> None:
    found, [loss] = read_file(tmp_path, b"<meta charset=utf-8><p>caf\xc3\xa9 caf\xe9")
    assert found.text == "café caf\N{REPLACEMENT CHARACTER}"
    assert "1 characters are not utf-8: byte 32" in loss


PIECES = """<p> <div </div> <table> <tr> <td rowspan=99> <th> <pre> <sup> <nav> <header> <h1> <svg>
    <!-- --> <script> <textarea> </p> </table> " ' < > / = &amp; &# 1 one two hidden style="""


@given(st.lists(st.sampled_from(PIECES.split()), max_size=40).map(" ".join))
@example("<table><tr><td><table><tr><th>one")
def test_any_page_has_a_text(page: str) -> None:
    found = read_page(page)
    assert found.title == found.title.strip()
    assert all(each.text.strip() for each in found.paragraphs)


@given(st.text(st.characters(exclude_characters="<&\0\r\u00ad", codec="utf-8")))
def test_text_without_markup_survives(plain: str) -> None:
    assert text(f"<p>{plain}").split() == plain.split()


@pytest.mark.parametrize(
    "markup",
    [
        *(start * 60_000 for start in ("<!", "<a ", "</", "<!--", "<a b='", '<a "', "<?", "&#x")),
        *("<title" * 60_000, "<svg>" + "</svg" * 60_000, "<b>" * 60_000, "<p><b>" * 10_000),
        "<table><tr><td colspan=1000 rowspan=65534>" * 5_000,
        "<table><tr>" + "<td rowspan=65534>x" * 1_000 + "<tr><td>" * 300,
    ],
)
def test_hostile_pages_take_linear_time(markup: str) -> None:
    assert "secret" not in text("<script>secret</script>" + markup)


def test_elements_in_each_other_without_end_are_refused() -> None:
    assert text("<div>" * 1_000 + "deep") == "deep"
    with pytest.raises(InputError, match="in each other"):
        read_page("<div>" * 200_000 + "deep")


def test_a_table_cannot_grow_without_end() -> None:
    row = "<tr>" + f"<td rowspan=1000>{'x' * 200}" * 300
    with pytest.raises(InputError, match="million characters"):
        read_page(f"<table>{row}{'<tr><td>y' * 1000}</table>" * 3)


def test_comments_divide_nothing() -> None:
    assert text("<p>The mill has <!-- -->5<!-- --> floors, built<![if x]> in <?y?>1834.") == (
        "The mill has 5 floors, built in 1834."
    )
    page = read_page("<h1>The <!-- x -->mill</h1>")
    assert [each.text for each in page.paragraphs] == ["The mill"]


def test_exponents_and_fractions_are_told_from_digits() -> None:
    power = "<math><msup><mn>10</mn><!-- x --><mn>6</mn></msup></math>"
    assert (
        text(f"<p>It weighs {power} kg, or 10<sup>9</sup> mg.") == "It weighs 10^6 kg, or 10^9 mg."
    )
    assert text("<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>") == "1 / 2"
    assert text("<p><sup>1</sup> See the report. <sup>2</sup> Not there.") == (
        "1 See the report. 2 Not there."
    )


def test_footers_of_quotes_and_cells_stay_where_they_are() -> None:
    quote = "<blockquote><p>It is lovely.</p><footer>Ida Strand</footer></blockquote>"
    page = f"<header>Mills of Lund</header><h1>Mill</h1>{quote}<p>Bob said no."
    assert text(page) == "Mill\n\nIt is lovely.\n\nIda Strand\n\nBob said no.\n\nMills of Lund"


def test_a_cell_of_no_rows_has_all_that_follow() -> None:
    table = "<table><tr><th>Mill<th>Year<tr><td rowspan=0>Upper<td>1834<tr><td>1835</table>"
    assert text(table) == "Mill: Upper\nYear: 1834\n\nMill: Upper\nYear: 1835"


def test_the_header_of_a_card_stays_above_it() -> None:
    cards = "".join(
        f'<div class="card"><header>{name}</header><p>{what}</p></div>'
        for name, what in (("Opening hours", "9 to 5"), ("Prices", "5 EUR"))
    )
    page = f"<header>Mills of Lund</header><h1>Mill</h1>{cards}"
    assert text(page) == "Mill\n\nOpening hours\n\n9 to 5\n\nPrices\n\n5 EUR\n\nMills of Lund"
