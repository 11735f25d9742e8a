"""What words are searched as: without case, accents and endings, so that "drops" finds "Drop"."""

import re
import unicodedata
from collections.abc import Callable, Iterable

from fabir.errors import InputError
from fabir.text.tokens import UNSPACED

# Not the reader's tokens: those keep what a search has to forget, and cost seven times as much.
_find_words = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]{{1,40}}").findall
# They say nothing about what a passage is about, and are in most.
_COMMON = """
    a also an and are as at be been being but by can could did do does for from had has have he
    her his how i if in into is it its may might name no not of on or our s she should such t
    than that the their then there these they this to was we were what when where which who whom
    whose why will with would you your
"""
_COMMON_WORDS = frozenset(_COMMON.split())


def words(text: str) -> list[str]:
    """The words of `text`, as they are compared."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in parts if not unicodedata.combining(character))
    return _find_words(text.lower())


def telling(question: list[str]) -> list[str]:
    """The words of a question that say what it is about; all of them if none does."""
    return [word for word in question if word not in _COMMON_WORDS] or question


def can_stem() -> bool:
    try:
        import Stemmer
    except ImportError:
        return False
    return Stemmer is not None


def stemmer(stemmed: bool) -> Callable[[str], str]:
    """From a word to its stem, by Snowball's rules for English; or to itself.

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
    """The number of each word's stem; words that it does not know yet get one.

    `stems`, in the order of their numbers, are those that it begins with.
    """

    def __init__(self, stems: Iterable[str], stem: Callable[[str], str]) -> None:
        super().__init__()
        self._numbers = {known: number for number, known in enumerate(stems)}
        self._stem = stem

    def __missing__(self, word: str) -> int:
        number = self._numbers.setdefault(self._stem(word), len(self._numbers))
        self[word] = number
        return number

    @property
    def stems(self) -> list[str]:
        return list(self._numbers)
