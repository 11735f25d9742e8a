import gzip
import hashlib
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.errors import InputError, InputWarning
from fabir.text import vectors
from fabir.text.vectors import read_vectors

TEXT = "the 0.5 -1.25 3\n, 1e-3 0 2\nnaïve 7 8 9\n"
ROWS = [[0.5, -1.25, 3], [1e-3, 0, 2], [7, 8, 9]]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def write(path: Path, text: str = TEXT) -> Path:
    data = text.encode()
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inner.txt", data)
            archive.writestr("README.md", b"not vectors")
    else:
        path.write_bytes(gzip.compress(data) if path.suffix.lower() == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz", "v.zip", "V.TXT.GZ", "V.ZIP"])
def test_reads_every_container(tmp_path: Path, cache: Path, name: str) -> None:
    read = read_vectors(write(tmp_path / name), cache)
    assert read.words == ["the", ",", "naïve"]
    assert isinstance(read.matrix, np.memmap)
    assert read.matrix.dtype == np.float32
    assert read.dim == 3
    assert repr(read) == "<Vectors: 3 words, 3 dimensions>"
    np.testing.assert_array_equal(read.matrix, np.array(ROWS, np.float32))


def test_a_text_in_a_zip_is_named_after_a_colon(tmp_path: Path, cache: Path) -> None:
    for name in ("v.zip", "V.ZIP"):
        path = write(tmp_path / name)
        assert read_vectors(f"{path}:inner.txt", cache).words == ["the", ",", "naïve"]


@given(
    rows=st.integers(1, 20).flatmap(
        lambda dim: st.lists(
            st.lists(
                st.floats(width=32, allow_nan=False, allow_infinity=False),
                min_size=dim,
                max_size=dim,
            ),
            min_size=1,
            max_size=12,
        )
    ),
    chunk=st.integers(1, 200),
)
def test_any_dimension_and_chunk_comes_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[float]], chunk: int
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    lines = [" ".join([f"w{i}x", *map(repr, row)]) for i, row in enumerate(rows)]
    path = write(folder / "v.txt", "\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_CHUNK", chunk)
        read = read_vectors(path, folder / "cache")
    assert read.words == [f"w{i}x" for i in range(len(rows))]
    np.testing.assert_array_equal(read.matrix, np.array(rows, np.float32))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2 2\na 1 2\nb 3 4\n", ["a", "b"]),  # word2vec's first line
        ("a 1 2\r\nb 3 4\r\n", ["a", "b"]),
        ("a 1 2 \nb 3 4 ", ["a", "b"]),  # fastText's trailing space, no last line end
        ("a 1 2\n. . . 3 4\nat x@y.com 5 6\n", ["a", ". . .", "at x@y.com"]),  # glove.840B
        ("a 1 2\n\u00a0 3 4\n\u0085 5 6\n1 7 8\n", ["a", "\u00a0", "\u0085", "1"]),
        ("a 1 2\nb 3 4\na 5 6\nc 7 8\nb 9 9\n", ["a", "b", "c"]),  # the first of each counts
        ("\ufeffa 1 2\nb 3 4\n", ["a", "b"]),
        ("a\t1\t2\nb\t3 4\n", ["a", "b"]),
        ("a  1   2\nb 3\t4\n\nc 5 6\n\n", ["a", "b", "c"]),
        ("\ufeff2 2\na 1 2\nb 3 4\n", ["a", "b"]),
    ],
)
def test_liberties_of_real_files(tmp_path: Path, cache: Path, text: str, words: list[str]) -> None:
    read = read_vectors(write(tmp_path / "v.txt", text), cache)
    assert read.words == words
    assert read.matrix[:2].ravel().tolist() == [1, 2, 3, 4]
    assert len(read.matrix) == len(words)


def test_repeated_words_are_found_across_chunks(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_CHUNK", 1)
    read = read_vectors(write(tmp_path / "v.txt", "3 1\na 1\nb 2\na 3\nc 4\n"), cache)
    assert read.words == ["a", "b", "c"]
    assert read.matrix.ravel().tolist() == [1, 2, 4]


def test_a_file_of_a_zip_is_named(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "several.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("g.1d.txt", "a 1\n")
        archive.writestr("g.2d.txt", "a 1 2\n")
    one, two = (read_vectors(f"{path}:g.{dim}d.txt", cache) for dim in (1, 2))
    assert (one.dim, two.dim) == (1, 2)
    assert one.digest != two.digest
    with pytest.raises(InputError, match=r"several files: name one of g\.1d\.txt, g\.2d\.txt"):
        read_vectors(path, cache)
    with pytest.raises(InputError, match=r"no g\.3d\.txt in .*it holds: g\.1d\.txt, g\.2d\.txt"):
        read_vectors(f"{path}:g.3d.txt", cache)


def test_digest_is_the_hash_of_the_file(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "v.txt")
    assert read_vectors(path, cache).digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_second_reading_parses_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_vectors(write(tmp_path / "v.txt"), cache)
    monkeypatch.setattr(vectors, "_parse", None)
    # The name does not count, only what is in the file.
    again = read_vectors(write(tmp_path / "renamed.txt"), cache)
    assert (again.words, again.digest) == (first.words, first.digest)
    np.testing.assert_array_equal(again.matrix, first.matrix)


def test_a_changed_file_is_read_anew(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "v.txt")
    read_vectors(path, cache)
    assert read_vectors(write(path, "other 1\n"), cache).words == ["other"]


@pytest.mark.parametrize("suffix", [".npy", ".words"])
@pytest.mark.parametrize("damage", ["missing", "empty", "half", "garbage"])
def test_a_damaged_cache_is_made_anew(
    tmp_path: Path, cache: Path, suffix: str, damage: str
) -> None:
    path = write(tmp_path / "v.txt")
    digest = read_vectors(path, cache).digest
    entry = cache / f"{digest}{suffix}"
    data = entry.read_bytes()
    entry.unlink()
    if damage != "missing":
        kept = {"empty": b"", "half": data[: len(data) // 2], "garbage": b"\xff" * len(data)}
        entry.write_bytes(kept[damage])
    read = read_vectors(path, cache)
    assert read.words == ["the", ",", "naïve"]
    np.testing.assert_array_equal(read.matrix, np.array(ROWS, np.float32))
    assert entry.read_bytes() == data


def test_what_a_killed_process_left_in_the_cache_is_removed(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "v.txt")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    cache.mkdir()
    for suffix in (".npy.abcdefg1", ".words.abcdefg2"):
        (cache / f".{digest}{suffix}.partial").touch()
    read_vectors(path, cache)
    names = sorted(path.name for path in cache.iterdir())
    assert names == [f"{digest}.npy", f"{digest}.words"]


def test_a_cache_of_another_shape_is_made_anew(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "v.txt")
    entry = cache / f"{read_vectors(path, cache).digest}.npy"
    for other in (np.zeros(3, np.float32), np.zeros((3, 3)), np.zeros((2, 3), np.float32)):
        np.save(entry, other)
        np.testing.assert_array_equal(read_vectors(path, cache).matrix, np.array(ROWS, np.float32))


def test_default_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "v.txt")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    digest = read_vectors(path).digest
    assert (tmp_path / "xdg" / "fabir" / "vectors" / f"{digest}.npy").is_file()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    read_vectors(path)
    assert (tmp_path / "home" / ".cache" / "fabir" / "vectors" / f"{digest}.npy").is_file()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no word vectors in it"),
        ("\n\n", "no word vectors in it"),
        ("3 2\n", "no word vectors in it"),
        ("word\n", "line 1: no vector"),
        ("2 3\na 1 2\n", "promises 3 numbers a word, but line 2 and others have 2"),
        ("a x 2\n", "line 1: 'x' is not a finite number"),
        ("a 1 2\nb 3\nc 4\nd 5 6 7\ne 1 2", "a word and 2 numbers (3 of 5 lines cannot be read)"),
        ("a 1 2\nb 3 x\nc 4 nan\n", "line 2: 'x' is not a finite number (2 of 3 lines cannot be"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_files_of_something_else_are_refused_with_the_line(
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    problem: str,
    chunk: int,
) -> None:
    monkeypatch.setattr(vectors, "_CHUNK", chunk)
    path = write(tmp_path / "v.txt", text)
    with pytest.raises(InputError, match=re.escape(problem)) as caught:
        read_vectors(path, cache)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(cache.iterdir())  # nothing half-made stays behind


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("b 3", "1 numbers after the word, expected a word and 2 numbers"),
        ("b", "0 numbers after the word"),
        ("b 3 4 5", "3 numbers after the word"),
        (" 3 4", "no word, expected a word and 2 numbers"),
        ("b x 6", "'x' is not a finite number"),
        ("b nan 4", "'nan' is not a finite number"),
        ("b 3 -inf", "'-inf' is not a finite number"),
        ("b 3 1e99", "'1e99' is not a finite number"),
        ("b\udcff 3 4", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_a_bad_line_is_left_out_and_counted(
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    problem: str,
    chunk: int,
) -> None:
    monkeypatch.setattr(vectors, "_CHUNK", chunk)
    path = tmp_path / "v.txt"
    text = f"a 1 2\n\n{line}\nc 5 6\n"
    path.write_bytes(text.encode(errors="surrogateescape"))
    message = f"1 of 3 lines are left out; line 3: {problem}"
    with pytest.warns(InputWarning, match=re.escape(message)):
        read = read_vectors(path, cache)
    assert read.words == ["a", "c"]
    assert read.matrix.tolist() == [[1, 2], [5, 6]]


@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_a_file_that_ends_early_is_said(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(vectors, "_CHUNK", chunk)
    path = write(tmp_path / "v.txt", "\ufeff400000 2\na 1 2\nb 3 4\na 5 6\n")
    with pytest.warns(InputWarning, match="promises 400000 words, but it has 3"):
        assert read_vectors(path, cache).words == ["a", "b"]


def test_other_encodings_are_refused(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes("naïve 1 2\nété 3 4\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"v\.txt, line 1: not UTF-8"):
        read_vectors(path, cache)


@pytest.mark.parametrize("name", ["v.txt.gz", "v.zip"])
@pytest.mark.parametrize("damage", ["half", "middle", "garbage"])
def test_damaged_archives_are_refused(tmp_path: Path, cache: Path, name: str, damage: str) -> None:
    lines = "".join(f"w{i} {i * 0.37:.5f} {i * 1.7:.5f}\n" for i in range(500))
    path = write(tmp_path / name, lines)
    data = path.read_bytes()
    middle = len(data) // 3
    changed = bytes(255 - byte for byte in data[middle : middle + 40])
    damaged = {
        "half": data[: len(data) // 2],
        "middle": data[:middle] + changed + data[middle + 40 :],
        "garbage": b"not an archive",
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(InputError, match=re.escape(str(path))) as caught:
        read_vectors(path, cache)
    assert "\n" not in str(caught.value)


def test_a_zip_without_text_is_refused(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.md", "nothing")
    with pytest.raises(InputError, match=r"no \.txt in .*it holds: none"):
        read_vectors(path, cache)


@pytest.mark.parametrize("name", ["nowhere.txt", "nowhere.zip", "nowhere.zip:inner.txt", ""])
def test_missing_files_and_folders_are_refused(tmp_path: Path, cache: Path, name: str) -> None:
    with pytest.raises(InputError, match="no vector file"):
        read_vectors(f"{tmp_path}/{name}", cache)


def test_a_cache_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt")
    with pytest.raises(InputError, match="cannot write"):
        read_vectors(path, path / "cache")
