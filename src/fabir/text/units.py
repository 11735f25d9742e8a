"""What an answer never cuts: numbers with signs, groups and units, times, dates, fractions,
addresses, hosts, identifiers, and emoji of several characters. Characters that cannot be seen,
which are no part of an answer's ends.

The tokeniser's words are smaller: readers are trained on 12, : and 30. Only an answer's place is
widened. Of the answers of SQuAD 1.1 train that touch such a unit of several words, 4 % cut it,
mostly before % and after $, which its metric ignores. They cut 27 % of ranges (1990–1995), which
are therefore no units.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from unicodedata import category

import numpy as np

from fabir.text.tokens import Tokeniser, Tokens, tokenise

_NUMBER = "|".join(
    [
        r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?",  # 12,34,567
        r"\d{1,3}(?:,\d{3})+(?:\.\d+)?",  # 1,234,567.89
        r"\d{1,3}(?:\.\d{3})+,\d+",  # 1.234.567,89
        r"\d{1,3}(?:['’]\d{3})+(?:[.,]\d+)?",  # 1'234'567
        r"\d{1,3}(?:[\u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?",  # 1 234 567 with narrow spaces
        r"\d{1,2}(?: \d{3}){2}(?! ?\d)(?:[.,]\d+)?",  # and with others, but no list of numbers
        r"\d+(?:\.\d+)+",  # 3.5, versions, dates such as 31.12.1999
        r"\d+(?:,\d{1,2})?",  # 3,5
    ]
)
_NUMBER = rf"(?:{_NUMBER})(?![.,]?\d)"
_UNITS = (
    r"km²|km|cm|mm|m²|m³|m|kg|mg|g|ml|l|L|mph|kWh|kW|MWh|MW|GWh|GW|W|V|kHz|MHz|GHz|Hz|KB|MB|GB|TB|"
    r"°C|°F|ft|in|st|nd|rd|th|s|h|am|pm|k|K|M|bn|tn|x"
)
_UNIT = re.compile(
    "|".join(
        [
            r"(?<![\w:])\d{1,2}:\d{2}(?::\d{2})?(?:[ap]m)?\b",  # 12:30
            r"(?<![\w-])\d{4}-\d{2}-\d{2}\b",  # 2026-11-25
            r"(?<![\w/])\d{1,4}/\d{1,4}(?:/\d{2,4})?\b",  # 3/4, 11/25/2026
            rf"[$€£¥₹](?:{_NUMBER})(?:(?:[kKmMbBtT]|bn|tn|mn)\b)?",  # $1.5m
            r"(?:(?<![\w)\]%.,–—-])[-−+±]|(?<![\w.,'’–-]))"  # a sign, but no dash of a range
            rf"(?:{_NUMBER})(?:(?:{_UNITS})\b|[%‰°])?",
        ]
    )
)
# Addresses, hosts and identifiers. Each begins where a word begins, so that the time is linear.
_NAME = re.compile(
    r"(?<![\w.+-])[\w.+-]++@\w[\w-]*(?:\.\w[\w-]*)+"
    r"|(?:https?://|www\.)[^\s<>\"')\]]*[^\s<>\"')\].,;:!?]"
    r"|(?<![\w.-])[a-z0-9-]+(?:\.[a-z][a-z0-9-]*){2,}(?![\w-])"
    r"|(?<![^\W_])[^\W_]++(?:_++[^\W_]++)+"
    r"|(?<![^\s\"'“‘(`])\.[a-z][\w-]*+(?:\.[\w-]++)*"  # .vimrc
)
# The last part looks back over a dot and a letter, so that a search stops at dots alone.
_OF_NAME = re.compile(r"[@_]|//|www\.|\.[a-z](?:[a-z0-9-]*\.[a-z]|(?<![^\s\"'“‘(`]..))")
_DIGITS = re.compile(
    r"\d(?:\S|[ \u00a0\u2009\u202f](?=\d))*"
)  # where such units are, but for a sign
_SIGN, _SKIN = r"[^\s\x00-\x7f]", "\U0001f3fb-\U0001f3ff"
_EMOJI = re.compile(
    "|".join(
        [
            r"[\U0001f1e6-\U0001f1ff]{2}",  # a flag
            r"\U0001f3f4[\U000e0020-\U000e007f]+",  # Scotland's
            r"[0-9#*]\ufe0f?\u20e3",  # a key
            rf"{_SIGN}[\ufe0f{_SKIN}]{{0,2}}(?:\u200d(?!\w){_SIGN}[\ufe0f{_SKIN}]{{0,2}})+",
            rf"{_SIGN}\ufe0f?[{_SKIN}]\ufe0f?",  # with the colour of its skin
        ]
    )
)
_OF_EMOJI = re.compile(
    "[\u20e3\u200d\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
# Control characters but white space, which divide words as a zero-width space does. Format
# characters (Unicode's Cf) but the two joiners and the tags of flags, which do not.
_CONTROLS = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_UNSEEN = _CONTROLS + (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
)
_INVISIBLE = re.compile(f"[{_UNSEEN}]+")
_DIVIDING = re.compile(f"[{_CONTROLS}\u200b]")
# What a blank text may have: controls, format characters, white space, marks without a letter, and
# letters and a symbol that Unicode has as blanks.
_BLANK_KINDS = {"Cc", "Cf", "Zs", "Zl", "Zp", "Mn"}
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"


def place_words(
    text: str, tokeniser: Tokeniser = "fabir", marked: str | None = None
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The visible words of a text, and of each the place in the text of the least answer with it.

    Args:
        marked: the text with marks, as `fabir.text.lines.divide` has it. Words are of it, but no
            unit reaches over a mark

    Shape: starts, ends [words] int64, half-open, both ascending; words of one unit have the same
    """
    tokens = visible_tokens(text if marked is None else marked, tokeniser)
    starts, ends = np.array(tokens.starts, np.int64), np.array(tokens.ends, np.int64)
    for begin, end in _units(text):
        first, last = bisect_right(tokens.ends, begin), bisect_left(tokens.starts, end)
        if last - first > 1:
            starts[first:last], ends[first:last] = tokens.starts[first], tokens.ends[last - 1]
    return tokens.words, starts, ends


def _units(text: str) -> Iterator[tuple[int, int]]:
    for digits in _DIGITS.finditer(text):
        for unit in _UNIT.finditer(text, max(0, digits.start() - 1), digits.end()):
            yield unit.span()
    if _OF_NAME.search(text):
        for name in _NAME.finditer(text):
            yield name.span()
    if _OF_EMOJI.search(text):
        for cluster in _EMOJI.finditer(text):
            yield cluster.span()


def is_blank(text: str) -> bool:
    """Whether a text has no visible character: it is empty, or only white space, characters that
    cannot be seen, and marks without a letter."""
    for character in text.lstrip():
        if category(character) not in _BLANK_KINDS and character not in _BLANKS:
            return False
    return True


def visible_tokens(text: str, tokeniser: Tokeniser = "fabir") -> Tokens:
    """The words of a text without its invisible characters, with their places in the whole text."""
    if not _INVISIBLE.search(text):
        return tokenise(text, tokeniser)
    kept: list[str] = []
    places: list[np.ndarray] = []
    end = 0
    for match in _INVISIBLE.finditer(text):
        kept.append(text[end : match.start()])
        places.append(np.arange(end, match.start()))
        if _DIVIDING.search(match[0]):
            kept.append(" ")
            places.append(np.array([match.start()]))
        end = match.end()
    kept.append(text[end:])
    places.append(np.arange(end, len(text)))
    tokens = tokenise("".join(kept), tokeniser)
    place = np.concatenate(places)
    starts, ends = (
        place[np.array(tokens.starts, np.int64)],
        place[np.array(tokens.ends, np.int64) - 1] + 1,
    )
    return Tokens(tokens.words, starts.tolist(), ends.tolist())
