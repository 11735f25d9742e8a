"""OpenDocument texts: what a word processor shows is the text, and nothing else."""

import zipfile
from pathlib import Path

import pytest

from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from fabir.errors import InputError
from office_files import write_odt, write_zip, xml


def read(path: Path) -> Document:
    reasons: list[str] = []
    [found] = list(read_documents(path, reasons.append))
    assert not reasons
    return found


def paragraphs(tmp_path: Path, body: str, styles: str = "", margins: str = "") -> list[str]:
    found = read(write_odt(tmp_path / "a.odt", body, styles, margins))
    return found.text.split("\n\n")


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_documents(path, print))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def p(content: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{content}</text:p>'


def table(*rows: str) -> str:
    return f"<table:table>{''.join(rows)}</table:table>"


def row(*cells: str) -> str:
    """A row from texts, or cells' XML."""
    each = (text if "<" in text else cell(text) for text in cells)
    return f"<table:table-row>{''.join(each)}</table:table-row>"


def cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{p(text)}</table:table-cell>"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("It\n   rains <text:span>in</text:span>  Wick.", "It rains in Wick."),
        ('a<text:s text:c="3"/>b<text:s/>c', "a   b c"),
        ("a<text:tab/>b<text:line-break/>c", "a\tb\nc"),
        ("<text:a>the page</text:a> of <text:date>May 4</text:date>", "the page of May 4"),
        ('seen<text:span text:style-name="H"> unseen</text:span>', "seen"),
        ("<text:ruby-base>漢</text:ruby-base><text:ruby-text>kan</text:ruby-text>", "漢"),
        ("<text:change-start/>new<text:change-end/>", "new"),
        ("<text:bookmark-start/>word<text:bookmark-end/>s", "words"),
    ],
)  # fmt: skip
def test_a_paragraph_is_what_is_shown(content: str, text: str, tmp_path: Path) -> None:
    hidden = '<style:text-properties text:display="none"/>'
    styles = f'<style:style style:name="H">{hidden}</style:style>'
    assert paragraphs(tmp_path, p(content) + p("gone", "H"), styles) == [text]


def test_hidden_sections_and_paragraphs_are_no_text(tmp_path: Path) -> None:
    mark = '<text:hidden-paragraph text:is-hidden="{}"/>'
    body = (
        f'<text:section text:display="none">{p("gone")}</text:section>'
        f"<text:section>{p('shown')}<text:section>{p('inner')}</text:section></text:section>"
        f"{p('gone' + mark.format('true'))}{p('too' + mark.format('false'))}"
        f"{p('a <text:span>gone' + mark.format('true') + '</text:span>')}"
    )
    assert paragraphs(tmp_path, body) == ["shown", "inner", "too"]


def test_deletions_are_no_text(tmp_path: Path) -> None:
    deleted = f"<text:deletion>{p('500 crowns')}</text:deletion>"
    body = f"<text:tracked-changes>{deleted}</text:tracked-changes>" + p("650 crowns")
    assert paragraphs(tmp_path, body) == ["650 crowns"]


def test_notes_comments_and_boxes_follow_their_paragraph(tmp_path: Path) -> None:
    parts = (
        f"<text:note-citation>1</text:note-citation><text:note-body>{p('below')}</text:note-body>"
    )
    note = f"<text:note>{parts}</text:note>"
    remark = f"<office:annotation><dc:creator>Ada</dc:creator>{p('Sure?')}</office:annotation>"
    box = f"<draw:frame><draw:text-box>{p('boxed')}</draw:text-box></draw:frame>"
    body = p(f"One{note} and{remark} two{box}.") + p("Next.")
    assert paragraphs(tmp_path, body) == [
        "One and two.", "below", "Comment by Ada: Sure?", "boxed", "Next.",
    ]  # fmt: skip


def test_lists_and_sections_are_read_in_order(tmp_path: Path) -> None:
    inner = f"<text:list><text:list-item>{p('b')}</text:list-item></text:list>"
    items = f"<text:list><text:list-item>{p('a')}{inner}</text:list-item></text:list>"
    body = f"<text:section>{p('before')}{items}</text:section>" + p("after")
    assert paragraphs(tmp_path, body) == ["before", "a", "b", "after"]


def test_headers_and_footers_are_read_once_at_the_end(tmp_path: Path) -> None:
    head = f"<style:header>{p('Harwick Council')}</style:header>"
    foot = f"<style:footer>{p('Page 1')}</style:footer>"
    margins = f"<style:master-page>{head}{foot}</style:master-page>"
    found = paragraphs(tmp_path, p("Text."), margins=margins + margins)
    assert found == ["Text.", "Harwick Council", "Page 1"]


def test_a_row_has_the_names_of_its_columns(tmp_path: Path) -> None:
    head = f"<table:table-header-rows>{row('1', '2')}</table:table-header-rows>"
    assert paragraphs(tmp_path, table(head, row("a", "b"))) == ["1: a\n2: b"]
    found = paragraphs(tmp_path, table(row("Pump", "Built", "By"), row("Wick", "1934", "Ole")))
    assert found == ["Pump: Wick\nBuilt: 1934\nBy: Ole"]


LOOKS = (
    '<style:style style:name="B" style:family="paragraph">'
    '<style:text-properties fo:font-weight="bold" xmlns:fo="fo"/></style:style>'
    '<style:style style:name="C" style:family="paragraph" style:parent-style-name="B"/>'
    '<style:style style:name="N" style:family="text">'
    '<style:text-properties fo:font-weight="normal" xmlns:fo="fo"/></style:style>'
    + "".join(
        f'<style:style style:name="{name}" style:family="text">'
        f'<style:text-properties style:text-position="{position}"/></style:style>'
        for name, position in {"S": "super 58%", "T": "33% 58%", "L": "-33% 58%"}.items()
    )
)


def test_a_raised_number_is_an_exponent(tmp_path: Path) -> None:
    def span(style: str, text: str) -> str:
        return f'<text:span text:style-name="{style}">{text}</text:span>'

    body = p(
        f"10{span('S', '6')} people, 5 m{span('T', '2')}, H{span('L', '2')}O, 1{span('S', 'st')}"
    )
    assert paragraphs(tmp_path, body, LOOKS) == ["10^6 people, 5 m^2, H2O, 1st"]


def test_a_bold_row_names_columns_of_text(tmp_path: Path) -> None:
    def styled(style: str, text: str) -> str:
        return f"<table:table-cell>{p(text, style)}</table:table-cell>"

    rows = row("Ida", "Corm"), row("Nils", "Varn")
    names = ["Name: Ida\nTown: Corm", "Name: Nils\nTown: Varn"]
    assert paragraphs(
        tmp_path, table(row(styled("B", "Name"), styled("C", "Town")), *rows), LOOKS
    ) == (names)
    plain = styled("B", '<text:span text:style-name="N">Town</text:span>')
    assert paragraphs(tmp_path, table(row(styled("B", "Name"), plain), *rows), LOOKS) == [
        "Name: Town",
        "Ida: Corm",
        "Nils: Varn",
    ]


def test_a_cell_with_a_table_is_only_laid_out(tmp_path: Path) -> None:
    inner = f"<table:table-cell>{table(row('In', 'Out'), row('7', '8'))}</table:table-cell>"
    assert paragraphs(tmp_path, table(row(inner, "outer right"))) == [
        "In: 7\nOut: 8",
        "outer right",
    ]


def test_merged_cells_count_for_all_that_they_cover(tmp_path: Path) -> None:
    wide = cell("Sales", 'table:number-columns-spanned="2"')
    tall = cell("North", 'table:number-rows-spanned="2"')
    covered = "<table:covered-table-cell/>"
    rows = [
        row("Area", wide, covered),
        row(tall, "3", "4"),
        row(covered, "5", "6"),
        row("South", "7", "8"),
    ]
    assert paragraphs(tmp_path, table(*rows)) == [
        "Area: North\nSales: 3\nSales: 4",
        "Area: North\nSales: 5\nSales: 6",
        "Area: South\nSales: 7\nSales: 8",
    ]


def test_repeated_cells_are_limited(tmp_path: Path) -> None:
    wide = cell("x", 'table:number-columns-repeated="999999999"')
    [found] = paragraphs(tmp_path, table(row(wide)))
    assert found == "\n".join("x" * 256)


def test_headings_and_titles(tmp_path: Path) -> None:
    style = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    body = p("The mill", "P1") + "<text:h>Its wheel</text:h>" + p("It is of oak.")
    found = read(write_odt(tmp_path / "a.odt", body, style, title="untitled"))
    headings = [found.text[start:end] for start, end in found.headings]
    assert (headings, found.title) == (["The mill", "Its wheel"], "The mill")
    assert read(write_odt(tmp_path / "b.odt", body, title="Mills of Tarn")).title == "Mills of Tarn"


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    encrypted = write_odt(tmp_path / "a.odt", "", extra="<encryption-data/>")
    assert "password" in refused(encrypted)
    assert "has no part content.xml" in refused(write_zip(tmp_path / "b.odt", {"a": "x"}))
    entity = {"content.xml": '<!DOCTYPE x [<!ENTITY e "aaa">]><x>&e;</x>'}
    assert "document type" in refused(write_zip(tmp_path / "c.odt", entity))


def test_a_text_of_pictures_only_is_named(tmp_path: Path) -> None:
    reasons: list[str] = []
    path = write_odt(tmp_path / "a.odt", p("<draw:frame><draw:image/></draw:frame>"))
    assert list(read_documents(path, reasons.append)) == []
    assert "no text: only pictures?" in reasons[0]


def test_formulas_and_charts_are_read_and_other_objects_named(tmp_path: Path) -> None:
    formula = "<math><semantics><mi>E</mi><annotation>E = m c^2</annotation></semantics></math>"
    head = f"<table:table-header-rows>{row('', 'mm')}</table:table-header-rows>"
    chart = f"<chart:title>{p('Rain')}</chart:title>" + table(head, row("May", "12.5"))
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "chart")
    )
    drawing = 'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'  # as programs do
    frames = (f'<draw:frame {drawing}><draw:object href="./{n}"/></draw:frame>' for n in "123")
    path = write_odt(tmp_path / "a.odt", "".join(p(f"Before.{frame}") for frame in frames))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("1/content.xml", formula)
        archive.writestr("2/content.xml", xml("office:document-content", chart, names))
    reasons: list[str] = []
    [found] = read_documents(path, reasons.append)
    said = ["Before.", "E = m c^2", "Before.", "Rain", "May\nmm: 12.5", "Before."]
    assert found.text.split("\n\n") == said
    [reason] = reasons
    assert "embedded" in reason


def test_what_a_base_style_hides_is_hidden(tmp_path: Path) -> None:
    def style(name: str, base: str = "", display: str = "") -> str:
        shown = f'<style:text-properties text:display="{display}"/>' if display else ""
        base = f' style:parent-style-name="{base}"' if base else ""
        return (
            f'<style:style style:name="{name}" style:family="paragraph"{base}>{shown}</style:style>'
        )

    styles = style("A", display="none") + style("B", "A") + style("C", "A", "true")
    body = "".join(f'<text:p text:style-name="{name}">{name}</text:p>' for name in "ABCD")
    assert paragraphs(tmp_path, body, styles) == ["C", "D"]
