"""Word files: what Word shows is the text, and nothing else."""

import zipfile
from pathlib import Path

import pytest

from fabir.documents import archives
from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from fabir.errors import InputError
from office_files import cell, links, paragraph, run, table, write_docx, write_zip


def read(path: Path, lost: list[str] | None = None) -> Document:
    """The document of a file; nothing is lost unless `lost` collects it."""
    reasons: list[str] = []
    [found] = list(read_documents(path, reasons.append))
    assert lost is not None or not reasons, reasons
    if lost is not None:
        lost += reasons
    return found


def paragraphs(tmp_path: Path, body: str, strict: bool = False, **parts: str) -> list[str]:
    found = read(write_docx(tmp_path / "a.docx", body, strict, **parts))
    return found.text.split("\n\n")


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_documents(path, print))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def mark(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def code(text: str) -> str:
    return f"<w:r><w:instrText>{text}</w:instrText></w:r>"


def control(content: str) -> str:
    return f"<w:sdt><w:sdtPr><w:alias/></w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


def field(instruction: str, result: str) -> str:
    return mark("begin") + instruction + mark("separate") + run(result) + mark("end")


def form(state: str, instruction: str, result: str = "") -> str:
    """A field of a form, whose state is in its beginning."""
    begin = f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{state}</w:ffData></w:fldChar></w:r>'
    return begin + code(instruction) + mark("separate") + result + mark("end")


RAISED = '<w:vertAlign w:val="superscript"/>'
CHOICES = '<w:listEntry w:val="gold"/><w:listEntry w:val="silver"/>'


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (f"<w:ins>{run('650 crowns')}</w:ins>", "650 crowns"),
        ("<w:del><w:r><w:delText>500 crowns</w:delText></w:r></w:del>", ""),
        (f"<w:moveFrom>{run('there')}</w:moveFrom><w:moveTo>{run('here')}</w:moveTo>", "here"),
        (control(run("Agneta Lindqvist")), "Agneta Lindqvist"),
        (f'<w:fldSimple w:instr="DATE">{run("May 4")}</w:fldSimple>', "May 4"),
        (field(code("REF x"), "seven"), "seven"),
        (field(code("IF ") + field(code("REF y"), "inner") + code("= 1"), "outer"), "outer"),
        (f"<w:smartTag>{run('Tarnby')}</w:smartTag>", "Tarnby"),
        (f"<w:customXml>{run('Wick')}</w:customXml>", "Wick"),
        (f'<w:hyperlink r:id="x">{run("the page")}</w:hyperlink>', "the page"),
        (f"<w:ins><w:hyperlink>{run('the page')}</w:hyperlink></w:ins>", "the page"),
        (run("meteoro") + run("logical"), "meteorological"),
        (run("seen") + run("unseen", "<w:vanish/>"), "seen"),
        (run("seen", '<w:vanish w:val="0"/>'), "seen"),
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>", "a\tb\nc"),
        ("<w:r><w:t>co</w:t><w:noBreakHyphen/><w:t>op</w:t></w:r>", "co-op"),
        ("<w:r><w:t>ware</w:t><w:softHyphen/><w:t>house</w:t></w:r>", "warehouse"),
        (run("ware\u00adhouse"), "warehouse"),
        ('<w:r><w:t>5</w:t><w:sym w:font="Arial" w:char="20AC"/></w:r>', "5€"),
        ('<w:r><w:t>a</w:t><w:sym w:font="Wingdings" w:char="F04A"/></w:r>', "a"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:t> paid</w:t></w:r>', "✓ paid"),
        ('<w:r><w:sym w:font="Symbol" w:char="F061"/><w:t>-particle</w:t></w:r>', "α-particle"),
        (run("5 ") + run("m\uf0b3", '<w:rFonts w:ascii="Symbol"/>'), "5 μ≥"),
        (run("10") + run("6", RAISED) + run(" people"), "10^6 people"),
        (run("10") + run("−", RAISED) + run("6", RAISED), "10^−6"),
        (run("H") + run("2", '<w:vertAlign w:val="subscript"/>') + run("O"), "H2O"),
        (run("1") + run("st", RAISED) + run("6", RAISED + "<w:vanish/>"), "1st"),
        (form("<w:checkBox><w:checked/></w:checkBox>", "FORMCHECKBOX"), "☒"),
        (form('<w:checkBox><w:default w:val="0"/></w:checkBox>', "FORMCHECKBOX"), "☐"),
        (form(f'<w:ddList><w:result w:val="1"/>{CHOICES}</w:ddList>', "FORMDROPDOWN"), "silver"),
        (form(f"<w:ddList>{CHOICES}</w:ddList>", "FORMDROPDOWN"), "gold"),
        (form(f"<w:ddList>{CHOICES}</w:ddList>", "FORMDROPDOWN", run("iron")), "iron"),
        (form("<w:textInput/>", "FORMTEXT", run("Ida Strand")), "Ida Strand"),
        ("<m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath>", "E=mc"),
        (f"<w:r><w:ruby><w:rt>{run('kan')}</w:rt>{run('漢')}</w:ruby></w:r>", "漢"),
    ],
)  # fmt: skip
def test_a_paragraph_is_what_word_shows(content: str, text: str, tmp_path: Path) -> None:
    body = paragraph(run("before "), content, run(" after"))
    assert paragraphs(tmp_path, body) == [f"before {text} after"]


def test_text_in_a_hidden_style_is_not_shown(tmp_path: Path) -> None:
    hidden = '<w:style w:styleId="{}"><w:name w:val="x"/><w:rPr><w:vanish/></w:rPr></w:style>'
    styles = hidden.format("P") + hidden.format("C")
    shown = run("shown", '<w:rStyle w:val="C"/><w:vanish w:val="0"/>')
    of_style = run("gone", '<w:rStyle w:val="C"/>')
    top = paragraph(run("Top of Form"), properties='<w:pStyle w:val="P"/>')
    body = paragraph(run("One "), of_style, shown) + top
    assert paragraphs(tmp_path, body, styles=styles) == ["One shown"]


def test_a_field_without_an_end_hides_nothing_of_other_paragraphs(tmp_path: Path) -> None:
    body = paragraph(mark("begin"), code("TOC"), mark("separate"), run("One 1"))
    body += paragraph(run("Two 2")) + paragraph(mark("end")) + paragraph(mark("begin"), run("x"))
    assert paragraphs(tmp_path, body + paragraph(run("text"))) == ["One 1", "Two 2", "text"]


def test_a_paragraph_whose_end_is_deleted_goes_on_in_the_next(tmp_path: Path) -> None:
    deleted = "<w:rPr><w:del/></w:rPr>"
    body = paragraph(run("one "), properties=deleted) + paragraph(run("sentence."))
    assert paragraphs(tmp_path, body) == ["one sentence."]
    assert paragraphs(tmp_path, paragraph(run("last"), properties=deleted)) == ["last"]


def test_blocks_in_content_controls_are_read(tmp_path: Path) -> None:
    body = control(paragraph(run("one"))) + control(table(["Town", "Wick"]))
    body += table([control(cell("Pump")), cell("1934")])
    assert paragraphs(tmp_path, body) == ["one", "Town: Wick", "Pump: 1934"]


def test_strict_files_are_read(tmp_path: Path) -> None:
    notes = f'<w:footnote w:id="1">{paragraph(run("a note"))}</w:footnote>'
    body = paragraph(run("words"), '<w:r><w:footnoteReference w:id="1"/></w:r>')
    assert paragraphs(tmp_path, body, True, footnotes=notes) == ["words", "a note"]


def test_a_text_box_is_read_once_after_its_paragraph(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{paragraph(run('In the box.'))}</w:txbxContent>"
    both = f"<mc:Choice>{box}</mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback>"
    anchor = f"<w:r><mc:AlternateContent>{both}</mc:AlternateContent></w:r>"
    body = paragraph(anchor, run("Beside.")) + paragraph(run("After."))
    assert paragraphs(tmp_path, body) == ["Beside.", "In the box.", "After."]


def test_notes_and_comments_follow_their_paragraph(tmp_path: Path) -> None:
    references = "".join(
        f'<w:r><w:{kind}Reference w:id="2"/></w:r>' for kind in ("footnote", "endnote", "comment")
    )
    separator = f'<w:footnote w:id="0" w:type="separator">{paragraph(run("---"))}</w:footnote>'
    note = f'<w:footnote w:id="2">{paragraph(run("below"))}</w:footnote>'
    found = paragraphs(
        tmp_path,
        paragraph(run("First."), references) + paragraph(run("Second.")),
        footnotes=separator + note,
        endnotes=f'<w:endnote w:id="2">{paragraph(run("behind"))}</w:endnote>',
        comments=f'<w:comment w:id="2" w:author="Ada">{paragraph(run("Sure?"))}</w:comment>',
    )
    assert found == ["First.", "below", "behind", "Comment by Ada: Sure?", "Second."]


def test_headers_and_footers_are_read_once_at_the_end(tmp_path: Path) -> None:
    head = paragraph(run("Harwick Council"))
    foot = paragraph(run("Page "), field(code("PAGE"), "1"))
    found = paragraphs(tmp_path, paragraph(run("Text.")), header1=head, header2=head, footer1=foot)
    assert found == ["Text.", "Harwick Council", "Page 1"]


def test_a_row_has_the_names_of_its_columns(tmp_path: Path) -> None:
    rows = table(["Pump", "Built", "Capacity"], ["Wick", "1934", "410 litres"])
    assert paragraphs(tmp_path, rows) == ["Pump: Wick\nBuilt: 1934\nCapacity: 410 litres"]
    rows = table(["1", "2"], ["a", "b"], header=True)
    assert paragraphs(tmp_path, rows) == ["1: a\n2: b"]


def test_rows_without_names_stay_rows(tmp_path: Path) -> None:
    form = table(["Landlord:", "Agneta Lindqvist"], ["Rent", "650 crowns"])
    assert paragraphs(tmp_path, form) == ["Landlord: Agneta Lindqvist", "Rent: 650 crowns"]
    numbers = table(["Wick", "1934", "410"], ["Marl", "1911", "320"])
    assert paragraphs(tmp_path, numbers) == ["Wick\n1934\n410", "Marl\n1911\n320"]


def test_names_of_columns_without_cells_are_kept(tmp_path: Path) -> None:
    found = paragraphs(tmp_path, table(["Name", "Born", "Signature"], ["Ada", "1815", ""]))
    assert found == ["Name: Ada\nBorn: 1815", "Signature"]


def test_merged_cells_count_for_all_that_they_cover(tmp_path: Path) -> None:
    wide = cell("Sales", '<w:gridSpan w:val="2"/>')
    first = cell("North", '<w:vMerge w:val="restart"/>')
    below = cell("", "<w:vMerge/>")
    rows = table(["Area", wide], [first, "3", "4"], [below, "5", "6"])
    assert paragraphs(tmp_path, rows) == [
        "Area: North\nSales: 3\nSales: 4",
        "Area: North\nSales: 5\nSales: 6",
    ]


BOLD = "<w:b/>"


def bold(*texts: str) -> list[str]:
    return [f"<w:tc>{paragraph(run(text, BOLD))}</w:tc>" for text in texts]


def test_a_bold_row_names_columns_of_text(tmp_path: Path) -> None:
    rows = ["Ida Strand", "Corm"], ["Nils Berg", "Varn"]
    assert paragraphs(tmp_path, table(bold("Name", "Town"), *rows)) == [
        "Name: Ida Strand\nTown: Corm",
        "Name: Nils Berg\nTown: Varn",
    ]
    assert paragraphs(tmp_path, table(bold("Name", "Name", "Town"), ["Ida", "Strand", "Corm"])) == [
        "Name: Ida\nName: Strand\nTown: Corm"
    ]


def test_bold_cells_of_a_form_are_no_names(tmp_path: Path) -> None:
    rows = [bold("Tenant", "Ida Strand"), bold("Landlord", "Nils Berg")]
    assert paragraphs(tmp_path, table(*rows)) == ["Tenant: Ida Strand", "Landlord: Nils Berg"]
    rows = [bold("Tenant:", "Ida Strand"), ["Landlord:", "Nils Berg"]]
    assert paragraphs(tmp_path, table(*rows)) == ["Tenant: Ida Strand", "Landlord: Nils Berg"]
    rows = [bold("Rent", "650 crowns"), ["Due", "in May"]]
    assert paragraphs(tmp_path, table(*rows)) == ["Rent: 650 crowns", "Due: in May"]
    wide = f'<w:tc><w:tcPr><w:gridSpan w:val="3"/></w:tcPr>{paragraph(run("yes", BOLD))}</w:tc>'
    rows = [[*bold("Accepted"), wide], ["Meeting", "May", "June", "July"]]
    assert paragraphs(tmp_path, table(*rows)) == ["Accepted\nyes", "Meeting\nMay\nJune\nJuly"]


@pytest.mark.parametrize(
    ("style", "look", "is_bold"),
    [
        ('<w:style w:styleId="T">HEAD</w:style>', 'w:val="04A0"', True),
        ('<w:style w:styleId="T">HEAD</w:style>', 'w:firstRow="1"', True),
        ('<w:style w:styleId="T">HEAD</w:style>', 'w:firstRow="0" w:val="0480"', False),
        ('<w:style w:styleId="T"/>', 'w:val="04A0"', False),
        (
            '<w:style w:styleId="T"><w:basedOn w:val="U"/></w:style>'
            '<w:style w:styleId="U">HEAD</w:style>',
            'w:val="04A0"',
            True,
        ),
    ],
)
def test_a_style_of_tables_may_have_a_bold_first_row(
    style: str, look: str, is_bold: bool, tmp_path: Path
) -> None:
    head = '<w:tblStylePr w:type="firstRow"><w:rPr><w:b/></w:rPr></w:tblStylePr>'
    uses = f'<w:tblPr><w:tblStyle w:val="T"/><w:tblLook {look}/></w:tblPr>'
    rows = table(["Name", "Town"], ["Ida", "Corm"]).replace("<w:tblPr/>", uses)
    found = paragraphs(tmp_path, rows, styles=style.replace("HEAD", head))
    assert found == (["Name: Ida\nTown: Corm"] if is_bold else ["Name: Town", "Ida: Corm"])


def test_styles_of_text_may_be_bold_or_raised(tmp_path: Path) -> None:
    styles = (
        '<w:style w:styleId="B"><w:rPr><w:b/></w:rPr></w:style>'
        '<w:style w:styleId="C"><w:basedOn w:val="B"/></w:style>'
        f'<w:style w:styleId="R"><w:rPr>{RAISED}</w:rPr></w:style>'
    )
    styled = '<w:pStyle w:val="C"/>'
    heads = [f"<w:tc>{paragraph(run(x), properties=styled)}</w:tc>" for x in ("Name", "Town")]
    body = table(heads, ["Ida", "Corm"]) + paragraph(run("2"), run("9", '<w:rStyle w:val="R"/>'))
    assert paragraphs(tmp_path, body, styles=styles) == ["Name: Ida\nTown: Corm", "2^9"]


def test_names_may_be_blank_or_the_same_above_values(tmp_path: Path) -> None:
    rows = table(["Pump", "Pump", "Built"], ["Wick", "x", "1934"])
    assert paragraphs(tmp_path, rows) == ["Pump: Wick\nPump: x\nBuilt: 1934"]
    rows = table(["No.", "Item", "", ""], ["1", "Pump", "big", "x"], ["2", "Valve", "", ""])
    assert paragraphs(tmp_path, rows) == ["No.: 1\nItem: Pump\nbig\nx", "No.: 2\nItem: Valve"]
    rows = table(["Pump", "Pump", "Town"], ["Wick", "old", "Corm"])
    assert paragraphs(tmp_path, rows) == ["Pump\nPump\nTown", "Wick\nold\nCorm"]


def test_names_may_begin_with_a_number_above_numbers(tmp_path: Path) -> None:
    rows = table(["1 bed", "2 beds", "3 beds"], ["100", "150", "200"])
    assert paragraphs(tmp_path, rows) == ["1 bed: 100\n2 beds: 150\n3 beds: 200"]
    rows = table(["Size", "1 bed", "2 beds"], ["Price", "100", "150"])
    assert paragraphs(tmp_path, rows) == ["Size: Price\n1 bed: 100\n2 beds: 150"]
    rows = table(["3 May", "9 km", "Ida"], ["4 May", "7 km", "Ole"])
    assert paragraphs(tmp_path, rows) == ["3 May\n9 km\nIda", "4 May\n7 km\nOle"]


def test_labels_of_a_form_with_four_columns_are_no_names(tmp_path: Path) -> None:
    rows = table(["Name:", "Ida", "Town:", "Corm"], ["Phone:", "555", "Zip:", "1234"])
    assert paragraphs(tmp_path, rows) == ["Name:\nIda\nTown:\nCorm", "Phone:\n555\nZip:\n1234"]


def test_a_check_mark_is_no_label(tmp_path: Path) -> None:
    assert paragraphs(tmp_path, table(["☒", "Paid"], ["☐", "Open"])) == ["☒\nPaid", "☐\nOpen"]


def test_a_deleted_row_is_no_text(tmp_path: Path) -> None:
    row = f"<w:tr><w:trPr><w:del/></w:trPr>{cell('gone')}</w:tr>"
    assert paragraphs(tmp_path, f"<w:tbl>{row}<w:tr>{cell('stays')}</w:tr></w:tbl>") == ["stays"]


def test_nested_tables_and_tables_for_layout_are_read(tmp_path: Path) -> None:
    inner = table(["Pump", "Built", "By"], ["Wick", "1934", "Ole"])
    outer = table([f"<w:tc>{paragraph(run('Pumps'))}{inner}{paragraph()}</w:tc>"])
    assert paragraphs(tmp_path, outer) == ["Pumps", "Pump: Wick\nBuilt: 1934\nBy: Ole"]
    long = "It rains in Wick. " * 80
    assert paragraphs(tmp_path, table(["Weather", long])) == ["Weather", long.strip()]


def test_a_cell_with_a_table_is_only_laid_out_unless_it_has_a_name(tmp_path: Path) -> None:
    inner = f"<w:tc>{table(['In', 'Out'], ['7', '8'])}{paragraph()}</w:tc>"
    assert paragraphs(tmp_path, table([inner, "outer right"], ["Owner", "Nils Berg"])) == [
        "In: 7\nOut: 8",
        "outer right",
        "Owner: Nils Berg",
    ]
    assert paragraphs(tmp_path, table(["Pump", "Flow"], ["Wick", inner], header=True)) == [
        "Pump: Wick\nFlow: In: 7\nOut: 8"
    ]


def test_headings_are_found_by_style_and_outline(tmp_path: Path) -> None:
    styles = (
        '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="Own"><w:basedOn w:val="berschrift1"/></w:style>'
        '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>'
        '<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>'
    )
    body = "".join(
        paragraph(run(text), properties=f'<w:pStyle w:val="{style}"/>{more}')
        for text, style, more in [
            ("The mill", "Titel", ""),
            ("Its wheel", "Own", ""),
            ("It is of oak.", "Loop", ""),
            ("Its stones", "Loop", '<w:outlineLvl w:val="2"/>'),
            ("They are grey.", "Loop", '<w:outlineLvl w:val="9"/>'),
        ]
    )
    found = read(write_docx(tmp_path / "a.docx", body, title="Word Document", styles=styles))
    assert [found.text[start:end] for start, end in found.headings] == [
        "The mill", "Its wheel", "Its stones",
    ]  # fmt: skip
    assert found.title == "The mill"


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("The mill", "The mill"),
        ("untitled", "old mill"),
        ("(anonymous)", "old mill"),
        ("Microsoft Word - mill.doc", "old mill"),
        ("", "old mill"),
    ],
)
def test_a_title_that_says_nothing_is_none(stated: str, title: str, tmp_path: Path) -> None:
    path = write_docx(tmp_path / "old_mill.docx", paragraph(run("x")), title=stated)
    assert read(path).title == title


def test_charts_and_diagrams_in_the_text_are_read(tmp_path: Path) -> None:
    chart = (
        "<c:chart><c:ser><c:tx><c:strRef><c:strCache><c:pt><c:v>Rain</c:v></c:pt></c:strCache>"
        '</c:strRef></c:tx><c:cat><c:pt idx="0"><c:v>May</c:v></c:pt></c:cat>'
        '<c:val><c:pt idx="0"><c:v>12.5</c:v></c:pt></c:val></c:ser></c:chart>'
    )
    body = paragraph('<w:r><w:drawing><c:chart r:id="id_chart"/></w:drawing></w:r>')
    assert paragraphs(tmp_path, body, chart=chart) == ["May\nRain: 12.5"]


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    lost: list[str] = []
    body = paragraph() + '<w:altChunk r:id="x"/>'
    path = write_docx(tmp_path / "a.docx", body, header1=paragraph(run("Head")))
    assert read(path, lost).text == "Head"
    [line] = lost
    assert "embedded" in line
    assert "1 more" in line  # that there is no text but a header


def test_a_part_in_another_file_is_named(tmp_path: Path) -> None:
    sheet = '<o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office" ProgID="Excel.Sheet"/>'
    for body in (
        '<w:subDoc r:id="x"/>',
        paragraph('<w:subDoc r:id="x"/>'),
        paragraph(f"<w:r><w:object>{sheet}</w:object></w:r>"),
    ):
        lost: list[str] = []
        path = write_docx(tmp_path / "a.docx", paragraph(run("Main")) + body)
        assert read(path, lost).text == "Main"
        assert "embedded" in lost[0]


def test_word_art_is_read(tmp_path: Path) -> None:
    art = '<v:shape xmlns:v="vml"><v:textpath string="Corm fair"/></v:shape>'
    art = f"<w:r><w:pict>{art}</w:pict></w:r>"
    assert paragraphs(tmp_path, paragraph(art, run("In May."))) == ["In May.", "Corm fair"]


def test_files_of_macros_are_read_as_well(tmp_path: Path) -> None:
    assert read(write_docx(tmp_path / "a.docm", paragraph(run("x")))).text == "x"


def test_parts_count_by_their_unpacked_size_whatever_their_names(tmp_path: Path) -> None:
    related = links(("a", "officeDocument", "document.bin"))
    path = write_zip(tmp_path / "a.docx", {"_rels/.rels": related})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("document.bin", bytes(65 << 20))
    assert path.stat().st_size < 1 << 20
    assert "larger than 64 MiB when unpacked" in refused(path)


@pytest.mark.parametrize(
    ("limit", "body", "reason"),
    [
        ("MAX_ELEMENTS", table(["a", "b"], ["c", "d"]), "XML elements"),
        ("MAX_DEPTH", paragraph(run("x")), "deep"),
        ("MAX_NAMES", paragraph(run("x")), "different names"),
    ],
)
def test_xml_of_too_many_parts_is_refused(
    limit: str, body: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_docx(tmp_path / "a.docx", body)
    read(path)
    monkeypatch.setattr(archives, limit, 4)
    assert reason in refused(path)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", "<w:tbl><w:tr><w:tc>" * 50_000)
    assert "deep" in refused(path)


def test_entities_are_refused(tmp_path: Path) -> None:
    for kind in ('"aaa"', f'SYSTEM "{(tmp_path / "secret.txt").as_uri()}"'):
        (tmp_path / "secret.txt").write_text("secret")
        path = write_docx(tmp_path / "a.docx", "")
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name).decode() for name in archive.namelist()}
        parts["word/document.xml"] = f"<!DOCTYPE x [<!ENTITY e {kind}>]><x>&e;</x>"
        assert "document type" in refused(write_zip(path, parts))


def test_repeated_references_and_wide_cells_do_not_grow(tmp_path: Path) -> None:
    note = f'<w:footnote w:id="1">{paragraph(run("y" * 1000))}</w:footnote>'
    wide = cell("a", '<w:gridSpan w:val="999999999"/>')
    body = paragraph('<w:r><w:footnoteReference w:id="1"/></w:r>' * 100) + table([wide, "b"])
    assert paragraphs(tmp_path, body, footnotes=note) == ["y" * 1000, "a"]


def test_a_password_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(100))
    assert "password" in refused(path)
    assert "no main part" in refused(write_zip(tmp_path / "b.docx", {"a.txt": "x"}))


def test_equations_keep_exponents_and_fractions(tmp_path: Path) -> None:
    def part(name: str, number: int) -> str:
        return f"<m:{name}><m:r><m:t>{number}</m:t></m:r></m:{name}>"

    power = f"<m:oMath><m:sSup>{part('e', 10)}{part('sup', 6)}</m:sSup></m:oMath>"
    half = f"<m:oMath><m:f>{part('num', 1)}{part('den', 2)}</m:f></m:oMath>"
    body = paragraph(run("It weighs "), power, run(" kg and "), half, run(" g."))
    assert paragraphs(tmp_path, body) == ["It weighs 10^6 kg and 1/2 g."]


def test_notes_in_a_part_that_is_not_there_are_said(tmp_path: Path) -> None:
    note = f'<w:footnote w:id="2">{paragraph(run("In 1834."))}</w:footnote>'
    body = paragraph(run("Built."), '<w:r><w:footnoteReference w:id="2"/></w:r>')
    path = write_docx(tmp_path / "a.docx", body, footnotes=note)
    for name, left in ("word/Footnotes.xml", "In 1834."), ("", ""):
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.docx", "w") as new:
            for each in old.namelist():
                if each != "word/footnotes.xml" or name:
                    new.writestr(name if each == "word/footnotes.xml" else each, old.read(each))
        lost: list[str] = []
        assert read(tmp_path / "b.docx", lost).text == "\n\n".join(filter(None, ["Built.", left]))
        assert ["word/footnotes.xml" in each for each in lost] == [True] * (not left)
