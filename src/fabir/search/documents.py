"""Files read as documents: their text and what leads back from it to the file. No passages here.

Files are not trusted: what is broken, or would become far larger than it is, is an InputError.
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

MOST_BYTES = 64 << 20  # of a file that is read at once, and of what is packed in it
MOST_PACKED = 256 << 20  # with the pictures
_HEADING = re.compile(r"#{1,6}[ \t]+(.*\S)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"

Skip = Callable[[str], None]  # is told of a record that was left out


@dataclass(frozen=True, slots=True)
class Document:
    """A text, and where it comes from.

    part: of the file, where a file holds several: a record's id or number
    pages: character offsets where its pages begin; empty where there are none
    line: of the file, on which the text begins; None where lines say nothing
    lines_run_on: whether the text's own lines are the file's
    """

    text: str
    title: str = ""
    part: str = ""
    pages: tuple[int, ...] = ()
    line: int | None = None
    lines_run_on: bool = False


def read_documents(path: Path, skip: Skip) -> Iterator[Document]:
    """The documents of one file: a record each of .jsonl, .csv and .parquet, else one.

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
    except Exception as error:  # readers of others' formats raise whatever they like
        reason = printable(f"{type(error).__name__}: {error}")[:200]
        raise InputError(f"{printable(path)} cannot be read: {reason}") from error
    if problems.count:
        count = "1 record" if problems.count == 1 else f"{problems.count:,} records"
        skip(f"{printable(path)}: {count} left out, first {printable(problems.first)}")


class _Problems:
    """Counts what is left out of a file; remembers the first."""

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def __call__(self, reason: str) -> None:
        self.count += 1
        self.first = self.first or reason[:200]


def printable(text: str | Path) -> str:
    """Without what a terminal would obey: control characters, and bytes that are no text."""
    known = str(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", known)


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
        InputError: too large, not UTF-8, or not text at all.
    """
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 20} MiB: split it")
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

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # says on stderr what it repairs
    texts, pages, length = [], [], 0
    with open(path, "rb") as file:
        reader = pypdf.PdfReader(file)
        for page in reader.pages:
            text = text_of(page.extract_text()).strip() + "\n\n"
            pages.append(length)
            texts.append(text)
            length += len(text)
            if length > MOST_BYTES:
                raise InputError(f"more than {MOST_BYTES >> 20} million characters: split it")
        title = title_of(reader.metadata.title if reader.metadata else None)
    yield Document("".join(texts), _as_title(title or path.stem), pages=tuple(pages))


def _read_docx(path: Path, skip: Skip) -> Iterator[Document]:
    import docx
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    with zipfile.ZipFile(path) as archive:  # reads no more of a member than it declares
        sizes = {member.filename: member.file_size for member in archive.infolist()}
    markup = sum(size for name, size in sizes.items() if name.endswith((".xml", ".rels")))
    if markup > MOST_BYTES or sum(sizes.values()) > MOST_PACKED:
        raise InputError(f"larger than {MOST_BYTES >> 20} MiB when unpacked")
    document = docx.Document(str(path))
    body: Any = document.element.body
    # What newer programs show otherwise, such as a box of text, stands there twice.
    again = f"{{{_COMPATIBILITY}}}Fallback"
    paragraphs = (
        Paragraph(each, document).text
        for each in body.iter(qn("w:p"))
        if next(each.iterancestors(again), None) is None
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
