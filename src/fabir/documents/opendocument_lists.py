"""Numbers of items of lists and of headings in OpenDocument texts, from the styles of lists."""

import re
from collections.abc import Callable
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fabir.documents.archives import child, value
from fabir.documents.list_numbers import (
    MARKUP,
    MAX_LEVELS,
    MAX_NUMBER,
    MAX_PATTERN,
    OFFICE,
    Counter,
    Level,
)
from fabir.documents.paragraphs import small_number

LIST_STYLES = "text:list-style", "text:outline-style"
_NUMBERS = "text:list-level-style-number", "text:outline-level-style"
_PARTS = re.compile(r"%(\d)%")
_SHOWN = MARKUP | {"1st": OFFICE["ordinal"], "01, 02, 03, ...": OFFICE["decimalZero"]}
_SYNCED = {"a": OFFICE["lowerLetter"], "A": OFFICE["upperLetter"]}


class OpenList(NamedTuple):
    """A list that is being read: the name of its style, what counts it, and its level from 0."""

    style: str
    counter: Counter
    level: int


class Lists:
    """Counts the items of lists and the headings of a text, in their order."""

    def __init__(self) -> None:
        self._levels: dict[str, dict[int, Level]] = {}  # by styles of lists
        self._outline: dict[int, Level] = {}
        self._headings = Counter()
        self._by_style: dict[str, Counter] = {}  # of the last list of each
        self._by_id: dict[str, Counter] = {}
        self._number: Callable[[], str] | None = None  # what the next paragraph takes

    def know_style(self, style: Element) -> None:
        """Take in one of the `LIST_STYLES`."""
        levels = self._levels[style.get("style:name", "")] = _levels(style)
        if style.tag == "text:outline-style":
            self._outline = levels

    def begin_list(self, element: Element, outer: OpenList | None) -> OpenList:
        """
        Args:
            outer: the list whose item this one is in
        """
        style = element.get("text:style-name", outer.style if outer else "")
        if outer:
            return OpenList(style, outer.counter, outer.level + 1)
        counter = self._by_id.get(element.get("text:continue-list", ""))
        if counter is None and element.get("text:continue-numbering") == "true":
            counter = self._by_style.get(style)
        counter = self._by_style[style] = counter or Counter()
        if name := element.get("id"):
            self._by_id[name] = counter
        return OpenList(style, counter, 0)

    def begin_item(self, element: Element, of: OpenList) -> None:
        levels = self._levels.get(element.get("text:style-override", of.style), {})
        start = _number(element, "text:start-value")
        is_item = element.tag == "text:list-item"
        self._number = lambda: of.counter.next(levels, of.level, start) if is_item else ""

    def end_item(self) -> None:
        self._number = None

    def next(self, paragraph: Element, numbered: bool) -> str:
        """The number of the next paragraph with the gap behind it; empty if it has none.

        Args:
            numbered: whether the paragraph's style lets headings have numbers
        """
        number, self._number = self._number, None
        if number:
            return number()
        is_header = paragraph.get("text:is-list-header") == "true"
        if paragraph.tag != "text:h" or is_header or not numbered:
            return ""
        level = small_number(paragraph.get("text:outline-level"), 1, MAX_LEVELS + 1) - 1
        restarts = paragraph.get("text:restart-numbering") == "true"
        start = _number(paragraph, "text:start-value") if restarts else None
        return self._headings.next(self._outline, level, start)


def _levels(style: Element) -> dict[int, Level]:
    levels: dict[int, Level] = {}
    for each in style:
        place = small_number(each.get("text:level"), 0, MAX_LEVELS + 1) - 1
        if 0 <= place < MAX_LEVELS:
            levels[place] = _level(each, place, levels)
    for place in range(1, MAX_LEVELS):  # a level without a style has that of the one before
        if place not in levels and place - 1 in levels:
            pattern = levels[place - 1].pattern.replace(f"%{place}", f"%{place + 1}")
            levels[place] = levels[place - 1]._replace(pattern=pattern)
    return levels


def _level(element: Element, place: int, outer: dict[int, Level]) -> Level:
    """
    Args:
        outer: the levels before
    """
    if element.tag not in _NUMBERS:
        return Level("")
    form = element.get("style:num-format", "")
    synced = element.get("style:num-letter-sync") == "true" and form in _SYNCED
    label = child(element, "style:list-level-properties", "style:list-level-label-alignment")
    return Level(
        pattern=_pattern(element, form, place, outer)[:MAX_PATTERN],
        show=(_SYNCED if synced else _SHOWN).get(form, str),
        start=1 if (start := _number(element, "text:start-value")) is None else start,
        gap="" if value(label, "text:label-followed-by") == "nothing" else " ",
    )


def _pattern(element: Element, form: str, place: int, outer: dict[int, Level]) -> str:
    if listed := element.get("num-list-format"):  # LibreOffice's own
        return _PARTS.sub(r"%\1", listed)
    count = small_number(element.get("text:display-levels"), 1, MAX_LEVELS)
    shown = [f"%{each + 1}" for each in range(place - count + 1, place) if _has_number(outer, each)]
    own = [f"%{place + 1}"] if form else []
    prefix, suffix = element.get("style:num-prefix", ""), element.get("style:num-suffix", "")
    return prefix + ".".join(shown + own) + suffix


def _has_number(levels: dict[int, Level], place: int) -> bool:
    return place in levels and "%" in levels[place].pattern


def _number(element: Element, name: str) -> int | None:
    text = element.get(name)
    return None if text is None else small_number(text, 1, MAX_NUMBER)
