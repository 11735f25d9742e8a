"""Maps spellings to word rows and character rows. Texts are split in `fabir.text.tokens`."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fabir.text.tokens import Tokeniser

PADDING, UNKNOWN = 0, 1  # the first two rows of words, and the first two characters
_SPELLING = 160  # approximate bytes of a spelling, its number and its dictionary entry
MAX_CHARACTERS = 256  # upper bound of `max_characters`
NO_ANSWER = " "  # the token before a passage that means "no answer"; no real token is spelt so


@dataclass(frozen=True, kw_only=True)
class VocabularyConfig:
    """Decides which words and characters get rows of their own.

    Args:
        word_count: a word missing from the vectors is trained if seen more often than this
        character_count: a character has its own row if seen more often than this
        max_characters: the first characters of a word, at most 256, which the network reads
        fixed_words: how many words of the vectors file are kept, the most frequent (first) ones.
            Words seen in training are always kept. 0 keeps all
        tokeniser: "fabir", or NLTK's ("nltk"), which FABIR's authors used
    """

    word_count: int = 100
    character_count: int = 50
    max_characters: int = 20
    fixed_words: int = 0
    tokeniser: Tokeniser = "fabir"

    def __post_init__(self) -> None:
        if not 0 <= self.max_characters <= MAX_CHARACTERS:
            found = self.max_characters
            raise ValueError(f"max_characters must be from 0 to {MAX_CHARACTERS}, got {found}")


@dataclass(frozen=True)
class Vocabulary:
    """Words and characters of a reader.

    Rows of words: 0 padding, 1 unknown, then `trained`, then `fixed`; words are looked up
    lower-cased. Rows of characters: 0 padding, 1 unknown, then `characters`. Texts are split by
    `tokeniser`.
    """

    trained: tuple[str, ...]
    fixed: tuple[str, ...]
    characters: str
    max_characters: int
    tokeniser: Tokeniser = "fabir"
    _rows: dict[str, int] = field(init=False, repr=False, compare=False)
    _character_rows: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        words = (*self.trained, *self.fixed)
        object.__setattr__(self, "_rows", {word: row for row, word in enumerate(words, 2)})
        codes = np.array([ord(character) for character in self.characters], np.int64)
        rows = np.full(
            codes.max(initial=0) + 2, UNKNOWN, np.int32
        )  # by code point; the last row is for all other characters
        rows[codes] = range(2, 2 + len(codes))
        object.__setattr__(self, "_character_rows", rows)

    def __repr__(self) -> str:
        words = len(self.trained) + len(self.fixed)
        return f"<Vocabulary: {words:,} words, {len(self.characters):,} characters>"

    @property
    def no_answer(self) -> bool:
        """Whether the reader was trained to say that a passage has no answer."""
        return NO_ANSWER in self.trained

    def word_row(self, spelling: str) -> int:
        """The row of a word as it is spelt in a text."""
        return self._rows.get(spelling.lower(), UNKNOWN)

    def character_rows(self, spellings: Sequence[str]) -> np.ndarray:
        """The rows of each word's first characters, case-sensitive, zeros after its end.

        Shape: result [spellings, max_characters] int32
        """
        width = max(1, self.max_characters)  # "U0" would be as wide as the longest word
        codes = np.array(spellings, f"U{width}").view(np.uint32).reshape(len(spellings), width)
        rows = self._character_rows[np.minimum(codes, len(self._character_rows) - 1)]
        lengths = np.array([len(spelling) for spelling in spellings], np.int64)
        rows *= np.arange(width) < lengths[:, None]
        return rows[:, : self.max_characters]


def build_vocabulary(
    counts: Mapping[str, int],
    known: Sequence[str],
    config: VocabularyConfig,
    *,
    no_answer: bool = False,
) -> tuple[Vocabulary, list[int]]:
    """Choose the words and characters of a reader.

    Args:
        counts: how often training saw each spelling
        known: the words of the vectors file, most frequent first
        no_answer: add a row for the token before a passage that means "no answer"

    Returns:
        the vocabulary, and for each of its fixed words the number of its row in the vectors file
    """
    words: dict[str, int] = {}
    characters: dict[str, int] = {}
    for spelling, count in counts.items():
        words[spelling.lower()] = words.get(spelling.lower(), 0) + count
        for character in spelling:
            characters[character] = characters.get(character, 0) + count
    kept = config.fixed_words or len(known)
    chosen = [row for row, word in enumerate(known) if row < kept or word in words]
    missing = words.keys() - set(known)
    vocabulary = Vocabulary(
        trained=(NO_ANSWER,) * no_answer
        + _frequent(((w, words[w]) for w in missing), config.word_count),
        fixed=tuple(known[row] for row in chosen),
        characters="".join(_frequent(characters.items(), config.character_count)),
        max_characters=config.max_characters,
        tokeniser=config.tokeniser,
    )
    return vocabulary, chosen


def _frequent(counts: Iterable[tuple[str, int]], threshold: int) -> tuple[str, ...]:
    """The names seen more than `threshold` times, most frequent first."""
    return tuple(
        name for name, count in sorted(counts, key=lambda c: (-c[1], c[0])) if count > threshold
    )


class WordTable:
    """A growing table of distinct spellings, each with its word row and character rows.

    An accent after its letter, as some systems write it, is read as one character with it (NFC).

    A word type is the number of a spelling; type 0 is padding. `number` is not thread-safe.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._numbers: dict[str, int] = {"": 0}
        self._rows = np.zeros(1024, np.int32)
        self._characters = np.zeros((1024, vocabulary.max_characters), np.int32)
        # What every passage starts with: nothing, or the token that means "no answer".
        self.before = self.number([NO_ANSWER] * vocabulary.no_answer)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def size(self) -> int:
        """Approximate size in memory, in bytes."""
        return len(self) * (_SPELLING + 4 * self.vocabulary.max_characters)

    def number(self, words: Sequence[str]) -> np.ndarray:
        """The word types of `words`, int32 [words]; new spellings are added."""
        found = list(map(self._numbers.get, words))
        if None in found:
            new = [word for word, number in zip(words, found, strict=True) if number is None]
            self._add(list(dict.fromkeys(new)))
            found = list(map(self._numbers.get, words))
        return np.array(found, np.int32)

    def rows(self, types: np.ndarray) -> np.ndarray:
        """Word rows, int32 [types]."""
        return self._rows[types]

    def characters(self, types: np.ndarray) -> np.ndarray:
        """Character rows, int32 [types, max_characters], zeros after a word's end."""
        return self._characters[types]

    def _add(self, spellings: list[str]) -> None:
        first, end = len(self), len(self) + len(spellings)
        while end > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._characters = np.concatenate([self._characters, np.zeros_like(self._characters)])
        composed = [unicodedata.normalize("NFC", spelling) for spelling in spellings]
        self._rows[first:end] = [self.vocabulary.word_row(spelling) for spelling in composed]
        self._characters[first:end] = self.vocabulary.character_rows(composed)
        self._numbers.update(zip(spellings, range(first, end), strict=True))
