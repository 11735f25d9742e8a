"""Finds menus in HTML pages: several short links and nothing else, outside of the main content."""

from collections.abc import Sequence
from itertools import groupby
from statistics import median

from fabir.documents.paragraphs import Paragraph

_LINKED = 0.9  # the least part of the characters that are in links
_LINKS = 4  # the least number of links
_WORDS = 3  # the most words of a usual link
_END = ".!?…"  # of a sentence


class Menus:
    """The links outside of the main content.

    The main content begins with the first <h1>, <main> or <article>, and ends with <main>.

    outside: whether the next paragraph is outside of it
    in_link: whether a link is open
    """

    def __init__(self) -> None:
        self.outside, self.in_link = True, False
        self._words: list[int] = []  # of each link of the open paragraph
        self._length, self._linked = 0, 0  # of its characters, and of those in links
        self._found: dict[int, list[int]] = {}  # words of links, by the number of the paragraph

    def begin_link(self) -> None:
        self.in_link = True
        self._words.append(0)

    def add(self, text: str) -> None:
        """Take a piece of the open paragraph."""
        length = sum(map(str.isalnum, text))
        self._length += length
        if self.in_link:
            self._linked += length
            self._words = self._words or [0]  # the link began in another paragraph
            self._words[-1] += len(text.split())

    def end_paragraph(self, number: int | None) -> None:
        """Note a paragraph's links; it has no number if it can be in no menu."""
        if self.outside and number is not None and self._linked >= _LINKED * self._length > 0:
            self._found[number] = list(filter(None, self._words))
        self._words, self._length, self._linked = [], 0, 0

    def without(self, paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
        """The paragraphs that are in no menu. One menu is paragraphs without others in between."""
        menus: set[int] = set()
        for _, run in groupby(enumerate(self._found), lambda each: each[1] - each[0]):
            numbers = [number for _, number in run]
            words = [count for number in numbers for count in self._found[number]]
            has_sentence = any(paragraphs[number].text[-1] in _END for number in numbers)
            if len(words) >= _LINKS and median(words) <= _WORDS and not has_sentence:
                menus.update(numbers)
        return [each for number, each in enumerate(paragraphs) if number not in menus]
