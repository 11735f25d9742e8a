"""Files read in a process of its own: whatever happens there is one line that names the file."""

import json
import os
import time
from pathlib import Path

import pytest

from fabir.documents.base import Document
from fabir.documents.process import DocumentReader
from fabir.documents.reading import read_documents
from fabir.errors import InputError

# What a parser of another package may do.
HANGS = "import time; time.sleep(60)"
CRASHES = "import os; os.abort()"
FILLS_MEMORY = "all_of_it = b'1' * (3 << 30)"
ENDS_EARLY = """
import os
for number in range(3, 9):  # one of them leads to the process that reads
    try:
        os.write(number, b'["document", {')
    except OSError:
        pass
os.kill(os.getpid(), 9)
"""
PRINTS = "print('hello'); import os; os.write(1, b'[1]'); raise ValueError('broken')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("The mill was built in 1902.\n", "utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "Caf\\u00e9 \\ud800"}\n{\n{"text": "2"}\n', "utf-8")
    (tmp_path / "c.md").write_text("# Kites\n\nThey fly.\n", "utf-8")
    (tmp_path / "c.parquet").touch()
    return tmp_path


def use_parser(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Have `.parquet` files read by another library."""
    (folder / "pyarrow").mkdir()
    (folder / "pyarrow" / "__init__.py").touch()
    (folder / "pyarrow" / "parquet.py").write_text(code)
    monkeypatch.syspath_prepend(folder)


def read_all(reader: DocumentReader, path: Path) -> tuple[list[Document], list[str]]:
    skipped: list[str] = []
    return list(reader.read(path, skipped.append)), skipped


def test_documents_and_losses_are_those_of_the_same_process(folder: Path) -> None:
    with DocumentReader() as reader:
        for name in ("a.txt", "b.jsonl", "c.md", "a.txt"):
            skipped: list[str] = []
            expected = list(read_documents(folder / name, skipped.append))
            assert read_all(reader, folder / name) == (expected, skipped)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (HANGS, "takes more than 2 seconds"),
        (CRASHES, "ended (SIGABRT)"),
        (ENDS_EARLY, "ended (SIGKILL)"),
        (FILLS_MEMORY, "too much memory"),
        (PRINTS, "ValueError: broken"),
    ],
)
def test_a_parser_that_fails_costs_its_file_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    use_parser(folder, monkeypatch, code)
    began = time.monotonic()
    with DocumentReader(seconds=2) as reader:
        with pytest.raises(InputError) as caught:
            read_all(reader, folder / "c.parquet")
        [after], _ = read_all(reader, folder / "a.txt")
    assert after.text == "The mill was built in 1902.\n"
    assert reason in str(caught.value)
    assert "c.parquet" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 20


def test_a_file_that_is_not_read_to_its_end_leaves_nothing_to_the_next(folder: Path) -> None:
    rows = "".join(json.dumps({"text": f"row {number}"}) + "\n" for number in range(5_000))
    (folder / "many.jsonl").write_text(rows)
    with DocumentReader() as reader:
        first = next(reader.read(folder / "many.jsonl", print))
        [after], _ = read_all(reader, folder / "a.txt")
        assert (first.text, after.title) == ("row 0", "a")
        assert len(read_all(reader, folder / "many.jsonl")[0]) == 5_000


def test_a_name_that_is_not_text_is_read(folder: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt"))
    try:
        path.write_text("It rains.")
    except OSError:
        pytest.skip("names must be UTF-8 here")
    with DocumentReader() as reader:
        [document], _ = read_all(reader, path)
    assert document.text == "It rains."
