"""The source files of an index: finding them, and detecting changes."""

import hashlib
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from fabir.documents.reading import Skip, check_kind, is_document
from fabir.errors import InputError
from fabir.search.storage import is_index
from fabir.terminal import printable

_LEFT_OUT = ".", "~$"  # hidden files, among them LibreOffice's locks; Microsoft Office's locks
_SETTLED = 2 * 10**9  # nanoseconds; a later change certainly gives another modification time


@dataclass(frozen=True, slots=True)
class File:
    """A file's state. `changed` is its modification time in nanoseconds; -1 if it is too recent.
    `lost` says what of it could not be read."""

    path: str
    size: int
    changed: int
    digest: str
    documents: int = 0
    lost: Sequence[str] = ()


class Found(NamedTuple):
    """The documents at and below some folders, without duplicates, sorted.

    unreadable: folders that cannot be listed
    others: how many files of other kinds there are, by suffix
    """

    files: list[Path]
    unreadable: list[Path]
    others: Counter[str]


def find_files(roots: list[Path], leave_out: Path, skip: Skip) -> Found:
    """The documents at and below `roots`.

    Hidden files, links, lock files of office programs, files of other kinds and indexes in folders
    are left out.

    Raises:
        InputError: a root is missing or cannot be reached, or is a file of an unknown kind.
    """
    found: set[Path] = set()
    unreadable: list[Path] = []
    others: set[Path] = set()

    def warn(error: OSError) -> None:
        unreadable.append(Path(error.filename))
        skip(f"cannot read {printable(error.filename)}: {error.strerror}")

    for root in roots:
        kind = _kind(root)
        if stat.S_ISDIR(kind):
            for path in _walk(root, leave_out, warn):
                (found if is_document(path) else others).add(path)
        elif stat.S_ISREG(kind):
            check_kind(root)
            found.add(root)
        else:
            raise InputError(f"cannot read {printable(root)}: no such file or folder")
    kinds = Counter(printable(path.suffix.lower()) or "without a suffix" for path in others)
    return Found(sorted(found), unreadable, kinds)


def _kind(root: Path) -> int:
    """The mode of a file or folder, with its kind; 0 if there is none."""
    try:
        return root.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        raise InputError(f"cannot read {printable(root)}: {error.strerror or error}") from error


def _walk(root: Path, leave_out: Path, warn: Callable[[OSError], None]) -> Iterator[Path]:
    """Regular files that are neither hidden nor lock files, of any kind."""
    for folder, folders, names in os.walk(root, onerror=warn):
        here = Path(folder)
        folders[:] = [
            name
            for name in folders
            if name[0] != "." and here / name != leave_out and not is_index(here / name)
        ]
        for path in (here / name for name in names if not name.startswith(_LEFT_OUT)):
            try:
                regular = stat.S_ISREG(path.lstat().st_mode)
            except OSError as error:  # it has vanished since
                warn(error)
                continue
            if regular:
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
    base = os.path.commonpath([os.path.dirname(file.path) for file in files] or [os.sep])
    return [Path(os.path.relpath(file.path, base)).as_posix() for file in files]
