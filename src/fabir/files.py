"""Reading plain or gzipped text and JSON, atomic writing of files, and file locks."""

import errno
import glob
import gzip
import json
import os
import re
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from fabir.errors import InputError

_PARTIAL = ".partial"
_TEMPORARY = re.compile(rf"\.(.+)\.[a-z0-9_]{{8}}{re.escape(_PARTIAL)}")  # of `replacing`
DAMAGED_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # the disk is full, or fails


def open_text(path: str | Path) -> IO[str]:
    """Open a UTF-8 text file for reading; a `.gz` file is decompressed.

    Raises:
        InputError: the file is missing, a folder, or not readable.
    """
    path = Path(path)
    try:
        if is_gzipped(path):
            return gzip.open(path, "rt", encoding="utf-8")
        return open(path, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def damaged_gzip(path: object, error: Exception) -> InputError:
    """What to say of one of the errors of `DAMAGED_GZIP`."""
    return InputError(f"{path}: damaged gzip file ({error}); fetch or pack it again")


def is_gzipped(path: str | Path) -> bool:
    return str(path).lower().endswith(".gz")


def check_output(path: str | Path) -> None:
    """Check before long work that a file can be written to `path`.

    Raises:
        InputError: it is "-", a folder, a device or a pipe, or its folder cannot be made.
    """
    path = Path(path)
    if str(path) == "-":
        raise InputError("cannot write -: name a file, this is not written to stdout")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if path.exists() and not path.is_file():
        raise InputError(f"cannot write {path}: it is no file but a device or a pipe")
    existing = next(parent for parent in path.absolute().parents if parent.exists())
    if not existing.is_dir():
        raise InputError(f"cannot write {path}: {existing} is not a folder")


def cache_folder(kind: str) -> Path:
    """The folder for cached files of a kind, in `$XDG_CACHE_HOME` or by default in `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fabir" / kind


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`. On success the file is flushed and replaces `path`.

    A file that is replaced passes on its permissions. Of a symbolic link the file that it points to
    is replaced. On an exception the temporary file is removed and `path` stays as it was. A killed
    process leaves the temporary file behind, see `remove_partial`.

    Raises:
        InputError: the folder cannot be written, or the disk is full.
    """
    path = Path(path)
    check_output(path)
    target = followed(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(_PARTIAL, f".{target.name}.", target.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, permissions(target))
        os.replace(temporary, target)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def followed(path: str | Path) -> Path:
    """The file that a symbolic link points to, which may be missing; any other path as it is."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def permissions(path: str | Path) -> int:
    """The permissions of a file; if it is missing, those that new files get."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        return 0o666 & ~_umask()


@contextmanager
def locked(path: str | Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold an exclusive lock on a file, and yield whether this process has acquired it.

    The lock ends with the process that holds it, and the file is removed with the lock.

    Args:
        wait: whether to wait until the lock is free

    Raises:
        InputError: the file cannot be written or locked.
    """
    from filelock import FileLock, Timeout  # takes a tenth of the time of a cold answer

    path = Path(path)
    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        yield False
        return
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        yield True
    finally:
        with suppress(OSError):  # Windows removes no open file
            path.unlink()  # whoever waits for it sees that, and makes another one
        lock.release()


@contextmanager
def writing(path: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock while a file or folder is being written, from beginning to end. What killed
    processes have left of it is removed first.

    Args:
        wait: whether to wait for another process that is writing it

    Raises:
        InputError: another process is writing it, or its folder cannot be written.
    """
    path = Path(os.path.abspath(followed(path)))
    if not path.name:
        raise InputError(f"cannot write {path}: name a folder in it")
    with locked(path.with_name(f".{path.name}.lock"), wait=wait) as ours:
        if not ours:
            raise InputError(f"another process is writing {path}: wait for it, or name another")
        remove_partial(path)
        yield


@contextmanager
def writing_files(*paths: str | Path | None) -> Iterator[None]:
    """`writing` for each file that is named, if all of them can be written.

    Raises:
        InputError: one of them is a folder, or two are the same; or see `writing`.
    """
    named = [path for path in paths if path]
    for path in named:
        check_output(path)
    for path, times in Counter(os.path.realpath(path) for path in named).items():
        if times > 1:
            raise InputError(f"two outputs are one file, {path}: name another for one of them")
    with ExitStack() as stack:
        for path in named:
            stack.enter_context(writing(path))
        yield


def remove_partial(path: str | Path) -> None:
    """Remove what killed processes left of a file, or of files in a folder. No process may be
    writing it."""
    path = Path(path)
    if path.is_dir():
        folder, before = path, "."
    else:
        folder, before = path.parent, f".{path.name}."
    for left in folder.glob(f"{glob.escape(before)}*{_PARTIAL}"):
        made = _TEMPORARY.fullmatch(left.name)
        # What has a further suffix is of another file: out.json.gz is not out.json.
        if not made or not (path.is_dir() or made[1] == path.name):
            continue
        if not path.is_dir():
            left.unlink(missing_ok=True)
            continue
        with locked(folder / f".{made[1]}.lock") as ours:  # a file of its own may be written
            if ours:
                left.unlink(missing_ok=True)


def read_json(path: str | Path) -> Any:
    """Parse a JSON file, plain or `.gz`.

    Raises:
        InputError: the file cannot be read or is not JSON (line and column are named).
    """
    text = _decoded(path, _content(path))
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        hint = "; if each line is an object, name the file .jsonl" if _may_be_lines(error) else ""
        raise InputError(f"{path}: not valid JSON at {place}: {error.msg}{hint}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error


def _may_be_lines(error: json.JSONDecodeError) -> bool:
    """Whether an object ends where a line ends, and another one follows."""
    return error.msg == "Extra data" and error.colno == 1 and error.doc[error.pos] == "{"


def write_json(path: str | Path, value: Any) -> None:
    """Write a JSON file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _umask() -> int:
    mask = os.umask(0o077)  # files that other threads make meanwhile are private
    os.umask(mask)
    return mask


def read_text(path: str | Path) -> str:
    """The content of a UTF-8 text file, plain or `.gz`; `-` is standard input. Line ends stay.

    Raises:
        InputError: the file cannot be read or is not UTF-8.
    """
    return _decoded(path, sys.stdin.buffer.read() if str(path) == "-" else _content(path))


def _content(path: str | Path) -> bytes:
    """What a file holds, decompressed if it is a `.gz` file."""
    try:
        with (gzip.open if is_gzipped(path) else open)(path, "rb") as file:
            return file.read()
    except DAMAGED_GZIP as error:
        raise damaged_gzip(path, error) from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _decoded(path: str | Path, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"byte {error.start}: {error.reason}"
        raise InputError(
            f"{path}: not UTF-8 text ({place}); convert it, for example with iconv"
        ) from error
