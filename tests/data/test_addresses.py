"""Files at addresses are read as those of this machine; what goes wrong is one line."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabir.data.addresses import file_system, is_address, open_file, reading, size_of
from fabir.data.tables import read_table, write_table
from fabir.errors import InputError

ROWS = [{"a": "x", "b": "1"}, {"a": "é", "b": "2"}]


@pytest.fixture
def memory() -> Any:
    """A file system in memory."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    yield system
    system.store.clear()


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.tsv.gz", "t.parquet"])
def test_a_table_at_an_address_is_read(tmp_path: Path, memory: Any, name: str) -> None:
    if name == "t.parquet":
        pytest.importorskip("pyarrow")
    write_table(tmp_path / name, ROWS, {"a": str, "b": str})
    memory.pipe(f"/folder/{name}", (tmp_path / name).read_bytes())
    rows = list(read_table(f"memory://folder/{name}"))
    assert [row.row for row in rows] == ROWS
    assert rows[-1].share == 1
    assert size_of(f"memory://folder/{name}") == (tmp_path / name).stat().st_size


def test_lines_of_standard_input_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.BytesIO(b'{"a": 1}\n\n{"a": 2}\n')
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=given))
    assert [(row.number, row.row, row.share) for row in read_table("-")] == [
        (1, {"a": 1}, 0),
        (3, {"a": 2}, 0),
    ]
    assert not given.closed


def test_what_goes_wrong_is_one_line(memory: Any) -> None:
    for address, message in (
        ("memory://no.csv", "cannot read memory://no.csv"),
        ("nowhere://t.csv", "nowhere://t.csv: Protocol not known"),
    ):
        with pytest.raises(InputError, match=message), open_file(address):
            pass
    with pytest.raises(InputError) as caught, reading("memory://t.csv"):
        raise LookupError("no such\nbucket")
    assert str(caught.value) == "cannot read memory://t.csv: LookupError: no such bucket"
    with pytest.raises(LookupError), reading("t.csv"):  # a mistake of ours, not of an address
        raise LookupError


def test_packages_for_addresses_are_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(InputError, match=r"s3fs.*: pip install 'fabir\[s3\]'"):
        file_system("s3://bucket/t.csv")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"gs:// needs fsspec: pip install 'fabir\[gs\]'"):
        file_system("gs://bucket/t.csv")


def test_paths_are_no_addresses() -> None:
    assert is_address("s3://bucket/t.csv")
    for path in ("t.csv", "/a/b::c.csv", r"C:\t.csv", Path("s3:/bucket")):
        assert not is_address(path)
