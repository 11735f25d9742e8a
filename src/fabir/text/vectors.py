"""Word vectors from text files (GloVe, word2vec, fastText), parsed once and then memory-mapped.

`fabir.text.vocabulary` decides which word of a text gets which vector.
"""

import codecs
import gzip
import hashlib
import io
import math
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from fabir.errors import InputError, InputWarning
from fabir.files import cache_folder, is_gzipped, remove_partial, replacing, writing
from fabir.progress import track

_CHUNK = 1 << 23  # bytes of text parsed at a time; bounds the memory for files of any size
_FIRST = 100  # lines whose numbers are counted to know the dimension
_IN_ZIP = re.compile(r"(.*?\.zip):(.*)", re.IGNORECASE | re.DOTALL)
_EXPECTED = "expected one word and its numbers a line"


@dataclass(frozen=True, slots=True)
class Vectors:
    """Word vectors: `matrix[i]` is the vector of `words[i]`; float32 [words, dim], memory-mapped.

    `digest` is the SHA-256 of the source file (64 hexadecimal digits), for cache keys.
    """

    words: list[str]
    matrix: np.ndarray
    digest: str

    def __repr__(self) -> str:
        return f"<Vectors: {len(self.words):,} words, {self.dim} dimensions>"

    @property
    def dim(self) -> int:
        return self.matrix.shape[1]


def read_vectors(path: str | Path, cache: str | Path | None = None) -> Vectors:
    """Read a file with one word and its numbers a line: `.txt`, `.txt.gz` or a `.txt` in a `.zip`.

    The first reading fills the folder `cache` (by default `fabir/vectors` in `$XDG_CACHE_HOME`
    or `~/.cache`); later ones map it. A truncated entry is rebuilt. A first line `count dim` is
    skipped. Fields are separated by spaces or tabs. A word may contain spaces. The first row of a
    repeated word counts. In a zip of several files, name one as `file.zip:inner.txt`.

    Lines that are no word and its numbers are left out, with one warning that counts them. Another
    warning says if the first line promises another number of words.

    Raises:
        InputError: a file that is missing, damaged or empty, that promises another dimension than
            it has, or more of whose lines are left out than read.
    """
    file, member = _locate(path)
    digest = _digest(file, member)
    folder = Path(cache) if cache is not None else cache_folder("vectors")
    words_path, matrix_path = folder / f"{digest}.words", folder / f"{digest}.npy"
    vectors = _load(words_path, matrix_path, digest)
    if vectors is None:
        with writing(folder / digest, wait=True):
            vectors = _load(words_path, matrix_path, digest)  # another process may have built it
            if vectors is None:
                _fill(file, member, words_path, matrix_path)
                vectors = _load(words_path, matrix_path, digest)
    if vectors is None:
        raise InputError(f"cannot use the cache in {folder}: delete it or name another folder")
    return vectors


def _fill(file: Path, member: str | None, words_path: Path, matrix_path: Path) -> None:
    for path in (words_path, matrix_path):
        remove_partial(path)
    try:
        _build(file, member, words_path, matrix_path)
    except OSError as error:
        raise InputError(f"cannot write the cache in {words_path.parent}: {error}") from error


def _locate(path: str | Path) -> tuple[Path, str | None]:
    """The file, and for a zip the name of the text in it."""
    named = _IN_ZIP.fullmatch(str(path))
    file, wanted = (Path(named[1]), named[2]) if named else (Path(path), "")
    if not file.is_file():
        raise InputError(f"no vector file {file}: give a .txt, .txt.gz or .zip of word vectors")
    if file.suffix.lower() != ".zip":
        return file, None
    with _reading(str(file)), zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if name.lower().endswith(".txt")]
    if not names or (named and wanted not in names):
        raise InputError(f"no {wanted or '.txt'} in {file}; it holds: {', '.join(names) or 'none'}")
    if not named and len(names) > 1:
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
    elif is_gzipped(file):
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


class _Lines:
    """Lines of a file so far: how many could be read, how many not, and what was wrong first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.good = self.bad = 0
        self.first = ""

    def leave_out(self, number: int, problem: str) -> None:
        self.bad += 1
        self.first = self.first or f"line {number}: {problem}"

    def report(self, promised: int | None, distinct: int) -> None:
        """Warn of what is left out, and if neither all nor the distinct words are as `promised`.

        Raises:
            InputError: it is more than what is read.
        """
        total = self.good + self.bad
        if self.bad > self.good:
            few = f" ({self.bad} of {total} lines cannot be read)" if total > 1 else ""
            raise InputError(f"{self.name}, {self.first}{few}")
        if not total:
            raise InputError(f"{self.name}: no word vectors in it; {_EXPECTED}")
        if self.bad:
            _warn(f"{self.name}: {self.bad} of {total} lines are left out; {self.first}")
        if promised not in (None, total, distinct):
            _warn(f"{self.name}: its first line promises {promised} words, but it has {total}")


def _build(file: Path, member: str | None, words_path: Path, matrix_path: Path) -> None:
    """Parse the file into the two files of a cache entry, chunk by chunk."""
    name = f"{file}:{member}" if member else str(file)
    seen: dict[str, None] = {}
    dim = 0
    promised = None
    read = _Lines(name)
    with replacing(matrix_path) as temporary, open(temporary, "wb") as out:
        for number, lines in _chunks(file, member, name):
            if number == 1:
                lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
                promised, dim = _header(lines[0])
                if promised is not None:
                    number, lines = 2, lines[1:]
            if not out.tell():
                if not any(map(bytes.strip, lines)):
                    continue
                dim = _dimension(name, number, lines, dim)
                _write_header(out, 0, dim)
            words, rows = _parse(read, number, lines, dim)
            fresh = []
            for index, word in enumerate(words):
                if word not in seen:
                    seen[word] = None
                    fresh.append(index)
            out.write(rows[fresh].tobytes())
        read.report(promised, len(seen))
        out.seek(0)
        _write_header(out, len(seen), dim)
    with replacing(words_path) as temporary:
        temporary.write_bytes("".join(f"{word}\n" for word in seen).encode())


def _write_header(out: IO[bytes], count: int, dim: int) -> None:
    # numpy leaves room for the first axis to grow, so that the final header has the same size.
    header = {"descr": "<f4", "fortran_order": False, "shape": (count, dim)}
    npy.write_array_header_1_0(out, header)


def _header(line: bytes) -> tuple[int | None, int]:
    """The words and the dimension that a first line `count dim` promises; else None and 0."""
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() and len(field) < 20 for field in fields):
        return int(fields[0]), int(fields[1])
    return None, 0


def _dimension(name: str, number: int, lines: list[bytes], promised: int) -> int:
    """How many numbers most of the first lines have; it must be as `promised`, if that is not 0."""
    some = islice(filter(None, map(bytes.split, lines)), _FIRST)
    counts = Counter(len(fields) - 1 for fields in some)
    dim = counts.most_common(1)[0][0]
    if promised and dim != promised:
        raise InputError(
            f"{name}: its first line promises {promised} numbers a word, but line {number} and "
            f"others have {dim}"
        )
    if dim < 1:
        raise InputError(f"{name}, line {number}: no vector; {_EXPECTED}")
    return dim


def _parse(read: _Lines, number: int, lines: list[bytes], dim: int) -> tuple[list[str], np.ndarray]:
    """Words and numbers [lines, dim] of consecutive lines, the first of which is line `number`."""
    words: list[str] = []
    numbers: list[bytes] = []
    places: list[int] = []
    for place, line in enumerate(lines, number):
        line = line.rstrip()
        if not line:
            continue
        word, _, rest = line.partition(b" ")
        if not word or line.count(b" ") != dim or b"\t" in line:
            fields = line.split()
            word, rest = b" ".join(fields[:-dim]), b" ".join(fields[-dim:])
            extra = fields[1:-dim]
            if len(fields) <= dim or line[:1].isspace() or (extra and all(map(_is_number, extra))):
                count = len(fields) - (not line[:1].isspace())
                found = "no word" if line[:1].isspace() else f"{count} numbers after the word"
                read.leave_out(place, f"{found}, expected a word and {dim} numbers")
                continue
        try:
            words.append(word.decode())
        except UnicodeDecodeError:
            read.leave_out(place, "not UTF-8")
            continue
        numbers.append(rest)
        places.append(place)
    rows = _floats(numbers, dim) if numbers else np.empty((0, dim), np.float32)
    if rows is None:
        each = [_floats([row], dim) for row in numbers]
        for place, row, found in zip(places, numbers, each, strict=True):
            if found is None:
                wrong = next((field for field in row.split(b" ") if not _is_number(field)), row)
                shown = wrong[:40].decode(errors="replace")
                read.leave_out(place, f"{shown!r} is not a finite number")
        words = [word for word, found in zip(words, each, strict=True) if found is not None]
        rows = np.concatenate([np.empty((0, dim), np.float32), *(f for f in each if f is not None)])
    read.good += len(words)
    return words, rows


def _floats(numbers: list[bytes], dim: int) -> np.ndarray | None:
    """Rows of `dim` finite numbers [lines, dim], or None where anything else is among them."""
    text = io.BytesIO(b"\n".join(numbers))
    try:
        rows = np.loadtxt(text, np.float32, delimiter=" ", comments=None, ndmin=2)
    except ValueError:
        return None
    return rows if rows.shape == (len(numbers), dim) and np.isfinite(rows).all() else None


def _is_number(field: bytes) -> bool:
    # The same parser that reads the file, so that both agree on what a number is.
    return bool(field.strip()) and _floats([field], 1) is not None


def _warn(message: str) -> None:
    warnings.warn(message, InputWarning, stacklevel=2)
