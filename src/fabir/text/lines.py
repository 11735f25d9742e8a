"""Tells where a text is divided: at ends of sentences and lines, but not where text is wrapped."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_NARROW = 30  # characters of the longest line below which lines are not wrapped
# Lines without a blank one between. The time is linear: each piece begins where a line begins.
_BLOCK = re.compile(r"^[^\S\n]*\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)+", re.MULTILINE)
_LINE = re.compile(r"[^\n]+")
_FIRST_WORD = re.compile(r"\s*(\S+)")
_ENDED = tuple(".!?:;")
_PUNCTUATION = ("", *".!?;:,")
_MAY_DIVIDE = re.compile(r"[\n\t]| {3}")
_BREAK = re.compile(
    r"(?<=\S)(?:(?P<paragraph>[^\S\n]*\n[^\S\n]*\n\s*)|(?P<line>[^\S\n]*\n\s*)"
    r"|(?P<gap>\t\s*|[^\S\n]{3,}))(?=\S)"
)
_MARKS = {"paragraph": ".", "line": ";", "gap": ","}
_GLUED = re.compile(r"\d\s\d")  # with a comma in its middle it is one number
_INITIALS = re.compile(r"[A-Z]\.[A-Z]")  # with a stop behind them they are one word
# The last two characters of a line and the first of the next one, in the middle of a word.
_HYPHENATED = re.compile(r"[^\W\d_][-\u2010][^\W\d_A-Z]")
_CELL = re.compile(r"(?<=\S)[^\S\n]{2,}(?=\S)")  # the gap before a cell of a table in plain text
_OPTION = (  # of a command, but no dash before a word
    r"-[A-Za-z](?![A-Za-z0-9_-])|--[A-Za-z][A-Za-z0-9_-]*(?:[,=]|\s{2}|\s*$|\s[<\[])"
)
# What a new item or a cell of a table begins with.
_BEGINNING = re.compile(rf"\s*(?:[-*+•–]\s|{_OPTION}|\(?\w{{1,3}}[.)]\s|[^\n:]{{1,40}}:\s)")
# A first word that is hardly ever a name after an abbreviation, as the second one of "Inc. Foo" is.
_FIRST = (
    "The|An|In|On|At|It|Its|He|His|She|Her|They|Their|We|Our|You|This|These|That|Those|There|But"
    "|However|As|For|From|By|To|With|After|Before|During|When|While|Although|Though|Since|If|Some"
    "|Most|Many|Each|Both|Other|Another|Such|Also"
)
# An end of a sentence that is no abbreviation: it may leave out some.
_SENTENCE = re.compile(
    rf"[.!?](?:(?<!\b[A-Z]\.)(?<!vs\.)(?<! v\.)[\"'”’)\]]*(?=\s+[\"“‘(\[]*(?:{_FIRST})[\s,])"
    r"|(?<=[a-z]{4}\.)[\"'”’)\]]*(?=\s+[\"“‘(\[]*[A-Z][A-Za-z]))"
)
# What each entry of a log or a chat begins with: a date or a time.
_STAMP = re.compile(r"\s*\[?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d|[A-Z][a-z]{2} +\d{1,2} \d|\d{1,2}:\d\d)")


def unwrap_lines(text: str) -> str:
    """Replace the line ends of wrapped text by spaces. The length stays the same."""
    if "\n" not in text:
        return text
    pieces, at = [], 0
    for start, end in _soft_ends(text):
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*pieces, text[at:]])


class Divided(NamedTuple):
    """A text with marks where its layout divides it: ends of paragraphs, of lines, gaps in lines.
    An answer lies between two ends of any kind, those of sentences too.

    text: with a punctuation mark in place of a white space at each of the `marks`. Models read it
        so, both in training and when they answer: they tell sentences by punctuation
    breaks: character offsets of white space that divides, ascending
    marks: those that no punctuation stands before
    unwrapped: the text without marks, with spaces in place of the line ends of wrapped text
    """

    text: str
    breaks: list[int]
    marks: list[int]
    unwrapped: str


def divide(text: str) -> Divided:
    """`text` with marks. Its length and the places of its words stay the same."""
    marks, characters = [], []
    unwrapped = unwrap_lines(text)
    breaks = {found.end() for found in _SENTENCE.finditer(unwrapped)}
    if _MAY_DIVIDE.search(text):
        for found in _BREAK.finditer(unwrapped):
            place = found.start()
            if found["gap"] and "\n" in text[place : found.end()]:
                continue  # a soft line end before an indented line
            breaks.add(place)
            if text[max(0, place - 80) : place].rstrip()[-1:] not in _PUNCTUATION:
                characters = characters or list(text)
                glued = _GLUED.fullmatch(text, place - 1, place + 2)
                glued = glued or _INITIALS.fullmatch(text, max(0, place - 3), place)
                characters[place] = ";" if glued else _MARKS[found.lastgroup or ""]
                marks.append(place)
    return Divided("".join(characters) if marks else text, sorted(breaks), marks, unwrapped)


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
    columns = [gap.end() for gap in _CELL.finditer(line)]
    if columns and columns == [gap.end() for gap in _CELL.finditer(following)]:
        return False  # rows of a table
    if "\t" in line.strip() and "\t" in following.strip():
        return False  # the same
    if _STAMP.match(line) and _STAMP.match(following):
        return False
    word = _FIRST_WORD.match(following)
    return not (word and len(line) + 1 + len(word[1]) <= width)
