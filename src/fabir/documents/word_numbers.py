"""Numbers of paragraphs in Word files, from the part of numbering and the styles."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fabir.documents.archives import DAMAGE, Archive, child, value
from fabir.documents.base import Report
from fabir.documents.list_numbers import (
    MAX_LEVELS,
    MAX_NUMBER,
    MAX_PATTERN,
    OFFICE,
    Counter,
    Level,
)
from fabir.documents.office import Relation, parts_of_kind
from fabir.documents.paragraphs import small_number
from fabir.documents.word_styles import StyleNumber, is_on, number_of
from fabir.errors import InputError

_MAX_LISTS = 100_000  # abstract ones too
_NONE = StyleNumber()


class _List(NamedTuple):
    """
    abstract: id of the abstract list; lists of one are counted together
    levels: its own levels, from 0
    styles: the level that a style's paragraphs have, by the style's id
    starts: the numbers with which levels begin when the list is first used
    link: the style of numbering that has the levels of an abstract list
    """

    abstract: str
    levels: dict[int, Level]
    styles: dict[str, int]
    starts: dict[int, int]
    link: str = ""


class Numbering:
    """Counts the numbered paragraphs of a file, in their order.

    Args:
        related: the parts that the main part names
        styles: how styles number their paragraphs, by their ids
    """

    def __init__(
        self,
        archive: Archive,
        related: dict[str, Relation],
        styles: Mapping[str, StyleNumber],
        report: Report,
    ) -> None:
        self._styles, self._lists = styles, {}
        self._counters: dict[str, Counter] = {}  # by abstract lists
        self._begun: set[tuple[str, int]] = set()  # lists and levels
        try:
            self._lists = _read(archive, related, styles)
        except (InputError, RuntimeError, *DAMAGE):  # the text is still there
            report.lost("the numbers of lists and headings are not read: their part is damaged")

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Count anew inside, as in a note or a box."""
        outside = self._counters, self._begun
        self._counters, self._begun = {}, set()
        yield
        self._counters, self._begun = outside

    def next(self, properties: Element | None, style: str, filled: bool = True) -> str:
        """The number of the next paragraph with the gap behind it; empty if it has none.

        Args:
            filled: whether it has text; an empty one has a number too, unless it is hidden or is
                nothing but the end of a section
        """
        if not filled and _is_unseen(properties):
            return ""
        name, text = number_of(properties, self._styles.get(style, _NONE))
        found = self._lists.get(name)
        if found is None:
            return ""
        level = small_number(text, found.styles.get(style, 0), MAX_LEVELS)
        start = None if (name, level) in self._begun else found.starts.get(level)
        self._begun.add((name, level))
        counter = self._counters.setdefault(found.abstract, Counter())
        return counter.next(found.levels, level, start)


def _is_unseen(properties: Element | None) -> bool:
    hidden = is_on(child(properties, "w:rPr"), "w:vanish")
    return hidden or child(properties, "w:sectPr") is not None


def _read(
    archive: Archive, related: dict[str, Relation], styles: Mapping[str, StyleNumber]
) -> dict[str, _List]:
    """The lists by their ids."""
    abstracts: dict[str, _List] = {}
    lists: dict[str, _List] = {}
    for part in parts_of_kind(related, archive, "numbering"):
        for element in islice(archive.elements(part, {"w:abstractNum", "w:num"}), _MAX_LISTS):
            if element.tag == "w:num":
                lists[element.get("w:numId", "")] = _list(element)
            else:
                abstracts[element.get("w:abstractNumId", "")] = _abstract(element)
    lists.pop("0", None)  # it switches numbers off
    found = {}
    for name, each in lists.items():
        abstract = abstracts.get(each.abstract)
        if abstract and abstract.link:
            linked = lists.get(styles.get(abstract.link, _NONE).list, each)
            abstract = abstracts.get(linked.abstract)
        if abstract:
            found[name] = _merged(abstract, each)
    return found


def _abstract(element: Element) -> _List:
    levels, styles = _levels(element)
    link = value(child(element, "w:numStyleLink"), "w:val")
    return _List(element.get("w:abstractNumId", ""), levels, styles, {}, link)


def _list(element: Element) -> _List:
    levels, styles, starts = {}, {}, {}
    for each in element:
        if each.tag == "w:lvlOverride":
            new, named = _levels(each)
            levels |= new
            styles |= named
            start = child(each, "w:startOverride")
            if start is not None:
                starts[_place(each)] = _number(start, 0)
    return _List(value(child(element, "w:abstractNumId"), "w:val"), levels, styles, starts)


def _merged(abstract: _List, own: _List) -> _List:
    levels = {**abstract.levels, **own.levels}
    for level, start in own.starts.items():
        if level in levels:
            levels[level] = levels[level]._replace(start=start)
    styles = {**abstract.styles, **own.styles}
    return _List(abstract.abstract, levels, styles, own.starts)


def _levels(element: Element) -> tuple[dict[int, Level], dict[str, int]]:
    """The levels, and those that the ids of styles have."""
    found = [each for each in element if each.tag == "w:lvl"]
    styles = {value(child(each, "w:pStyle"), "w:val"): _place(each) for each in found}
    styles.pop("", None)
    return {_place(each): _level(each) for each in found}, styles


def _level(element: Element) -> Level:
    form = value(child(element, "w:numFmt"), "w:val", "decimal")
    if form == "bullet" or is_on(child(element, "w:rPr"), "w:vanish"):
        return Level("")
    return Level(
        pattern=value(child(element, "w:lvlText"), "w:val")[:MAX_PATTERN],
        show=OFFICE.get(form, str),
        start=_number(child(element, "w:start"), 0),
        restart=_number(child(element, "w:lvlRestart"), MAX_LEVELS),
        decimal=is_on(element, "w:isLgl"),
        gap="" if value(child(element, "w:suff"), "w:val") == "nothing" else " ",
    )


def _place(element: Element) -> int:
    return small_number(element.get("w:ilvl"), 0, MAX_LEVELS)


def _number(element: Element | None, default: int) -> int:
    return small_number(value(element, "w:val"), default, MAX_NUMBER)
