"""Tells the line ends of wrapped text from hard ones, such as those of addresses and tables."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

_NARROW = 30  # characters of the longest line below which lines are not wrapped
# Lines without a blank one between. The time is linear: each piece begins where a line begins.
_BLOCK = re.compile(r"^[^\S\n]*\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)+", re.MULTILINE)
_LINE = re.compile(r"[^\n]+")
_FIRST_WORD = re.compile(r"\s*(\S+)")
_ENDED = tuple(".!?:;")
_TOLD = ("", "\n", *".!?;:,")  # what is told from the next line without a mark
# The last two characters of a line and the first of the next one, in the middle of a word.
_HYPHENATED = re.compile(r"[^\W\d_][-\u2010][^\W\d_A-Z]")
# What a new item or a cell of a table begins with.
_BEGINNING = re.compile(r"\s*(?:[-*+•–]\s|\(?\w{1,3}[.)]\s|[^\n:]{1,40}:\s)")


def unwrap_lines(text: str) -> str:
    """Replace the line ends of wrapped text by spaces. The length stays the same."""
    if "\n" not in text:
        return text
    pieces, at = [], 0
    for start, end in _soft_ends(text):
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*pieces, text[at:]])


def hard_line_ends(text: str) -> list[int]:
    """Character offsets of the line ends that divide what is not one sentence, ascending."""
    if "\n" not in text:
        return []
    return [match.start() for match in re.finditer("\n", unwrap_lines(text))]


def unpunctuated(text: str, line_ends: Iterable[int]) -> list[int]:
    """Those of the `line_ends`, character offsets, that no punctuation stands before."""
    return [end for end in line_ends if _last_character(text, end) not in _TOLD]


def mark(text: str, line_ends: Iterable[int]) -> str:
    """`text` with a semicolon in place of the character at each of the `line_ends`.

    Models read it so, both in training and when they answer: they tell sentences by punctuation.
    """
    characters = list(text)
    for end in line_ends:
        characters[end] = ";"
    return "".join(characters)


def _last_character(text: str, end: int) -> str:
    """What stands before `end`, white space within the line left out."""
    return text[max(0, end - 80) : end].rstrip(" \t\r")[-1:]


def _soft_ends(text: str) -> Iterator[tuple[int, int]]:
    """Half-open character offsets of the line ends within wrapped text, with spaces before."""
    for block in _BLOCK.finditer(text):
        lines = list(_LINE.finditer(text, *block.span()))
        lengths = sorted(len(line[0].rstrip()) for line in lines)
        # An address in a line may be longer than all others.
        width = lengths[(3 * len(lengths) - 1) // 4]
        for line, following in pairwise(lines):
            content = line[0].rstrip()
            if _is_wrapped(content, following[0], width):
                yield line.start() + len(content), following.start()


def _is_wrapped(line: str, following: str, width: int) -> bool:
    """
    Args:
        width: characters of a long line
    """
    if _HYPHENATED.fullmatch(line[-2:] + following.lstrip()[:1]):
        return True
    if width < _NARROW or line.endswith(_ENDED) or _BEGINNING.match(following):
        return False
    word = _FIRST_WORD.match(following)
    return not (word and len(line) + 1 + len(word[1]) <= width)
