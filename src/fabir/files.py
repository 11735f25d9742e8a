"""Reading plain or gzipped text, and writing files so that a crash never leaves half of one."""

import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fabir.errors import InputError

_PARTIAL = ".partial"


def open_text(
    path: str | Path, *, errors: str | None = None, newline: str | None = None
) -> IO[str]:
    """Open a UTF-8 text file for reading; `.gz` is decompressed on the way.

    `errors` and `newline` are those of Python's `open`.

    Raises:
        InputError: the file is missing, a folder, or not readable.
    """
    path = Path(path)
    try:
        if path.suffix == ".gz":
            return gzip.open(path, "rt", encoding="utf-8", errors=errors, newline=newline)
        return open(path, encoding="utf-8", errors=errors, newline=newline)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def check_output(path: str | Path) -> None:
    """Find out before long work whether a file can be written into `path`.

    Raises:
        InputError: it is a folder, or its folder cannot be made.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    there = next(parent for parent in path.absolute().parents if parent.exists())
    if not there.is_dir():
        raise InputError(f"cannot write {path}: {there} is not a folder")


def cache_folder(kind: str) -> Path:
    """Where what can be made anew is kept: in `$XDG_CACHE_HOME`, by default `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fabir" / kind


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is flushed to disk and takes its name.

    On an exception the temporary file is removed and `path` stays as it was. Only a process that
    is killed leaves it behind, see `remove_partial`.
    """
    path = Path(path)
    check_output(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(_PARTIAL, f".{path.name}.", path.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def locked(path: str | Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a lock on a file, made if it is not there; yields whether this process has got it.

    It ends with the process that holds it. On Windows everybody gets it.

    Args:
        wait: until it is free
    """
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        yield True
        return
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            ours = True
        except BlockingIOError:
            ours = False
        except OSError as error:  # some network drives
            raise InputError(f"cannot lock {path}: {error.strerror or error}") from error
        yield ours


def remove_partial(folder: str | Path) -> None:
    """Remove what killed processes were writing into `folder`; none may be writing there now."""
    for path in Path(folder).glob(f".*{_PARTIAL}"):
        path.unlink(missing_ok=True)


def write_json(path: str | Path, value: Any) -> None:
    """Write a JSON file, complete or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_text(path: str | Path) -> str:
    """The whole of a UTF-8 text file; `-` is standard input. Line ends stay as they are.

    Raises:
        InputError: the file cannot be read or is not UTF-8.
    """
    try:
        if str(path) == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text: byte {error.start}; convert it, for example with iconv"
        ) from error
