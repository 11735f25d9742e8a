"""Finds the files of a bulk run, in a fixed order, from files, folders, patterns and addresses."""

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from itertools import takewhile
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

from fabir.data.addresses import STDIN, file_system, is_address, reading, without_scheme
from fabir.data.tables import ENDINGS, table_kind
from fabir.errors import InputError


class InputFile(NamedTuple):
    """A file of questions.

    name: a path, an address, or "-" for standard input
    size: in bytes; 0 if it is not known
    state: differs if the content has changed; its first element is the same for each name of a file
    partition: columns that the folders of its path have, see `_partition`
    """

    name: str
    size: int
    state: list[Any]
    partition: dict[str, str | None]


def find_inputs(names: Iterable[str | Path]) -> list[InputFile]:
    """The files that are named, each once. Those of a folder or a pattern are sorted by name.

    Of a folder all tables are taken, also those in folders below and behind symbolic links. Names
    that begin with "." or "_" are left out, as other tools do. A pattern has `*`, `?`, `[...]` or,
    for any folders, `**`; it also matches names that begin with "_".

    Raises:
        InputError: there is no such file, a folder without tables, or one that cannot be read.
    """
    files: dict[str, InputFile] = {}
    for name in map(without_scheme, map(str, names)):
        with reading(name):
            found = _at_address(name) if is_address(name) else _here(name)
            for file in found:
                files.setdefault(file.state[0], file)
    if not files:
        raise InputError("there is nothing to read: name a file")
    if STDIN in files and len(files) > 1:
        raise InputError("standard input (-) cannot be one of several inputs: name it alone")
    return list(files.values())


def check_ending(name: str) -> None:
    """Raises an InputError if a file's ending is neither that of a table nor of a SQuAD file, or if
    a SQuAD file is at an address."""
    if table_kind(name):
        return
    if not name.lower().removesuffix(".gz").endswith(".json"):
        raise InputError(
            f"{name}: questions are read from {ENDINGS} files, and from SQuAD's .json or .json.gz"
        )
    if is_address(name):
        raise InputError(
            f"{name}: a SQuAD file is read from this machine only: copy it, and name the copy"
        )


def check_outside(names: Iterable[str | Path], output: Path) -> None:
    """Raises an InputError if a later run would find its own output among its inputs."""
    for name in map(without_scheme, map(str, names)):
        if not is_address(name) and _would_find(name, output.resolve()):
            raise InputError(
                f"{output} would be one of the inputs of the next run, since {name} has it: name a "
                "file in another folder"
            )


def _would_find(name: str, output: Path) -> bool:
    """Whether a folder or a pattern has `output`, or has it once it is written."""
    path = Path(name)
    if path.is_dir():
        return any(_holds(folder.resolve(), output) for folder, _ in _folders(path))
    if not _is_pattern(name) or path.exists():
        return False
    pattern = _resolved(path)
    return any(
        _matches(str(each), pattern) and _holds(each, output) for each in (output, *output.parents)
    )


def _holds(folder: Path, output: Path) -> bool:
    return output.is_relative_to(folder) and not _is_hidden(output.relative_to(folder))


def _resolved(pattern: Path) -> str:
    """The whole path of a pattern; folders before its first `*`, `?` or `[` may be links."""
    parts = pattern.absolute().parts
    fixed = list(takewhile(lambda part: not _is_pattern(part), parts))
    return os.path.join(glob.escape(str(Path(*fixed).resolve())), *parts[len(fixed) :])


def _matches(path: str, pattern: str) -> bool:
    """Whether `glob` would find a path, which may be missing."""
    deep = "**" in pattern.split(os.sep)
    return (deep or pattern.count(os.sep) == path.count(os.sep)) and fnmatch(
        path, pattern.replace(f"**{os.sep}", "*")
    )


def _here(name: str) -> Iterator[InputFile]:
    """The files of this machine that a name stands for."""
    path = Path(name)
    if name == STDIN:
        yield InputFile(STDIN, 0, [STDIN], {})
    elif path.is_dir():
        below = sorted(folder / file for folder, files in _folders(path) for file in files)
        for each in _tables(name, below, path):
            yield from _here(each)
    elif _is_pattern(name) and not path.exists():
        _check_folders(name)
        for each in _found(name, sorted(glob.glob(name, recursive=True))):
            yield from _here(each)
    else:
        with reading(name):
            state = path.stat()
        if not stat.S_ISREG(state.st_mode):  # it could be read only once
            raise InputError(f"{name} is no file: give rows from a pipe as -")
        partition = _partition(path)
        same = [str(path.resolve()), state.st_size, state.st_mtime_ns, partition]
        yield InputFile(name, state.st_size, same, partition)


def _check_folders(pattern: str) -> None:
    """Raises an InputError if a folder in which a pattern looks cannot be read. `glob` passes over
    it."""
    parts = Path(pattern).parts
    first = next(place for place, part in enumerate(parts) if _is_pattern(part))
    for place in range(first, len(parts)):
        for folder in glob.iglob(os.path.join(*parts[:place], ""), recursive=True):
            with reading(Path(folder)):
                os.scandir(folder).close()


def _folders(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """A folder and all folders below, also behind links, with the names of their files. A folder
    that several paths lead to is there once."""

    def fail(error: OSError) -> None:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error

    seen = set()
    for folder, below, files in os.walk(top, onerror=fail, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        below[:] = sorted(name for name in below if name[0] not in "._")
        yield Path(folder), files


def _at_address(address: str) -> Iterator[InputFile]:
    """The files that an address stands for."""
    system, path = file_system(address)
    found = [path]
    try:
        if system.info(path)["type"] == "directory":
            below = [PurePosixPath(each) for each in sorted(system.find(path))]
            found = _tables(address, below, PurePosixPath(path))
    except FileNotFoundError as error:
        # What fsspec raises over http also if there is no host, or no permission.
        cause = error.__cause__
        missing = isinstance(cause, FileNotFoundError) or getattr(cause, "status", 0) == 404
        if cause and not missing and not _is_pattern(path):
            raise cause from None
        found = _found(address, sorted(system.glob(path)) if _is_pattern(path) else [])
    for each in found:
        whole = system.unstrip_protocol(each)
        name = address if each == path else whole
        partition = _partition(PurePosixPath(each))
        state = [whole, str(system.checksum(each)), partition]
        yield InputFile(name, system.size(each) or 0, state, partition)


def _tables(folder: str, files: Iterable[Any], root: Any) -> list[str]:
    """The tables among all files of a folder."""
    tables = [
        str(file) for file in files if table_kind(file) and not _is_hidden(file.relative_to(root))
    ]
    if not tables:
        raise InputError(f"{folder} has no {ENDINGS} file")
    return tables


def _partition(path: PurePath) -> dict[str, str | None]:
    """The columns in a path such as "year=2024/month=02/a.parquet", as Hive and Spark make them:
    texts, or None for what they call their default partition."""
    pairs = [unquote(part).partition("=") for part in path.parent.parts]
    return {
        name: None if value == "__HIVE_DEFAULT_PARTITION__" else value
        for name, equals, value in pairs
        if name and equals
    }


def _is_hidden(path: PurePath) -> bool:
    return any(part[0] in "._" for part in path.parts)


def _found(pattern: str, found: list[str]) -> list[str]:
    if not found:
        raise InputError(f"cannot read {pattern}: there is no such file")
    return found


def _is_pattern(name: str) -> bool:
    return any(character in name for character in "*?[")
