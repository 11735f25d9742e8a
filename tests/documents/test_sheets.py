"""Excel files: each row with the names of its columns, and values as Excel shows them."""

import zipfile
from pathlib import Path

import pytest

from fabir.documents import sheets
from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from office_files import read, refused, row, texts, write_xlsx


def value(number: float, style: int) -> str:
    return f'<s:c s="{style}"><s:v>{number}</s:v></s:c>'


def test_a_row_is_a_document_with_its_place(tmp_path: Path) -> None:
    rows = row("Pump", "Built", "Litres") + row("Wick", 1934, 410) + row("Marl", 1911, 320.5)
    first, second = read(write_xlsx(tmp_path / "pumps.xlsx", rows))
    assert first == Document("Pump: Wick\nBuilt: 1934\nLitres: 410", "pumps", "Sheet1!2", line=2)
    assert (second.text, second.line) == ("Pump: Marl\nBuilt: 1911\nLitres: 320.5", 3)


def test_sheets_are_told_by_their_names(tmp_path: Path) -> None:
    table = row("Pump", "Built") + row("Wick", 1934)
    first, second = read(write_xlsx(tmp_path / "works.xlsm", table, table))
    assert (first.title, first.part, first.line) == ("works", "Sheet1!2", None)
    assert (second.title, second.part) == ("works: Pumps", "Pumps!2")


def test_lines_above_the_names_are_a_document(tmp_path: Path) -> None:
    table = row("Waterworks of Harwick", number=1) + row("Pump", "Built", "Litres", number=4)
    above, wick = read(write_xlsx(tmp_path / "a.xlsx", table + row("Wick", 1934, 410, number=5)))
    assert (above.text, above.line) == ("Waterworks of Harwick", 1)
    assert (wick.text, wick.line) == ("Pump: Wick\nBuilt: 1934\nLitres: 410", 5)


def test_columns_without_names_or_cells_are_kept(tmp_path: Path) -> None:
    rows = row("Pump", "", "Pump", "Closed") + row("Wick", 1934, "old")
    assert texts(write_xlsx(tmp_path / "a.xlsx", rows)) == ["Pump: Wick\n1934\nPump: old", "Closed"]
    assert texts(write_xlsx(tmp_path / "b.xlsx", row("Pump", "Built"))) == ["Pump\nBuilt"]


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (0.125, "0.0%", "12.5%"),
        (0.3, "0%", "30%"),
        (51234, "#,##0", "51,234"),
        (1234.5, "&quot;$&quot;#,##0.00", "$1,234.50"),
        (-7, "[$€-407] 0.00", "-€ 7.00"),
        (7.5, "0.0 &quot;km&quot;", "7.5 km"),
        (1.5, "0.##", "1.5"),
        (2, "General", "2"),
        (0.30000000000000004, "General", "0.3"),
        (1234567, "0.00E+00", "1234567"),
        (0.5, "# ?/?", "0.5"),
        (45413, "dd/mm/yyyy", "2024-05-01"),
        (45413.5625, "yyyy\\-mm\\-dd hh:mm", "2024-05-01 13:30"),
        (45413, "[$-409]d\\ mmmm\\ yyyy;@", "2024-05-01"),
        (0.75, "h:mm AM/PM", "18:00"),
        (1.25, "[h]:mm", "30:00"),
        (0.0625, "[h]:mm:ss", "1:30"),
        (-0.0625, "[h]:mm", "-1:30"),
        (0.0625, "[mm]:ss", "90:00"),
        (0.0625, "[ss]", "5400"),
        (0.125, "0%", "13%"),
        (0.285, "0%", "29%"),
        (2.5, "0", "3"),
        (-2.5, "0", "-3"),
        (1.005, "0.00", "1.01"),
        (1234.5, "#,##0", "1,235"),
        (999.5, "0,000", "1,000"),
        (1e300, "0.0", "1" + 300 * "0" + ".0"),
        (1, "mmm yy", "1900-01-01"),
        (1e300, "yyyy", "1e+300"),
        (7, "[Red]0;[Blue]-0", "7"),
        (501, "00000", "00501"),
        (5, "0,000", "0,005"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"),
        (5551234567, "[&lt;=9999999]###\\-####;\\(###\\)\\ ###\\-####", "(555) 123-4567"),
        (5551234, "[&lt;=9999999]###\\-####;\\(###\\)\\ ###\\-####", "555-1234"),
        (1234567.5, "#\\ ##0.00\\ &quot;€&quot;", "1234 567.50 €"),
        (0.0, "&quot;Yes&quot;;&quot;Yes&quot;;&quot;No&quot;", "No"),
        (1, "&quot;Yes&quot;;&quot;Yes&quot;;&quot;No&quot;", "Yes"),
        (-5, "0&quot; gained&quot;;0&quot; lost&quot;", "5 lost"),
        (-5.5, "0.00;(0.00)", "-5.50"),
        (0, "#,##0;-#,##0;&quot;-&quot;??", "0"),
        (0.25, "[=0]0;0%", "25%"),
    ],
)
def test_numbers_are_shown_in_their_format(
    number: float, code: str, text: str, tmp_path: Path
) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", row("x", value(number, 1)), formats=(code,))
    assert texts(path) == [f"x\n{text}"]


def test_numbers_that_a_format_hides_are_left_out_and_counted(tmp_path: Path) -> None:
    lost: list[str] = []
    rows = row("Pump", "Built", "Key", "Leaks") + row("Wick", 1934, value(7, 1), value(0, 2))
    path = write_xlsx(tmp_path / "a.xlsx", rows, formats=(";;;", "0;-0;;@"))
    assert [each.text for each in read(path, lost)] == ["Pump: Wick\nBuilt: 1934", "Key\nLeaks"]
    assert lost == [f"left out of {path}: 1 hidden cell"]


def test_dates_may_count_from_1904(tmp_path: Path) -> None:
    rows = row("x", value(1, 1))
    path = write_xlsx(tmp_path / "a.xlsx", rows, formats=("y-m-d",), settings='date1904="1"')
    assert texts(path) == ["x\n1904-01-02"]


def test_texts_may_be_shared_rich_or_inline(tmp_path: Path) -> None:
    shared = (
        "<s:si><s:t>Wick_x000A_Pump</s:t></s:si>"
        "<s:si><s:r><s:t>Marl </s:t></s:r><s:r><s:t>pump</s:t></s:r>"
        "<s:rPh><s:t>no</s:t></s:rPh></s:si>"
        "<s:si><s:r><s:t>10</s:t></s:r>"
        '<s:r><s:rPr><s:vertAlign val="superscript"/></s:rPr><s:t>6</s:t></s:r></s:si>'
    )
    cells = [f'<s:c t="s"><s:v>{number}</s:v></s:c>' for number in (0, 1, 2, 3)]
    cells.append('<s:c t="inlineStr"><s:is><s:t>inline</s:t></s:is></s:c>')
    cells.append('<s:c t="b"><s:v>1</s:v></s:c>')
    path = write_xlsx(tmp_path / "a.xlsx", row(*cells), shared=shared)
    assert texts(path) == ["Wick\nPump\nMarl pump\n10^6\ninline\nTRUE"]


def test_formulas_are_their_results(tmp_path: Path) -> None:
    lost: list[str] = []
    cells = "<s:c><s:f>1+1</s:f><s:v>2</s:v></s:c>", '<s:c r="C1"><s:f>A1</s:f></s:c>'
    [found] = read(write_xlsx(tmp_path / "a.xlsx", row("sum", *cells)), lost)
    assert found.text == "sum\n2"
    [line] = lost
    assert "Sheet1!C1: a formula without its result" in line


def beside(elements: str) -> str:
    """Elements of a sheet beside its rows."""
    return f"</s:sheetData>{elements}<s:sheetData>"


def merged(*places: str) -> str:
    cells = "".join(f'<s:mergeCell ref="{place}"/>' for place in places)
    return beside(f"<s:mergeCells>{cells}</s:mergeCells>")


def hidden(line: str) -> str:
    return line.replace("<s:row", '<s:row hidden="1"')


def test_merged_texts_count_for_all_their_rows(tmp_path: Path) -> None:
    rows = row("Area", "Pump", "Built") + row("North", "Wick", 1934) + row("", "Marl", 1911)
    found = texts(write_xlsx(tmp_path / "a.xlsx", rows + merged("A2:A3")))
    assert found[1] == "Area: North\nPump: Marl\nBuilt: 1911"


def test_merged_numbers_count_for_all_their_rows_if_they_stand_first(tmp_path: Path) -> None:
    rows = row("Built", "Pump", "Litres") + row(1934, "Wick", 730) + row("", "Marl", "")
    found = texts(write_xlsx(tmp_path / "a.xlsx", rows + merged("A2:A3", "C2:C3")))
    assert found == ["Built: 1934\nPump: Wick\nLitres: 730", "Built: 1934\nPump: Marl"]


def test_a_row_with_nothing_but_merged_cells_is_no_document(tmp_path: Path) -> None:
    rows = row("Area", "Pump") + row("", "") + row("North", 7) + row("", "") + row("South", 8)
    path = write_xlsx(tmp_path / "a.xlsx", rows + merged("A1:A2", "B1:B2", "A3:A4", "B3:B4"))
    assert texts(path) == ["Area: North\nPump: 7", "Area: South\nPump: 8"]


def test_a_wide_cell_names_all_its_columns(tmp_path: Path) -> None:
    rows = row("Pump", "Built", "Litres", "") + row("Wick", 1934, 410, 730)
    found = texts(write_xlsx(tmp_path / "a.xlsx", rows + merged("C1:D1")))
    assert found == ["Pump: Wick\nBuilt: 1934\nLitres: 410\nLitres: 730"]


def test_the_font_tells_the_header(tmp_path: Path) -> None:
    bold = [f'<s:c t="str" s="1"><s:v>{text}</s:v></s:c>' for text in ("Pump", "Area")]
    table = row("Wick", "North") + row("Marl", "South")
    path = write_xlsx(tmp_path / "a.xlsx", row(*bold) + table, formats=("General",))
    assert texts(path) == ["Pump: Wick\nArea: North", "Pump: Marl\nArea: South"]
    plain = texts(write_xlsx(tmp_path / "b.xlsx", row("Pump", "Area") + table))
    assert plain == ["Pump: Area", "Wick: North", "Marl: South"]


def test_a_form_is_labels_with_their_values(tmp_path: Path) -> None:
    title, blank = row("Application form", number=1), row(number=2)
    rows = row("Name", "Ida Strand") + row("Town", "Corm") + row("Born", 1974)
    found = read(write_xlsx(tmp_path / "a.xlsx", title + blank + rows))
    assert [(each.text, each.line) for each in found] == [
        ("Application form", 1),
        ("Name: Ida Strand", 3),
        ("Town: Corm", 4),
        ("Born: 1974", 5),
    ]


def test_the_heading_of_a_block_is_in_the_titles_of_its_rows(tmp_path: Path) -> None:
    expenses = row("Expenses", number=5) + row("Item", "Amount") + row("Rent", 800)
    income = row("Income", number=1) + row("Item", "Amount") + row("Salary", 950)
    found = read(write_xlsx(tmp_path / "budget.xlsx", income + expenses))
    assert [(each.title, each.text) for each in found] == [
        ("budget", "Income"),
        ("budget: Income", "Item: Salary\nAmount: 950"),
        ("budget", "Expenses"),
        ("budget: Expenses", "Item: Rent\nAmount: 800"),
    ]


def test_hidden_sheets_rows_and_columns_are_left_out_and_counted(tmp_path: Path) -> None:
    columns = beside(
        '<s:cols><s:col min="2" max="2" hidden="1"/><s:col min="9" max="16384"/></s:cols>'
    )
    rows = row("Pump", "Key", "Built") + hidden(row("Wick", "k1", 1934)) + row("Marl", "k2", 1911)
    names = "Sheet1", 'Pumps" state="veryHidden'
    lost: list[str] = []
    path = write_xlsx(tmp_path / "a.xlsx", columns + rows, row("secret"), names=names)
    [found] = read(path, lost)
    assert (found.text, found.line) == ("Pump: Marl\nBuilt: 1911", 3)
    [line] = lost
    assert line == f"left out of {path}: 1 hidden sheet, 1 hidden row, 1 hidden column"


def test_hidden_rows_and_columns_without_texts_are_no_loss(tmp_path: Path) -> None:
    columns = beside('<s:cols><s:col min="3" max="16384" hidden="1"/></s:cols>')
    rows = row("Pump", "Built") + hidden(row("", "")) + row("Wick", 1934)
    assert texts(write_xlsx(tmp_path / "a.xlsx", columns + rows)) == ["Pump: Wick\nBuilt: 1934"]


def test_a_merged_cell_is_shown_if_a_part_of_it_is(tmp_path: Path) -> None:
    columns = beside('<s:cols><s:col min="1" max="1" hidden="true"/></s:cols>')
    rows = hidden(row("North", "", "x")) + row("", "", "Wick") + row("", "", "Marl")
    lost: list[str] = []
    path = write_xlsx(tmp_path / "a.xlsx", columns + rows + merged("A1:B3"))
    assert [each.text for each in read(path, lost)] == ["North\nWick", "North\nMarl"]
    assert lost[0].endswith(": 1 hidden row")


def test_errors_are_no_text(tmp_path: Path) -> None:
    error = '<s:c t="e"><s:v>#DIV/0!</s:v></s:c>'
    rows = row("Pump", "Built", "Litres") + row("Wick", 1934, error) + row("#N/A", 1911, 320)
    found = texts(write_xlsx(tmp_path / "a.xlsx", rows + row(error, "#REF!", " #NAME? ")))
    assert found == ["Pump: Wick\nBuilt: 1934", "Built: 1911\nLitres: 320"]


def test_a_cell_far_away_is_only_a_cell(tmp_path: Path) -> None:
    far = '<s:row r="1048576"><s:c r="XFD1048576"><s:v>7</s:v></s:c></s:row>'
    merged = '</s:sheetData><s:mergeCell ref="A1:XFD1048576"/><s:sheetData>'
    table = row("Pump", "Built") + row("Wick", 1934)
    near, found = read(write_xlsx(tmp_path / "a.xlsx", table + far + merged))
    assert (near.text, found.text, found.line) == ("Pump: Wick\nBuilt: 1934", "7", 1_048_576)
    beyond = far.replace("1048576", "1048577")
    assert "1,048,576 rows" in refused(write_xlsx(tmp_path / "b.xlsx", beyond))
    beyond = far.replace("XFD", "XFE")
    assert "16,384 columns" in refused(write_xlsx(tmp_path / "c.xlsx", beyond))


def test_texts_that_many_cells_share_do_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "MAX_ROW", 5000)
    cells = ['<s:c t="s"><s:v>0</s:v></s:c>'] * 60
    shared = f"<s:si><s:t>{'x' * 100}</s:t></s:si>"
    path = write_xlsx(tmp_path / "a.xlsx", row(*cells[:40]), shared=shared)
    assert len(texts(path)[0]) > 4000
    assert "too much text" in refused(write_xlsx(tmp_path / "b.xlsx", row(*cells), shared=shared))


@pytest.mark.parametrize("code", ["mmmm d, yyyy", "ddd, d mmm", "d.m.yyyy, h:mm"])
def test_a_comma_in_a_date_is_none_of_thousands(tmp_path: Path, code: str) -> None:
    rows = row("Mill", "Built") + row("Upper", value(45292, 1))
    assert texts(write_xlsx(tmp_path / "a.xlsx", rows, formats=(code,))) == [
        "Mill: Upper\nBuilt: 2024-01-01"
    ]


def test_a_part_is_found_under_a_name_of_another_case_or_said_to_be_missing(tmp_path: Path) -> None:
    rows = row("Mill", "Built") + row('<s:c t="s"><s:v>0</s:v></s:c>', 1834)
    path = write_xlsx(tmp_path / "a.xlsx", rows, shared="<s:si><s:t>Upper</s:t></s:si>")
    for name in "xl/Texts.xml", "":
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
            for each in old.namelist():
                if each != "xl/texts.xml" or name:
                    new.writestr(name if each == "xl/texts.xml" else each, old.read(each))
        lost: list[str] = []
        found = [document.text for document in read_documents(tmp_path / "b.xlsx", lost.append)]
        if name:
            assert (found, lost) == (["Mill: Upper\nBuilt: 1834"], [])
        else:
            assert "xl/texts.xml" in lost[0]


@pytest.mark.parametrize("number", [14, 27, 31, 36, 50, 57])
def test_dates_whose_format_has_only_a_number_are_dates(tmp_path: Path, number: int) -> None:
    rows = row("Mill", "Built") + row("Upper", value(45292, 1))
    path = write_xlsx(tmp_path / "a.xlsx", rows, formats=("0",))
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(b's:xf numFmtId="200"', b's:xf numFmtId="%d"' % number)
            new.writestr(name, content)
    assert texts(tmp_path / "b.xlsx") == ["Mill: Upper\nBuilt: 2024-01-01"]
