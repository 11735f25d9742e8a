"""Every command that writes, on a disk that gets full: one line, each file is as it was or as it
will be, and with more room the next run ends as one undisturbed."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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


class Prepared(NamedTuple):
    """A command, and folders: its inputs, its own before it and after it."""

    name: str
    writer: Writer
    data: Path
    before: Path
    whole: Path

    def run(self, here: Path, most_bytes: int | None = None) -> Done:
        return run(self.writer.arguments(self.data, here), here, most_bytes=most_bytes)


def check(prepared: Prepared, done: Done, here: Path) -> bool:
    """Whether the disk was full; then it is said, and no file is half written."""
    if done.code == 0:
        return False
    last = done.said.splitlines()[-1]
    assert done.code == 2, done.said
    assert "Traceback" not in done.said
    assert last.startswith("fabir ")
    assert any(reason in last for reason in REASONS), last
    old, new, found = map(contents, (prepared.before, prepared.whole, here))
    assert found.keys() >= old.keys()
    if prepared.name in RESUMED:
        assert not any(Path(each).name.startswith(".") for each in found)
    else:
        assert all(content in (old.get(each), new.get(each)) for each, content in found.items())
    return True


@pytest.fixture(scope="module", params=WRITERS if ROUNDS else QUICK)
def prepared(
    request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Prepared:
    folder = tmp_path_factory.mktemp("prepared")
    made = Prepared(
        request.param, WRITERS[request.param], data, folder / "before", folder / "whole"
    )
    made.writer.prepare(data, made.before)
    shutil.copytree(made.before, made.whole)
    done = made.run(made.whole)
    assert done.code == 0, done.said
    return made


@pytest.mark.slow
def test_a_file_that_cannot_grow(prepared: Prepared, tmp_path: Path) -> None:
    largest = max(path.stat().st_size for path in prepared.whole.rglob("*"))
    full = 0
    for size in sizes(0, largest):
        here = tmp_path / f"{size}"
        shutil.copytree(prepared.before, here)
        full += check(prepared, prepared.run(here, most_bytes=size), here)
        last = prepared.run(here)
        assert last.code == 0, last.said
        assert contents(here) == contents(prepared.whole)
        shutil.rmtree(here)
    assert full


@pytest.mark.slow
def test_a_full_disk(prepared: Prepared, tmp_path: Path) -> None:
    place, full = tmp_path / "disk", 0
    here, least = place / "here", BLOCK + blocks(prepared.before)
    for size in sizes(least, least + blocks(prepared.whole)):
        with disk(place, size) as enlarge:
            (place / "other").write_bytes(b"a" * BLOCK)
            shutil.copytree(prepared.before, here)
            full += check(prepared, prepared.run(here), here)
            enlarge()
            last = prepared.run(here)
            assert last.code == 0, last.said
            assert contents(here) == contents(prepared.whole)
        place.rmdir()
    assert full
