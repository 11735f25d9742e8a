"""Writes a generation of an index: reads changed files, and copies the rows of unchanged files."""

import json
import os
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from fabir.documents.base import Document
from fabir.documents.process import DocumentReader
from fabir.documents.reading import Notice, Skip
from fabir.errors import InputError
from fabir.progress import live_line
from fabir.search.passages import begins_with_row, column_names, last_gap, passages
from fabir.search.postings import write_postings
from fabir.search.sources import File, find_files, short_names, stat_file
from fabir.search.storage import FORMAT, TABLES, Generation, Settings, new_generation
from fabir.search.terms import Terms, load_language, words
from fabir.terminal import printable

_NONE = -1


def build(
    folder: Path,
    sources: Iterable[str | Path],
    *,
    settings: Settings,
    skip: Skip,
    incomplete: Skip,
    notice: Notice,
    old: Generation | None = None,
) -> None:
    """Write the index of all documents in `sources`, files and folders.

    Files that are in `old` and have not changed are not read again. Those that cannot be read now
    stay as they were. `skip` gets one line for each file that cannot be used, `incomplete` one for
    each file of which only a part cannot; an exception from either stops the build. `notice` gets
    one line about files of other kinds, and one for each file of which something is left out
    because its author hid it.
    """
    roots = [Path(os.path.abspath(source)) for source in sources]
    if not roots:
        raise InputError("there is nothing to index: name files or folders")
    found = find_files(roots, Path(os.path.abspath(folder)), skip)
    if found.others:
        notice(f"left out, of other kinds: {_counted(found.others)}")
    with (
        new_generation(folder) as made,
        _progress() as show,
        DocumentReader() as reader,
        Writer(made, settings, old) as writer,
    ):
        files = sorted([*found.files, *writer.files_below(found.unreadable)])
        for number, path in enumerate(files, 1):
            for passages_written in writer.add_file(path, reader, skip, incomplete, notice):
                show(f"{number} of {len(files)} files, {passages_written:,} passages")
        if not writer.tokens and not old:
            raise InputError(f"no text in {', '.join(map(printable, roots))}")
        show(f"computing the BM25 scores of {writer.passages:,} passages")
        writer.finish(roots)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a line on stderr, once two seconds have passed."""
    began = time.monotonic()
    with live_line() as line:
        yield lambda text: line(text) if time.monotonic() - began > 2 else None


class Writer:
    """Streams texts and terms to files; keeps the rows of documents and passages in memory."""

    def __init__(self, folder: Path, settings: Settings, old: Generation | None) -> None:
        self.folder, self.settings, self.old = folder, settings, old
        previous = [File(**file) for file in old.manifest["files"]] if old else []
        self._previous = {file.path: (file, number) for number, file in enumerate(previous)}
        stem = load_language(settings.language, settings.stemmed).stem
        self._terms = Terms(old.bm25.vocab_dict if old else (), stem)
        self._files: list[File] = []
        self._rows: dict[str, list[np.ndarray]] = {
            table: [np.zeros(0, kind)] for table, kind in TABLES.items()
        }
        self._counts = dict.fromkeys(TABLES, 0)

    def __enter__(self) -> "Writer":
        self._texts = open(self.folder / "texts.utf8", "wb")
        self._tokens = open(self.folder / "tokens.raw", "wb")
        return self

    def __exit__(self, *error: object) -> None:
        self._texts.close()
        self._tokens.close()

    @property
    def passages(self) -> int:
        """Number of passages of complete files."""
        return self._counts["passages"]

    @property
    def tokens(self) -> int:
        """Number of terms written."""
        return self._tokens.tell() // np.dtype(np.int32).itemsize

    def files_below(self, folders: list[Path]) -> list[Path]:
        """The files in the old index that are below any of `folders`."""
        known = map(Path, self._previous)
        return [path for path in known if any(path.is_relative_to(folder) for folder in folders)]

    def add_file(
        self, path: Path, reader: DocumentReader, skip: Skip, incomplete: Skip, notice: Notice
    ) -> Iterator[int]:
        """Add a file's documents and yield the number of passages.

        What the old index has of a broken file stays; a new one that is broken adds nothing. What
        there is to say is said when the file is done, so that an exception of who hears it stops
        the build.
        """
        marks = self._texts.tell(), self._tokens.tell()
        previous, number = self._previous.get(str(path), (None, _NONE))
        rows: dict[str, list[Any]] = {table: [] for table in TABLES}
        lost: list[str] = []
        told: list[tuple[Skip, str]] = []

        def lose(reason: str) -> None:
            lost.append(reason)
            told.append((incomplete if rows["documents"] else skip, reason))

        try:
            file = stat_file(path, previous)
            if previous and file.digest == previous.digest:
                self._append_rows(file, self._copy_rows(number))
                hears = incomplete if previous.documents else skip
                told += [(hears, reason) for reason in previous.lost]
            else:
                for document in reader.read(path, lose, lambda line: told.append((notice, line))):
                    self._add(document, rows)
                    yield self.passages + len(rows["passages"])
                if lost and not rows["documents"] and previous and previous.documents:
                    told.clear()
                    raise InputError(lost[0])  # a broken file, of which the old documents stay
                made = {table: np.array(rows[table], kind) for table, kind in TABLES.items()}
                self._append_rows(replace(file, lost=lost), made)
        except InputError as error:
            for stream, mark in zip((self._texts, self._tokens), marks, strict=True):
                stream.truncate(stream.seek(mark))
            if previous:
                self._append_rows(previous, self._copy_rows(number))
            reason = f"{error}; what the index has of it stays" if previous else str(error)
            told.append((skip, reason))
        for hears, reason in told:
            hears(reason)
        yield self.passages

    def _append_rows(self, file: File, rows: dict[str, np.ndarray]) -> None:
        self._files.append(replace(file, documents=len(rows["documents"])))
        for table, new in rows.items():
            self._rows[table].append(new)
            self._counts[table] += len(new)

    def _add(self, document: Document, rows: dict[str, list[Any]]) -> None:
        """Write a document's texts and terms, and append its row and those of its parts."""
        parts = [part.encode() for part in (document.part, document.title, document.text)]
        ends = list(accumulate(map(len, parts), initial=self._texts.tell()))
        self._texts.write(b"".join(parts))
        number, *firsts = (self._counts[table] + len(rows[table]) for table in TABLES)
        line = _NONE if document.line is None else document.line
        title = words(document.title)
        row = len(self._files), line, document.lines_run_on, len(title), *firsts, *ends
        rows["documents"].append(row)
        text, at, paragraph = document.text, 0, 0
        is_plain = document.lines_run_on or document.pages  # formats that may not tell headings
        headings = document.headings or (None if is_plain else ())
        spans = passages(text, self.settings.size, headings)
        byte = _byte_offsets(text, chain(*spans, *document.headings), ends[2])
        for start, end in spans:
            above = _words_above(text, document.headings, start)
            paragraph = max(paragraph, last_gap(text, at, start))
            if document.lines_run_on and begins_with_row(text[start:end]):
                above += words(column_names(text, paragraph, start))
            if document.lines_run_on:
                line += text.count("\n", at, start)
            found = number, line, start, end, byte[start], byte[end], self.tokens
            rows["passages"].append(found)
            numbers = [self._terms[word] for word in title + above + words(text[start:end])]
            self._tokens.write(np.array(numbers, np.int32).tobytes())
            at = start
        rows["pages"] += document.pages
        rows["headings"] += [(start, byte[start], byte[end]) for start, end in document.headings]

    def _copy_rows(self, number: int) -> dict[str, np.ndarray]:
        """Copy an unchanged file's texts and terms; returns the rows of all tables.

        The terms keep the numbers of the old generation until `finish`.
        """
        old = self.old
        assert old is not None
        begin, end = old.file_documents[number : number + 2]
        places = {table: old.rows(table, begin, end) for table in TABLES}
        rows = {table: getattr(old, table)[place].copy() for table, place in places.items()}
        documents, found, headings = (
            rows[table] for table in ("documents", "passages", "headings")
        )
        passages = places["passages"]
        tokens = slice(*old.passage_tokens[[passages.start, passages.stop]])
        if len(documents):
            texts = slice(documents["part"][0], documents["end"][-1])
            moved = self._texts.tell() - texts.start
            for name in ("part", "title", "text", "end"):
                documents[name] += moved
            for name in ("first", "last"):
                found[name] += moved
                headings[name] += moved
            found["token"] += self.tokens - tokens.start
            found["document"] += self._counts["documents"] - begin
            for table in ("passages", "pages", "headings"):
                documents[table] += self._counts[table] - places[table].start
            documents["file"] = len(self._files)
            self._texts.write(old.texts[texts])
            self._tokens.write(old.tokens[tokens].tobytes())
        return rows

    def finish(self, roots: list[Path]) -> None:
        """Write everything that depends on the whole collection."""
        self._texts.flush()
        self._tokens.flush()
        tables = {table: np.concatenate(rows) for table, rows in self._rows.items()}
        for table, rows in tables.items():
            np.save(self.folder / f"{table}.npy", rows)
        raw = self.folder / "tokens.raw"
        tokens = np.memmap(raw, np.int32, "r") if self.tokens else np.zeros(0, np.int32)
        write_postings(self.folder, tokens, tables["passages"]["token"], self._terms.stems)
        raw.unlink()
        manifest = {
            "format": FORMAT,
            **self.settings._asdict(),
            "sources": [str(root) for root in roots],
            "names": short_names(self._files),
            "files": [asdict(file) for file in self._files],
        }
        # ASCII only: a file name may have bytes that are not UTF-8.
        (self.folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def _words_above(text: str, headings: Sequence[tuple[int, int]], start: int) -> list[str]:
    """The words of the heading before a passage that does not begin with one: they count as its."""
    number = bisect_right(headings, (start, len(text)))
    begin, end = headings[number - 1] if number else (start, start)
    return words(text[begin:end]) if begin < start else []


def _counted(others: Counter[str]) -> str:
    kinds = sorted(others.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{count} {kind}" for kind, count in kinds)


def _byte_offsets(text: str, places: Iterable[int], first: int) -> dict[int, int]:
    """The byte offset of each character offset in `places`; that of the text's start is `first`."""
    offsets, at = {}, 0
    for place in sorted(set(places)):
        first += len(text[at:place].encode())
        offsets[place] = first
        at = place
    return offsets
