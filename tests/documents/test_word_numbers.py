"""Word files: headings and items have the numbers that Word shows."""

import zipfile
from pathlib import Path

import pytest

from fabir.documents.reading import read_documents
from office_files import cell, paragraph, run, table, write_docx, write_zip

# As Word writes them.
OUTLINE = """<w:abstractNum w:abstractNumId="3" w15:restartNumberingAfterBreak="0"
    xmlns:w15="http://schemas.microsoft.com/office/word/2012/wordml"><w:nsid w:val="5A4C2E10"/>
  <w:multiLevelType w:val="multilevel"/><w:tmpl w:val="0409001D"/>
  <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:pStyle w:val="H1"/>
    <w:lvlText w:val="%1."/><w:lvlJc w:val="left"/></w:lvl>
  <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:pStyle w:val="H2"/>
    <w:suff w:val="space"/><w:lvlText w:val="%1.%2"/></w:lvl>
  <w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/>
    <w:lvlText w:val="(%3)"/></w:lvl>
  <w:lvl w:ilvl="3"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/>
    <w:lvlText w:val="%4."/></w:lvl>
  <w:lvl w:ilvl="4"><w:start w:val="1"/><w:numFmt w:val="bullet"/>
    <w:lvlText w:val="o"/></w:lvl></w:abstractNum>"""
STYLES = """<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/>
    <w:pPr><w:numPr><w:numId w:val="1"/></w:numPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
  <w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/><w:basedOn w:val="H1"/>
    <w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>
  <w:style w:type="paragraph" w:styleId="Clause"><w:basedOn w:val="H2"/></w:style>
  <w:style w:type="paragraph" w:styleId="Plain"><w:basedOn w:val="H2"/>
    <w:pPr><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr></w:style>
  <w:style w:type="paragraph" w:styleId="Named">
    <w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr></w:style>
  <w:style w:type="numbering" w:styleId="Legal">
    <w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>"""


def num(name: int, abstract: int = 3, overrides: str = "") -> str:
    return f'<w:num w:numId="{name}"><w:abstractNumId w:val="{abstract}"/>{overrides}</w:num>'


def begins(level: int, number: int) -> str:
    start = f'<w:startOverride w:val="{number}"/>'
    return f'<w:lvlOverride w:ilvl="{level}">{start}</w:lvlOverride>'


def level(place: int, text: str, more: str = "", form: str = "decimal") -> str:
    kind = f'<w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}'
    return f'<w:lvl w:ilvl="{place}">{kind}<w:lvlText w:val="{text}"/></w:lvl>'


def abstract(*levels: str, name: int = 3, more: str = "") -> str:
    return f'<w:abstractNum w:abstractNumId="{name}">{more}{"".join(levels)}</w:abstractNum>'


def numbered(place: int | None = 0, name: int | None = 1) -> str:
    parts = [f'<w:ilvl w:val="{place}"/>'] * (place is not None)
    parts += [f'<w:numId w:val="{name}"/>'] * (name is not None)
    return f"<w:numPr>{''.join(parts)}</w:numPr>"


def item(text: str, place: int = 0, name: int = 1, more: str = "") -> str:
    return paragraph(run(text) if text else "", properties=numbered(place, name) + more)


def styled(text: str, style: str, more: str = "") -> str:
    return paragraph(run(text), properties=f'<w:pStyle w:val="{style}"/>{more}')


def lines(tmp_path: Path, body: str, numbering: str = "", **parts: str) -> list[str]:
    parts = {"numbering": numbering or OUTLINE + num(1), "styles": STYLES} | parts
    [found] = read_documents(write_docx(tmp_path / "a.docx", body, False, "", **parts), pytest.fail)
    return found.text.split("\n\n")


def test_headings_and_items_have_their_numbers(tmp_path: Path) -> None:
    body = [styled("Rent", "H1"), styled("Amount", "H2"), styled("Payment", "H2")]
    body += [item("by transfer", 2), item("by cheque", 2), item("in full", 3), item("dot", 4)]
    body += [styled("End", "H1"), styled("Termination", "Clause"), styled("Note", "Plain")]
    path = write_docx(tmp_path / "a.docx", "".join(body), numbering=OUTLINE + num(1), styles=STYLES)
    [found] = read_documents(path, pytest.fail)
    headings = [found.text[start:end] for start, end in found.headings]
    assert headings == ["1. Rent", "1.1 Amount", "1.2 Payment", "2. End", "2.1 Termination", "Note"]
    items = ["(a) by transfer", "(b) by cheque", "i. in full", "dot"]
    assert found.text.split("\n\n") == headings[:3] + items + headings[3:]


def test_the_paragraph_says_more_than_its_style(tmp_path: Path) -> None:
    body = styled("a", "H1", numbered(None, 0)) + styled("b", "H1", numbered(2, None))
    assert lines(tmp_path, body + styled("c", "H2", numbered(0))) == ["a", "(a) b", "2. c"]


def test_a_level_may_name_the_style_of_its_paragraphs(tmp_path: Path) -> None:
    named = abstract(level(0, "%1"), level(1, "%2)", '<w:pStyle w:val="Named"/>'))
    assert lines(tmp_path, styled("a", "Named") + item("b", 0, 4), named + num(4)) == [
        "1) a",
        "2 b",
    ]


def test_lists_of_one_abstract_list_are_counted_together(tmp_path: Path) -> None:
    numbering = OUTLINE + num(1) + num(2) + num(5, 3, begins(0, 1) + begins(2, 4))
    body = item("a") + item("b", 0, 2) + item("c", 0, 5) + item("d", 0, 5) + item("e")
    assert lines(tmp_path, body, numbering) == ["1. a", "2. b", "1. c", "2. d", "3. e"]
    body = item("a") + item("b", 2, 5) + item("c", 2, 5) + item("d", 0) + item("e", 2, 5)
    assert lines(tmp_path, body, numbering) == ["1. a", "(d) b", "(e) c", "2. d", "(d) e"]


def test_a_list_may_have_a_level_of_its_own(tmp_path: Path) -> None:
    own = f'<w:lvlOverride w:ilvl="0">{level(0, "[%1]", form="upperLetter")}</w:lvlOverride>'
    numbering = OUTLINE + num(1) + num(2, 3, own)
    assert lines(tmp_path, item("a") + item("b", 0, 2), numbering) == ["1. a", "[B] b"]


def test_the_levels_may_be_those_of_a_style_of_numbering(tmp_path: Path) -> None:
    linked = abstract(name=7, more='<w:numStyleLink w:val="Legal"/>')
    body = item("a", 0, 2) + item("b", 2, 2)
    assert lines(tmp_path, body, OUTLINE + linked + num(1) + num(2, 7)) == ["1. a", "(a) b"]


@pytest.mark.parametrize(
    ("more", "numbers"),
    [
        ("", ["I a", "I.1 b", "II c", "II.1 d"]),
        ("<w:isLgl/>", ["I a", "1.1 b", "II c", "2.1 d"]),
        ('<w:lvlRestart w:val="0"/>', ["I a", "I.1 b", "II c", "II.2 d"]),
        ('<w:suff w:val="nothing"/>', ["I a", "I.1b", "II c", "II.1d"]),
        ("<w:rPr><w:vanish/></w:rPr>", ["I a", "b", "II c", "d"]),
    ],
)
def test_levels_have_settings(tmp_path: Path, more: str, numbers: list[str]) -> None:
    numbering = abstract(level(0, "%1", form="upperRoman"), level(1, "%1.%2", more)) + num(1)
    body = item("a") + item("b", 1) + item("c") + item("d", 1)
    assert lines(tmp_path, body, numbering) == numbers


def test_empty_items_are_shown_but_no_hidden_ones_and_ends_of_sections(tmp_path: Path) -> None:
    body = item("a") + item("") + item("", more="<w:sectPr/>")
    hidden = numbered() + "<w:rPr><w:vanish/></w:rPr>"
    body += paragraph(run("gone", "<w:vanish/>"), properties=hidden) + item("b")
    assert lines(tmp_path, body) == ["1. a", "2.", "3. b"]


def test_an_empty_heading_is_none(tmp_path: Path) -> None:
    body = paragraph(properties='<w:pStyle w:val="H1"/>') + styled("Rent", "H1")
    path = write_docx(tmp_path / "a.docx", body, numbering=OUTLINE + num(1), styles=STYLES)
    [found] = read_documents(path, pytest.fail)
    assert [found.text[start:end] for start, end in found.headings] == ["2. Rent"]


def test_what_is_deleted_is_no_item(tmp_path: Path) -> None:
    gone = "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    mark = "<w:rPr><w:del/></w:rPr>"
    body = item("a") + paragraph(gone, properties=numbered() + mark) + item("b")
    body += item("half a", more=mark) + item(" line") + item("c")
    body += paragraph(
        run("old"), properties="<w:pPrChange><w:pPr>" + numbered() + "</w:pPr></w:pPrChange>"
    )
    assert lines(tmp_path, body) == ["1. a", "2. b", "3. half a line", "4. c", "old"]


def test_notes_boxes_and_margins_are_counted_apart(tmp_path: Path) -> None:
    box = f"<w:r><w:txbxContent>{item('in a box')}</w:txbxContent></w:r>"
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    body = paragraph(run("a"), box, note, properties=numbered()) + item("b")
    notes = f'<w:footnote w:id="2">{item("in a note")}</w:footnote>'
    found = lines(tmp_path, body, footnotes=notes, header1=item("Wick"), header2=item("Wick"))
    assert found == ["1. a", "1. in a box", "1. in a note", "2. b", "1. Wick"]


def number_cell(name: int = 1) -> str:
    return f"<w:tc><w:tcPr/>{item('', 0, name)}</w:tc>"


def test_cells_may_be_nothing_but_numbers(tmp_path: Path) -> None:
    rows = [
        [number_cell(), cell("Wick"), cell("1934")],
        [number_cell(), cell("Marl"), cell("1911")],
    ]
    named = table(["No.", "Pump", "Built"], *rows, header=True)
    rest = "\nPump: {}\nBuilt: {}"
    pumps = ["No.: 1." + rest.format("Wick", 1934), "No.: 2." + rest.format("Marl", 1911)]
    assert lines(tmp_path, named) == pumps
    layout = table([number_cell(), "Rent is due."], [number_cell(), "It is paid."])
    assert lines(tmp_path, layout) == ["1. Rent is due.", "2. It is paid."]


@pytest.mark.parametrize(
    "numbering",
    [
        num(1),  # no such abstract list
        abstract() + num(1),
        abstract(level(0, "")) + num(1),
        abstract('<w:lvl w:ilvl="0"/>', more="<w:x/>") + num(1),
        abstract('<w:lvl w:ilvl="-9"><w:lvlText/></w:lvl>') + num(1),
        abstract(more='<w:numStyleLink w:val="None"/>') + num(1),
        abstract(level(0, "%1")) + '<w:num w:numId="1"/>',
        abstract(level(0, "%1")) + num(0),
        "<w:p/>",
    ],
)
def test_without_a_level_there_is_no_number(tmp_path: Path, numbering: str) -> None:
    assert lines(tmp_path, item("a") + item("b", 12)) == ["1. a", "b"]
    assert lines(tmp_path, item("a") + item("b", 12), numbering) == ["a", "b"]


@pytest.mark.parametrize("damage", ["<", "<!DOCTYPE a><a/>", "\0", "<a>" * 300, " " * (64 << 20)])
def test_a_damaged_part_of_numbers_loses_no_text(tmp_path: Path, damage: str) -> None:
    path = write_docx(tmp_path / "a.docx", item("a") + item("b"), numbering=OUTLINE + num(1))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    write_zip(path, parts | {"word/numbering.xml": damage})
    lost: list[str] = []
    [found] = read_documents(path, lost.append)
    assert found.text == "a\n\nb"
    assert len(lost) == 1
    assert "numbers" in lost[0]
    del parts["word/numbering.xml"]
    [found] = read_documents(write_zip(path, parts), pytest.fail)
    assert found.text == "a\n\nb"


def test_a_hostile_level_costs_little(tmp_path: Path) -> None:
    start = '<w:start w:val="999999999"/>'
    wild = abstract(f'<w:lvl w:ilvl="0">{start}<w:lvlText w:val="{"%1" * 10_000}"/></w:lvl>')
    [line] = lines(tmp_path, item("a"), wild + num(1))
    assert line.endswith(" a")
    assert len(line) < 110
