"""Damaged documents of every kind: read as what they still are, or refused in one line."""

import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from collection import write_collection, write_pdf
from damage import bounded, damaged
from fabir.documents.process import DocumentReader
from fabir.documents.reading import read_documents
from fabir.errors import InputError
from office_files import (
    paragraph,
    row,
    run,
    shape,
    table,
    write_docx,
    write_odt,
    write_pptx,
    write_xlsx,
    write_zip,
)

NUMBERED = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
PARAGRAPH = paragraph(run("The mill was built in 1902."), properties=NUMBERED)
LEVEL = '<w:lvl w:ilvl="0"><w:start w:val="4"/><w:lvlText w:val="%1."/></w:lvl>'
NUMBERS = f'<w:abstractNum w:abstractNumId="0">{LEVEL}</w:abstractNum>'
NUMBERS += '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
MAIL = """From: ann@example.org
Subject: =?utf-8?q?Caf=C3=A9?=
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain

It rains.
--b
Content-Type: text/html; charset=utf-8

<p>It rains.
--b--
"""
SHEET = """<x xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><table:table table:name="Pumps">
<table:table-column table:number-columns-repeated="2"/><table:table-row
table:number-rows-repeated="3"><table:table-cell table:number-columns-spanned="2"><text:p>Wick 1934
</text:p></table:table-cell><table:covered-table-cell/></table:table-row></table:table></x>"""
PAGE = """<!doctype html><meta charset=utf-8><title>Mill</title><nav>Home</nav><h1>The mill</h1>
<table><tr><th>Pump<th>Built<tr><td>Wick<td>1934</table><p hidden>x<p>Rain<sup>2</sup>.</p>"""
TEXTS = {
    "a.txt": "It rains in Wick.\n\nOpening hours\n",
    "a.md": "---\ntitle: Mill\n---\n# The mill\n\n```\n# no\n```\n\nOld\n===\n\n- 1902\n",
    "a.rst": "========\nThe mill\n========\n\nOld\n---\n\n.. note:: 1902\n",
    "a.html": PAGE,
    "a.eml": MAIL,
    "a.csv": 'Pump,Built,Note\nWick,1934,"old, red"\nMarl,1911,\n',
    "a.json": '{"pumps": [{"name": "Wick", "built": 1934, "by": {"name": "Bo"}, "at": [1, null]}]}',
    "a.jsonl": '{"id": 1, "title": "Rain", "text": "It rains."}\n{"a": [true, 1e3]}\n',
}


def write_samples(folder: Path) -> None:
    write_collection(folder / "collection")
    write_pdf(folder / "a.pdf", ["The mill was built in 1902.", "It is red."])
    pumps = table(["Pump", "Built"], ["Wick", "1934"])
    write_docx(folder / "a.docx", PARAGRAPH + pumps, numbering=NUMBERS)
    write_xlsx(folder / "a.xlsx", row("Pump", "Built") + row("Wick", 1934))
    write_pptx(folder / "a.pptx", shape("The mill", kind="title") + shape("Built in 1902."))
    write_odt(folder / "a.odt", "<text:p>The mill was built in 1902.</text:p>")
    write_zip(folder / "a.ods", {"content.xml": SHEET})
    rows = pyarrow.table({"pump": ["Wick", "Marl"], "built": [1934, None]})
    pyarrow.parquet.write_table(rows, folder / "a.parquet")
    container = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
    package = '<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    package += '</manifest><spine><itemref idref="a"/></spine></package>'
    parts = {"META-INF/container.xml": container, "b.opf": package, "a.xhtml": "<p>It rains.</p>"}
    write_zip(folder / "a.epub", parts)
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")


@cache
def samples() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        write_samples(Path(name))
        return {path.name: path.read_bytes() for path in sorted(Path(name).glob("a.*"))}


@st.composite
def damaged_archives(draw: st.DrawFn, content: bytes) -> bytes:
    """An archive with damage to one of its parts, so that it can still be unpacked."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.zip"
        path.write_bytes(content)
        with zipfile.ZipFile(path) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        chosen = draw(st.sampled_from(sorted(parts)))
        parts[chosen] = draw(damaged(parts[chosen]))
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, data in parts.items():
                archive.writestr(part, data)
        return path.read_bytes()


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    with DocumentReader() as reader:
        yield reader


@pytest.mark.parametrize("name", sorted(samples()))
@given(st.data())
def test_a_damaged_document_is_read_or_refused(
    reader: DocumentReader, name: str, data: st.DataObject
) -> None:
    content = samples()[name]
    kinds = [damaged(content)]
    if content.startswith(b"PK"):
        kinds.append(damaged_archives(content))
    made = data.draw(st.one_of(kinds))
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder, bounded():
        path = Path(folder) / name
        path.write_bytes(made)
        try:
            # Arrow aborts the process for some damage; a process of its own is what users have.
            read = reader.read if name.endswith(".parquet") else read_documents
            found = list(read(path, lines.append))
            event("read")
        except InputError as error:
            found = []
            lines.append(str(error))
            event("refused")
    assert found or lines  # nothing is lost in silence
    assert all(name in line and "\n" not in line and len(line) < 2000 for line in lines)
    for document in found:
        text = document.text
        text.encode()
        assert "\n" not in document.title
        assert list(document.pages) == sorted(document.pages)
        assert all(0 <= start < end <= len(text) for start, end in document.headings)


def test_every_kind_is_read_as_it_is(tmp_path: Path) -> None:
    write_samples(tmp_path)
    for path in sorted(tmp_path.glob("a.*")):
        lines: list[str] = []
        found = list(read_documents(path, lines.append))
        assert lines == []
        text = " ".join(each.text for each in found)
        assert any(word in text for word in ("1902", "1934", "rains"))
