"""Files as documents: every kind, and what is broken or means harm refused in one line."""

import builtins
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from collection import PAGES, ROWS, write_collection, write_pdf
from fabir.errors import InputError
from fabir.search import documents
from fabir.search.documents import Document, read_documents


def read(path: Path) -> list[Document]:
    """All of a file that has nothing to skip."""

    def refuse(reason: str) -> None:
        raise AssertionError(reason)

    return list(read_documents(path, refuse))


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    line = str(caught.value)
    assert path.name in line
    assert "\n" not in line
    return line


def test_text_has_its_file_s_lines_and_a_title(tmp_path: Path) -> None:
    write_collection(tmp_path)
    [kites], [rain] = read(tmp_path / "kites.md"), read(tmp_path / "deep" / "rain.txt")
    assert (kites.title, rain.title) == ("Kites", "rain")
    assert kites.text == (tmp_path / "kites.md").read_text("utf-8")
    assert (kites.line, kites.lines_run_on) == (1, True)


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfRain.\r\n")
    assert read(tmp_path / "a.txt")[0].text == "Rain.\r\n"


def test_html_is_text_with_a_title(tmp_path: Path) -> None:
    write_collection(tmp_path)
    [page] = read(tmp_path / "deep" / "er" / "page.html")
    assert (page.title, page.text) == ("Lighthouses", "The lighthouse of Skagen is 46 m high.")
    assert page.line is None


def test_a_line_of_jsonl_is_a_document(tmp_path: Path) -> None:
    write_collection(tmp_path)
    found = read(tmp_path / "rows.jsonl")
    assert [each.text for each in found] == [row["text"] for row in ROWS]
    assert [(each.part, each.title, each.line) for each in found] == [
        ("a1", "Bridges", 1),
        ("7", "Towers", 3),
    ]


def test_a_row_of_csv_without_a_text_is_all_that_it_says(tmp_path: Path) -> None:
    write_collection(tmp_path)
    first, second = read(tmp_path / "table.csv")
    assert (first.text, first.line, first.part) == ("Who painted the door?\nOle,\nin blue", 2, "1")
    assert (second.text, second.line) == ("Why?\nIt faded", 4)


def test_a_row_of_parquet_is_a_document(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    columns = {"id": [4, 5], "text": ["It rains.", None], "title": ["Rain", "Snow"], "n": [1, 2]}
    parquet.write_table(arrow.table(columns), tmp_path / "a.parquet")
    [found] = read(tmp_path / "a.parquet")
    assert (found.text, found.title, found.part, found.line) == ("It rains.", "Rain", "4", None)


def test_pdf_has_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    write_pdf(tmp_path / "mill_house.pdf", PAGES)
    [found] = read(tmp_path / "mill_house.pdf")
    assert found.title == "mill house"
    assert [found.text[start:].split("\n")[0] for start in found.pages] == PAGES


def test_a_box_of_text_in_docx_is_read_once(tmp_path: Path) -> None:
    docx: Any = pytest.importorskip("docx")
    oxml: Any = pytest.importorskip("docx.oxml")
    document = docx.Document()
    document.add_paragraph("Before.")
    names = {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    }
    box = "<w:txbxContent><w:p><w:r><w:t>In the box.</w:t></w:r></w:p></w:txbxContent>"
    namespaces = " ".join(f'xmlns:{short}="{name}"' for short, name in names.items())
    run = (
        f'<w:r {namespaces}><mc:AlternateContent><mc:Choice Requires="wps">{box}</mc:Choice>'
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
    )
    document.paragraphs[0]._p.append(oxml.parse_xml(run))
    document.add_paragraph("After.")
    document.save(str(tmp_path / "a.docx"))
    [found] = read(tmp_path / "a.docx")
    assert found.text.split("\n\n") == ["Before.", "In the box.", "After."]


def test_docx_has_paragraphs_and_tables_in_order(tmp_path: Path) -> None:
    docx: Any = pytest.importorskip("docx")
    document = docx.Document()
    document.add_paragraph("The mill is old.")
    document.add_table(1, 1).cell(0, 0).text = "Built in 1902."
    document.add_paragraph("It is red.")
    document.core_properties.title = "The mill"
    document.save(str(tmp_path / "a.docx"))
    [found] = read(tmp_path / "a.docx")
    assert " ".join(found.text.split()) == "The mill is old. Built in 1902. It is red."
    assert found.title == "The mill"


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    for name, content, reason in [
        ("a.txt", b"caf\xe9", "not UTF-8"),
        ("b.txt", b"a\0b", "zero bytes"),
        ("c.pdf", b"%PDF-1.4 broken", "cannot be read"),
        ("d.docx", b"PK\x03\x04 broken", "cannot be read"),
        ("e.parquet", b"PAR1 broken", "cannot be read"),
        ("f.exe", b"", "none of"),
        ("g.csv", b"text\ncaf\xe9\n", "cannot be read"),
    ]:
        (tmp_path / name).write_bytes(content)
        assert reason in refused(tmp_path / name)


def test_bad_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = ['{"text": "good"}', "{", "[1]", "[" * 100_000, '"x"', '{"text": "fine"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines), "utf-8")
    (tmp_path / "b.csv").write_text("text\ngood\na,b\nfine\n", "utf-8")
    for name, count, line in [("a.jsonl", 4, 2), ("b.csv", 1, 3)]:
        skipped: list[str] = []
        found = read_documents(tmp_path / name, skipped.append)
        assert [document.text for document in found] == ["good", "fine"]
        [reason] = skipped
        assert f"{name}: {count} record" in reason
        assert f" left out, first line {line} " in reason


def test_half_characters_keep_their_places(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a\\ud800b", "id": "\\udfff"}\n', "utf-8")
    [found] = read(tmp_path / "a.jsonl")
    assert (found.text, found.part) == ("a?b", "?")


def test_what_unpacks_to_far_more_is_refused_before(tmp_path: Path) -> None:
    path = tmp_path / "bomb.docx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w") as member,
    ):
        for _ in range(70):
            member.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    assert "unpacked" in refused(path)


def test_long_files_and_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 5)
    (tmp_path / "a.txt").write_text("123456")
    assert "split it" in refused(tmp_path / "a.txt")
    monkeypatch.setattr("fabir.search.records.MAX_LINE", 20)
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "x" * 20}))
    assert "a line has more than" in refused(tmp_path / "b.jsonl")


def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def fake(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("pypdf", "docx", "pyarrow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", fake)
    for name in ("a.pdf", "a.docx", "a.parquet"):
        (tmp_path / name).touch()
        assert "pip install 'fabir[documents]'" in refused(tmp_path / name)


def test_names_cannot_command_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil\x1b[2J\n.txt"
    path.write_bytes(b"\xff")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).isprintable()
