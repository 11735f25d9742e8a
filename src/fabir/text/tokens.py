"""Splits text into words with character offsets.

Our tokeniser is one pass of one regular expression, without word lists or downloads. A model may
have NLTK's instead, which FABIR's authors used; its vocabulary says so. docs/tokenisation.md
compares them. The vocabulary decides how words are looked up (lower case).
"""

import re
import reprlib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from fabir.errors import InputError

Tokeniser = Literal["fabir", "nltk"]

# Part of every cache key that depends on the words. Raise it when any text splits differently.
TOKENISER = "1"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of one text and their places: `text[starts[i]:ends[i]] == words[i]`.

    Half-open character offsets, `0 <= start < end <= len(text)`, ascending, never overlapping.
    """

    words: list[str]
    starts: list[int]
    ends: list[int]


def tokenise(text: str, tokeniser: Tokeniser = "fabir") -> Tokens:
    """Split `text` into words; every character that is not white space is in exactly one of them.

    Takes any string: empty (no words), any script, emoji, control characters, lone surrogates.
    The time of our tokeniser is linear in the length, also for one word of a million characters.

    Raises:
        InputError: `tokeniser` is "nltk" and NLTK is not installed.
    """
    words: list[str] = _find_words(text) if tokeniser == "fabir" else _nltk_words(text)
    starts, ends = [], []
    end = 0
    for word in words:
        # Between two words there is only white space, so the next occurrence is the word itself.
        start = text.index(word, end)
        end = start + len(word)
        starts.append(start)
        ends.append(end)
    return Tokens(words, starts, ends)


def check_tokeniser(tokeniser: str) -> Tokeniser:
    """The tokeniser of that name. An InputError says that there is none, or what it lacks."""
    if tokeniser == "nltk":
        _nltk()
    elif tokeniser != "fabir":
        raise InputError(
            f"no tokeniser is called {reprlib.repr(tokeniser)}: there are fabir and nltk"
        )
    return tokeniser


def _nltk_words(text: str) -> list[str]:
    """NLTK's words of NLTK's sentences, as they stand in the text: it writes quotes anew.

    A line ends a sentence, and a comma before a digit is a word of its own unless a digit stands
    before it. `fabir.text.lines.divide` writes such full stops and commas.
    """
    sentences, words = _nltk()
    found = []
    for line in text.split("\n"):
        for begin, end in sentences(line):
            at = begin
            for word in words(line[begin:end]):
                while line[at].isspace():
                    at += 1
                if word in _NLTK_QUOTES:
                    word = line[at] if line[at] == '"' else line[at : at + 2]
                found += _COMMA.split(word)
                at += len(word)
    return found


@cache
def _nltk() -> tuple[Callable[[str], Any], Callable[[str], list[str]]]:
    """NLTK's functions that split a text into spans of sentences, and a sentence into words.

    The sentence splitter is untrained: the trained one is a download.
    """
    try:
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.tokenize.punkt import PunktSentenceTokenizer
    except ImportError as error:
        raise InputError("the tokeniser nltk needs NLTK: pip install 'fabir[nltk]'") from error
    return PunktSentenceTokenizer().span_tokenize, NLTKWordTokenizer().tokenize


_NLTK_QUOTES = "``", "''"
_COMMA = re.compile(r"(?<=\D)(,)(?=\d)")


def _joining_characters() -> str:
    """The inside of a character class: combining marks of all scripts, and the two joiners.

    `\\w` does not match them, but they belong to the letter before (Hindi vowels, emoji styles).
    """
    codes = [*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)]
    marks = [code for code in codes if unicodedata.category(chr(code)).startswith("M")]
    classes: list[list[int]] = []
    for code in sorted([0x200C, 0x200D, *marks]):
        if classes and code == classes[-1][1] + 1:
            classes[-1][1] = code
        else:
            classes.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in classes)


JOINING = f"[{_joining_characters()}]"
# Scripts written without spaces, one letter a word: Thai, Lao, Burmese, Khmer, Chinese, kana.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
LETTER = rf"[^\W\d_{UNSPACED}]"
# The order matters. `++` and `*+` never backtrack, so that hostile input takes linear time.
_find_words = re.compile(
    "|".join(
        [
            r"[A-Za-z]++(?=[ ,;:)])",  # most words; no later pattern would split them differently
            r"(?:[A-Z]\.){2,}",  # U.S.
            r"[A-Za-z]+(?=n['’]t\b)",  # do, of don't: GloVe knows "do" and "n't"
            r"n['’]t\b",
            rf"{LETTER}++(?:{JOINING}{LETTER}*+)*+",  # a word, without digits: 1990s is 1990, s
            r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)",  # 1,000 and 1,234.5
            r"\d+(?:\.\d+)?",  # 3.5
            r"(?<=\w)['’](?:s|re|ve|ll|d|m)\b",
            rf"\S{JOINING}*+",  # any other character is a word
        ]
    )
).findall
