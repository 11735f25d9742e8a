"""A large list is read one item at a time, wherever its file is divided."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data import json_items
from fabir.data.json_items import read_end, read_items
from fabir.errors import InputError

KEYS = ("Data", "data")
values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("items") / "items.json"


@given(st.lists(values, max_size=5), st.sampled_from([None, 1]), st.integers(1, 40), st.booleans())
def test_items_are_those_of_the_document(
    path: Path, items: list[Any], indent: int | None, at_once: int, is_object: bool
) -> None:
    document = {"Version": 1.25, "n": {"data": 3}, "Data": items, "x": [1]} if is_object else items
    path.write_text(json.dumps(document, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_items, "_AT_ONCE", at_once)
        assert [item for item, _ in read_items(path, KEYS)] == items


@pytest.mark.parametrize("name", ["items.json.gz", "ITEMS.JSON.GZ"])
def test_a_gzipped_file_is_read_with_the_share_that_is_done(tmp_path: Path, name: str) -> None:
    packed = tmp_path / name
    packed.write_bytes(gzip.compress(b'\xef\xbb\xbf{"data": [1, {"a": 2}]}'))
    items = list(read_items(packed, KEYS))
    assert [item for item, _ in items] == [1, {"a": 2}]
    assert all(0 < share <= 1 for _, share in items)


def test_memory_is_that_of_an_item_and_not_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps([{"text": "rain " * 2000}] * 2000))  # 20 MB
    tracemalloc.start()
    count = sum(1 for _ in read_items(path, KEYS))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 2000
    assert most < 6 << 20


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "not valid JSON at its beginning: expected '{', got 'the end of the file'"),
        ("7", "not valid JSON at its beginning: expected '{', got '7'"),
        ('{"version": 1}', "no list 'Data' or 'data'"),
        ('{"data": {}}', r"at its beginning: expected '\[', got '{'"),
        ('[{"a": 1}, {"a": 2]', "not valid JSON after record 1: Expecting ',' delimiter"),
        ('[{"a": 1} {"a": 2}]', "not valid JSON after record 1: expected ',', got '{'"),
        ('[{"a": 1}, {"a": "2', "not valid JSON after record 1: Unterminated string"),
        ('[{"a": 1}', "not valid JSON at its beginning: it is cut off"),
        ('[{"a": 1},', "not valid JSON after record 1: Expecting value"),
        (f"[{'[' * 100_000}", "not valid JSON at its beginning: "),
    ],
)
def test_what_is_not_json_is_said_in_a_line(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "items.json"
    path.write_text(content)
    with pytest.raises(InputError, match=problem) as raised:
        list(read_items(path, KEYS))
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.json: No such file"):
        list(read_items(tmp_path / "none.json", KEYS))
    latin, cut = tmp_path / "latin.json", tmp_path / "cut.json.gz"
    latin.write_bytes('["café"]'.encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.json: not UTF-8 text"):
        list(read_items(latin, KEYS))
    cut.write_bytes(gzip.compress(json.dumps(list(range(9000))).encode())[:-2000])
    with pytest.raises(InputError, match=r"cut\.json\.gz: damaged gzip file"):
        list(read_items(cut, KEYS))
    with pytest.raises(InputError, match=r"cut\.json\.gz: damaged gzip file"):
        read_end(cut, 10)


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_the_end_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(json_items, "_AT_ONCE", at_once)
    path = tmp_path / "text"
    path.write_text("a long text")
    assert read_end(path, 4) == "text"
    assert read_end(path, 400) == "a long text"
