"""The source files of an index: finding them, and detecting changes."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fabir.errors import InputError
from fabir.search.documents import Skip, check_kind, is_document, printable

_SETTLED = 2 * 10**9  # nanoseconds; a later change certainly gives another modification time


@dataclass(frozen=True, slots=True)
class File:
    """A file's state. `changed` is its modification time in nanoseconds; -1 if it is too recent."""

    path: str
    size: int
    changed: int
    digest: str
    documents: int = 0


def find_files(roots: list[Path], leave_out: Path, skip: Skip) -> list[Path]:
    """The documents at and below `roots`, without duplicates, sorted.

    Hidden files, links and files of other kinds in folders are left out.

    Raises:
        InputError: a root is missing, or is a file of an unknown kind.
    """
    found: set[Path] = set()
    for root in roots:
        if root.is_dir():
            found.update(_walk(root, leave_out, skip))
        elif root.is_file():
            check_kind(root)
            found.add(root)
        else:
            raise InputError(f"cannot read {printable(root)}: no such file or folder")
    return sorted(found)


def _walk(root: Path, leave_out: Path, skip: Skip) -> Iterator[Path]:
    def warn(error: OSError) -> None:
        skip(f"cannot read {printable(error.filename)}: {error.strerror}")

    for folder, folders, names in os.walk(root, onerror=warn):
        here = Path(folder)
        folders[:] = [name for name in folders if name[0] != "." and here / name != leave_out]
        for path in (here / name for name in names if name[0] != "."):
            if is_document(path) and stat.S_ISREG(path.lstat().st_mode):
                yield path


def stat_file(path: Path, previous: File | None) -> File:
    """The current state of a file. Its content is read only if size or time differ from `previous`.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        now = path.stat()
        if previous and (now.st_size, now.st_mtime_ns) == (previous.size, previous.changed):
            return previous
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except OSError as error:
        raise InputError(f"cannot read {printable(path)}: {error.strerror or error}") from error
    settled = time.time_ns() - now.st_mtime_ns > _SETTLED
    changed = now.st_mtime_ns if settled else -1
    if previous and digest == previous.digest:
        return replace(previous, size=now.st_size, changed=changed)
    return File(str(path), now.st_size, changed, digest)


def short_names(files: list[File]) -> list[str]:
    """Paths relative to the common folder of all files."""
    base = os.path.commonpath([os.path.dirname(file.path) for file in files])
    return [Path(os.path.relpath(file.path, base)).as_posix() for file in files]
