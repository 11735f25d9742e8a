"""Lines of pages to one text: paragraphs, words whole at line ends, sentences at page ends."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf
from operator import attrgetter
from statistics import median

from fabir.documents.page_edges import take_footnotes, take_running_lines
from fabir.documents.page_layout import COLUMN_LINES, SAME_SIZE, Line, Page

_APART = 1.35  # a larger distance of lines, in usual distances, is between paragraphs
_LEADING = 1.3  # the same in line heights, for a heading of larger letters than the text has
_INDENT = 0.8, 5.0  # of the first line of a paragraph, in line heights
_CENTRED = 1.0  # most distance between the middles of centred lines, twice, in line heights
_HEADING = 1.15  # least size of a heading's letters, in those of most text
_LONG = 0.66  # least share of its column that a wrapped line fills
_WORDS = 5  # most words of a line that does not end within a name
_FEW = 10  # most lines of an address
_NARROW = 20.0  # greatest width of an address, in line heights
_END = re.compile(r"[.!?:;][\"'’”»)\]]*$")
_ITEM = re.compile(r"[•‣▪◦●○■□–—*·-]\s|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)]\s")
_LABEL = re.compile(r"[^\W\d_][^:.!?]{0,30}:\s")
_HYPHEN = re.compile(r"[^\W\d_][-‐\u00ad]$")
_LAST = re.compile(r"([^\W\d_]+(?:[-‐][^\W\d_]+)*)[-‐\u00ad]$")
_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_SUSPENDED = frozenset(["and", "or", "to", "nor", "und", "oder", "bis", "sowie", "et", "ou"])
_NUMBERED = re.compile(r"[\dA-Z]{1,3}   \D+$")  # such as "1   Background"
_right = attrgetter("right")
_CAPTION = re.compile(r"(?:Fig|Tab|Abb|Box|Listing)[a-z]*\.? \d")


@dataclass(slots=True)
class _Piece:
    """A line or a note, and what stands before it: "\n\n", "\n", " " or nothing.

    right: that of its column if it is a column of text, else infinite
    """

    text: str
    page: int
    line: Line | None = None
    joint: str = "\n\n"
    right: float = inf


@dataclass(frozen=True, slots=True)
class Text:
    """The text of all pages, where they begin, and half-open offsets of its headings."""

    text: str
    pages: list[int]
    headings: list[tuple[int, int]]


def run_on(pages: Sequence[Page]) -> Text:
    """One text of all pages.

    Lines of a paragraph are joined by a space if the line was full, else by "\\n". Paragraphs are
    separated by "\\n\\n", and so are pages and columns unless a sentence goes on: then a space
    stands there, or nothing within a word. Footnotes, and a running header or footer where it
    occurs first, are paragraphs of their page beside such a sentence. Page numbers are left out.
    """
    headers = take_running_lines(pages)
    lines = [line for page in pages for column in page.columns for line in column]
    size, bold = _usual(lines)
    joiner = _Joiner(_vocabulary(lines))
    parts = []
    last = None
    for number, page in enumerate(pages):
        footnotes = take_footnotes(page, size)
        main = joiner.join(number, page.columns, last)
        notes = joiner.join(number, footnotes, None)
        notes += [_Piece(text, number) for text in page.notes]
        parts.append(([_Piece(text, number) for text in headers[number]], main, notes))
        last = main[-1] if main else None
    return _assemble(_in_order(parts), len(pages), size, bold)


def _in_order(
    parts: Sequence[tuple[list[_Piece], list[_Piece], list[_Piece]]],
) -> Iterator[_Piece]:
    """Headers, text and notes of all pages; none within a sentence over the end of a page."""
    goes_on = [bool(main) and main[0].joint != "\n\n" for _, main, _ in parts[1:]]
    waiting: list[_Piece] = []  # for the end of a sentence that is longer than their page
    for (headers, main, notes), open_end in zip(parts, [*goes_on, False], strict=True):
        begins = [number for number, piece in enumerate(main) if piece.joint == "\n\n"]
        if open_end and not begins:
            yield from main
            waiting += headers + notes
            continue
        first = begins[0] if begins else len(main)
        last = begins[-1] if open_end else len(main)
        yield from chain(main[:first], waiting, headers, main[first:last], notes, main[last:])
        waiting = []


class _Joiner:
    """Joins lines to paragraphs, and words that are broken at line ends."""

    def __init__(self, vocabulary: Counter[str]) -> None:
        self._vocabulary = vocabulary

    def join(
        self, page: int, columns: Iterable[Sequence[Line]], last: _Piece | None
    ) -> list[_Piece]:
        """The pieces of a page's columns. `last` is the last one of the page before, if any."""
        pieces = []
        for column in columns:
            pitch = _pitch(column)
            ragged = _is_ragged(column)
            right = max(map(_right, column), default=inf) if len(column) >= COLUMN_LINES else inf
            for number, (line, sides) in enumerate(zip(column, _sides(column, pitch), strict=True)):
                piece = _Piece(line.text, page, line, right=right)
                if line.joint:
                    piece.joint = line.joint
                elif last and last.line:
                    if _broken_word(last.text, line.text):
                        piece.joint = self._join_word(last, line.text)
                    elif number:
                        piece.joint = _joint(last.line, line, sides, pitch, ragged)
                    elif _goes_on(last.line, line, _is_full(last.line, line, last.right)):
                        piece.joint = " "
                    if piece.joint == " " and _is_compound(last.text, line.text):
                        piece.joint = ""
                        self._join_capitals(last, line.text)
                    if line.joint == "" and piece.joint == "\n\n":
                        piece.joint = "\n"
                pieces.append(piece)
                last = piece
        return pieces

    def _join_word(self, last: _Piece, text: str) -> str:
        """Remove the hyphen at a line end, unless the document's words speak for it."""
        begin = _LAST.findall(last.text[-100:])[0].lower()
        end = _WORD.findall(text[:100])[0].lower()
        if end in _SUSPENDED:
            return " "
        if last.text[-1] == "\u00ad" or not self._keeps_hyphen(begin, end):
            last.text = last.text[:-1]
        return ""

    def _join_capitals(self, last: _Piece, text: str) -> None:
        """Remove the hyphen between capitals, if the document has the word without it."""
        begin, end = _LAST.findall(last.text[-100:]), _WORD.match(text[:100])
        if begin and end and (begin[0] + end[0]).isupper():
            whole = self._vocabulary[(begin[0] + end[0]).lower()]
            if whole > self._vocabulary[f"{begin[0]}-{end[0]}".lower()]:
                last.text = last.text[:-1]

    def _keeps_hyphen(self, begin: str, end: str) -> bool:
        count = self._vocabulary
        whole, parted = count[begin + end], count[f"{begin}-{end}"]
        if whole != parted:
            return parted > whole
        both_words = min(len(begin), len(end)) > 3 and min(count[begin], count[end]) > 0
        return both_words or "-" in begin


def _broken_word(text: str, following: str) -> bool:
    letter = following[0]
    return bool(_HYPHEN.search(text)) and letter.isalpha() and letter.islower()


def _is_compound(text: str, following: str) -> bool:
    """Whether a hyphen stands at a line end as in Anglo-Saxon or 1914-18."""
    letter = following[0]
    return bool(re.search(r"\w[-‐]$", text)) and letter.isalnum() and not letter.islower()


def _joint(last: Line, line: Line, sides: tuple[float, float], pitch: float, ragged: bool) -> str:
    """What stands between two lines of a column with these sides."""
    left, right = sides
    full = not ragged and _is_full(last, line, right)
    ended = bool(_END.search(last.text))
    if _is_apart(last, line, full and not ended, pitch):
        return "\n\n"
    if _LABEL.match(last.text) and _LABEL.match(line.text) and not line.text[0].islower():
        return "\n"
    if last.cells > 1 or line.cells > 1 or (_ITEM.match(line.text) and (ended or not full)):
        return "\n"
    long = last.right - left > _LONG * (right - left)
    return " " if full or (long and not ended and line.text[0].islower()) else "\n"


def _is_full(last: Line, line: Line, right: float) -> bool:
    """Whether a line has no room for the first word of the next one."""
    return last.right + line.first + last.size / 4 > right


def _is_ragged(lines: Sequence[Line]) -> bool:
    """Whether few lines fill their narrow column, as in an address: none is wrapped.

    The cells of tables are wrapped more often than not.
    """
    if not 2 < len(lines) <= _FEW or lines[0].joint is not None:
        return False
    right = max(line.right for line in lines)
    width = right - min(line.left for line in lines)
    full = sum(_is_full(line, after, right) for line, after in pairwise(lines))
    return width < _NARROW * lines[0].size and 2 * full < len(lines)


def _is_apart(last: Line, line: Line, goes_on: bool, pitch: float) -> bool:
    """Whether a paragraph ends between two lines of a column."""
    apart = max(_APART * pitch, _LEADING * line.size)
    if line.top - last.top > apart or not _same_size(last, line):
        return True
    least, most = _INDENT
    begin, end = (line.left - last.left) / line.size, (line.right - last.right) / line.size
    centred = line.size > pitch and abs(begin + end) < _CENTRED  # lines of a heading
    indented = least < begin < most and not centred
    return not goes_on and (last.bold != line.bold or (indented and not _ITEM.match(last.text)))


def _goes_on(last: Line, line: Line, full: bool) -> bool:
    """Whether a sentence goes on from the end of a page or column to the next one.

    A name may be parted if its line is full.
    """
    if last.cells > 1 or line.cells > 1 or last.joint is not None or _END.search(last.text):
        return False
    if last.bold != line.bold or not _same_size(last, line):
        return False
    words = last.text.split()
    small_letters = words[-1].rstrip(",").isalpha() and words[-1].islower()
    name = full and words[-1].isalpha() and words[-1][0].isupper() and len(words) > _WORDS
    return line.text[0].islower() or (
        line.text[0].isalpha()
        and ((small_letters and len(words) > 3) or name)
        and not _ITEM.match(line.text)
        and not _CAPTION.match(line.text)
    )


def _same_size(last: Line, line: Line) -> bool:
    small, large = sorted((last.size, line.size))
    return large < SAME_SIZE * small and last.quarter == line.quarter


def _pitch(lines: Sequence[Line]) -> float:
    """The usual distance between a column's lines."""
    steps = [after.top - before.top for before, after in pairwise(lines)]
    size = median(line.size for line in lines) if lines else 0
    return min(median(steps), 2.5 * size) if len(steps) > 3 else 1.2 * size


def _sides(lines: Sequence[Line], pitch: float) -> Iterator[tuple[float, float]]:
    """For each line the sides of its column, or of the block around it if that has even ends."""
    block: list[Line] = []
    column = min(line.left for line in lines), max(line.right for line in lines)
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        block.append(line)
        if after is None or after.top - line.top > _APART * pitch:
            right = max(each.right for each in block)
            ends = sum(each.right > right - each.size / 2 for each in block)
            even = ends > 2 and ends * 2 >= len(block)
            sides = min(each.left for each in block), right
            yield from [sides if even else column] * len(block)
            block = []


def _vocabulary(lines: Iterable[Line]) -> Counter[str]:
    """How often each word occurs within lines. Parts of words at line ends do not count."""
    counts: Counter[str] = Counter()
    for line in lines:
        words = _WORD.findall(line.text.lower())
        counts.update(words[:-1] if _HYPHEN.search(line.text) else words)
    return counts


def _usual(lines: Iterable[Line]) -> tuple[float, bool]:
    """Size and weight of most text."""
    fonts: Counter[tuple[float, bool]] = Counter()
    for line in lines:
        fonts[round(line.size, 1), line.bold] += len(line.text)
    return fonts.most_common(1)[0][0] if fonts else (0, False)


def _assemble(pieces: Iterable[_Piece], page_count: int, size: float, bold: bool) -> Text:
    text: list[str] = []
    length = begin = 0
    pages: list[int] = []
    headings: list[tuple[int, int]] = []
    paragraph: list[Line | None] = []

    def end_paragraph() -> None:
        if _is_heading(paragraph, size, bold):
            headings.append((begin, length))

    for piece in pieces:
        if piece.joint == "\n\n":
            end_paragraph()
            paragraph = []
        joint = piece.joint if text else ""
        length += len(joint)
        if not paragraph:
            begin = length
        pages += [length] * (piece.page + 1 - len(pages))
        text += joint, piece.text
        length += len(piece.text)
        paragraph.append(piece.line)
    end_paragraph()
    pages += [length] * (page_count - len(pages))
    return Text("".join(text), pages, headings)


def _is_heading(paragraph: Sequence[Line | None], size: float, bold: bool) -> bool:
    lines = [line for line in paragraph if line]
    text = " ".join(line.text for line in lines)
    return (
        0 < len(lines) <= 3
        and all(line.joint is None for line in lines)
        and 3 < len(text) <= 200
        and any(map(str.isalpha, text))
        and text[0].isalnum()
        and text[-1] not in ".,;"
        and all(line.size > _HEADING * size or (line.bold and not bold) for line in lines)
        and all(line.cells == 1 for line in lines[1:])
        and (lines[0].cells == 1 or bool(_NUMBERED.match(text)))
    )
