"""Writes a generation of an index: reads changed files, and copies the rows of unchanged files."""

import json
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from fabir.errors import InputError
from fabir.progress import live_line
from fabir.search.documents import Document, Skip, printable, read_documents
from fabir.search.passages import passages
from fabir.search.postings import write_postings
from fabir.search.sources import File, find_files, short_names, stat_file
from fabir.search.storage import DOCUMENT, FORMAT, PASSAGE, Generation, new_generation
from fabir.search.terms import Terms, stemmer, words

_NONE = -1


def build(
    folder: Path,
    sources: Iterable[str | Path],
    *,
    size: int,
    stemmed: bool,
    skip: Skip,
    old: Generation | None = None,
) -> None:
    """Write the index of all documents in `sources`, files and folders.

    Files that are in `old` and have not changed are not read again. `skip` gets one line for each
    file or record that cannot be used; an exception from `skip` stops the build.
    """
    roots = [Path(os.path.abspath(source)) for source in sources]
    files = find_files(roots, Path(os.path.abspath(folder)), skip)
    with (
        new_generation(folder) as made,
        _progress() as show,
        Writer(made, size, stemmed, old) as writer,
    ):
        for number, path in enumerate(files, 1):
            for passages_written in writer.add_file(path, skip):
                show(f"{number} of {len(files)} files, {passages_written:,} passages")
        if not writer.tokens:
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

    def __init__(self, folder: Path, size: int, stemmed: bool, old: Generation | None) -> None:
        self.folder, self.size, self.stemmed, self.old = folder, size, stemmed, old
        previous = [File(**file) for file in old.manifest["files"]] if old else []
        self._previous = {file.path: (file, number) for number, file in enumerate(previous)}
        self._terms = Terms(old.bm25.vocab_dict if old else (), stemmer(stemmed))
        self._files: list[File] = []
        self._rows: tuple[list[np.ndarray], list[np.ndarray]] = [], []
        self.documents = self.passages = 0

    def __enter__(self) -> "Writer":
        self._texts = open(self.folder / "texts.utf8", "wb")
        self._tokens = open(self.folder / "tokens.raw", "wb")
        return self

    def __exit__(self, *error: object) -> None:
        self._texts.close()
        self._tokens.close()

    @property
    def tokens(self) -> int:
        """Number of terms written."""
        return self._tokens.tell() // np.dtype(np.int32).itemsize

    def add_file(self, path: Path, skip: Skip) -> Iterator[int]:
        """Add a file's documents and yield the number of passages. A broken file adds nothing."""
        marks = self._texts.tell(), self._tokens.tell()
        previous, number = self._previous.get(str(path), (None, _NONE))
        try:
            file = stat_file(path, previous)
            if previous and file.digest == previous.digest:
                self._append_rows(file, *self._copy_rows(number))
            else:
                documents: list[Any] = []
                found: list[Any] = []
                for document in read_documents(path, skip):
                    self._add(document, documents, found)
                    yield self.passages + len(found)
                self._append_rows(file, np.array(documents, DOCUMENT), np.array(found, PASSAGE))
        except InputError as error:
            for stream, mark in zip((self._texts, self._tokens), marks, strict=True):
                stream.truncate(stream.seek(mark))
            skip(str(error))
        yield self.passages

    def _append_rows(self, file: File, documents: np.ndarray, found: np.ndarray) -> None:
        self._files.append(replace(file, documents=len(documents)))
        for rows, new in zip(self._rows, (documents, found), strict=True):
            rows.append(new)
        self.documents += len(documents)
        self.passages += len(found)

    def _add(self, document: Document, documents: list[Any], found: list[Any]) -> None:
        """Write a document's texts and terms, and append its row and the rows of its passages."""
        parts = [part.encode() for part in (document.part, document.title, document.text)]
        ends = list(accumulate(map(len, parts), initial=self._texts.tell()))
        self._texts.write(b"".join(parts))
        number, first = self.documents + len(documents), self.passages + len(found)
        line = _NONE if document.line is None else document.line
        title = words(document.title)
        row = len(self._files), line, document.lines_run_on, len(title), first, *ends
        documents.append(row)
        text, at, byte = document.text, 0, ends[2]
        for start, end in passages(text, self.size, document.pages):
            passage = text[start:end]
            byte += len(text[at:start].encode())
            last = byte + len(passage.encode())
            if document.lines_run_on:
                line += text.count("\n", at, start)
            page = bisect_right(document.pages, start) or _NONE
            found.append((number, page, line, start, end, byte, last, self.tokens))
            numbers = [self._terms[word] for word in title + words(passage)]
            self._tokens.write(np.array(numbers, np.int32).tobytes())
            at = start

    def _copy_rows(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Copy an unchanged file's texts and terms; returns its rows of documents and passages.

        The terms keep the numbers of the old generation until `finish`.
        """
        old = self.old
        assert old is not None
        begin, end = old.file_documents[number : number + 2]
        documents = old.documents[begin:end].copy()
        passages = slice(*old.document_passages[[begin, end]])
        tokens = slice(*old.passage_tokens[[passages.start, passages.stop]])
        found = old.passages[passages].copy()
        if len(documents):
            texts = slice(documents["part"][0], documents["end"][-1])
            for name in ("part", "title", "text", "end"):
                documents[name] += self._texts.tell() - texts.start
            for name in ("first", "last"):
                found[name] += self._texts.tell() - texts.start
            found["token"] += self.tokens - tokens.start
            found["document"] += self.documents - begin
            documents["passage"] += self.passages - passages.start
            documents["file"] = len(self._files)
            self._texts.write(old.texts[texts])
            self._tokens.write(old.tokens[tokens].tobytes())
        return documents, found

    def finish(self, roots: list[Path]) -> None:
        """Write everything that depends on the whole collection."""
        self._texts.flush()
        self._tokens.flush()
        documents, found = (np.concatenate(rows) for rows in self._rows)
        np.save(self.folder / "documents.npy", documents)
        np.save(self.folder / "passages.npy", found)
        raw = self.folder / "tokens.raw"
        tokens = np.memmap(raw, np.int32, "r")
        write_postings(self.folder, tokens, found["token"], self._terms.stems)
        raw.unlink()
        manifest = {
            "format": FORMAT,
            "size": self.size,
            "stemmed": self.stemmed,
            "sources": [str(root) for root in roots],
            "names": short_names(self._files),
            "files": [asdict(file) for file in self._files],
        }
        # ASCII only: a file name may have bytes that are not UTF-8.
        (self.folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
