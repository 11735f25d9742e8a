"""A text cut into passages that a reader can read: whole paragraphs, or sentences of long ones."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from fabir.text.sentences import sentences

# Between paragraphs: a blank line, or so much space that it is no sentence's.
_GAP = re.compile(r"\n[^\S\n]*\n|\s{100}")
_SLACK = 1.25  # a paragraph is left whole that is a little too long
_SHORT = 0.25  # a heading, a list's item: goes with what follows
# A line's end within a sentence of a text that was broken into lines of even length.
_WRAPPED = re.compile(r"([^\n]{39}[^\s.!?:])(\r?\n)(?=\w)")


def passages(text: str, size: int = 1000, pages: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Half-open character offsets of the passages of `text`, ascending, that do not overlap.

    Whatever is not white space is in one of them. None goes over the border of a page, begins or
    ends with white space, or is longer than 1.25 `size`.
    """
    found = []
    for begin, end in pairwise(sorted({0, *pages, len(text)})):
        for span in _joined(_paragraphs(text, begin, end), size * _SHORT):
            found += _cut(text, *span, size)
    return found


def flowing(text: str) -> str:
    """The same length, with spaces for the line ends within sentences."""
    return _WRAPPED.sub(lambda match: match[1] + " " * len(match[2]), text)


def _paragraphs(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    gaps = [match.span() for match in _GAP.finditer(text, begin, end)]
    edges = [begin, *(edge for gap in gaps for edge in gap), end]
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        yield from _stripped(text, start, stop)


def _joined(spans: Iterator[tuple[int, int]], short: float) -> Iterator[tuple[int, int]]:
    """Short paragraphs with the next one."""
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
    """A paragraph in parts of similar length, where possible between sentences."""
    longest = int(size * _SLACK)
    while end - start > longest:
        parts = -(-(end - start) // size)
        target = (end - start) // parts
        cut = start + _border(flowing(text[start : start + longest]), target)
        yield from _stripped(text, start, cut)
        start = next((begin for begin, _ in _stripped(text, cut, end)), end)
    yield from _stripped(text, start, end)


def _border(window: str, target: int) -> int:
    """The best place to end a passage: a sentence's end near `target`, a word's, or any."""
    begins = [start for start, _ in sentences(window)[1:]]
    if begins:
        return min(begins, key=lambda begin: abs(begin - target))
    last_word = window.rstrip().rfind(" ")
    return last_word if last_word > 0 else len(window)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span without white space at its ends; nothing if nothing is left."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
