"""Splits a text into passages: whole paragraphs, or the sentences of a long paragraph."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from fabir.text.sentences import sentences

# Separates paragraphs: a blank line, or more white space than a sentence has.
_GAP = re.compile(r"\n[^\S\n]*\n|\s{100}")
_SLACK = 1.25  # a paragraph up to this factor too long stays whole
_SHORT = 0.25  # a shorter paragraph, such as a heading or a list item, joins the next one
# A line break within a sentence of hard-wrapped text.
_WRAPPED = re.compile(r"([^\n]{39}[^\s.!?:])(\r?\n)(?=\w)")


def passages(text: str, size: int = 1000, pages: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Half-open character offsets of the passages of `text`, ascending and without overlap.

    Every character except white space is in a passage. A passage never crosses a page break, begins
    or ends with white space, or is longer than 1.25 `size`.
    """
    found = []
    for begin, end in pairwise(sorted({0, *pages, len(text)})):
        for span in _join_short(_paragraphs(text, begin, end), size * _SHORT):
            found += _cut(text, *span, size)
    return found


def unwrap_lines(text: str) -> str:
    """Replace line breaks within sentences by spaces. The length stays the same."""
    return _WRAPPED.sub(lambda match: match[1] + " " * len(match[2]), text)


def _paragraphs(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    gaps = [match.span() for match in _GAP.finditer(text, begin, end)]
    edges = [begin, *(edge for gap in gaps for edge in gap), end]
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        yield from _strip(text, start, stop)


def _join_short(spans: Iterator[tuple[int, int]], short: float) -> Iterator[tuple[int, int]]:
    """Join each short paragraph with the next one."""
    begin = last = None
    for start, end in spans:
        begin = start if begin is None else begin
        last = end
        if end - begin >= short:
            yield begin, end
            begin = None
    if begin is not None and last is not None:
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
