"""What stands beside the cells of a sheet: it is read, with the row where it stands."""

import zipfile
from pathlib import Path

from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from office_files import links, row, write_xlsx, write_zip, xml

PUMPS = row("Pump", "Built") + row("Wick", 1934) + row("Marl", 1911)


def read(path: Path, rows: str, **parts: str) -> list[Document]:
    """The documents of a file whose sheet has these further parts; nothing is lost."""
    write_xlsx(path, rows)
    with zipfile.ZipFile(path, "a") as archive:
        related = ((f"id_{kind}", kind, f"{kind}.xml") for kind in parts)
        archive.writestr("xl/_rels/sheet0.xml.rels", links(*related))
        for kind, content in parts.items():
            archive.writestr(f"xl/{kind}.xml", xml("s:part", content))
    reasons: list[str] = []
    found = list(read_documents(path, reasons.append))
    assert not reasons
    return found


def comments(*each: tuple[str, str], author: str = "") -> str:
    found = (
        f'<s:comment ref="{place}" authorId="0"><s:text><s:r><s:t>{text}</s:t></s:r></s:text>'
        "</s:comment>"
        for place, text in each
    )
    return f"<s:authors><s:author>{author}</s:author></s:authors>{''.join(found)}"


def test_a_comment_follows_the_row_of_its_cell(tmp_path: Path) -> None:
    part = comments(("B3", "Bo:\nRebuilt by Nils in 1950"), ("A1", "Of all"), author="Bo")
    wick, marl, other = read(tmp_path / "a.xlsx", PUMPS, comments=part)
    assert wick.text == "Pump: Wick\nBuilt: 1934"
    assert marl.text == "Pump: Marl\nBuilt: 1911\n\nComment by Bo: Rebuilt by Nils in 1950"
    assert (other.text, other.line) == ("Comment by Bo: Of all", 1)


def test_a_thread_of_comments_has_no_advice_of_excel(tmp_path: Path) -> None:
    advice = (
        "[Threaded comment]\n\nYour version of Excel allows you to read this. Learn more: "
        "https://go.microsoft.com/fwlink/?linkid=870924\n\nComment:\n    Who built it?\n"
        "Reply:\n    Nils did."
    )
    part = comments(("A2", advice), author="tc={463EC29B}")
    wick, _ = read(tmp_path / "a.xlsx", PUMPS, comments=part)
    assert wick.text.endswith("\n\nComment: Who built it?\nReply:\n    Nils did.")


def test_long_comments_take_linear_time(tmp_path: Path) -> None:
    """Under a second; in quadratic time these would be refused after ten."""
    part = comments(("A2", "a" * 1_000_000), ("A3", "https://go.example/?linkid=870924 alone"))
    wick, marl = read(tmp_path / "a.xlsx", PUMPS, comments=part)
    assert len(wick.text) > 1_000_000
    assert marl.text.endswith("Comment: https://go.example/?linkid=870924 alone")


def test_comments_on_hidden_cells_are_hidden(tmp_path: Path) -> None:
    columns = '</s:sheetData><s:cols><s:col min="2" max="2" hidden="1"/></s:cols><s:sheetData>'
    hidden = row("Wick", 1934).replace("<s:row", '<s:row hidden="1"')
    rows = columns + row("Pump", "Built") + hidden + row("Marl", 1911)
    part = comments(("A2", "secret"), ("B3", "secret"), ("A3", "shown"))
    found = read(tmp_path / "a.xlsx", rows, comments=part)
    assert [each.text for each in found] == ["Pump", "Marl\n\nComment: shown"]


def test_texts_of_boxes_and_titles_of_charts_have_their_rows(tmp_path: Path) -> None:
    box = (
        "<twoCellAnchor><from><row>4</row></from><txBody><a:p><a:r><a:t>Opened by the king</a:t>"
        "</a:r></a:p></txBody></twoCellAnchor>"
    )
    chart = '<oneCellAnchor><from><row>0</row></from><c:chart r:id="c"/></oneCellAnchor>'
    path = tmp_path / "a.xlsx"
    write = zipfile.ZipFile.writestr
    title = "<c:title><a:p><a:r><a:t>Pumps by age</a:t></a:r></a:p></c:title><c:ser/>"
    write_xlsx(path, PUMPS)
    with zipfile.ZipFile(path, "a") as archive:
        write(archive, "xl/_rels/sheet0.xml.rels", links(("d", "drawing", "drawing.xml")))
        write(archive, "xl/drawing.xml", xml("s:part", box + chart + box))
        write(archive, "xl/_rels/drawing.xml.rels", links(("c", "chart", "chart.xml")))
        write(archive, "xl/chart.xml", xml("c:part", title))
    found = [(each.text, each.part) for each in read_documents(path, print)]
    assert found[2:] == [("Opened by the king", "Sheet1!5"), ("Pumps by age", "Sheet1!1")]


def test_the_title_of_a_sheet_with_only_a_chart_is_read(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", PUMPS, "", names=("Pumps", "Ages"))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    related, kind = parts["xl/_rels/workbook.xml.rels"], 'Id="s1" Type="'
    before, after = related.split(kind)
    parts["xl/_rels/workbook.xml.rels"] = before + kind + after.replace("worksheet", "chartsheet")
    anchor = '<absoluteAnchor><c:chart r:id="c"/></absoluteAnchor>'
    parts["xl/_rels/sheet1.xml.rels"] = links(("d", "drawing", "drawing.xml"))
    parts["xl/drawing.xml"] = xml("s:part", anchor)
    parts["xl/_rels/drawing.xml.rels"] = links(("c", "chart", "chart.xml"))
    title = "<c:title><a:p><a:r><a:t>Pumps by age</a:t></a:r></a:p></c:title>"
    parts["xl/chart.xml"] = xml("c:part", title)
    *_, marl, chart = read_documents(write_zip(path, parts), print)
    assert (marl.text, marl.line) == ("Pump: Marl\nBuilt: 1911", 3)
    assert (chart.text, chart.title, chart.part) == ("Pumps by age", "a: Ages", "Ages!1")


def test_margins_of_printed_pages_lose_their_codes(tmp_path: Path) -> None:
    margins = (
        "</s:sheetData><s:headerFooter><s:oddHeader>&amp;L&amp;D&amp;C&amp;&quot;Arial,Bold&quot;"
        "&amp;12Corm R&amp;&amp;D works&amp;R&amp;8 2019</s:oddHeader>"
        "<s:oddFooter>&amp;CPage &amp;P of &amp;N</s:oddFooter></s:headerFooter><s:sheetData>"
    )
    *_, found = read(tmp_path / "a.xlsx", PUMPS + margins)
    assert (found.text, found.part, found.line) == ("Corm R&D works", "Sheet1", None)


def test_two_ampersands_before_a_letter_begin_no_part_of_a_margin(tmp_path: Path) -> None:
    margins = (
        "</s:sheetData><s:headerFooter><s:oddHeader>&amp;LJohnson &amp;&amp;Lee&amp;CSmith"
        "&amp;&amp;Co</s:oddHeader></s:headerFooter><s:sheetData>"
    )
    *_, left, centre = read(tmp_path / "a.xlsx", PUMPS + margins)
    assert (left.text, centre.text) == ("Johnson &Lee", "Smith&Co")
