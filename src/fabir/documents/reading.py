"""Reads a file of any kind as documents. Files are not trusted.

A broken file or a decompression bomb raises an InputError.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from fabir.documents.archives import DAMAGE
from fabir.documents.base import Document, ReadFile
from fabir.errors import InputError
from fabir.terminal import printable

Skip = Callable[[str], None]  # gets the reason why a file or a part of it is skipped
Notice = Callable[[str], None]  # gets a line about what is left out on purpose


class _Kind(NamedTuple):
    """Where a kind of file is read, and the extra that brings what this needs."""

    module: str
    function: str
    extra: str = "documents"


_KINDS = {
    ".txt": _Kind("text", "read_text"),
    ".text": _Kind("text", "read_text"),
    ".log": _Kind("text", "read_text"),
    ".md": _Kind("text", "read_markdown"),
    ".markdown": _Kind("text", "read_markdown"),
    ".rst": _Kind("text", "read_rst"),
    ".html": _Kind("html", "read_html"),
    ".htm": _Kind("html", "read_html"),
    ".eml": _Kind("mail", "read_eml"),
    ".epub": _Kind("epub", "read_epub"),
    ".pdf": _Kind("pdf", "read_pdf", "pdf"),
    ".docx": _Kind("word", "read_docx"),
    ".docm": _Kind("word", "read_docx"),
    ".odt": _Kind("opendocument", "read_odt"),
    ".pptx": _Kind("slides", "read_pptx"),
    ".pptm": _Kind("slides", "read_pptx"),
    ".xlsx": _Kind("sheets", "read_xlsx"),
    ".xlsm": _Kind("sheets", "read_xlsx"),
    ".ods": _Kind("opendocument_sheets", "read_ods"),
    ".json": _Kind("records", "read_json"),
    ".jsonl": _Kind("records", "read_jsonl"),
    ".ndjson": _Kind("records", "read_jsonl"),
    ".csv": _Kind("records", "read_csv"),
    ".tsv": _Kind("records", "read_csv"),
    ".parquet": _Kind("parquet", "read_parquet", "parquet"),
}

ENDINGS = tuple(_KINDS)  # of files that can be read, in small letters


def read_documents(
    path: Path,
    skip: Skip,
    alive: Callable[[], None] = lambda: None,
    notice: Notice = lambda line: None,
) -> Iterator[Document]:
    """The documents of one file: one per record of a file of records, else one.

    `skip` gets one line if a part of the file cannot be used, or if the file has no text. `alive`
    is called after each page, record or other small part. `notice` gets one line if a part is
    left out because its author hid it.

    Raises:
        InputError: the file is broken, too large or of an unknown kind, or an optional dependency
            is missing.
    """
    check_kind(path)
    report, texts = _Report(path, alive, notice), 0
    try:
        for document in _reader(path)(path, report):
            if document.text.strip():
                texts += 1
                yield document
    except InputError as error:
        raise InputError(f"{printable(path)}: {error}") from error
    except ImportError as error:
        extra = _KINDS[path.suffix.lower()].extra
        raise InputError(
            f"{printable(path)}: {path.suffix} files need {error.name}: "
            f"pip install 'fabir[{extra}]'"
        ) from error
    except MemoryError as error:
        raise InputError(f"{printable(path)} needs too much memory to be read") from error
    except DAMAGE as error:
        reason = printable(str(error))[:200]
        raise InputError(
            f"{printable(path)} cannot be read: damaged, or of another kind ({reason}). "
            "Get another copy, or open it in its program and save it anew"
        ) from error
    except Exception as error:  # parsers of other packages raise any exception
        reason = printable(f"{type(error).__name__}: {error}")[:200]
        raise InputError(f"{printable(path)} cannot be read: {reason}") from error
    if report.count:
        more = f" (and {report.count - 1:,} more)" if report.count > 1 else ""
        skip(f"{printable(path)}: {printable(report.first)}{more}")
    elif not texts:
        skip(f"{printable(path)}: no text in it")


class _Report:
    """Counts the lost parts of a file, and keeps what is said of the first."""

    def __init__(self, path: Path, alive: Callable[[], None], notice: Notice) -> None:
        self.alive, self.count, self.first = alive, 0, ""
        self._path, self._notice = path, notice

    def lost(self, what: str) -> None:
        self.count += 1
        self.first = self.first or what[:200]

    def hidden(self, what: str) -> None:
        self._notice(f"left out of {printable(self._path)}: {printable(what)}")


def _reader(path: Path) -> ReadFile:
    kind = _KINDS[path.suffix.lower()]
    return getattr(import_module(f"fabir.documents.{kind.module}"), kind.function)


def check_kind(path: Path) -> None:
    if not is_document(path):
        raise InputError(f"{printable(path)} is none of {', '.join(_KINDS)}")


def is_document(path: Path) -> bool:
    return path.suffix.lower() in _KINDS
