"""Word vectors from text files (GloVe, word2vec, fastText), parsed once and then memory-mapped.

`fabir.text.vocabulary` decides which word of a text gets which vector.
"""

import gzip
import hashlib
import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import numpy as np
from numpy.lib import format as npy

from fabir.errors import InputError
from fabir.files import cache_folder, replacing
from fabir.progress import track

_CHUNK = 1 << 23  # bytes of text parsed at a time; bounds the memory for files of any size


@dataclass(frozen=True, slots=True)
class Vectors:
    """Word vectors: `matrix[i]` is the vector of `words[i]`; float32 [words, dim], memory-mapped.

    `digest` is the SHA-256 of the source file (64 hexadecimal digits), for cache keys.
    """

    words: list[str]
    matrix: np.ndarray
    digest: str

    @property
    def dim(self) -> int:
        return self.matrix.shape[1]


def read_vectors(path: str | Path, cache: str | Path | None = None) -> Vectors:
    """Read a file with one word and its numbers a line: `.txt`, `.txt.gz` or a `.txt` in a `.zip`.

    The first reading fills the folder `cache` (by default `fabir/vectors` in `$XDG_CACHE_HOME`
    or `~/.cache`); later ones map it. A truncated entry is rebuilt. A first line `count dim` is
    skipped. A word may contain spaces. The first row of a repeated word counts. In a zip of
    several files, name one as `file.zip:inner.txt`.

    Raises:
        InputError: a file that is missing, damaged, empty or malformed (with the line number).
    """
    file, member = _locate(path)
    digest = _digest(file, member)
    folder = Path(cache) if cache is not None else cache_folder("vectors")
    words_path, matrix_path = folder / f"{digest}.words", folder / f"{digest}.npy"
    vectors = _load(words_path, matrix_path, digest)
    if vectors is None:
        try:
            _build(file, member, words_path, matrix_path)
        except OSError as error:
            raise InputError(f"cannot write the cache in {folder}: {error}") from error
        vectors = _load(words_path, matrix_path, digest)
    if vectors is None:
        raise InputError(f"cannot use the cache in {folder}: delete it or name another folder")
    return vectors


def _locate(path: str | Path) -> tuple[Path, str | None]:
    """The file, and for a zip the name of the text in it."""
    stem, found, wanted = str(path).partition(".zip:")
    file = Path(f"{stem}.zip") if found else Path(path)
    if not file.is_file():
        raise InputError(f"no vector file {file}: give a .txt, .txt.gz or .zip of word vectors")
    if file.suffix != ".zip":
        return file, None
    with _reading(str(file)), zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if name.endswith(".txt")]
    if not names or (found and wanted not in names):
        raise InputError(f"no {wanted or '.txt'} in {file}; it holds: {', '.join(names) or 'none'}")
    if not found and len(names) > 1:
        raise InputError(
            f"{file} holds several files: name one of {', '.join(names)} as {file}:NAME"
        )
    return file, wanted or names[0]


def _digest(file: Path, member: str | None) -> str:
    """SHA-256 of the file. It includes the member's name, since a zip may hold several files."""
    with _reading(str(file)), open(file, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    if member is not None:
        digest.update(member.encode(errors="surrogateescape"))
    return digest.hexdigest()


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turn errors of decompressors and of the file system into one line for the user."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(f"cannot read {name}: {error}; is it complete? Get it anew") from error
    except (NotImplementedError, RuntimeError) as error:
        raise InputError(f"cannot read {name}: {error}; unpack it first") from error


def _chunks(file: Path, member: str | None, name: str) -> Iterator[tuple[int, list[bytes]]]:
    """Lines in chunks, each with the number of its first line, under a progress bar."""
    number = 1
    with _reading(name), _open(file, member) as (stream, size):
        chunks = iter(lambda: stream.readlines(_CHUNK), [])
        for lines in track(chunks, "Reading word vectors", math.ceil(size / _CHUNK)):
            yield number, lines
            number += len(lines)


@contextmanager
def _open(file: Path, member: str | None) -> Iterator[tuple[IO[bytes], float]]:
    """The text as bytes, and how many there are (for .gz an estimate)."""
    size = file.stat().st_size
    if member is not None:
        with zipfile.ZipFile(file) as archive, archive.open(member) as inner:
            yield inner, archive.getinfo(member).file_size
    elif file.suffix == ".gz":
        with gzip.open(file) as inner:
            yield io.BufferedReader(inner), 2.5 * size  # vectors shrink to about two fifths
    else:
        with open(file, "rb") as plain:
            yield plain, size


def _load(words_path: Path, matrix_path: Path, digest: str) -> Vectors | None:
    """The cached vectors, or None where a file of the entry is missing or cut short."""
    try:
        *words, rest = words_path.read_bytes().decode().split("\n")
        matrix = npy.open_memmap(matrix_path, mode="r")
    except (OSError, ValueError):
        return None
    if rest or matrix.ndim != 2 or matrix.dtype != np.float32 or len(matrix) != len(words):
        return None
    return Vectors(words, matrix, digest)


def _build(file: Path, member: str | None, words_path: Path, matrix_path: Path) -> None:
    """Parse the file into the two files of a cache entry, chunk by chunk."""
    name = f"{file}:{member}" if member else str(file)
    seen: dict[str, None] = {}
    dim = 0
    with replacing(matrix_path) as temporary, open(temporary, "wb") as out:
        for number, lines in _chunks(file, member, name):
            if not dim:
                number, lines, dim = _first_line(name, number, lines)
                _write_header(out, 0, dim)
            words, rows = _parse(name, number, lines, dim)
            fresh = []
            for index, word in enumerate(words):
                if word not in seen:
                    seen[word] = None
                    fresh.append(index)
            out.write(rows[fresh].tobytes())
        if not seen:
            raise InputError(
                f"{name}: no word vectors in it; expected one word and its numbers a line"
            )
        out.seek(0)
        _write_header(out, len(seen), dim)
    with replacing(words_path) as temporary:
        temporary.write_bytes("".join(f"{word}\n" for word in seen).encode())


def _write_header(out: IO[bytes], count: int, dim: int) -> None:
    # numpy leaves room for the first axis to grow, so that the final header has the same size.
    header = {"descr": "<f4", "fortran_order": False, "shape": (count, dim)}
    npy.write_array_header_1_0(out, header)


def _first_line(name: str, number: int, lines: list[bytes]) -> tuple[int, list[bytes], int]:
    """The dimension, and the lines without a `count dim` header where there is one."""
    fields = lines[0].rstrip().split(b" ")
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        number, lines, dim = number + 1, lines[1:], int(fields[1])
    else:
        dim = len(fields) - 1
    if dim < 1:
        _refuse(name, 1, "no vector; expected one word and its numbers, single spaces between")
    return number, lines, dim


def _parse(name: str, number: int, lines: list[bytes], dim: int) -> tuple[list[str], np.ndarray]:
    """Words and numbers [lines, dim] of consecutive lines, the first of which is line `number`."""
    words: list[str] = []
    numbers: list[bytes] = []
    for offset, line in enumerate(lines):
        line = line.rstrip()
        spaces = line.count(b" ")
        word, _, rest = line.partition(b" ")
        if spaces != dim:
            word, rest = _split_long(name, number + offset, line, dim)
        if not word:
            _refuse(name, number + offset, "a space where the word should start")
        try:
            words.append(word.decode())
        except UnicodeDecodeError:
            _refuse(name, number + offset, "not UTF-8; convert the file")
        numbers.append(rest)
    if not numbers:
        return words, np.empty((0, dim), np.float32)
    rows = _floats(numbers, dim)
    if rows is None:
        _refuse_number(name, number, numbers)
    return words, rows


def _split_long(name: str, number: int, line: bytes, dim: int) -> tuple[bytes, bytes]:
    """Word and numbers of a line whose word holds spaces, as some of glove.840B do."""
    fields = line.split(b" ")
    extra = fields[1:-dim]
    if not extra or all(_is_number(field) for field in extra):
        _refuse(name, number, f"{len(fields) - 1} numbers after the word, expected {dim}")
    return b" ".join(fields[:-dim]), b" ".join(fields[-dim:])


def _floats(numbers: list[bytes], dim: int) -> np.ndarray | None:
    """Rows of `dim` finite numbers [lines, dim], or None where anything else is among them."""
    text = io.BytesIO(b"\n".join(numbers))
    try:
        rows = np.loadtxt(text, np.float32, delimiter=" ", comments=None, ndmin=2)
    except ValueError:
        return None
    return rows if rows.shape == (len(numbers), dim) and np.isfinite(rows).all() else None


def _refuse_number(name: str, number: int, numbers: list[bytes]) -> NoReturn:
    for offset, row in enumerate(numbers):
        for field in row.split(b" "):
            if not _is_number(field):
                shown = field[:40].decode(errors="replace")
                _refuse(name, number + offset, f"{shown!r} is not a finite number")
    raise InputError(f"{name}: not finite numbers after line {number}")


def _is_number(field: bytes) -> bool:
    # The same parser that reads the file, so that both agree on what a number is.
    return bool(field.strip()) and _floats([field], 1) is not None


def _refuse(name: str, number: int, problem: str) -> NoReturn:
    raise InputError(f"{name}, line {number}: {problem}")
