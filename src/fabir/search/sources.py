"""The files that an index is made of: found, and compared with how they were."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fabir.errors import InputError
from fabir.search.documents import Skip, check_kind, is_document, printable

_SETTLED = 2 * 10**9  # nanoseconds after which a file that is changed surely has another time


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was read. `changed` is in nanoseconds; -1 if too recent to be relied on."""

    path: str
    size: int
    changed: int
    digest: str
    documents: int = 0


def find_files(roots: list[Path], leave_out: Path, skip: Skip) -> list[Path]:
    """The documents at and below `roots`, each once, sorted.

    Of folders hidden files, links and files of other kinds are left out.

    Raises:
        InputError: a root is missing, or a file of an unknown kind.
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
    def complain(error: OSError) -> None:
        skip(f"cannot read {printable(error.filename)}: {error.strerror}")

    for folder, folders, names in os.walk(root, onerror=complain):
        here = Path(folder)
        folders[:] = [name for name in folders if name[0] != "." and here / name != leave_out]
        for path in (here / name for name in names if name[0] != "."):
            if is_document(path) and stat.S_ISREG(path.lstat().st_mode):
                yield path


def look(path: Path, known: File | None) -> File:
    """The file as it is now; it is read only if size or time differ from `known`.

    Raises:
        InputError: it cannot be read.
    """
    try:
        now = path.stat()
        if known and (now.st_size, now.st_mtime_ns) == (known.size, known.changed):
            return known
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except OSError as error:
        raise InputError(f"cannot read {printable(path)}: {error.strerror or error}") from error
    settled = time.time_ns() - now.st_mtime_ns > _SETTLED
    changed = now.st_mtime_ns if settled else -1
    if known and digest == known.digest:
        return replace(known, size=now.st_size, changed=changed)
    return File(str(path), now.st_size, changed, digest)


def short_names(files: list[File]) -> list[str]:
    """Paths relative to the folder that all files share."""
    base = os.path.commonpath([os.path.dirname(file.path) for file in files])
    return [Path(os.path.relpath(file.path, base)).as_posix() for file in files]
