"""Splits a text into passages: whole paragraphs, or the sentences of a long paragraph."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from fabir.text.lines import unwrap_lines
from fabir.text.sentences import sentences

# Separates paragraphs: a blank line, or more white space than a sentence has.
_GAP = re.compile(r"\n[^\S\n]*\n|\s{100}")
_SLACK = 1.25  # a paragraph up to this factor too long stays whole
_SHORT = 0.25  # a shorter paragraph, such as a list item, joins the next one
_HEADINGS = 4  # times this, headings that follow each other are a passage of their own
# One line that begins with a letter or a number and does not end as a sentence.
_HEADING = re.compile(r"[^\W_][^\n]{0,78}[^\s.!?:;,]")
# A numbered title on a line of its own above its text, such as "9. Governing Law".
_TITLE = re.compile(
    r"^(?:\d{1,2}\.){1,4}\d{0,2}[ \t]+[A-Z][^\n]{0,60}[^\s.!?:;,](?=\n\W*[A-Z])", re.MULTILINE
)
_WORD = re.compile(r"[^\W_]")


def passages(
    text: str, size: int = 1000, headings: Sequence[tuple[int, int]] | None = ()
) -> list[tuple[int, int]]:
    """Half-open character offsets of the passages of `text`, ascending and without overlap.

    Every character except white space is in a passage. A passage never begins or ends with white
    space, or is longer than 1.25 `size`. A heading begins a passage, or goes with the headings
    before it. A paragraph without letters and digits, such as a rule, goes with what is before it.

    Args:
        text: a document's text
        size: approximate length of a passage in characters
        headings: half-open offsets of the headings; None: unknown, short lines are taken for some
    """
    ends = {text.rfind("\n", 0, start) + 1: end for start, end in headings or ()}
    found = []
    paragraphs = list(_paragraphs(text, ends, headings is None))
    for span in _join_short(paragraphs, size * _SHORT):
        found += _cut(text, *span, size)
    return found


class _Paragraph(NamedTuple):
    """Half-open character offsets, whether it begins with a heading, and whether more follows.

    is_blank: whether it has neither letters nor digits
    """

    start: int
    end: int
    is_headed: bool
    has_body: bool
    is_blank: bool = False


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
                yield _Paragraph(start, end, alike or start in titles, not alike, is_blank)


def _titles(text: str) -> Iterator[int]:
    """Where the numbered titles begin. A line of wrapped text is none."""
    found = [match.span() for match in _TITLE.finditer(text)]
    unwrapped = unwrap_lines(text) if found else ""
    return (start for start, end in found if unwrapped[end] == "\n")


def _join_short(paragraphs: list[_Paragraph], short: float) -> Iterator[tuple[int, int]]:
    """Join each short paragraph with the next one, and each heading with what follows.

    Args:
        short: length below which a paragraph is joined
    """
    begin = last = 0
    has_body = False
    for start, end, is_headed, more, is_blank in paragraphs:
        length = last - begin
        is_full = has_body and (is_headed or length >= short)
        if (is_full or length >= short * _HEADINGS) and not is_blank:
            yield begin, last
            begin = last
        if begin == last:
            begin, has_body = start, False
        last = end
        has_body |= more
    if last > begin:
        yield begin, last


def _cut(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut a paragraph into parts of similar length, between sentences if possible."""
    longest = int(size * _SLACK)
    while end - start > longest:
        parts = -(-(end - start) // size)
        target = (end - start) // parts
        cut = start + _best_cut(unwrap_lines(text[start : start + longest]), target)
        yield from _strip(text, start, cut)
        start = next((begin for begin, _ in _strip(text, cut, end)), end)
    yield from _strip(text, start, end)


def _best_cut(window: str, target: int) -> int:
    """The best offset for a cut: the sentence end nearest `target`, else a word end, else any."""
    begins = [start for start, _ in sentences(window)[1:]]
    if begins:
        return min(begins, key=lambda begin: abs(begin - target))
    last_word = window.rstrip().rfind(" ")
    return last_word if last_word > 0 else len(window)


def _strip(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span without white space at its ends, unless it is empty."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
