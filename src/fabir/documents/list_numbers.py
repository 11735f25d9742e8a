"""Numbers that programs put before headings and items of lists: how they count and look."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

_ONE = r"(?:\d{1,3}|[a-zA-Z]|[ivxlc]{2,7}|[IVXLC]{2,7})"
IN_BRACKETS = rf"\(?{_ONE}\)"  # regular expressions of written numbers: "a)", "(iv)"
NUMBER = rf"(?:{IN_BRACKETS}|{_ONE}\.|\d{{1,3}}(?:\.\d{{1,3}}){{1,8}}[.)]?)"  # also "3.", "4.2"
MAX_LEVELS = 9
MAX_NUMBER = 32_767  # Word's own limit
MAX_PATTERN = 50  # characters
_MAX_TEXT = 100  # characters of a number
_PART = re.compile(r"%(\d)")
_ROMAN = {
    1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl",
    10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i",
}  # fmt: skip

Show = Callable[[int], str]


def _roman(number: int) -> str:
    if not 0 < number < 4000:
        return str(number)
    text = ""
    for size, letters in _ROMAN.items():
        times, number = divmod(number, size)
        text += letters * times
    return text


def _repeated(number: int) -> str:
    """Letters as in office programs: "bb" follows "aa" and "z"."""
    times, letter = divmod(number - 1, 26)
    return chr(ord("a") + letter) * (times + 1) if 0 < number <= 780 else str(number)


def _alphabetic(number: int) -> str:
    """Letters as in browsers: "ab" follows "aa" and "z"."""
    text, rest = "", number
    while rest > 0:
        rest, letter = divmod(rest - 1, 26)
        text = chr(ord("a") + letter) + text
    return text or str(number)


def _ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ends.get(number % 10, 'th')}"


def _upper(show: Show) -> Show:
    return lambda number: show(number).upper()


def _nothing(_number: int) -> str:
    return ""


OFFICE: dict[str, Show] = {  # by their names in Word files
    "decimal": str,
    "decimalZero": "{:02}".format,
    "lowerLetter": _repeated,
    "upperLetter": _upper(_repeated),
    "lowerRoman": _roman,
    "upperRoman": _upper(_roman),
    "ordinal": _ordinal,
    "none": _nothing,
}
MARKUP: dict[str, Show] = {  # by their names in HTML and OpenDocument
    "1": str,
    "a": _alphabetic,
    "A": _upper(_alphabetic),
    "i": _roman,
    "I": _upper(_roman),
    "": _nothing,
}


class Level(NamedTuple):
    """How the numbers of one level of a list look.

    pattern: such as "%1.%2)" of the second level; without any number for bullets
    show: a number of this level as text
    start: the first number
    restart: the number begins anew behind an item of the first `restart` levels
    decimal: whether the numbers of all levels are decimal in this one
    gap: what is between number and text
    """

    pattern: str
    show: Show = str
    start: int = 1
    restart: int = MAX_LEVELS
    decimal: bool = False
    gap: str = " "


class Counter:
    """Counts the items of one list."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}  # by level

    def next(self, levels: Mapping[int, Level], level: int, start: int | None = None) -> str:
        """The number of the next item, with the gap behind it; empty for a bullet.

        Args:
            levels: those of the list, from 0
            level: the item's
            start: the item's own number, if it does not follow from the one before
        """
        own, counts = levels.get(level), self._counts
        if own is None:
            return ""
        for outer in range(level):  # a level that was left out counts as begun
            counts.setdefault(outer, levels[outer].start if outer in levels else 1)
        if start is None:
            start = counts[level] + 1 if level in counts else own.start
        counts[level] = min(start, MAX_NUMBER)
        for inner in [each for each in counts if each > level]:
            if inner not in levels or level < levels[inner].restart:
                del counts[inner]
        text = _PART.sub(lambda part: self._shown(levels, int(part[1]) - 1, own), own.pattern)
        return text[:_MAX_TEXT] + own.gap if any(map(str.isalnum, text)) else ""

    def _shown(self, levels: Mapping[int, Level], level: int, inside: Level) -> str:
        if level not in levels or level not in self._counts:
            return ""
        show = levels[level].show
        return (str if inside.decimal and show is not _nothing else show)(self._counts[level])


def with_number(number: str, text: str) -> str:
    """A text behind its number, as `Counter.next` gives it."""
    return number + (text.lstrip() if number.endswith(" ") else text)
