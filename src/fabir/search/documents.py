"""Reads files as documents: their text, and the pages and lines that it comes from.

Files are not trusted. A broken file or a decompression bomb raises an InputError.
"""

import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.search.markup import read_markup
from fabir.search.records import read_csv, read_jsonl, read_parquet, text_of, title_of

MAX_BYTES = 64 << 20  # of a file that is read at once, and of the markup in an archive
MAX_UNPACKED = 256 << 20  # of all of an archive, pictures included
_HEADING = re.compile(r"#{1,6}[ \t]+(.*\S)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"

Skip = Callable[[str], None]  # gets the reason why a record is skipped


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its source.

    part: id or number of the record, if the file has several
    pages: character offsets at which the pages begin; empty if there are no pages
    line: line of the file on which the text begins; None if the format has no lines
    lines_run_on: whether the lines of the text are lines of the file
    """

    text: str
    title: str = ""
    part: str = ""
    pages: tuple[int, ...] = ()
    line: int | None = None
    lines_run_on: bool = False


def read_documents(path: Path, skip: Skip) -> Iterator[Document]:
    """The documents of one file: one per record of a .jsonl, .csv or .parquet file, else one.

    Raises:
        InputError: the file is broken, too large or of an unknown kind, or an optional dependency
            is missing.
    """
    check_kind(path)
    problems = _Problems()
    try:
        for document in _READERS[path.suffix.lower()](path, problems):
            if document.text.strip():
                yield document
    except InputError as error:
        raise InputError(f"{printable(path)}: {error}") from error
    except ImportError as error:
        raise InputError(
            f"{printable(path)}: {path.suffix} files need {error.name}: "
            "pip install 'fabir[documents]'"
        ) from error
    except Exception as error:  # parsers of other packages raise any exception
        reason = printable(f"{type(error).__name__}: {error}")[:200]
        raise InputError(f"{printable(path)} cannot be read: {reason}") from error
    if problems.count:
        count = "1 record" if problems.count == 1 else f"{problems.count:,} records"
        skip(f"{printable(path)}: {count} left out, first {printable(problems.first)}")


class _Problems:
    """Counts the skipped records of a file, and keeps the first reason."""

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def __call__(self, reason: str) -> None:
        self.count += 1
        self.first = self.first or reason[:200]


def printable(text: str | Path) -> str:
    """Replace control characters, which a terminal would interpret, and bytes that are not text."""
    decoded = str(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", decoded)


def check_kind(path: Path) -> None:
    if not is_document(path):
        raise InputError(f"{printable(path)} is none of {', '.join(_READERS)}")


def is_document(path: Path) -> bool:
    return path.suffix.lower() in _READERS


def _read_text(path: Path, skip: Skip) -> Iterator[Document]:
    text = _decoded(path)
    heading = _HEADING.match(text) if path.suffix.lower() == ".md" else None
    title = heading[1] if heading else path.stem
    yield Document(text, _as_title(title), line=1, lines_run_on=True)


def _read_html(path: Path, skip: Skip) -> Iterator[Document]:
    title, text = read_markup(_decoded(path))
    yield Document(text, _as_title(title or path.stem))


def _decoded(path: Path) -> str:
    """A file's text, without a byte order mark.

    Raises:
        InputError: the file is too large, not UTF-8 or not text.
    """
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES >> 20} MiB: split it")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 text: byte {error.start}; convert it, for example with iconv"
        ) from error
    if "\0" in text:
        raise InputError("not text: it has zero bytes")
    return text


def _read_pdf(path: Path, skip: Skip) -> Iterator[Document]:
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports repairs on stderr
    texts, pages, length = [], [], 0
    with open(path, "rb") as file:
        reader = pypdf.PdfReader(file)
        for page in reader.pages:
            text = text_of(page.extract_text()).strip() + "\n\n"
            pages.append(length)
            texts.append(text)
            length += len(text)
            if length > MAX_BYTES:
                raise InputError(f"more than {MAX_BYTES >> 20} million characters: split it")
        title = title_of(reader.metadata.title if reader.metadata else None)
    yield Document("".join(texts), _as_title(title or path.stem), pages=tuple(pages))


def _read_docx(path: Path, skip: Skip) -> Iterator[Document]:
    import docx
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    with zipfile.ZipFile(path) as archive:  # never reads more of a member than its declared size
        sizes = {member.filename: member.file_size for member in archive.infolist()}
    markup = sum(size for name, size in sizes.items() if name.endswith((".xml", ".rels")))
    if markup > MAX_BYTES or sum(sizes.values()) > MAX_UNPACKED:
        raise InputError(f"larger than {MAX_BYTES >> 20} MiB when unpacked")
    document = docx.Document(str(path))
    body: Any = document.element.body
    # Newer features, such as text boxes, are stored twice: the fallback repeats the text.
    fallback = f"{{{_COMPATIBILITY}}}Fallback"
    paragraphs = (
        Paragraph(each, document).text
        for each in body.iter(qn("w:p"))
        if next(each.iterancestors(fallback), None) is None
    )
    text = "\n\n".join(text_of(paragraph) for paragraph in paragraphs)
    yield Document(text, _as_title(document.core_properties.title or path.stem))


def _read_records(read: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Document]]:
    def documents(path: Path, skip: Skip) -> Iterator[Document]:
        for record in read(path, skip):
            title = _as_title(record.title or path.stem)
            yield Document(record.text, title, record.name, line=record.line)

    return documents


def _as_title(text: str) -> str:
    return printable(text.replace("_", " ")).strip()[:200]


_READERS: dict[str, Callable[[Path, Skip], Iterator[Document]]] = {
    ".txt": _read_text,
    ".md": _read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
    ".docx": _read_docx,
    ".jsonl": _read_records(read_jsonl),
    ".csv": _read_records(read_csv),
    ".parquet": _read_records(read_parquet),
}
