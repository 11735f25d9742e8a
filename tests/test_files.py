import gzip
import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.errors import InputError
from fabir.files import (
    locked,
    open_text,
    read_json,
    read_text,
    remove_partial,
    replacing,
    write_json,
    writing,
    writing_files,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_plain_and_gzipped_text_read_alike(tmp_path: Path) -> None:
    text = "café 東京\nsecond line\n"
    (tmp_path / "plain.txt").write_text(text, encoding="utf-8")
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "CAPITAL.TXT.GZ").write_bytes(gzip.compress(text.encode()))
    for name in ("plain.txt", "packed.txt.gz", "CAPITAL.TXT.GZ"):
        with open_text(tmp_path / name) as file:
            assert list(file) == ["café 東京\n", "second line\n"]
        with open_text(str(tmp_path / name)) as file:
            assert file.read() == text


@pytest.mark.parametrize("name", ["missing.txt", "missing.gz", "folder", "folder.gz"])
def test_what_cannot_be_opened_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    if "folder" in name:
        (tmp_path / name).mkdir()
    for read in (open_text, read_text):
        with pytest.raises(InputError, match=f"cannot read .*{name}: ") as raised:
            read(tmp_path / name)
        assert "\n" not in str(raised.value)


@given(text=st.text(st.characters(codec="utf-8")))
def test_a_text_is_read_with_its_line_ends_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "text.txt"
    path.write_bytes(text.encode())
    assert read_text(path) == text


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO("café\r\n".encode()), encoding="ascii")
    monkeypatch.setattr("sys.stdin", stdin)
    assert read_text("-") == "café\r\n"


def test_a_text_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress("café\r\n".encode()))
    assert read_text(path) == "café\r\n"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(InputError, match=r"text\.gz: damaged gzip file"):
        read_text(path)


def test_other_encodings_are_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("café".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.txt: not UTF-8 text \(byte 3"):
        read_text(path)


def test_a_file_appears_complete_in_folders_that_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file.txt"
    with replacing(path) as temporary:
        assert temporary.parent == path.parent
        temporary.write_text("half")
        assert not path.exists()
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert names(path.parent) == ["file.txt"]


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, InputError])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error("out of luck")

    with pytest.raises(error, match="out of luck"):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


def test_new_files_have_the_rights_that_files_usually_get(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "file.json", {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file.json"
    path.touch()
    path.chmod(mode)
    with replacing(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_text("new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


@pytest.mark.parametrize("there", [True, False])
def test_of_a_link_the_file_behind_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vault").mkdir()
    target, link = Path("vault", "file.json"), Path("link.json")
    link.symlink_to(target)
    if there:
        target.write_text("old")
        target.chmod(0o600)
    with writing(link):
        (Path("vault") / ".file.json.abcdefg_.partial").touch()
        with pytest.raises(InputError, match="another process is writing"), writing(target):
            pass
        write_json(link, {})
    with writing(link):
        pass
    assert link.is_symlink()
    assert json.loads(target.read_text()) == {}
    assert not there or stat.S_IMODE(target.stat().st_mode) == 0o600
    assert names(tmp_path) == ["link.json", "vault"]
    assert names(Path("vault")) == ["file.json"]


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file" / "inside.txt", tmp_path):
        with pytest.raises(InputError, match=f"cannot write {path}: "), replacing(path):
            raise AssertionError("work was begun")
    assert names(tmp_path) == ["file"]


def test_only_what_was_cut_short_is_removed(tmp_path: Path) -> None:
    kept = ["file.txt", ".hidden", "file.partial", ".gitignore"]
    for name in kept:
        (tmp_path / name).touch()
    with replacing(tmp_path / "file.txt") as temporary:
        (tmp_path / f"{temporary.name}").with_name(f".x{temporary.name}").touch()
    assert len(names(tmp_path)) == len(kept) + 1
    remove_partial(tmp_path)
    assert names(tmp_path) == sorted(kept)
    remove_partial(tmp_path / "missing")


def test_what_others_are_writing_in_a_folder_stays(tmp_path: Path) -> None:
    (tmp_path / ".film.mkv.partial").touch()  # another program's
    with writing(tmp_path / "rows.csv"), replacing(tmp_path / "rows.csv") as temporary:
        remove_partial(tmp_path)
        assert temporary.exists()
    assert names(tmp_path) == [".film.mkv.partial", "rows.csv"]
    left = (tmp_path / ".rows.csv.abcd_123.partial", tmp_path / ".rows.csv.lock")
    for path in left:  # of a killed process
        path.touch()
    remove_partial(tmp_path)
    assert names(tmp_path) == [".film.mkv.partial", "rows.csv"]


def test_lines_of_json_are_told_their_name(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"a": 1}\n{"a": 2}\n')
    with pytest.raises(InputError, match=r"line 2 .*: Extra data; .*, name the file \.jsonl$"):
        read_json(tmp_path / "rows.json")
    (tmp_path / "rows.json").write_text('{"a": 1}\n{]')
    with pytest.raises(InputError, match="Extra data; if each"):
        read_json(tmp_path / "rows.json")
    (tmp_path / "rows.json").write_text('{"a": 1}}')
    with pytest.raises(InputError, match=r"Extra data$"):
        read_json(tmp_path / "rows.json")


def test_json_is_written_for_people_too(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"text": "café", "scores": [1, 0.5]})
    assert json.loads(path.read_text(encoding="utf-8")) == {"text": "café", "scores": [1, 0.5]}
    assert "café" in path.read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8").endswith("\n")


HOLD = """
import sys
from fabir.files import locked
with locked(sys.argv[1]) as ours:
    print(ours, flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_one_processs_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        with locked(path) as ours:
            assert not ours
        holder.kill()
        with locked(path, wait=True) as ours:
            assert ours
    with locked(path) as ours:
        assert ours
    assert not path.exists()


def test_one_process_writes_a_file_or_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (Path("out.jsonl"), tmp_path / "run"):
        with writing(name):
            for same in (name, Path(os.path.relpath(name)), tmp_path / name):
                with pytest.raises(InputError, match="another process is writing"), writing(same):
                    pass
            with writing(Path("other")):
                pass
        with writing(name):
            pass
    assert not list(tmp_path.iterdir())


def test_files_are_written_by_one_process_if_all_can_be(tmp_path: Path) -> None:
    (tmp_path / ".a.json.abcdefg_.partial").touch()  # a killed process left it
    with pytest.raises(InputError, match="it is a folder"), writing_files(tmp_path / "a", tmp_path):
        raise AssertionError("work was begun")
    with writing_files(tmp_path / "a.json", None, tmp_path / "b.json"):
        for name in ("a.json", "b.json"):
            with (
                pytest.raises(InputError, match="another process is writing"),
                writing_files(tmp_path / name),
            ):
                pass
    assert not list(tmp_path.iterdir())


def test_a_lock_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"), locked(tmp_path):
        pass


def test_what_a_killed_process_left_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    left = [tmp_path / ".a.txt.abcdefg1.partial", tmp_path / "folder" / ".words.abcdefg2.partial"]
    others = [tmp_path / ".b.txt.abcdefg1.partial", tmp_path / "folder" / "words.partial"]
    for path in (*left, *others):
        path.write_text("")
    with writing(tmp_path / "a.txt"), writing(tmp_path / "folder"):
        pass
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in others)


def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no file but a device or a pipe"):
        write_json(tmp_path / "pipe", 1)
    assert (tmp_path / "pipe").is_fifo()


def test_one_file_is_not_two_outputs(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "a.json")
    for other in (tmp_path / "a.json", tmp_path / "link.json"):
        with (
            pytest.raises(InputError, match="two outputs are one file"),
            writing_files(tmp_path / "a.json", other),
        ):
            pass


def test_a_writer_leaves_that_of_a_longer_name_alone(tmp_path: Path) -> None:
    with replacing(tmp_path / "a.json.gz") as other:
        with writing(tmp_path / "a.json"):
            assert other.exists()
        other.write_text("whole")
    assert (tmp_path / "a.json.gz").read_text() == "whole"


def test_the_root_of_all_folders_is_no_name() -> None:
    with pytest.raises(InputError, match="cannot write /: name a folder in it"), writing("/"):
        pass
