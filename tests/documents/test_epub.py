"""EPUB books: chapters in reading order, their headings, and what is missing or encrypted."""

import zipfile
from pathlib import Path

import pytest

from fabir.documents import archives
from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from fabir.errors import InputError

CONTAINER = """<?xml version="1.0"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">
<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>"""
PACKAGE = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>Kites
of the North</dc:title><dc:title>Second</dc:title></metadata>
<manifest>
<item id="b" href="text/b%20two.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/>
<item id="p" href="p.png" media-type="image/png"/>
</manifest>
<spine><itemref idref="a"/><itemref idref="p"/><itemref idref="b"/></spine></package>"""
FIRST = """<?xml version="1.0" encoding="iso-8859-1"?><!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/></head>
<body><h1>Wind</h1><p>A ca\u00adf\u00e9 <a id="x"/>stands here.</p></body></html>"""
SECOND = "<html><body><nav><a>Contents</a></nav><h2>Rain</h2><p>It falls.</p></body></html>"
BOOK = {
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/text/a.xhtml": FIRST.encode("iso-8859-1"),
    "OEBPS/text/b two.xhtml": SECOND,
}


def read(path: Path, members: dict[str, str | bytes]) -> tuple[Document, list[str]]:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    losses: list[str] = []
    [found] = read_documents(path, losses.append)
    return found, losses


def test_chapters_are_one_text_in_reading_order(tmp_path: Path) -> None:
    found, losses = read(tmp_path / "a.epub", BOOK)
    assert found.title == "Kites of the North"
    assert found.text == "Wind\n\nA café stands here.\n\nRain\n\nIt falls."
    assert [found.text[start:end] for start, end in found.headings] == ["Wind", "Rain"]
    assert losses == []


def test_lists_of_chapters_are_no_text(tmp_path: Path) -> None:
    contents = """<html><body><ul><li><a href="a.xhtml">1. Wind</a><ul>
    <li><a href="b%20two.xhtml#x">1.1. Rain</a></li></ul></li></ul>
    <div class="toc"><dl><dt><a href="a.xhtml">1. Wind</a></dt></dl></div>
    <ul><li><a href="https://example.org">Elsewhere</a></li><li><a id="hail">Hail</a></li>
    <li><a href="a.xhtml">Wind</a> and snow</li></ul></body></html>"""
    found, losses = read(tmp_path / "a.epub", BOOK | {"OEBPS/text/b two.xhtml": contents})
    assert found.text.split("\n\n")[2:] == ["Elsewhere", "Hail", "Wind and snow"]
    found, losses = read(tmp_path / "b.epub", BOOK | {"OEBPS/text/b two.xhtml": SECOND[:42]})
    assert found.text == "Wind\n\nA café stands here."
    assert losses == []


def test_a_missing_chapter_is_named(tmp_path: Path) -> None:
    members = {name: content for name, content in BOOK.items() if name != "OEBPS/text/a.xhtml"}
    found, [loss] = read(tmp_path / "a.epub", members)
    assert found.text == "Rain\n\nIt falls."
    assert "OEBPS/text/a.xhtml" in loss


def package(*items: tuple[str, str]) -> str:
    """A package whose chapters are some members, each with its kind."""
    manifest = "".join(
        f'<item id="i{n}" href="{name}" media-type="{kind}"/>'
        for n, (name, kind) in enumerate(items)
    )
    spine = "".join(f'<itemref idref="i{n}"/>' for n in range(len(items)))
    head = PACKAGE.partition("<metadata>")[0]
    return f"{head}<manifest>{manifest}</manifest><spine>{spine}</spine></package>"


def test_chapters_in_other_markup_are_read_and_other_kinds_named(tmp_path: Path) -> None:
    book = package(
        ("a.svg", "image/svg+xml"),
        ("b.xml", "application/x-dtbook+xml"),
        ("c.htm", "text/x-oeb1-document"),
        ("d.pdf", "application/pdf"),
        ("e.png", "image/png"),
    )
    members: dict[str, str | bytes] = {
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": book,
        "OEBPS/a.svg": '<svg xmlns="http://www.w3.org/2000/svg"><text>Map of Corm</text></svg>',
        "OEBPS/b.xml": "<dtbook><book><h1>Rain</h1><p>It falls.</p></book></dtbook>",
        "OEBPS/c.htm": "<p>It is wet.",
        "OEBPS/d.pdf": "%PDF",
    }
    found, [loss] = read(tmp_path / "a.epub", members)
    assert found.text == "Map of Corm\n\nRain\n\nIt falls.\n\nIt is wet."
    assert loss.endswith("d.pdf is not read: application/pdf")


def test_chapters_are_read_as_xml(tmp_path: Path) -> None:
    chapter = """<?xml version="1.0"?><!DOCTYPE html [<!ENTITY nbsp "&#160;"> ]>
    <html xmlns="http://www.w3.org/1999/xhtml"><body><h2 id="x"/><p>10<sup/>6 <br/>kites</p>
    <pre/><p>in  May.</p></body></html>"""
    found, losses = read(tmp_path / "a.epub", BOOK | {"OEBPS/text/b two.xhtml": chapter})
    assert found.text.partition("stands here.")[2] == "\n\n106\nkites\n\nin May."
    assert [found.text[start:end] for start, end in found.headings] == ["Wind"]
    assert losses == []


def encryption(name: str) -> str:
    return f"""<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"
    xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:CipherData>
    <enc:CipherReference URI="{name}"/></enc:CipherData></enc:EncryptedData></encryption>"""


def test_encrypted_chapters_are_refused_but_not_encrypted_fonts(tmp_path: Path) -> None:
    fonts = BOOK | {"META-INF/encryption.xml": encryption("OEBPS/font.otf")}
    assert read(tmp_path / "a.epub", fonts)[0].text.startswith("Wind")
    with pytest.raises(InputError, match="DRM"):
        read(
            tmp_path / "b.epub",
            BOOK | {"META-INF/encryption.xml": encryption("OEBPS/text/b%20two.xhtml")},
        )


def test_what_is_no_book_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not an EPUB"):
        read(tmp_path / "a.epub", {"a.txt": "x"})
    with pytest.raises(InputError, match="no part"):
        read(tmp_path / "b.epub", {"META-INF/container.xml": CONTAINER})
    bomb = '<!DOCTYPE a [<!ENTITY b "c">]>' + PACKAGE.partition("?>")[2]
    with pytest.raises(InputError, match="document type"):
        read(tmp_path / "c.epub", BOOK | {"OEBPS/book.opf": bomb})


def test_what_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    blank = b" " * (archives.MAX_BYTES // 2)
    chapters = dict.fromkeys(["OEBPS/text/a.xhtml", "OEBPS/text/b two.xhtml"], blank)
    with pytest.raises(InputError, match="unpacked"):
        read(tmp_path / "a.epub", BOOK | chapters)
    assert (tmp_path / "a.epub").stat().st_size < 1 << 20


def test_a_book_in_a_folder_is_read(tmp_path: Path) -> None:
    inside = {f"book/{name}": content for name, content in BOOK.items()}
    assert read(tmp_path / "a.epub", inside)[0].text == read(tmp_path / "b.epub", BOOK)[0].text
