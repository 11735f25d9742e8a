"""Opens files by a path, by an address that fsspec knows (`s3://`, `gs://`), or standard input.

What a file holds is for the callers to say.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabir.errors import InputError

STDIN = "-"
_EXTRAS = ("gs", "s3")  # of this package, named as the addresses


def is_address(name: str | Path) -> bool:
    return "://" in str(name)


def without_scheme(name: str) -> str:
    """The path of a file of this machine that is named as `file://`; another name as it is."""
    return re.sub(r"^(?:file|local)://(?=/)", "", name)


@contextmanager
def open_file(name: str | Path) -> Iterator[Any]:
    """Open a file for reading bytes. Standard input stays open.

    Raises:
        InputError: see `reading`; errors of reading within the context are translated too.
    """
    with reading(name):
        if str(name) == STDIN:
            yield sys.stdin.buffer
        elif is_address(name):
            system, path = file_system(str(name))
            with system.open(path, "rb") as file:
                yield file
        else:
            with open(name, "rb") as file:
                yield file


def size_of(name: str | Path) -> int:
    """The bytes of a file; 0 if they are not known.

    Raises:
        InputError: the file cannot be found.
    """
    with reading(name):
        if str(name) == STDIN:
            return 0
        if is_address(name):
            system, path = file_system(str(name))
            return system.size(path) or 0
        return Path(name).stat().st_size


def file_system(address: str) -> tuple[Any, str]:
    """fsspec's file system of an address, and the path in it.

    Raises:
        InputError: fsspec, or the package that it needs for such addresses, is missing.
    """
    scheme = address.partition("://")[0]
    extra = f": pip install 'fabir[{scheme}]'" if scheme in _EXTRAS else ""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(f"{address}: {scheme}:// needs fsspec{extra}") from error
    try:
        return url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise InputError(f"{address}: {error}{extra}") from error


@contextmanager
def reading(name: str | Path) -> Iterator[None]:
    """Turn every error of reading a file into an InputError with its name."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    except Exception as error:
        if not is_address(name):
            raise
        reason = " ".join(str(error).split())  # the packages behind fsspec have no common error
        raise InputError(f"cannot read {name}: {type(error).__name__}: {reason}") from error
