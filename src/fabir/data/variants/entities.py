"""Names and numbers in texts, by rules for their spelling, and others to put in their place."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fabir.text.sentences import sentences

Kind = tuple[str, ...]

_CAPITALS = "".join(letter for letter in map(chr, range(0x530)) if letter.isupper())
_WORD = (
    r"(?:(?:[A-Z]\.){2,}|(?:St|Dr|Mr|Mrs|Ms|Mt|Ft)\.|"
    rf"[{_CAPITALS}](?:\.(?=\s[{_CAPITALS}])|[^\W_]*(?:[-'’](?!s\b)[^\W_]+)*))"
)
_LINK = r"\s(?:(?:of the|of|de|del|della|der|di|du|la|le|van|von|ibn|bin|al)\s)?"
_NAME = re.compile(rf"(?<![\w'’-]){_WORD}(?:{_LINK}{_WORD})*")
_FIRST = re.compile(rf"({_WORD})(?:{_LINK})?")
_NUMBER = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(st|nd|rd|th|s)?(?!\w)"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty)\b"
)
_LOWER = re.compile(r"(?<![\w'’-])[^\W\d_]+")
# After these a capital may begin a sentence, whatever the word is.
_OPENING = re.compile(r"[\"“‘«:;(\[—–]\s?$")
_BEFORE = re.compile(r"(\w+)\s+$")
# A name before a noun: "the American whaler". A verb or a word of grammar is not a noun.
_VERB_LIST = """
    a also and are as at but by can could did do does during for from had has have he her his if in
    into is it its made of on or our s said she since that the their they to took was were when
    where which while who will with would
"""
_VERBS = "|".join(_VERB_LIST.split())
_NOUN = re.compile(rf"\s(?!(?:{_VERBS})\b)[^\W\d_A-Z]+\b(?<!ed)")
_PLACES = {"in", "at", "near", "from", "to", "outside", "across"}
_MONTH_LIST = """
    January February March April May June July August September October November December
"""
_DAY_LIST = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_LINK_LIST = "of the de del della der di du la le van von ibn bin al s"
_MONTHS, _DAYS = frozenset(_MONTH_LIST.split()), frozenset(_DAY_LIST.split())
_LINKS = frozenset(_LINK_LIST.split())
_MONTH_BEFORE = re.compile(rf"\b(?:{'|'.join(sorted(_MONTHS))})\s$")
_MONTH_AFTER = re.compile(rf"\s(?:of\s)?(?:{'|'.join(sorted(_MONTHS))})\b")
_CENTURY_AFTER = re.compile(r"[\s-]centur(?:y|ies)\b")
_AUXILIARIES = {"did", "do", "does", "will", "would", "can", "could"}
_TRIES = 20  # others of a kind that are looked at


@dataclass(frozen=True, slots=True)
class Entity:
    """A name or a number: `text` stands at the half-open character offsets `start` to `end`.

    Entities of one `kind` may take each other's place: years, numbers of as many digits, months,
    or names of as many words that stand in similar places.
    """

    text: str
    start: int
    end: int
    kind: Kind


class Entities:
    """Finds names (runs of capitalised words) and numbers.

    The first word of a sentence belongs to a name only if `texts` have it more often with a
    capital inside sentences than without a capital. A word that they have as often without a
    capital is no name on its own.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        seen: Counter[str] = Counter()
        for text in texts:
            for start, end in sentences(text):
                seen.update(_LOWER.findall(text, start + 1, end))
        self._names = {word for word, count in seen.items() if count > seen[word.lower()]}
        self._common = {word for word, count in seen.items() if count >= seen[word.capitalize()]}

    def find(self, text: str) -> list[Entity]:
        """The entities of a text, in order; they do not overlap."""
        found: list[Entity] = []
        for start, end in sentences(text):
            for match in _NAME.finditer(text, start, end):
                found += self._name(text, start, match)
        found += [_numeric(text, match) for match in _NUMBER.finditer(text)]
        found.sort(key=lambda entity: entity.start)
        ends = [0, *(entity.end for entity in found)]
        # A number within a name, as in "C-17", is none of its own.
        return [each for each, end in zip(found, ends, strict=False) if each.start >= end]

    def _name(self, text: str, sentence: int, match: re.Match[str]) -> list[Entity]:
        start, end = match.span()
        before = text[max(sentence, start - 20) : start]
        if not before or _OPENING.search(before) or match[0].startswith("I "):
            first = _FIRST.match(text, start, end)
            if first and first[1] not in self._names:
                start = first.end()
        name = text[start:end]
        common = name.lower() in self._common and not (len(name) > 1 and name.isupper())
        if common or name == "I" or not words_of(name):
            return []
        kind = _name_kind(name, text[max(0, start - 20) : start], bool(_NOUN.match(text, end)))
        return [Entity(name, start, end, kind)]


def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case, without those that link words of a name."""
    return frozenset(re.findall(r"\w+", text.lower())) - _LINKS


def exchanged(text: str, exchanges: Sequence[tuple[Entity, str]]) -> str:
    """`text` with each entity replaced."""
    pieces, done = [], 0
    for entity, other in exchanges:
        pieces += [text[done : entity.start], other]
        done = entity.end
    return "".join([*pieces, text[done:]])


@dataclass(slots=True)
class Pool:
    """Entities by kind, each text once, with its words."""

    kinds: dict[Kind, dict[str, frozenset[str]]] = field(default_factory=dict)
    _listed: dict[Kind, list[tuple[str, frozenset[str]]]] = field(default_factory=dict)

    def add(self, entities: Iterable[Entity]) -> None:
        for entity in entities:
            of_kind = self.kinds.setdefault(entity.kind, {})
            if entity.text not in of_kind:
                of_kind[entity.text] = words_of(entity.text)

    def draw(self, kind: Kind, avoid: frozenset[str], generator: np.random.Generator) -> str | None:
        """A random entity of a kind that shares no word with `avoid`, or None."""
        if kind not in self._listed:
            self._listed[kind] = list(self.kinds.get(kind, {}).items())
        of_kind = self._listed[kind]
        for _ in range(_TRIES if of_kind else 0):
            text, words = of_kind[generator.integers(len(of_kind))]
            if words.isdisjoint(avoid):
                return text
        return None


def _numeric(text: str, match: re.Match[str]) -> Entity:
    whole, fraction, ending = match.groups()
    start, end = match.span()
    if whole is None:
        kind = ("number word",)
    elif len(whole) < 3 and (
        _MONTH_BEFORE.search(text[max(0, start - 12) : start]) or _MONTH_AFTER.match(text, end)
    ):
        kind = ("date", ending or "")
    elif ending:
        century = "century" if _CENTURY_AFTER.match(text, end) else ""
        kind = ("decade" if ending == "s" else "ordinal", century or str(len(whole)))
    elif not fraction and len(whole) == 4 and whole[0] in "12":
        kind = ("year",)
    else:
        kind = ("number", str(min(len(whole), 6)), "fraction" if fraction else "whole")
    return Entity(match[0], start, end, kind)


def _name_kind(name: str, before: str, noun_follows: bool) -> Kind:
    words = name.split()
    if len(words) == 1 and name in _MONTHS:
        return ("month",)
    if len(words) == 1 and name in _DAYS:
        return ("day",)
    if len(words) == 1 and len(name) > 1 and name.isupper():
        return ("letters",)
    last = _BEFORE.search(before)
    word = last[1].lower() if last else ""
    context = "place" if word in _PLACES else word if word in {"the", "by"} else ""
    modifier = noun_follows and word not in _AUXILIARIES
    return ("name", str(min(len(words), 3)), context, "modifier" if modifier else "")
