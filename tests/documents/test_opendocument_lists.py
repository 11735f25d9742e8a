"""OpenDocument texts: headings and items have the numbers that LibreOffice shows."""

from pathlib import Path

import pytest

from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from office_files import write_odt


def number(place: int, form: str = "1", suffix: str = ".", more: str = "") -> str:
    shown = f'style:num-format="{form}" style:num-suffix="{suffix}"'
    return f'<text:list-level-style-number text:level="{place}" {shown} {more}/>'


def style(name: str, *levels: str) -> str:
    return f'<text:list-style style:name="{name}">{"".join(levels)}</text:list-style>'


INNER = number(2, "a", ")", 'text:display-levels="2"')
BULLET = '<text:list-level-style-bullet text:level="3" text:bullet-char="o"/>'
LISTS = style("L", number(1), INNER, BULLET) + style(
    "R", number(1, "i", ")", 'text:start-value="3"')
)
OUTLINE = """<text:outline-style style:name="Outline">
    <text:outline-level-style text:level="1" style:num-format="1"/>
    <text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>
    <text:outline-level-style text:level="3" style:num-format=""/>
    <text:outline-level-style text:level="4" style:num-format="A" style:num-prefix="App. "
        text:display-levels="4"/></text:outline-style>"""


def read(tmp_path: Path, body: str, styles: str = LISTS, margins: str = "") -> Document:
    [found] = read_documents(write_odt(tmp_path / "a.odt", body, styles, margins), pytest.fail)
    return found


def lines(tmp_path: Path, body: str, styles: str = LISTS, margins: str = "") -> list[str]:
    return read(tmp_path, body, styles, margins).text.split("\n\n")


def p(text: str, name: str = "") -> str:
    return f'<text:p text:style-name="{name}">{text}</text:p>'


def item(*blocks: str, more: str = "") -> str:
    content = "".join(each if "<" in each else p(each) for each in blocks)
    return f"<text:list-item {more}>{content}</text:list-item>"


def items(*each: str, name: str = "L", more: str = "") -> str:
    named = f'text:style-name="{name}"' if name else ""
    return f"<text:list {named} {more}>{''.join(each)}</text:list>"


def heading(text: str, place: int, more: str = "") -> str:
    return f'<text:h text:outline-level="{place}" {more}>{text}</text:h>'


def test_items_have_numbers_by_their_levels(tmp_path: Path) -> None:
    dots = items(item("dot"), name="")
    inner = items(item("b", dots), item("c", p("more")), name="")
    body = items(item("a", inner), item("d", items(item("e"), name="")))
    texts = ["1. a", "1.a) b", "dot", "1.b) c", "more", "2. d", "2.a) e"]
    assert lines(tmp_path, body) == texts


def test_each_list_is_counted_apart_unless_it_goes_on(tmp_path: Path) -> None:
    body = items(item("a"), more='xml:id="one"') + items(item("b"), name="R")
    body += items(item("c")) + items(item("d"), more='text:continue-numbering="true"')
    body += items(item("e"), more='text:continue-list="one"')
    body += items(item("f"), more='text:continue-list="none"')
    assert lines(tmp_path, body) == ["1. a", "iii) b", "1. c", "2. d", "2. e", "1. f"]


def test_an_inner_list_goes_on_in_a_list_that_does(tmp_path: Path) -> None:
    first = items(item("a", items(item("b"), name="")), more='xml:id="one"')
    goes_on = items(item(items(item("c"), name="")), more='text:continue-list="one"')
    assert lines(tmp_path, first + p("x") + goes_on) == ["1. a", "1.a) b", "x", "1.b) c"]


def test_items_may_have_settings(tmp_path: Path) -> None:
    header = f"<text:list-header>{p('h')}</text:list-header>"
    body = items(header, item("a", more='text:start-value="7"'), item("b"))
    body += items(item("c"), item("d", more='text:style-override="R"'), item("e"))
    assert lines(tmp_path, body) == ["h", "7. a", "8. b", "1. c", "ii) d", "3. e"]


def test_an_inner_list_may_have_another_style(tmp_path: Path) -> None:
    body = items(item("a", items(item("b"), name="R")))
    assert lines(tmp_path, body) == ["1. a", "iii) b"]


def test_a_hidden_paragraph_has_no_number(tmp_path: Path) -> None:
    hidden = (
        '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>'
    )
    assert lines(tmp_path, items(item(p("a", "H")), item("b")), LISTS + hidden) == ["1. b"]


@pytest.mark.parametrize(
    ("level", "text"),
    [
        (number(1, "01, 02, 03, ...", ")"), "02) b"),
        (number(1, "1st", ""), "2nd b"),
        (number(1, "a", ".", 'text:start-value="27"'), "ab. b"),
        (number(1, "A", ".", 'text:start-value="27" style:num-letter-sync="true"'), "BB. b"),
        (number(1, "I", "", 'style:num-prefix="Art. "'), "Art. II b"),
        (number(1, "1", "", 'num-list-format="[%1%]"'), "[2] b"),
        (number(1, "1", "", 'text:start-value="x" text:display-levels="99999"'), "2 b"),
        (number(1, "", ""), "b"),
        (number(10), "b"),
        ("", "b"),
    ],
)
def test_levels_have_formats(tmp_path: Path, level: str, text: str) -> None:
    assert lines(tmp_path, items(item("a"), item("b")), style("L", level))[1] == text


def test_headings_have_the_numbers_of_the_outline(tmp_path: Path) -> None:
    body = heading("Rent", 1) + heading("Amount", 2) + heading("x", 3) + heading("Map", 4)
    body += heading("Plain", 2, 'text:style-name="P2"') + heading(
        "No", 1, 'text:is-list-header="true"'
    )
    body += heading("End", 1) + heading("Notice", 2)
    body += heading("Far", 1, 'text:restart-numbering="true" text:start-value="9"') + heading("", 1)
    plain = '<style:style style:name="P1" style:list-style-name=""/>'
    plain += '<style:style style:name="P2" style:parent-style-name="P1"/>'
    found = read(tmp_path, body, plain, OUTLINE)
    shown = [
        "1 Rent",
        "1.1 Amount",
        "x",
        "App. 1.1.A Map",
        "Plain",
        "No",
        "2 End",
        "2.1 Notice",
        "9 Far",
    ]
    assert found.text.split("\n\n") == [*shown, "10"]
    assert [found.text[start:end] for start, end in found.headings] == shown


def test_a_heading_in_a_list_has_the_number_of_the_list(tmp_path: Path) -> None:
    body = items(item(heading("Rent", 1)), item(heading("End", 1))) + heading("Other", 1)
    found = read(tmp_path, body, LISTS, OUTLINE)
    assert found.text.split("\n\n") == ["1. Rent", "2. End", "1 Other"]
    assert len(found.headings) == 3


def test_lists_in_boxes_and_notes_are_counted_apart(tmp_path: Path) -> None:
    box = f"<draw:frame><draw:text-box>{items(item('in a box'))}</draw:text-box></draw:frame>"
    note = f"<text:note><text:note-body>{items(item('in a note'))}</text:note-body></text:note>"
    body = items(item(p(f"a{box}{note}")), item("b"))
    assert lines(tmp_path, body) == ["1. a", "1. in a box", "1. in a note", "2. b"]


def test_cells_may_be_nothing_but_numbers(tmp_path: Path) -> None:
    def row(text: str, more: str = "") -> str:
        cells = (items(item(p("")), more=more), p(text))
        inside = "".join(f"<table:table-cell>{each}</table:table-cell>" for each in cells)
        return f"<table:table-row>{inside}</table:table-row>"

    rows = row("a") + row("b", 'text:continue-numbering="true"')
    assert lines(tmp_path, f"<table:table>{rows}</table:table>") == ["1. a", "2. b"]
