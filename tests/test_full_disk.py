"""Every command that writes, on a disk that gets full: one line, each file is as it was or as it
will be, and with more room the next run ends as one undisturbed."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from writers import ROUNDS, WRITERS, Done, Writer, contents, run, write_inputs

QUICK = "index --update", "predict a.csv.gz", "train"
QUICK_SIZES = 2
BLOCK = 4096  # bytes
REASONS = "File too large", "No space left on device", "No usable temporary directory"
RESUMED = {"predict a.jsonl", "predict a.csv.gz", "predict a.parquet", "train"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writers") / "data"
    write_inputs(folder)
    return folder


@contextmanager
def disk(folder: Path, size: int) -> Iterator[Callable[[], object]]:
    """A disk of `size` bytes in a folder; yields a function that makes it large."""

    def mount(*options: str) -> bool:
        command = ["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)]
        return subprocess.run(command, capture_output=True).returncode == 0

    folder.mkdir()
    if not mount("-o", f"size={size}"):
        pytest.skip("only root may mount a disk")
    try:
        yield lambda: mount("-o", "remount,size=1g")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def blocks(folder: Path) -> int:
    """The bytes that a disk needs for the files of a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(BLOCK * -(-path.stat().st_size // BLOCK) for path in files)


def sizes(least: int, most: int) -> list[int]:
    """Sizes from `least` to below `most`."""
    count = ROUNDS or QUICK_SIZES
    return [least + (most - least) * number // count for number in range(count)]


def check(name: str, done: Done, here: Path, before: Path, whole: Path) -> bool:
    """Whether the disk was full; then it is said, and no file is half written."""
    if done.code == 0:
        return False
    last = done.said.splitlines()[-1]
    assert done.code == 2, done.said
    assert "Traceback" not in done.said
    assert last.startswith("fabir ")
    assert any(reason in last for reason in REASONS), last
    old, new, found = contents(before), contents(whole), contents(here)
    assert found.keys() >= old.keys()
    if name in RESUMED:
        assert not any(Path(each).name.startswith(".") for each in found)
    else:
        assert all(content in (old.get(each), new.get(each)) for each, content in found.items())
    return True


@pytest.fixture
def prepared(name: str, data: Path, tmp_path: Path) -> tuple[Writer, Path, Path]:
    """A command, the folder before it, and after it."""
    writer, before, whole = WRITERS[name], tmp_path / "before", tmp_path / "whole"
    writer.prepare(data, before)
    shutil.copytree(before, whole)
    done = run(writer.arguments(data, whole), whole)
    assert done.code == 0, done.said
    return writer, before, whole


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS if ROUNDS else QUICK)
def test_a_file_that_cannot_grow(
    name: str, prepared: tuple[Writer, Path, Path], data: Path, tmp_path: Path
) -> None:
    writer, before, whole = prepared
    largest = max(path.stat().st_size for path in whole.rglob("*"))
    full = 0
    for size in sizes(0, largest):
        here = tmp_path / f"{size}"
        shutil.copytree(before, here)
        done = run(writer.arguments(data, here), here, most_bytes=size)
        full += check(name, done, here, before, whole)
        last = run(writer.arguments(data, here), here)
        assert last.code == 0, last.said
        assert contents(here) == contents(whole)
        shutil.rmtree(here)
    assert full


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS if ROUNDS else QUICK)
def test_a_full_disk(
    name: str, prepared: tuple[Writer, Path, Path], data: Path, tmp_path: Path
) -> None:
    writer, before, whole = prepared
    place, full = tmp_path / "disk", 0
    here, least = place / "here", BLOCK + blocks(before)
    for size in sizes(least, least + blocks(whole)):
        with disk(place, size) as enlarge:
            (place / "other").write_bytes(b"a" * BLOCK)
            shutil.copytree(before, here)
            done = run(writer.arguments(data, here), here)
            full += check(name, done, here, before, whole)
            enlarge()
            last = run(writer.arguments(data, here), here)
            assert last.code == 0, last.said
            assert contents(here) == contents(whole)
        place.rmdir()
    assert full
