"""PowerPoint files: slides are pages with titles, notes, tables and charts."""

import zipfile
from pathlib import Path

from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from office_files import line, links, shape, write_pptx, write_zip, xml


def read(path: Path, lost: list[str] | None = None) -> Document:
    """The document of a file; nothing is lost unless `lost` collects it."""
    reasons: list[str] = []
    [found] = list(read_documents(path, reasons.append))
    assert lost is not None or not reasons, reasons
    if lost is not None:
        lost += reasons
    return found


def pages(found: Document) -> list[list[str]]:
    """The paragraphs of each page."""
    ends = (*found.pages[1:], len(found.text))
    return [
        list(filter(None, found.text[start:end].split("\n\n")))
        for start, end in zip(found.pages, ends, strict=True)
    ]


def cell(text: str, attributes: str = "") -> str:
    return f"<a:tc {attributes}><a:txBody>{line(text)}</a:txBody></a:tc>"


def frame(content: str) -> str:
    return f"<p:graphicFrame><a:graphic>{content}</a:graphic></p:graphicFrame>"


def test_slides_are_pages_and_titles_are_headings(tmp_path: Path) -> None:
    first = shape("Built by Otto Berg.", "Of oak.") + shape("The mill", kind="ctrTitle")
    second = shape("Its wheel", kind="title") + shape("Five metres.", kind="body")
    found = read(write_pptx(tmp_path / "a.pptx", first, second))
    assert pages(found) == [
        ["The mill", "Built by Otto Berg.", "Of oak."],
        ["Its wheel", "Five metres."],
    ]
    headings = [found.text[start:end] for start, end in found.headings]
    assert headings == ["The mill", "Its wheel"]
    assert found.title == "The mill"


def test_line_breaks_fields_and_groups_are_read(tmp_path: Path) -> None:
    text = "<a:p><a:r><a:t>one</a:t></a:r><a:br/><a:fld><a:t>two</a:t></a:fld></a:p>"
    group = f"<p:grpSp><p:grpSp><p:sp><p:txBody>{text}</p:txBody></p:sp></p:grpSp></p:grpSp>"
    assert read(write_pptx(tmp_path / "a.pptm", group)).text == "one\ntwo"


def test_what_has_a_fallback_is_read_once(tmp_path: Path) -> None:
    both = f"<mc:Choice>{shape('new')}</mc:Choice><mc:Fallback>{shape('old')}</mc:Fallback>"
    path = write_pptx(tmp_path / "a.pptx", f"<mc:AlternateContent>{both}</mc:AlternateContent>")
    assert read(path).text == "new"


def test_notes_come_last_and_footers_once(tmp_path: Path) -> None:
    parts = {"notesSlide": shape("Speak slowly.", kind="body") + shape("1", kind="sldNum")}
    slide = shape("Confidential", kind="ftr") + shape("1", kind="sldNum") + shape("Rain")
    found = read(write_pptx(tmp_path / "a.pptx", slide, slide, slide_parts=parts))
    assert pages(found) == [["Confidential", "Rain", "Speak slowly."], ["Rain", "Speak slowly."]]


def test_a_row_of_a_table_has_the_names_of_its_columns(tmp_path: Path) -> None:
    rows = [
        cell("Area") + cell("Pump"),
        cell("North", 'rowSpan="2"') + cell("Wick"),
        cell("", 'vMerge="1"') + cell("Marl"),
        cell("All old", 'gridSpan="2"') + cell("", 'hMerge="1"'),
    ]
    lines = "".join(f"<a:tr>{row}</a:tr>" for row in rows)
    table = frame(f'<a:tbl><a:tblPr firstRow="1"/>{lines}</a:tbl>')
    assert pages(read(write_pptx(tmp_path / "a.pptx", table))) == [
        ["Area: North\nPump: Wick", "Area: North\nPump: Marl", "All old"]
    ]


def test_a_raised_number_is_an_exponent(tmp_path: Path) -> None:
    def run(text: str, baseline: str) -> str:
        return f'<a:r><a:rPr baseline="{baseline}"/><a:t>{text}</a:t></a:r>'

    runs = run("10", "") + run("6", "30000") + run(" people, H", "0") + run("2", "-25000")
    text = f"<p:sp><p:txBody><a:p>{runs}{run('O', '0')}</a:p></p:txBody></p:sp>"
    assert read(write_pptx(tmp_path / "a.pptx", text)).text == "10^6 people, H2O"


def test_a_bold_row_names_columns_of_text(tmp_path: Path) -> None:
    names = (cell(text).replace("<a:r>", '<a:r><a:rPr b="1"/>') for text in ("Name", "Town"))
    rows = f"<a:tr>{''.join(names)}</a:tr><a:tr>{cell('Ida')}{cell('Corm')}</a:tr>"
    found = read(write_pptx(tmp_path / "a.pptx", frame(f"<a:tbl>{rows}</a:tbl>")))
    assert pages(found) == [["Name: Ida\nTown: Corm"]]


def test_hidden_slides_are_left_out_and_counted(tmp_path: Path) -> None:
    path = write_pptx(tmp_path / "a.pptx", shape("Rain"), shape("Secret price"), shape("Wind"))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    second = parts["ppt/slide1.xml"].replace("<p:sld ", '<p:sld show="0" ')
    write_zip(path, parts | {"ppt/slide1.xml": second})
    notices: list[str] = []
    [found] = read_documents(path, print, notice=notices.append)
    assert (found.text, found.pages) == ("Rain\n\nWind", (0, 6, 6))
    assert notices == [f"left out of {path}: 1 hidden slide"]


def test_comments_of_old_and_new_powerpoint_are_read(tmp_path: Path) -> None:
    new = f"<cm authorId='n'><reply><txBody>{line('Yes.')}</txBody></reply><txBody>{line('Sure?')}"
    comments = f'<p:cm authorId="3"><p:text>Too long.</p:text></p:cm>{new}</txBody></cm>'
    path = write_pptx(tmp_path / "a.pptx", shape("Rain"), slide_parts={"comments": comments})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    parts["ppt/_rels/presentation.xml.rels"] = links(
        ("s0", "slide", "slide0.xml"), ("o", "commentAuthors", "o.xml"), ("n", "authors", "n.xml")
    )
    parts["ppt/o.xml"] = xml("p:list", '<p:cmAuthor id="3" name="Ada"/>')
    parts["ppt/n.xml"] = xml("list", '<author id="n" name="Bo"/>')
    assert pages(read(write_zip(path, parts))) == [
        ["Rain", "Comment by Ada: Too long.", "Comment by Bo: Sure?", "Comment: Yes."]
    ]


def test_charts_and_diagrams_are_read(tmp_path: Path) -> None:
    def series(name: str, *values: float) -> str:
        points = "".join(f'<c:pt idx="{n}"><c:v>{v}</c:v></c:pt>' for n, v in enumerate(values))
        towns = '<c:pt idx="0"><c:v>Wick</c:v></c:pt><c:pt idx="1"><c:v>Marl</c:v></c:pt>'
        cache = f"<c:strRef><c:strCache><c:pt><c:v>{name}</c:v></c:pt></c:strCache></c:strRef>"
        return (
            f"<c:ser><c:tx>{cache}</c:tx><c:cat>{towns}</c:cat>"
            f"<c:val><c:formatCode>0%</c:formatCode>{points}</c:val></c:ser>"
        )

    parts = {
        "chart": f"<c:title>{line('Rain')}</c:title>{series('May', 0.5)}{series('June', 0.25, 1)}",
        "data": f"<dgm:pt><dgm:t>{line('First dig.')}</dgm:t></dgm:pt>",
    }
    shapes = frame('<c:chart r:id="id_chart"/>') + frame('<dgm:relIds r:dm="id_data"/>')
    assert pages(read(write_pptx(tmp_path / "a.pptx", shapes, slide_parts=parts))) == [
        ["Rain", "Wick\nMay: 50%\nJune: 25%", "Marl\nJune: 100%", "First dig."]
    ]


def test_slides_of_pictures_are_named(tmp_path: Path) -> None:
    lost: list[str] = []
    found = read(write_pptx(tmp_path / "a.pptx", shape("Rain"), "<p:pic/>", ""), lost)
    assert (found.text, found.pages) == ("Rain", (0, 4, 4))
    [reason] = lost
    assert reason.endswith("slide 2 has no text: only pictures?")


def test_embedded_files_are_named(tmp_path: Path) -> None:
    lost: list[str] = []
    slide = shape("Rain") + frame('<p:oleObj progId="Excel.Sheet.12"/>')
    assert read(write_pptx(tmp_path / "a.pptx", slide), lost).text == "Rain"
    [reason] = lost
    assert reason.endswith("slide 1 has an embedded file, which is not read")


def test_equations_keep_exponents_and_fractions(tmp_path: Path) -> None:
    def part(name: str, number: int) -> str:
        return f"<m:{name}><m:r><m:t>{number}</m:t></m:r></m:{name}>"

    power = f"<m:oMath><m:sSup>{part('e', 10)}{part('sup', 6)}</m:sSup></m:oMath>"
    half = f"<m:oMath><m:f>{part('num', 1)}{part('den', 2)}</m:f></m:oMath>"
    body = "".join(f"<a:p>{each}</a:p>" for each in (power, half))
    found = read(write_pptx(tmp_path / "a.pptx", f"<p:sp><p:txBody>{body}</p:txBody></p:sp>"))
    assert pages(found) == [["10^6", "1/2"]]
