"""An index on disk: immutable generations, each a folder, and a file that names the current one.

A new generation is complete and on disk before the file names it. An opened index is therefore the
old generation or the new one, even if the writing process is killed at any moment.

The file also has the checksum of the generation's list of checksums, and that has those of all its
files. So damage is found, and files of another index.
"""

import hashlib
import json
import mmap
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabir.errors import InputError
from fabir.files import locked, remove_partial, replacing
from fabir.search.postings import read_postings

FORMAT = 4
_POINTER, _LOCK, _GENERATION, _CHECKSUMS = "current", ".lock", "generation-", "checksums.json"
_NAMED = re.compile(rf"{_GENERATION}\d+(?: [0-9a-f]{{64}})?\s*")  # what the pointer says
# Files of a generation, and one while it is made.
_OF_GENERATION = re.compile(
    r".*\.npy|.*\.index\.json|manifest\.json|checksums\.json|texts\.utf8|tokens\.raw"
)
_WHOLE = 256 << 20  # bytes of an index whose files are verified as a whole
_ENDS = 1 << 20  # bytes at the beginning and end of a file that are verified otherwise
_DAMAGED = "is damaged, or of another index: build the index again"
DOCUMENT = np.dtype(
    [
        ("file", np.int32),
        ("line", np.int32),  # -1: none
        ("lines_run_on", np.bool_),
        ("title_terms", np.int32),  # number of title terms, which precede each passage's own terms
        ("passages", np.int64),  # number of its first passage, page and heading
        ("pages", np.int64),
        ("headings", np.int64),
        ("part", np.int64),  # byte offsets in texts.utf8 at which each begins
        ("title", np.int64),
        ("text", np.int64),
        ("end", np.int64),
    ]
)
PASSAGE = np.dtype(
    [
        ("document", np.int32),
        ("line", np.int32),  # -1: none
        ("start", np.int64),  # characters of the document
        ("end", np.int64),
        ("first", np.int64),  # bytes of texts.utf8
        ("last", np.int64),
        ("token", np.int64),  # number of its first term
    ]
)
PAGE = np.dtype(np.int64)  # character of the document at which it begins
HEADING = np.dtype(
    [
        ("start", np.int64),  # character of the document
        ("first", np.int64),  # bytes of texts.utf8
        ("last", np.int64),
    ]
)

TABLES = {"documents": DOCUMENT, "passages": PASSAGE, "pages": PAGE, "headings": HEADING}


class Settings(NamedTuple):
    """What all generations of an index have in common: see `Index.build`.

    stemmed: whether words are compared by their stems
    """

    size: int
    language: str
    stemmed: bool


class Generation:
    """One state of an index, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
        if self.manifest["format"] != FORMAT:
            raise InputError(f"the index {folder.parent} is of another version: build it again")
        self.documents, self.passages, self.pages, self.headings, self.tokens = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
            for name in (*TABLES, "tokens")
        )
        self.bm25 = read_postings(folder)
        with open(folder / "texts.utf8", "rb") as file:
            # An empty file cannot be mapped.
            size = os.fstat(file.fileno()).st_size
            self.texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""

    @property
    def settings(self) -> Settings:
        return Settings(*(self.manifest[name] for name in Settings._fields))

    @cached_property
    def passage_tokens(self) -> np.ndarray:
        """Offset of each passage's first term, and the end of the last passage's terms."""
        return np.append(self.passages["token"], len(self.tokens))

    def rows(self, table: str, begin: int, end: int) -> slice:
        """The rows of `table` that belong to the documents `begin` to `end`, half-open."""
        all_rows = len(getattr(self, table))
        if table == "documents":
            return slice(begin, end)
        first = self.documents[table]
        edges = [int(first[at]) if at < len(first) else all_rows for at in (begin, end)]
        return slice(*edges)

    @cached_property
    def file_documents(self) -> np.ndarray:
        """Offset of each file's first document, and the end of the last file's documents."""
        counts = [file["documents"] for file in self.manifest["files"]]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def text(self, begin: int, end: int) -> str:
        return self.texts[begin:end].decode()


def open_generation(folder: Path) -> Generation:
    """Open the newest complete generation.

    Raises:
        InputError: there is no index in the folder, or it cannot be read.
    """
    reason = "none is complete"
    for _ in range(5):  # another process may replace the generation between the two steps
        try:
            name, checksum = _pointer(folder)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"no index in {folder}: make one with fabir index") from error
        try:
            _verify(folder / name, checksum)
            return Generation(folder / name)
        except InputError:
            raise
        except Exception as error:  # whatever parsers raise
            reason = " ".join(str(error).split())[:300]
    raise InputError(f"the index in {folder} is damaged ({reason}): build it again")


def pointer_state(folder: Path) -> tuple[int, int] | None:
    """Changes with each new generation; None if there is no index."""
    try:
        state = (folder / _POINTER).stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_ino


def is_index(folder: Path) -> bool:
    """Whether a folder has an index, and not another program's file of the pointer's name."""
    try:
        return _NAMED.fullmatch((folder / _POINTER).read_text("utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


@contextmanager
def new_generation(folder: Path) -> Iterator[Path]:
    """Yield an empty folder. On success it becomes the index's only generation.

    Raises:
        InputError: the folder cannot be written, has other files, or another process is writing
            the index.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"cannot write {folder}: it is a file")
    if folder.exists() and not is_index(folder) and any(map(_foreign, folder.iterdir())):
        raise InputError(f"{folder} is no index and not empty: choose another folder")
    began = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / _LOCK) as acquired:
            if not acquired:
                raise InputError(f"another process is writing the index {folder}")
            _remove_old(folder)
            numbers = [int(path.name.removeprefix(_GENERATION)) for path in _generations(folder)]
            names = (f"{_GENERATION}{number}" for number in count(max(numbers, default=0) + 1))
            made = next(path for name in names if not (path := folder / name).exists())
            made.mkdir()
            try:
                yield made
                checksum = _seal(made)
                _flush(made)
                with replacing(folder / _POINTER) as pointer:
                    pointer.write_text(f"{made.name} {checksum}\n", "utf-8")
                _flush_folder(folder)
            finally:
                _remove_old(folder)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        if began:
            with suppress(OSError):  # it has an index
                folder.rmdir()


def _foreign(path: Path) -> bool:
    return not (_is_generation(path) or path.name.startswith((_LOCK, f".{_POINTER}")))


def _is_generation(path: Path) -> bool:
    """Whether a folder has the name and the files of a generation, which may be incomplete."""
    number = path.name.removeprefix(_GENERATION)
    if number == path.name or not number.isdecimal() or not path.is_dir():
        return False
    return all(_OF_GENERATION.fullmatch(each.name) for each in path.iterdir())


def _generations(folder: Path) -> list[Path]:
    return [path for path in folder.glob(f"{_GENERATION}*") if _is_generation(path)]


def _remove_old(folder: Path) -> None:
    """Remove older generations, and the remains of killed processes."""
    remove_partial(folder)
    named = _pointer(folder)[0] if is_index(folder) else ""
    for path in _generations(folder):
        if path.name != named:
            shutil.rmtree(path, ignore_errors=True)


def _pointer(folder: Path) -> tuple[str, str]:
    """The name of the current generation, and the checksum of its list of checksums."""
    name, checksum, *_ = [*(folder / _POINTER).read_text("utf-8").split(), "", ""]
    return Path(name).name, checksum


def _seal(folder: Path) -> str:
    """Write the list of checksums of a generation's files; returns its own checksum."""
    paths = sorted(folder.iterdir())
    whole = sum(path.stat().st_size for path in paths) <= _WHOLE
    sums = {path.name: [path.stat().st_size, _checksum(path, whole)] for path in paths}
    (folder / _CHECKSUMS).write_text(json.dumps({"whole": whole, "files": sums}), "utf-8")
    return _checksum(folder / _CHECKSUMS, True)


def _verify(folder: Path, checksum: str) -> None:
    """Raise an InputError that names a file which is damaged or of another index."""
    path = folder / _CHECKSUMS
    if checksum and not path.exists() and folder.exists():
        raise InputError(f"cannot read {path}: it is missing; build the index again")
    if not checksum:
        raise InputError(f"the index {folder.parent} is of another version: build it again")
    if _checksum(path, True) != checksum:
        raise InputError(f"{path} {_DAMAGED}")
    said = json.loads(path.read_text("utf-8"))
    for name, (size, expected) in said["files"].items():
        path = folder / name
        if path.stat().st_size != size or _checksum(path, said["whole"]) != expected:
            raise InputError(f"{path} {_DAMAGED}")


def _checksum(path: Path, whole: bool) -> str:
    """SHA-256 of a file, or of its beginning and end."""
    with open(path, "rb") as file:
        if whole:
            return hashlib.file_digest(file, "sha256").hexdigest()
        begin = file.read(_ENDS)
        file.seek(max(0, path.stat().st_size - _ENDS))
        return hashlib.sha256(begin + file.read()).hexdigest()


def _flush(folder: Path) -> None:
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
    _flush_folder(folder)


def _flush_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
