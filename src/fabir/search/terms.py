"""Normalisation of search terms: no case, accents or endings, so that "drops" finds "Drop"."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import pairwise

from fabir.errors import InputError
from fabir.text.tokens import UNSPACED

# Not the reader's tokeniser: it keeps case and accents, and takes seven times as long.
_find_words = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]{{1,40}}").findall
_find_tokens = re.compile(r"\w+|[.?!:]").findall
_TITLES = frozenset(["dr", "mr", "mrs", "ms", "prof", "st"])  # of people
# Stop words: words without content, which occur in most passages.
_STOP_WORD_LIST = """
    a also an and are as at be been being but by can could did do does for from had has have he her
    his how i if in into is it its many may might much name no not of on or our s she should such t
    than that the their then there these they this to was we were what when where which who whom
    whose why will with would you your
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


def words(text: str) -> list[str]:
    """The words of `text`, in lower case and without accents."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in parts if not unicodedata.combining(character))
    return _find_words(text.lower())


def content_words(question: list[str]) -> list[str]:
    """The words of a question without stop words; all words if it has only stop words."""
    return [word for word in question if word not in _STOP_WORDS] or question


def names(question: str) -> list[str]:
    """Words that are names or parts of names: those with a capital inside a sentence.

    Abbreviations of up to four capitals are left out, since texts often have the words in full. In
    a question with a capital on a stop word, as in titles, capitals do not tell names.
    """
    tokens = _find_tokens(unicodedata.normalize("NFC", question))
    inside = [word for before, word in pairwise(tokens) if before not in set(".?!:")]
    capital = [word for word in inside if word[0].isupper() and len(word) > 1]
    if any(word.lower() in _STOP_WORDS for word in capital):
        return []
    return [
        word
        for word in capital
        if not (word.isupper() and len(word) <= 4) and word.lower() not in _TITLES
    ]


def can_stem() -> bool:
    try:
        import Stemmer
    except ImportError:
        return False
    return Stemmer is not None


def stemmer(stemmed: bool) -> Callable[[str], str]:
    """A function that stems words by Snowball's English rules; the identity if not `stemmed`.

    Raises:
        InputError: PyStemmer is missing.
    """
    if not stemmed:
        return str
    try:
        from Stemmer import Stemmer
    except ImportError as error:
        raise InputError(
            "the index has stems of words, which need PyStemmer: pip install 'fabir[documents]'"
        ) from error
    return Stemmer("english").stemWord


class Terms(dict[str, int]):
    """Maps each word to the number of its stem. A new stem gets the next number.

    Args:
        stems: initial stems, in the order of their numbers
        stem: the stemming function
    """

    def __init__(self, stems: Iterable[str], stem: Callable[[str], str]) -> None:
        super().__init__()
        self._numbers = {known_stem: number for number, known_stem in enumerate(stems)}
        self._stem = stem

    def __missing__(self, word: str) -> int:
        number = self._numbers.setdefault(self._stem(word), len(self._numbers))
        self[word] = number
        return number

    @property
    def stems(self) -> list[str]:
        return list(self._numbers)
