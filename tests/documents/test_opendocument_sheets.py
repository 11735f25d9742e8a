"""OpenDocument spreadsheets: rows with the names of their columns, and cells as shown."""

from pathlib import Path

import pytest

from fabir.documents import opendocument_sheets
from fabir.documents.base import Document
from office_files import read, refused, texts, write_zip, xml

_ODF = "urn:oasis:names:tc:opendocument:xmlns"
NAMES = " ".join(
    f'xmlns:{name}="{_ODF}:{name}:1.0"' for name in ("office", "text", "table", "style", "chart")
)
NAMES += f' xmlns:draw="{_ODF}:drawing:1.0" xmlns:fo="{_ODF}:xsl-fo-compatible:1.0"'
NAMES += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
HIDDEN = 'table:visibility="collapse"'
BOLD = '<style:text-properties fo:font-weight="bold"/>'


def write_ods(path: Path, *tables: str, own: str = "", **parts: str) -> Path:
    """A workbook.

    Args:
        own: styles in the part of the tables
        parts: further ones, such as `styles`, or `Object_content` for that of a chart
    """
    own = f"<office:automatic-styles>{own}</office:automatic-styles>"
    body = f"<office:body><office:spreadsheet>{''.join(tables)}</office:spreadsheet></office:body>"
    files = {"content.xml": xml("office:document-content", own + body, NAMES)}
    files |= {name.replace("_", "/") + ".xml": xml("p", it, NAMES) for name, it in parts.items()}
    return write_zip(path, files)


def table(*content: str, name: str = "Sheet1", style: str = "") -> str:
    attributes = f'table:name="{name}" table:style-name="{style}"'
    return f"<table:table {attributes}>{''.join(content)}</table:table>"


def column(attributes: str = "") -> str:
    return f"<table:table-column {attributes}/>"


def row(*cells: str | int | float, attributes: str = "") -> str:
    """A row from texts, numbers, or cells' XML."""
    made = (each if isinstance(each, str) and each[:1] == "<" else cell(each) for each in cells)
    return f"<table:table-row {attributes}>{''.join(made)}</table:table-row>"


def cell(content: str | float, attributes: str = "", beside: str = "") -> str:
    kind = "string" if isinstance(content, str) else "float"
    given = f'office:value-type="{kind}" {attributes}'
    return f"<table:table-cell {given}>{beside}<text:p>{content}</text:p></table:table-cell>"


def many(count: int, of: str) -> str:
    return f'table:number-{of}-repeated="{count}"'


BLANK, COVERED = "<table:table-cell/>", "<table:covered-table-cell/>"
PUMPS = row("Pump", "Built") + row("Wick", 1934) + row("Marl", 1911)


def test_a_row_is_a_document_with_its_place(tmp_path: Path) -> None:
    first, second = read(write_ods(tmp_path / "pumps.ods", table(PUMPS)))
    assert first == Document("Pump: Wick\nBuilt: 1934", "pumps", "Sheet1!2", line=2)
    assert (second.text, second.part) == ("Pump: Marl\nBuilt: 1911", "Sheet1!3")


def test_all_sheets_are_read_each_with_its_name(tmp_path: Path) -> None:
    meta = "<dc:title>Water works</dc:title>"
    mills = row("Mill", "Floors") + row("Corm", 3)
    path = write_ods(tmp_path / "a.ods", table(PUMPS), table(mills, name="Mills"), meta=meta)
    assert [(each.title, each.part, each.line) for each in read(path)] == [
        ("Water works", "Sheet1!2", None),
        ("Water works", "Sheet1!3", None),
        ("Water works: Mills", "Mills!2", None),
    ]


def test_cells_are_read_as_they_are_shown(tmp_path: Path) -> None:
    price = cell("1.234,50 €", 'office:value="1234.5"').replace("string", "currency")
    words = cell("two<text:s text:c='2'/>words</text:p><text:p>and <text:span>more</text:span>")
    unshown = '<table:table-cell office:value-type="float" office:value="7.5"/>'
    truth = '<table:table-cell office:value-type="boolean" office:boolean-value="true"/>'
    error = cell("#DIV/0!") + cell("Err:502")
    path = write_ods(tmp_path / "a.ods", table(row(price, words, unshown, truth, error)))
    assert texts(path) == ["1.234,50 €\ntwo  words\nand more\n7.5\nTRUE"]


def test_repeated_rows_and_columns_are_read(tmp_path: Path) -> None:
    wide = row("Pump", cell("Litres", many(2, "columns")), "Built", attributes=many(1, "rows"))
    gap = row(BLANK, attributes=many(4, "rows"))
    twice = row("Wick", cell(410, many(2, "columns")), 1934, attributes=many(2, "rows"))
    blank = f"<table:table-cell {many(16381, 'columns')}/>"
    last = row("Marl", blank, attributes="") + row(blank, attributes=many(1 << 20, "rows"))
    path = write_ods(tmp_path / "a.ods", table(wide, twice, gap, row("Corm", 1, 2, 3), last))
    wick = "Pump: Wick\nLitres: 410\nLitres: 410\nBuilt: 1934"
    corm = "Pump: Corm\nLitres: 1\nLitres: 2\nBuilt: 3"
    assert [(each.part, each.text) for each in read(path)] == [
        ("Sheet1!2", wick),
        ("Sheet1!3", wick),
        ("Sheet1!8", corm),
        ("Sheet1!9", "Marl"),
    ]


def test_of_very_many_rows_that_repeat_some_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opendocument_sheets, "_COPIES", 3)
    again = row("Wick", 410, attributes=many(900_000, "rows"))
    path = write_ods(tmp_path / "a.ods", table(row("Pump", "Litres"), again, row("Marl", 320)))
    assert [each.part for each in read(path)] == [f"Sheet1!{n}" for n in (2, 3, 4, 5, 900_002)]


def test_cells_outside_of_the_limits_are_refused(tmp_path: Path) -> None:
    below = row("Wick", attributes=many(1 << 20, "rows")) + row("Marl")
    assert "more than 1,048,576 rows" in refused(write_ods(tmp_path / "a.ods", table(below)))
    beside = row(cell("Wick", many(16384, "columns")), "Marl")
    assert "more than 16,384 columns" in refused(write_ods(tmp_path / "a.ods", table(beside)))


def test_texts_that_repeat_too_often_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opendocument_sheets, "MAX_ROW", 1000)
    wide = table(row(cell("Wick", many(30, "columns"))))
    assert "too much text" in refused(write_ods(tmp_path / "a.ods", wide))


def test_merged_cells_are_in_each_row_that_they_cover(tmp_path: Path) -> None:
    head = row("Area", "Pump", "Litres")
    north = cell("North", 'table:number-rows-spanned="2"')
    rows = row(north, "Wick", 410) + row(COVERED, "Marl", 320) + row("South", "Harr", 95)
    assert texts(write_ods(tmp_path / "a.ods", table(head, rows))) == [
        "Area: North\nPump: Wick\nLitres: 410",
        "Area: North\nPump: Marl\nLitres: 320",
        "Area: South\nPump: Harr\nLitres: 95",
    ]


def test_a_wide_cell_names_the_columns_that_it_covers(tmp_path: Path) -> None:
    years = (cell(year, 'table:number-columns-spanned="2"') + COVERED for year in ("2019", "2020"))
    rows = row(BLANK, *years) + row("Pump", "Litres", "Hours", "Litres", "Hours")
    rows += row("Wick", 410, 7, 320, 8) + row("Marl", 1, 2, 3, 4)
    wick, _ = texts(write_ods(tmp_path / "a.ods", table(rows)))
    assert wick == "Pump: Wick\n2019 Litres: 410\n2019 Hours: 7\n2020 Litres: 320\n2020 Hours: 8"


def test_what_is_hidden_is_left_out_and_named(tmp_path: Path) -> None:
    columns = column() + column(HIDDEN) + column(many(1000, "columns"))
    rows = row("Pump", "Code", "Built") + row("Wick", "w1", 1934)
    rows += row("Harr", "h1", 1950, attributes=HIDDEN)
    rows += row("Corm", "c1", 1950, attributes='table:visibility="filter"')
    rows += row("Marl", "m1", cell("", 'office:value="7"'))
    secret = '<style:table-properties table:display="false"/>'
    style = f'<style:style style:name="s" style:family="table">{secret}</style:style>'
    other = table(PUMPS, name="Old", style="s")
    path = write_ods(tmp_path / "a.ods", other, table(columns, rows), own=style)
    lost: list[str] = []
    found = [(each.text, each.part, each.line) for each in read(path, lost)]
    wick = ("Pump: Wick\nBuilt: 1934", "Sheet1!2", 2)
    assert found == [wick, ("Pump: Marl", "Sheet1!5", 5)]
    [line] = lost
    assert line.endswith("1 hidden sheet, 2 hidden rows, 1 hidden column, 1 hidden cell")


@pytest.mark.parametrize("of_column", [False, True])
def test_a_header_may_look_unlike_the_cells_below(tmp_path: Path, of_column: bool) -> None:
    """The style of a cell may be its column's, and based on another one."""
    bold = f'<style:style style:name="b" style:family="table-cell">{BOLD}</style:style>'
    name = 'style:name="c" style:family="table-cell" style:parent-style-name="b"'
    plain = '<style:text-properties fo:font-weight="normal"/>' * of_column
    styles = bold + f"<style:style {name}>{plain}</style:style>"
    own = 'table:style-name="b"' if of_column else 'table:style-name="c"'
    columns = column('table:default-cell-style-name="c"' * of_column) * 2
    names = row(cell("Pump", own), cell("Area", own))
    path = write_ods(
        tmp_path / "a.ods",
        table(columns, names, row("Wick", "North"), row("Marl", "South")),
        own=styles,
    )
    assert texts(path) == ["Pump: Wick\nArea: North", "Pump: Marl\nArea: South"]


def test_comments_and_shapes_follow_and_margins_are_last(tmp_path: Path) -> None:
    note = (
        "<office:annotation><dc:creator>Ida</dc:creator><text:p>Rusty</text:p></office:annotation>"
    )
    box = "<draw:frame><draw:text-box><text:p>Dry in May</text:p></draw:text-box></draw:frame>"
    chart = '<draw:frame><draw:object href="./Object"/></draw:frame>'
    rows = row("Pump", "Litres") + row(cell("Wick", beside=note), cell(410, beside=box + chart))
    hidden = row(cell("Harr", beside=note), 7, attributes=HIDDEN) + row("Marl", 320)
    inner = f"<chart:title><text:p>Rain</text:p></chart:title>{table(row('May', 12))}"
    shapes = f"<table:shapes>{box.replace('Dry', 'Wet')}</table:shapes>"
    footer = (
        "<text:p>City works</text:p><text:p>Page <text:page-number>1</text:page-number></text:p>"
    )
    footer = f"<style:footer>{footer}</style:footer>"
    page = f'<style:master-page style:name="m">{footer}</style:master-page>'
    style = '<style:style style:name="t" style:family="table" style:master-page-name="m"/>'
    sheet = table(shapes, rows, hidden, style="t")
    parts = {"styles": page, "Object_content": inner}
    found = read(write_ods(tmp_path / "a.ods", sheet, own=style, **parts), lost=[])
    assert [(each.text, each.line) for each in found] == [
        ("Pump: Wick\nLitres: 410\n\nComment by Ida: Rusty", 2),
        ("Pump: Marl\nLitres: 320", 4),
        ("Wet in May", None),
        ("Dry in May", 2),
        ("Rain", 2),
        ("City works", None),
    ]


def test_deleted_cells_are_no_text(tmp_path: Path) -> None:
    gone = f"<table:tracked-changes>{row('Harr')}{table(row('Old'))}</table:tracked-changes>"
    [found] = read(write_ods(tmp_path / "a.ods", gone, table(row("Wick"))))
    assert (found.text, found.line) == ("Wick", 1)


def test_a_formula_without_a_result_is_named(tmp_path: Path) -> None:
    formula = '<table:table-cell table:formula="of:=1+1"/>'
    lost: list[str] = []
    read(write_ods(tmp_path / "a.ods", table(row("Wick", formula))), lost)
    assert "Sheet1, row 1: a formula without its result" in lost[0]


def test_files_that_are_no_open_spreadsheets_are_refused(tmp_path: Path) -> None:
    manifest = {"META-INF/manifest.xml": "<x><encryption-data/></x>", "content.xml": "?"}
    assert "has a password" in refused(write_zip(tmp_path / "a.ods", manifest))
    assert "has no part content.xml" in refused(write_zip(tmp_path / "b.ods", {"a": "x"}))
    entity = {"content.xml": '<!DOCTYPE x [<!ENTITY e "aaa">]><x>&e;</x>'}
    assert "document type" in refused(write_zip(tmp_path / "c.ods", entity))
    (tmp_path / "d.ods").write_bytes(b"PK no zip file")
    assert "damaged" in refused(tmp_path / "d.ods")
