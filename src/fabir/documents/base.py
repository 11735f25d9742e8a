"""What every kind of file is read to: documents, and a report of what is lost."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fabir.errors import InputError
from fabir.terminal import printable

MAX_BYTES = 64 << 20  # of a file that is read at once, of unpacked markup, and of a text
MAX_UNPACKED = 256 << 20  # of all of an archive, pictures included

_TITLE = 200  # characters of a title at most
# What programs fill in by themselves.
_NO_TITLE = re.compile(
    r"\W*(?:(?:anonymous|none|null|title|unknown|untitled.*)\d*"
    r"|(?:slide|document|presentation|dokument|präsentation) ?\d*"
    r"|(?:microsoft )?(?:word|office|pdf|powerpoint) (?:document|presentation)"
    r"|(?:microsoft )?(?:word|powerpoint|excel) - .*|powerpoint-pr.{1,3}sentation"
    r"|\S+\.(?:docx?|dot|dvi|html?|indd|od[st]|pdf|pptx?|rtf|tex|txt|xlsx?))?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its source. Paragraphs are separated by blank lines.

    part: id or number of the record, or name of the sheet, if the file has several
    pages: character offsets at which the pages (or slides) begin; empty if there are none
    headings: half-open character offsets of the headings, ascending
    line: line of the file on which the text begins; None if the format has no lines
    lines_run_on: whether the lines of the text are lines of the file
    """

    text: str
    title: str = ""
    part: str = ""
    pages: tuple[int, ...] = ()
    headings: tuple[tuple[int, int], ...] = ()
    line: int | None = None
    lines_run_on: bool = False


class Report(Protocol):
    """Gets what a reader of a file has to say beside the documents."""

    def lost(self, what: str) -> None:
        """Count a part of the file that is in no document, such as "page 3 has no text"."""
        ...

    def hidden(self, what: str) -> None:
        """Name a part that is in no document because its author hid it, such as "2 hidden rows"."""
        ...

    def alive(self) -> None:
        """A page, a record or another small part is read: the limit of time begins anew."""
        ...


ReadFile = Callable[[Path, Report], Iterator[Document]]


def title_of(path: Path, title: object = None) -> str:
    """A document's title on one line: `title` if it says something, else the file's name."""
    chosen = telling_title(title) or path.stem.replace("_", " ")
    return printable(text_of(chosen)).strip()[:_TITLE]


def telling_title(title: object) -> str:
    """`title` on one line; empty if it is no text, or one that programs fill in by themselves."""
    words = " ".join(title.split())[:_TITLE] if isinstance(title, str) else ""
    return "" if _NO_TITLE.fullmatch(words) else words


def text_of(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode. The length stays the same."""
    return text.encode("utf-8", "replace").decode("utf-8")


def check_size(path: Path) -> None:
    """
    Raises:
        InputError: the file is too large to be read at once.
    """
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES >> 20} MiB: split it")
