"""Splits a text into passages: whole paragraphs, or the sentences of a long paragraph."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from fabir.text.lines import unwrap_lines
from fabir.text.sentences import sentences

# Separates paragraphs: a blank line, or more white space than a sentence has.
_GAP = re.compile(r"\n[^\S\n]*\n|\s{100}")
_SLACK = 1.25  # a paragraph up to this factor too long stays whole
_SHORT = 0.25  # a shorter paragraph, such as a list item, joins the next one; so do rows of a table
_HEADINGS = 4  # times this, headings that follow each other are a passage of their own
# One line that begins with a letter or a number and does not end as a sentence.
_HEADING = re.compile(r"[^\W_][^\n]{0,78}[^\s.!?:;,]")
_NUMBERED = re.compile(r"(?:\d{1,2}\.){1,4}\d{0,2}[ \t]+[A-Z]")
# A numbered title on a line of its own above its text, such as "9. Governing Law".
_TITLE = re.compile(rf"^{_NUMBERED.pattern}[^\n]{{0,60}}[^\s.!?:;,](?=\n\W*[A-Z])", re.MULTILINE)
_WORD = re.compile(r"[^\W_]")
# Such a line, also in bold or before a list, where headings are known or nothing is taken for one.
_MAY_HEAD = re.compile(r"(?:\*\*|__)?[^\W_][^\n]{0,78}[\w:*]")
_SENTENCE_ENDS = tuple(".!。！।")
_CLOSERS = "\"'”’»)]"
# A line of a table in Markdown, reStructuredText or plain text. The time is linear.
_ROW = re.compile(r"[ \t]*[|+]|[^\n]*?\S(?: \| |\t| {3,})\S|[ \t]*[-=]{2,} +[-=]{2,}")
# A line between records, such as "//". Other signs underline headings and the tops of tables.
_BETWEEN = re.compile(r"\n([/*%#&_@$!:;.])\1+[ \t]*\n")
_TOP = 2000  # characters of a table that may have the names of its columns
_LINE = re.compile(r"[^\n]+")
_DASHES = re.compile(r"[-=]+")


def passages(
    text: str, size: int = 1000, headings: Sequence[tuple[int, int]] | None = ()
) -> list[tuple[int, int]]:
    """Half-open character offsets of the passages of `text`, ascending and without overlap.

    Every character except white space is in a passage. A passage never begins or ends with white
    space, or is longer than 1.25 `size`. A heading begins a passage, or goes with the headings
    before it. A paragraph without letters and digits, such as a rule, goes with what is before it.
    A row of a table stays whole if it fits.

    Args:
        text: a document's text
        size: approximate length of a passage in characters
        headings: half-open offsets of the headings; None: unknown, short lines are taken for some
    """
    ends = {text.rfind("\n", 0, start) + 1: end for start, end in headings or ()}
    found = []
    paragraphs = list(_paragraphs(text, ends, headings is None))
    for span in _join_short(text, paragraphs, size * _SHORT):
        found += _cut(text, *span, size)
    return found


class _Paragraph(NamedTuple):
    """Half-open character offsets, whether it begins with a heading, and whether more follows.

    is_blank: whether it has neither letters nor digits
    may_head: whether it is a short line that may belong to what follows
    """

    start: int
    end: int
    is_headed: bool
    has_body: bool
    is_blank: bool = False
    may_head: bool = False


def _paragraphs(text: str, headings: Mapping[int, int], guess: bool) -> Iterator[_Paragraph]:
    """
    Args:
        headings: where the line of a heading begins, and where the heading ends
        guess: whether short lines are headings
    """
    gaps = [match.span() for match in _GAP.finditer(text)]
    titles = frozenset(_titles(text) if guess else ())
    edges = sorted({0, len(text), *chain(*gaps), *headings, *titles})
    for edge, after in pairwise(edges):
        for start, end in _strip(text, edge, after):
            if edge in headings:
                yield _Paragraph(start, end, True, headings[edge] < end)
            else:
                alike = guess and bool(_HEADING.fullmatch(text, start, end))
                is_blank = not _WORD.search(text, start, end)
                may_head = bool(_MAY_HEAD.fullmatch(text, start, end))
                is_headed = alike or start in titles
                yield _Paragraph(start, end, is_headed, not alike, is_blank, may_head)


def _titles(text: str) -> Iterator[int]:
    """Where the numbered titles begin. A line of wrapped text is none."""
    found = [match.span() for match in _TITLE.finditer(text)]
    unwrapped = unwrap_lines(text) if found else ""
    return (start for start, end in found if unwrapped[end] == "\n")


def _join_short(text: str, paragraphs: list[_Paragraph], short: float) -> Iterator[tuple[int, int]]:
    """Join each short paragraph with the next one, and each heading with what follows.

    Args:
        short: length below which a paragraph is joined
    """
    joined: list[_Paragraph] = []
    for each in paragraphs:
        if joined and not each.is_blank:
            length = joined[-1].end - joined[0].start
            has_body = any(part.has_body for part in joined)
            is_full = has_body and (each.is_headed or length >= short)
            if is_full or length >= short * _HEADINGS:
                left = 0 if each.is_headed else _left_for_next(text, joined, each)
                yield joined[0].start, joined[-1 - left].end
                joined = joined[len(joined) - left :]
        joined.append(each)
    if joined:
        yield joined[0].start, joined[-1].end


def _left_for_next(text: str, joined: Sequence[_Paragraph], following: _Paragraph) -> int:
    """1 if the last paragraph goes with what follows: a short line behind a sentence, or one with a
    number between paragraphs without."""
    if len(joined) < 2 or not joined[-1].may_head:
        return 0
    before, last, after = (
        bool(_NUMBERED.match(text, part.start)) for part in (*joined[-2:], following)
    )
    if last:
        return int(not before and not after)
    sentence = text[joined[-2].start : joined[-2].end].rstrip(_CLOSERS).endswith(_SENTENCE_ENDS)
    return int(sentence and not following.may_head)


def _cut(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut a paragraph into parts of similar length, between sentences if possible.

    Rows of a long table are joined as short paragraphs are.
    """
    if end - start > size * _SLACK and _is_table(text[start : min(end, start + 10 * size)]):
        size = max(1, int(size * _SHORT))
    longest = int(size * _SLACK)
    while end - start > longest:
        parts = -(-(end - start) // size)
        target = (end - start) // parts
        cut = start + _best_cut(text[start : start + longest], target)
        yield from _strip(text, start, cut)
        start = next((begin for begin, _ in _strip(text, cut, end)), end)
    yield from _strip(text, start, end)


def _best_cut(window: str, target: int) -> int:
    """The best offset for a cut: behind a line between records, or where a sentence or a row begins
    near `target`, else a word end.

    Without a word end any offset will do.
    """
    if records := [match.end() for match in _BETWEEN.finditer(window)]:
        return min(records, key=lambda end: abs(end - target))
    unwrapped = unwrap_lines(window)
    rows = _rows(window)
    inside = [start for start, _ in sentences(unwrapped)[1:]]
    between = [place for place in inside if not _is_inside(place, rows)]
    begins = between + [start for start, _ in rows if start] or inside
    if begins:
        return min(begins, key=lambda begin: abs(begin - target))
    last_word = unwrapped.rstrip().rfind(" ")
    return last_word if last_word > 0 else len(window)


def _is_table(text: str) -> bool:
    return len(_rows(text)) > text.count("\n") / 2


def _rows(text: str) -> list[tuple[int, int]]:
    """Half-open offsets of the lines that are rows of tables: lines like one, beside another."""
    lines = [(line.start(), line.end(), bool(_ROW.match(line[0]))) for line in _LINE.finditer(text)]
    around = [False, *(is_row for _, _, is_row in lines), False]
    return [
        (start, end)
        for number, (start, end, is_row) in enumerate(lines, 1)
        if is_row and (around[number - 1] or around[number + 1])
    ]


def _is_inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    number = bisect_left(spans, (place, place))
    return number > 0 and place < spans[number - 1][1]


def begins_with_row(passage: str) -> bool:
    """Whether a passage may go on with a table."""
    return bool(_ROW.match(passage))


def last_gap(text: str, start: int, end: int) -> int:
    """Where the last blank line between two places begins; -1 if there is none."""
    return max(text.rfind("\n\n", start, end), text.rfind("\n\r\n", start, end))


def column_names(text: str, start: int, end: int) -> str:
    """The line that names the columns of a table, with a rule below it; empty if there is none.

    Args:
        text: a document in Markdown, reStructuredText or plain text
        start: where the paragraph of the table begins
        end: where a passage begins with a later row of it
    """
    before = ""
    for line in text[start : min(end, start + _TOP)].splitlines():
        if before and _is_rule(line) and not _is_rule(before):
            return before.strip()
        before = line
    return ""


def _is_rule(line: str) -> bool:
    return set(line) <= set("-=|+: \t") and len(_DASHES.findall(line)) > 1


def _strip(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span without white space at its ends, unless it is empty."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
