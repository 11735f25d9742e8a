"""Files, folders, patterns and addresses become one list of files."""

import os
import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from fabir.bulk.inputs import check_ending, check_outside, find_inputs
from fabir.errors import InputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `parts` in the folder where the test runs."""
    monkeypatch.chdir(tmp_path)
    for name in ("b.csv", "a.jsonl", "c/d.parquet", "note.txt", "_temporary/x.csv", ".e.csv"):
        path = tmp_path / "parts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return Path("parts")


def names(*given: str | Path) -> list[str]:
    return [file.name for file in find_inputs(given)]


def test_a_folder_has_its_tables_in_order(folder: Path) -> None:
    assert names(folder) == ["parts/a.jsonl", "parts/b.csv", "parts/c/d.parquet"]


def test_files_of_this_machine_may_be_named_as_addresses(folder: Path) -> None:
    whole = folder.resolve()
    assert names(f"file://{whole}") == [
        str(whole / each) for each in ("a.jsonl", "b.csv", "c/d.parquet")
    ]
    assert names(f"file://{whole}/a.jsonl", f"local://{whole}/a.jsonl", folder / "a.jsonl") == [
        str(whole / "a.jsonl")
    ]
    with pytest.raises(InputError, match="would be one of the inputs of the next run"):
        check_outside([f"file://{whole}"], whole / "answers.csv")


def test_a_folder_that_cannot_be_read_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path).name in ("c", "_temporary"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError, match="cannot read parts/c: Permission denied"):
        names(folder)
    for pattern in ("parts/**/*.parquet", "parts/*/d.parquet", "p*/c/*"):
        with pytest.raises(
            InputError, match=r"cannot read parts/(c|_temporary): Permission denied"
        ):
            names(pattern)
    assert names("parts/*.csv") == ["parts/b.csv"]
    with pytest.raises(InputError, match="cannot read parts/c: Permission denied"):
        check_outside([folder], Path("out.csv"))
    (folder / "c").rename("c")
    assert names(folder) == ["parts/a.jsonl", "parts/b.csv"]


def test_folders_behind_links_are_read_once(folder: Path) -> None:
    Path("more/deep").mkdir(parents=True)
    Path("more/deep/e.csv").write_text("e")
    (folder / "linked").symlink_to("../more")
    (folder / "z").symlink_to("../more")
    (folder / "_hidden").symlink_to("../more")
    Path("more/back").symlink_to("../parts")
    assert names(folder) == [
        "parts/a.jsonl",
        "parts/b.csv",
        "parts/c/d.parquet",
        "parts/linked/deep/e.csv",
    ]
    for output in ("more/out.csv", "more/deep/new/out.csv", "parts/z/out.csv"):
        with pytest.raises(InputError, match="would be one of the inputs of the next run"):
            check_outside([folder], Path(output))


def test_a_pattern_has_its_matches_in_order(folder: Path) -> None:
    assert names("parts/*.*") == ["parts/a.jsonl", "parts/b.csv", "parts/note.txt"]
    assert names("parts/**/*.parquet", "parts/[ab]*", "parts/b.csv") == [
        "parts/c/d.parquet",
        "parts/a.jsonl",
        "parts/b.csv",
    ]
    assert names("parts/?") == ["parts/c/d.parquet"]
    (folder / "_x.csv").write_text("x")
    assert names("parts/*.csv") == ["parts/_x.csv", "parts/b.csv"]


def test_a_file_is_read_once_whatever_it_is_called(folder: Path) -> None:
    (folder / "link.csv").symlink_to("b.csv")
    same = "parts/b.csv", "./parts/b.csv", folder.resolve() / "b.csv", "parts/link.csv"
    assert names(*same) == ["parts/b.csv"]
    assert names("parts/c/../b.csv", "parts/*.csv") == ["parts/c/../b.csv"]
    assert names("parts", folder.resolve()) == names("parts")


def test_folders_may_be_columns(folder: Path) -> None:
    default = "__HIVE_DEFAULT_PARTITION__"
    for name in ("year=2024/month=02", f"year=2024/month={default}", "by=Ada%20L%3DB"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.csv").write_text("x")
    columns = [file.partition for file in find_inputs(["parts/*=*/**/*.csv"])]
    years = [{"year": "2024", "month": "02"}, {"year": "2024", "month": None}]
    assert columns == [{"by": "Ada L=B"}, *years]
    found = {file.name: file.partition for file in find_inputs([folder])}
    assert found["parts/year=2024/month=02/a.csv"] == years[0]
    assert found["parts/b.csv"] == {}


def test_a_file_may_look_like_a_pattern(folder: Path) -> None:
    (folder / "a[1].csv").write_text("x")
    assert names("parts/a[1].csv") == ["parts/a[1].csv"]


def test_the_state_of_a_file_changes_with_it(folder: Path) -> None:
    (before,) = find_inputs(["parts/b.csv"])
    assert find_inputs(["parts/b.csv"]) == [before]
    (folder / "b.csv").write_text("other")
    (after,) = find_inputs(["parts/b.csv"])
    assert (before.size, after.size) == (5, 5)
    assert before.state != after.state


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["no.csv"], "cannot read no.csv: No such file"),
        (["parts/*.tsv"], r"cannot read parts/\*.tsv: there is no such file"),
        (["-", "parts/b.csv"], "standard input .* name it alone"),
        ([], "there is nothing to read"),
    ],
)
def test_what_is_not_there_is_named(folder: Path, given: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        names(*given)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_named_pipe_is_refused(folder: Path) -> None:
    os.mkfifo("rows.jsonl")
    with pytest.raises(InputError, match=r"rows.jsonl is no file: give rows from a pipe as -"):
        names("rows.jsonl")


def test_a_folder_without_tables_is_refused(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"parts/empty has no \.jsonl, \.ndjson, \.csv"):
        names("parts/empty")


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("parts", "parts/out.csv"),
        ("parts", "parts/c/new/out.csv"),
        ("parts", "other/../parts/out.csv"),
        (".", "out.csv"),
        ("parts/*.csv", "parts/out.csv"),
        ("*/?.csv", "parts/o.csv"),
        ("parts/**/*.csv", "parts/out.csv"),
        ("parts/**/*.csv", "parts/c/new/out.csv"),
        ("parts/**", "parts/c/new/_out.csv"),
        ("parts/?", "parts/c/out.csv"),
        ("link/*.csv", "link/out.csv"),
        ("link/*.csv", "parts/out.csv"),
        ("parts/*.csv", "link/out.csv"),
        ("link/**/*.csv", "link/new/out.csv"),
        ("*/[[]a]/*.csv", "parts/[a]/out.csv"),
        ("brackets/*.csv", "brackets/out.csv"),
    ],
)
def test_an_output_among_the_inputs_is_refused(folder: Path, name: str, output: str) -> None:
    Path("link").symlink_to("parts")
    (folder / "[a]").mkdir()
    Path("brackets").symlink_to("parts/[a]")
    message = f"{re.escape(output)} would be one of the inputs of the next run"
    with pytest.raises(InputError, match=message):
        check_outside(["parts/b.csv", name], Path(output))


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("parts", "out.csv"),
        ("parts", "parts2/out.csv"),
        ("parts", "parts/_out/out.csv"),
        ("parts/*.csv", "parts/c/out.csv"),
        ("parts/*.csv", "parts/out.jsonl"),
        ("parts/**/*.csv", "out.csv"),
        ("parts/b.csv", "parts/out.csv"),
        ("parts/?", "parts/c/_out/out.csv"),
        ("parts/?", "parts/cc/out.csv"),
        ("memory://parts", "parts/out.csv"),
    ],
)
def test_an_output_beside_the_inputs_may_be_written(folder: Path, name: str, output: str) -> None:
    check_outside([name], Path(output))


@pytest.mark.parametrize("name", ["s.json", "s.json.gz", "s.JSON", "memory://s.csv.gz", "s.csv"])
def test_what_questions_are_read_from(name: str) -> None:
    check_ending(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("s.xlsx", "s.xlsx: questions are read from .*, and from SQuAD's .json"),
        ("memory://s.xlsx", "memory://s.xlsx: questions are read from "),
        ("file:///s.json", "file:///s.json: a SQuAD file is read from this machine only: copy it"),
    ],
)
def test_what_questions_are_not_read_from(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_ending(name)


class _Refuses(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(403 if "secret" in self.path else 404)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """A test prints nothing."""


def test_an_address_that_cannot_be_read_has_its_reason() -> None:
    pytest.importorskip("aiohttp")
    with HTTPServer(("127.0.0.1", 0), _Refuses) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        host = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(InputError, match=r"a\.csv: there is no such file"):
            names(f"{host}/a.csv")
        with pytest.raises(InputError, match="403"):
            names(f"{host}/secret.csv")
        server.shutdown()
    with pytest.raises(InputError, match=r"a\.csv: Connect call failed"):
        names(f"{host}/a.csv")


def test_addresses_are_files_folders_and_patterns(folder: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.put("parts", "/bucket", recursive=True)
    try:
        _check_addresses(memory)
    finally:
        memory.store.clear()


def _check_addresses(memory: Any) -> None:
    assert names("memory://bucket/b.csv") == ["memory://bucket/b.csv"]
    below = ["a.jsonl", "b.csv", "c/d.parquet"]
    assert names("memory://bucket") == [f"memory:///bucket/{name}" for name in below]
    assert names("memory://bucket/*.csv")[-1:] == ["memory:///bucket/b.csv"]
    assert names("memory://bucket/b.csv", "memory:///bucket/b.csv") == ["memory://bucket/b.csv"]
    memory.pipe("/bucket/n=1/b.csv", b"other")
    assert find_inputs(["memory://bucket/n=1"])[0].partition == {"n": "1"}
    memory.rm("/bucket/n=1", recursive=True)
    for address in ("memory://bucket/no.csv", "memory://bucket/*.tsv"):
        with pytest.raises(InputError, match="there is no such file"):
            names(address)
    (before,) = find_inputs(["memory://bucket/b.csv"])
    assert before.size == 5
    assert find_inputs(["memory://bucket/b.csv"]) == [before]
    memory.pipe("/bucket/b.csv", b"other")
    assert find_inputs(["memory://bucket/b.csv"])[0].state != before.state
