"""Files as documents: every kind, and what is broken or means harm refused in one line."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from collection import PAGES, ROWS, write_collection, write_pdf
from fabir.documents import base as documents
from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from fabir.errors import InputError


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
    assert (first.text, first.line, first.part) == (
        "question: Who painted the door?\nanswer: Ole,\nin blue",
        2,
        "1",
    )
    assert (second.text, second.line) == ("question: Why?\nanswer: It faded", 4)


def test_a_row_of_parquet_is_a_document(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    columns = {"id": [4], "text": ["It rains."], "title": ["Rain"], "none": [None]}
    parquet.write_table(arrow.table(columns), tmp_path / "a.parquet")
    [found] = read(tmp_path / "a.parquet")
    assert (found.text, found.title, found.part, found.line) == ("It rains.", "Rain", "4", None)


def test_pdf_has_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    write_pdf(tmp_path / "mill_house.pdf", PAGES)
    [found] = read(tmp_path / "mill_house.pdf")
    assert found.title == "mill house"
    assert [found.text[start:].split("\n")[0] for start in found.pages] == PAGES


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    for name, content, reason in [
        ("a.txt", b"A zebra \xff", "not UTF-8"),
        ("b.txt", b"a\0b", "zero bytes"),
        ("c.pdf", b"%PDF-1.4 broken", "cannot be read"),
        ("d.docx", b"PK\x03\x04 broken", "cannot be read"),
        ("e.parquet", b"PAR1 broken", "cannot be read"),
        ("f.exe", b"", "none of"),
        ("g.csv", b"text\nA zebra \xff\n", "not UTF-8"),
    ]:
        (tmp_path / name).write_bytes(content)
        assert reason in refused(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", ""),
        ("a.md", "\n \n"),
        ("a.html", "<title>Rain</title><body><img src=rain.png></body>"),
        ("a.csv", ""),
        ("a.json", "{}"),
        ("a.jsonl", '{}\n{"text": null}\n'),
    ],
)
def test_a_file_without_text_is_named(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    skipped: list[str] = []
    assert not list(read_documents(tmp_path / name, skipped.append))
    assert skipped == [f"{tmp_path / name}: no text in it"]


def test_bad_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = ['{"text": "good"}', "{", "[1]", "[" * 100_000, '"x"', '{"text": "fine"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines), "utf-8")
    skipped: list[str] = []
    found = read_documents(tmp_path / "a.jsonl", skipped.append)
    assert [document.text for document in found] == ["good", "fine"]
    [reason] = skipped
    assert "a.jsonl: line 2 " in reason
    assert "(and 3 more)" in reason


def test_half_characters_keep_their_places(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a\\ud800b", "id": "\\udfff"}\n', "utf-8")
    [found] = read(tmp_path / "a.jsonl")
    assert (found.text, found.part) == ("a?b", "?")


def test_long_files_and_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 5)
    (tmp_path / "a.txt").write_text("123456")
    assert "split it" in refused(tmp_path / "a.txt")
    monkeypatch.setattr("fabir.documents.records.MAX_LINE", 20)
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "x" * 20}))
    assert "a record has more than" in refused(tmp_path / "b.jsonl")


def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def fake(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("pypdfium2", "pyarrow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", fake)
    for kind in ("pdf", "parquet"):
        (tmp_path / f"a.{kind}").touch()
        assert f"pip install 'fabir[{kind}]'" in refused(tmp_path / f"a.{kind}")


def test_names_cannot_command_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil\x1b[2J\n.txt"
    path.write_bytes(b"\xff")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).isprintable()
