"""Numbers of the items of lists in HTML pages, as browsers show them without style sheets."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from fabir.documents.list_numbers import MARKUP, OFFICE, Show

_MAX_NUMBERS = 100  # characters before a text, where lists begin in each other
_LISTS = frozenset(["dir", "menu", "ol", "ul"])
_INTEGER = re.compile(r"\s*([+-]?\d{1,9})(?!\d)")
_STYLE = re.compile(r"(?:^|;)\s*list-style(?:-type)?\s*:([^;]*)", re.IGNORECASE)
_STYLES = {  # of style sheets; those of bullets have no number
    **dict.fromkeys(["none", "disc", "circle", "square"], MARKUP[""]),
    **dict.fromkeys(["lower-alpha", "lower-latin"], MARKUP["a"]),
    **dict.fromkeys(["upper-alpha", "upper-latin"], MARKUP["A"]),
    "decimal": MARKUP["1"],
    "decimal-leading-zero": OFFICE["decimalZero"],
    "lower-roman": MARKUP["i"],
    "upper-roman": MARKUP["I"],
}
_Attributes = Mapping[str, str | None]


@dataclass(slots=True)
class _List:
    show: Show
    next: int
    step: int


class Lists:
    """The lists that are open, and the numbers that the next paragraph takes."""

    def __init__(self) -> None:
        self._open: list[_List] = []
        self._numbers = ""

    def begin(self, tag: str, node: LexborNode) -> None:
        if tag in _LISTS:
            self._open.append(_list(tag, node))
        elif tag == "li" and self._open:
            attributes, inside = node.attributes, self._open[-1]
            number = _integer(attributes.get("value"), inside.next)
            inside.next = number + inside.step
            text = _shown(attributes, inside.show)(number)
            if text:
                self._numbers = f"{self._numbers}{text}. "[:_MAX_NUMBERS]

    def end(self, tag: str) -> None:
        if tag in _LISTS:
            self._open.pop()
        elif tag == "li":  # one without text, such as a picture
            self._numbers = ""

    def take(self) -> str:
        numbers, self._numbers = self._numbers, ""
        return numbers


def _list(tag: str, node: LexborNode) -> _List:
    attributes = node.attributes
    if tag != "ol":
        return _List(_shown(attributes, MARKUP[""]), 1, 1)
    backwards = "reversed" in attributes
    first = sum(each.tag == "li" for each in node.iter()) if backwards else 1
    start = _integer(attributes.get("start"), first)
    return _List(_shown(attributes, MARKUP["1"]), start, -1 if backwards else 1)


def _shown(attributes: _Attributes, outer: Show) -> Show:
    """How numbers look; `outer` says it where the attributes say nothing."""
    style = _STYLE.search(attributes.get("style") or "")
    for word in style[1].lower().split() if style else ():
        if word in _STYLES:
            return _STYLES[word]
    kind = attributes.get("type") or ""
    return MARKUP.get(kind, outer) if kind else outer


def _integer(text: str | None, default: int) -> int:
    found = _INTEGER.match(text or "")
    return int(found[1]) if found else default
