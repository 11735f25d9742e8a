"""Styles of Word files: which are headings and titles, and how their text looks."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, value
from fabir.documents.office import Relation, parts_of_kind
from fabir.documents.paragraphs import Run, small_number

MAX_COLUMNS = 63  # Word's own limit
PLAIN = Run("")
_OFF = "0", "false", "off"


class StyleNumber(NamedTuple):
    """How a style numbers its paragraphs: the id of a list and a level; empty if it has none."""

    list: str = ""
    level: str = ""


class Styles(NamedTuple):
    """The ids of styles.

    titles: those that are based on the style Title
    looks: how the text of each looks
    bold_heads: those of tables with a bold first row
    numbers: how each numbers its paragraphs
    """

    headings: set[str]
    titles: set[str]
    looks: dict[str, Run]
    bold_heads: set[str]
    numbers: dict[str, StyleNumber]


def read_styles(archive: Archive, related: dict[str, Relation]) -> Styles:
    elements = {
        style.get("w:styleId", ""): style
        for part in parts_of_kind(related, archive, "styles")
        for style in archive.elements(part, {"w:style"})
    }
    found = Styles(set(), set(), {}, set(), {})
    for name in elements:
        look, number = PLAIN, StyleNumber()
        for style in reversed(list(_bases(elements, name))):
            known = value(child(style, "w:name"), "w:val").lower()
            if known == "title":
                found.titles.add(name)
            if known.startswith("heading ") or is_outlined(child(style, "w:pPr")):
                found.headings.add(name)
            if any(map(_is_bold_head, style)):
                found.bold_heads.add(name)
            look = look_of(child(style, "w:rPr"), look)
            number = number_of(child(style, "w:pPr"), number)
        found.looks[name], found.numbers[name] = look, number
    found.headings.update(found.titles)
    return found


def _is_bold_head(part: Element) -> bool:
    is_head = part.tag == "w:tblStylePr" and part.get("w:type") == "firstRow"
    return is_head and look_of(child(part, "w:rPr"), PLAIN).bold


def look_of(properties: Element | None, outer: Run) -> Run:
    """How a run with these properties looks; `outer` says it where they say nothing."""
    bold, hidden = (
        outer_on if child(properties, name) is None else is_on(properties, name)
        for name, outer_on in (("w:b", outer.bold), ("w:vanish", outer.hidden))
    )
    position = value(child(properties, "w:vertAlign"), "w:val")
    return Run("", bold, position == "superscript" if position else outer.raised, hidden)


def number_of(properties: Element | None, outer: StyleNumber) -> StyleNumber:
    """The list and the level of paragraphs; `outer` says it where the properties say nothing."""
    number = child(properties, "w:numPr")
    return StyleNumber(
        value(child(number, "w:numId"), "w:val", outer.list),
        value(child(number, "w:ilvl"), "w:val", outer.level),
    )


def _bases(styles: dict[str, Element], name: str) -> Iterator[Element]:
    """A style and those that it is based on."""
    for _ in range(20):  # there may be circles
        if name not in styles:
            return
        yield styles[name]
        name = value(child(styles[name], "w:basedOn"), "w:val")


def is_outlined(properties: Element | None) -> bool:
    """Whether paragraphs are in the outline: levels are 0 to 8, and 9 is body text."""
    return number_in(properties, "w:outlineLvl", 9) < 9


def is_on(properties: Element | None, name: str) -> bool:
    found = child(properties, name)
    return found is not None and found.get("w:val") not in _OFF


def number_in(properties: Element | None, name: str, default: int) -> int:
    return small_number(value(child(properties, name), "w:val"), default, MAX_COLUMNS)
