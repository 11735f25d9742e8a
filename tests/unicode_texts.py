"""Random texts of all scripts, with numbers, addresses, emoji, lines and tables. No tests here."""

import random
import sys
import unicodedata
from functools import cache

_PIECES = (
    *("U.S.", "don't", "can’t", "Ann's", "n't", "1,000.5", "12,34,567", "1.234,5", "3.5", "1'234"),
    *("12:30pm", "2026-11-25", "3/4", "$1.5m", "€3", "-5 km²", "+1 234 567", "±2°C", "50%", "x"),
    *("ann@example.org", "https://a.example/x?y=1).", "www.b.example", "a.b.c", "some_name", "_"),
    *("\U0001f1e6\U0001f1f9", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "1\ufe0f\u20e3"),
    *("\U0001f44d\U0001f3fd", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "\u200b", "\u00ad"),
    *("\ufeff", "\u200e", "e\u0301", "İ", "ΑΣ", "ﬁ", "\ud800", "well-", "co\u2010", "(a)"),
    *("• ", "- ", "1. ", "Name: ", "a:b", "٣٫٥", "１２：３０", "\U0001d7d9\U0001d7da", "²", "Ⅻ"),
    *(
        "\n2026-11-27 11:00 Mill",
        "\n[12:30] ",
        "\n--in-place, ",
        "\n -v",
        "\n--and",
        ".vimrc",
        "(.a-b.c",
        "a\tb",
    ),
    "\nThe mill of the town \U0001f44d  Otto Berg\nBridge over the fjord   a company\n",
)
_ENDINGS = ("'s", "’re", "'ve", "’ll", "'d", "’m", "n't", ".", "...", ")", "!")
_UNITS = (
    "km² km cm mm m² m³ m kg mg g ml l L mph kWh kW MWh MW GWh GW W V kHz MHz GHz Hz KB MB GB TB "
    "°C °F ft in st nd rd th s h am pm k K M bn tn mn x % ‰ °"
)
_SPACES = (
    *(" ",) * 12,
    *("\n", "\n\n", " \n  ", "\t", "   ", "    ", "\n \t\n", "\u3000", "\u2028", "\x1c", "\x85"),
    *("\u00a0", "\u202f", "\r\n", "", "", "", ", ", ". ", "; ", ": ", "-", "’", "/"),
)


@cache
def _letters() -> list[list[str]]:
    """The characters of each script, by the first word of their names."""
    scripts: dict[str, list[str]] = {}
    for character in map(chr, range(sys.maxunicode + 1)):
        name = unicodedata.name(character, "")
        scripts.setdefault(name.split(" ")[0], []).append(character)
    del scripts[""]  # private, unassigned and control characters, and surrogates
    return list(scripts.values())


def make_text(chance: random.Random, words: int = 25) -> str:
    """A text of at most so many words, with no surrogates that JavaScript would join."""
    scripts = [chance.choice(_letters()), chance.choice(_letters())]

    def word() -> str:
        kind = chance.random()
        if kind < 0.3:
            return chance.choice(_PIECES)
        if kind < 0.4:
            number = str(chance.randrange(10 ** chance.randint(1, 7)))
            return number + chance.choice(("", "", " ")) + chance.choice(_UNITS.split())
        if kind < 0.6:
            spelt = chance.choice(("The", "mill", "river", "built", "they", "Longer-than-usual"))
            return spelt + chance.choice(("", *_ENDINGS))
        if kind < 0.65:
            return chr(chance.randrange(sys.maxunicode + 1))
        return "".join(chance.choices(chance.choice(scripts), k=chance.randint(1, 8)))

    made = (word() + chance.choice(_SPACES) for _ in range(chance.randint(1, words)))
    return "".join(made).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
