"""Zip archives and the XML in them: limits, prefixes, and elements as they are read."""

from pathlib import Path

import pytest

from fabir.documents.archives import Archive, child, text_in
from fabir.documents.reading import read_documents
from fabir.errors import InputError
from office_files import write_docx, write_zip

STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"


def test_the_outermost_wanted_elements_are_whole(tmp_path: Path) -> None:
    xml = "<r><a><b>1</b><a>2</a></a><c><b>3</b></c><a/></r>"
    with Archive(write_zip(tmp_path / "a.zip", {"x.xml": xml})) as archive:
        found = list(archive.elements("x.xml", {"a", "b"}))
        assert [each.tag for each in found] == ["a", "b", "a"]
        assert [text_in(child(found[0], name)) for name in ("a", "b", "c")] == ["2", "1", ""]
        emptied = list(archive.elements("x.xml", {"a", "b"}, {"c", "b"}))
        assert [text_in(child(each, "b")) for each in emptied] == ["", ""]


def test_an_opened_element_comes_before_the_wanted_ones_in_it(tmp_path: Path) -> None:
    xml = '<r><a n="1"><b>1</b><c><a n="2"/></c><b>2</b></a><a n="3"/></r>'
    with Archive(write_zip(tmp_path / "a.zip", {"x.xml": xml})) as archive:
        found = list(archive.elements("x.xml", {"b", "c"}, opened={"a"}))
        assert [each.get("n") or text_in(each) for each in found] == ["1", "1", "", "2", "3"]
        tops = archive.elements("x.xml", (), {"a"}, opened={"a"})
        assert [each.get("n") for each in tops] == ["1", "3"]


def test_prefixes_do_not_depend_on_the_file_s(tmp_path: Path) -> None:
    xml = f'<n:p xmlns:n="{STRICT}" xmlns:o="urn:other" n:val="1" o:id="2" own="3"/>'
    with Archive(write_zip(tmp_path / "a.zip", {"x.xml": xml})) as archive:
        [found] = archive.elements("x.xml", {"w:p"})
    assert found.attrib == {"w:val": "1", "id": "2", "own": "3"}


def test_all_parts_together_are_limited(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"a": "x" * 60, "b": "x" * 60})
    with Archive(path, 100) as archive:
        archive.open("a")
        with pytest.raises(InputError, match="when unpacked"):
            archive.open("b")


def test_a_part_is_not_read_for_ever(tmp_path: Path) -> None:
    with Archive(write_zip(tmp_path / "a.zip", {"a": "<x/>" * 20}), 100) as archive:
        assert all(not archive.mentions("a", b"y") for _ in range(5))
        with pytest.raises(InputError, match="too often"):
            archive.open("a")


def test_bytes_are_found_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabir.documents.archives._CHUNK", 4)
    with Archive(write_zip(tmp_path / "a.zip", {"a": "xxmergexx"})) as archive:
        assert archive.mentions("a", b"merge")
        assert not archive.mentions("a", b"merger")


def _without_byte(path: Path, number: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:number] + content[number + 1 :])


@pytest.mark.parametrize("after", ["PK", "word/document.xml"])
def test_a_damaged_part_is_refused_with_advice(tmp_path: Path, after: str) -> None:
    path = write_docx(tmp_path / "a.docx", "<w:p><w:r><w:t>It rains.</w:t></w:r></w:p>")
    _without_byte(path, path.read_bytes().index(after.encode()) + len(after) + 9)
    with pytest.raises(InputError, match=r"damaged.* Get another copy") as caught:
        list(read_documents(path, print))
    assert "\n" not in str(caught.value)
    assert "Error:" not in str(caught.value)
