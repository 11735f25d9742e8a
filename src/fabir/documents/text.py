"""Reads plain text, Markdown and reStructuredText: the file's own text, line for line."""

import re
from collections.abc import Iterator
from pathlib import Path

from fabir.documents.base import Document, Report, check_size, title_of
from fabir.documents.encodings import decode

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_INDENTED = re.compile(r" {4}|\t")
_OTHER_BLOCK = re.compile(r"\s*$| {0,3}(?:[>|]|---|\*\*\*|[-*+][ \t]|\d{1,9}[.)][ \t])")
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(.*?\n)??\1[ \t]*(?:\n|\r\n|\Z)", re.DOTALL)
_STATED = re.compile(r"""^title[ \t]*[:=][ \t]*(["']?)(\S.{0,300}?)\1[ \t\r]*$""", re.MULTILINE)
_RULE = re.compile(r"([!-/:-@[-`{-~])\1*[ \t]*$")  # one punctuation mark, repeated
# A hyphen that only divides lines, as in pages of man, and the rest of the word.
_DIVIDED = re.compile(r"(?<=[^\W\d_])\u2010(\r?\n[ \t]*)([^\W\d_]\S*) (?=\S)")
_WORD = re.compile(r"[^\W_]")
_LONE_CR = re.compile(r"\r(?!\n)")  # the line end of old Macintoshes
_MARKS = re.compile(r"^(?:#{1,6}|[-*+])[ \t]+|(?<![ \t])[ \t]+#+$")  # before and behind a heading
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|`+)(?=\S)(.{1,200}?)(?<=\S)\1(?!\w)")

_Span = tuple[int, int]


def read_text(path: Path, report: Report) -> Iterator[Document]:
    """Lines that are underlined are headings if there are several, as in reStructuredText."""
    text = decoded(path, report)
    headings = tuple(rst_headings(text))
    several = headings if len(headings) > 1 else ()
    yield Document(text, title_of(path), headings=several, line=1, lines_run_on=True)


def read_markdown(path: Path, report: Report) -> Iterator[Document]:
    """The title is the front matter's, else the first heading, else the file's name."""
    text = decoded(path, report)
    front = _FRONT_MATTER.match(text)
    stated = _STATED.search(front[2] or "") if front else None
    headings = list(markdown_headings(text, front.end() if front else 0))
    title = stated[2] if stated else _first_heading(text, headings)
    yield _document(path, text, title, headings)


def read_rst(path: Path, report: Report) -> Iterator[Document]:
    """The title is the first heading, else the file's name."""
    text = decoded(path, report)
    headings = list(rst_headings(text))
    yield _document(path, text, _first_heading(text, headings), headings)


def decoded(path: Path, report: Report) -> str:
    """A file's text, without a byte order mark, with `whole_words`. Line ends of a lone CR are LF.

    Raises:
        InputError: the file is too large, its encoding is not certain, or it is no text.
    """
    check_size(path)
    text = _LONE_CR.sub("\n", decode(path.read_bytes(), lost=report.lost))
    return whole_words(text)


def whole_words(text: str) -> str:
    """The text with words that U+2010 divides at line ends whole before them. Lines keep their
    numbers."""
    return _DIVIDED.sub(r"\2\1", text) if "\u2010" in text else text


def markdown_headings(text: str, start: int = 0) -> Iterator[_Span]:
    """Offsets of the headings from `start` on, with their marks: "# A", or "A" over "---"."""
    fence = ""
    paragraph = -1  # where the paragraph begins that may turn out to be a heading; -1: none is open
    for begin, line in _lines(text, start):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence, paragraph = mark[1], -1
        elif _ATX.match(line):
            yield begin, begin + len(line)
            paragraph = -1
        elif paragraph >= 0 and _SETEXT.match(line):
            yield paragraph, begin + len(line)
            paragraph = -1
        elif _OTHER_BLOCK.match(line):
            paragraph = -1
        elif paragraph < 0 and not _INDENTED.match(line):
            paragraph = begin


def rst_headings(text: str) -> Iterator[_Span]:
    """Offsets of the headings, with the lines of marks under and over them."""
    above, above_begin = "", 0  # the line before `title`
    title, title_begin = "", 0
    for begin, line in _lines(text):
        over = bool(title and above == line)
        apart = over or not above
        if apart and _RULE.match(line) and _is_title(title, over) and len(line) >= len(title):
            yield above_begin if over else title_begin, begin + len(line)
            line = " "  # ends no other heading
        above, above_begin, title, title_begin = title, title_begin, line, begin


def _is_title(line: str, over: bool) -> bool:
    return bool(line.strip()) and (over or not line[0].isspace()) and not _RULE.match(line)


def _lines(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Where each line begins, and the line without white space at its end."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, text[start:end].rstrip()
        start = end


def _first_heading(text: str, headings: list[_Span]) -> str:
    return bare_heading(text[slice(*headings[0])]) if headings else ""


def bare_heading(heading: str) -> str:
    """A heading without the marks and lines of Markdown and reStructuredText, on one line. Empty
    without a letter or a digit."""
    lines = (_MARKS.sub("", line.strip()) for line in heading.splitlines())
    return " ".join(_EMPHASIS.sub(r"\2", line) for line in lines if _WORD.search(line))


def _document(path: Path, text: str, title: str, headings: list[_Span]) -> Document:
    title = title_of(path, title)
    return Document(text, title, headings=tuple(headings), line=1, lines_run_on=True)
