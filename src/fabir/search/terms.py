"""Normalisation of search terms: no case, accents or endings, so that "drops" finds "Drop"."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from fabir.errors import InputError
from fabir.locks import make_lock
from fabir.text.dates import MONTHS, name_months
from fabir.text.normalise import STOP_WORDS
from fabir.text.tokens import UNSPACED

# Not the reader's tokeniser: it keeps case and accents, and takes seven times as long.
_find_words = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]{{1,40}}").findall
_find_tokens = re.compile(r"\w+|[.?!:]").findall
# Words in front of names: "mayor of copenhagen", "when did napoleon die".
_BEFORE_NAMES = frozenset(["called", "did", "does", "from", "in", "named", "near", "of"])
_TITLES = frozenset(["dr", "mr", "mrs", "ms", "prof", "st"])  # of people
# Letters that Unicode does not decompose; characters that cannot be seen are nothing.
_LETTERS = str.maketrans(
    dict(zip("øØłŁđĐðÐħĦŧŦı", "oOlLdDdDhHtTi", strict=True))
    | {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "Th"}
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
_HYPHENATED = re.compile(r"(?<!\w)(\w{2,}+)-[ \t]*\r?\n[ \t]*([^\W\d_]\w+)")
_GROUPED = re.compile(r"(?<=\d)[,.'’\u00a0\u2009\u202f](?=\d{3}(?!\d))")  # 51,234
_SHORT = {name[:n].lower(): name for name in MONTHS for n in (3, 4) if n < len(name)}
_SHORT_CASED = frozenset(each for s in _SHORT for each in (s, s.upper(), s.capitalize()))
ENGLISH = "english"
# Those for which there are stems and stop words.
LANGUAGES = (
    *("danish", "dutch", ENGLISH, "french", "german", "italian", "norwegian", "portuguese"),
    *("russian", "spanish", "swedish", "turkish"),
)


def words(text: str) -> list[str]:
    """The words of `text`, in lower case and without accents.

    A word that is hyphenated at the end of a line is there as a whole and in two parts. Digits in
    groups are one word. A date such as 1854-12-01 or "1 Dec 1854" has the name of its month too, as
    questions have it, and its day.
    """
    return [word.lower() for word in _cased_words(text)]


def _cased_words(text: str) -> list[str]:
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text.translate(_LETTERS))
        text = "".join(character for character in parts if not unicodedata.combining(character))
    if "-" in text:
        text = _HYPHENATED.sub(r"\1\2 \1 \2", text)
    found = _find_words(_GROUPED.sub("", name_months(text)))
    return found if _SHORT_CASED.isdisjoint(found) else list(_with_months(found))


def _with_months(found: list[str]) -> Iterator[str]:
    """The words, and behind a short name of a month beside a number its whole name."""
    for before, word, after in zip(["", *found], found, [*found[1:], ""], strict=False):
        yield word
        month = _SHORT.get(word.lower())
        if month and (before[:1].isdigit() or after[:1].isdigit()):
            yield month


@dataclass(frozen=True)
class Language:
    """The stems and stop words of an index.

    stem: from a word to its stem; the identity if words have none
    stop_words: words without content, as `words` has them
    """

    name: str
    stem: Callable[[str], str]
    stop_words: frozenset[str]

    def content_words(self, question: str) -> list[str]:
        """The words of a question without stop words; all words if it has only stop words.

        A stop word with a capital inside a question is a name, such as "It" or "The Who", unless
        all words have capitals.
        """
        cased = _cased_words(question)
        named = [word for word in cased[1:] if word[0].isupper()]
        is_title = len(named) == len(cased) - 1
        kept = [
            word.lower()
            for number, word in enumerate(cased)
            if word.lower() not in self.stop_words
            or (number and not is_title and word[0].isupper() and word != "I")
        ]
        return kept or [word.lower() for word in cased]

    def names(self, question: str) -> list[str]:
        """Words that are names or parts of names: those with a capital inside a sentence.

        Abbreviations of up to four capitals are left out, since texts often have the words in full.
        In a question with a capital on a stop word, as in titles, capitals do not tell names; in
        other languages than English they never do. In a question in letters of one case, names are
        words right behind "of", "in" and the like.
        """
        if self.name != ENGLISH:
            return []
        tokens = _find_tokens(unicodedata.normalize("NFC", question))
        if question in (question.lower(), question.upper()):
            return [
                word
                for before, word in pairwise(map(str.lower, tokens))
                if before in _BEFORE_NAMES and word.isalpha() and word not in self.stop_words
            ]
        inside = [word for before, word in pairwise(tokens) if before not in set(".?!:")]
        capital = [word for word in inside if word[0].isupper() and len(word) > 1]
        if any(word.lower() in self.stop_words for word in capital):
            return []
        return [
            word
            for word in capital
            if not (word.isupper() and len(word) <= 4) and word.lower() not in _TITLES
        ]


def load_language(name: str, stemmed: bool) -> Language:
    """The language of an index; without stems if it is not `stemmed`.

    Raises:
        InputError: an unknown language, or PyStemmer is missing.
    """
    if name not in LANGUAGES:
        raise InputError(f"language {name!r} is none of {', '.join(LANGUAGES)}")
    stop_words: Iterable[str] = STOP_WORDS
    if name != ENGLISH:
        import bm25s.stopwords

        listed = getattr(bm25s.stopwords, f"STOPWORDS_{name.upper()}")
        stop_words = [part for word in listed for part in words(word)]
    return Language(name, _stemmer(name) if stemmed else str, frozenset(stop_words))


def can_stem() -> bool:
    try:
        import Stemmer
    except ImportError:
        return False
    return Stemmer is not None


def _stemmer(name: str) -> Callable[[str], str]:
    try:
        from Stemmer import Stemmer
    except ImportError as error:
        raise InputError(
            "the index has stems of words, which need PyStemmer: pip install 'fabir[documents]'"
        ) from error
    stem, lock = Stemmer(name).stemWord, make_lock()

    def stem_safely(word: str) -> str:  # a stemmer is not safe in threads
        with lock:
            return stem(word)

    return stem_safely


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
