"""Groups of questions: by type, by the lengths of question, answer and passage, and by the words
that a model has no vector for.

The FABIR paper shows scores by types and lengths (IV-C, Figures 3 to 6). Where the paper does not
give the bounds of an interval, the bounds here are this project's own.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import normalize

from fabir.data.dataset import Passage, Question
from fabir.text.tokens import tokenise
from fabir.text.vocabulary import UNKNOWN, Vocabulary

_HOW_MUCH = re.compile(r"\bhow\s+(many|much|long)\b")
_ASKING = re.compile(r"\b(what|who|whom|whose|when|where|which|why|how)\b")
_SAME = {"whom": "who", "whose": "who"}
QUANTITY, OTHER = "how many / much / long", "other"
TYPES = "what", "who", "when", "where", "which", "why", "how", QUANTITY, OTHER


def question_type(text: str) -> str:
    """One of `TYPES`: the first question word, or "how many / much / long".

    A question without a question word is "other": "Name a type of ...", "Does it ...".
    """
    asking = _ASKING.search(text.lower())
    if not asking:
        return OTHER
    if asking[1] == "how" and _HOW_MUCH.match(text.lower(), asking.start()):
        return QUANTITY
    return _SAME.get(asking[1], asking[1])


def _words(text: str) -> int:
    return len(tokenise(text).words)


def unknown_words(text: str, vocabulary: Vocabulary) -> int:
    """How many words of a text have no vector of their own: out-of-vocabulary words."""
    words = tokenise(normalize("NFC", text), vocabulary.tokeniser).words
    return sum(vocabulary.word_row(word) == UNKNOWN for word in words)


@dataclass(frozen=True)
class Grouping:
    """A way to divide questions.

    Args:
        name: the property that divides the groups
        labels: of all groups, in their order
        group: returns the label of a question about a passage, or None if it is in no group
    """

    name: str
    labels: tuple[str, ...]
    group: Callable[[Passage, Question], str | None]


def _lengths(
    name: str, tops: Sequence[int], measure: Callable[[Passage, Question], int | None]
) -> Grouping:
    """Groups of 1 to `tops[0]` words, of more up to `tops[1]`, and so on; the last is open."""
    borders = [(1, tops[0]), *((low + 1, high) for low, high in pairwise(tops))]
    labels = [str(high) if low == high else f"{low}-{high}" for low, high in borders]
    labels.append(f"> {tops[-1]}")

    def group(passage: Passage, question: Question) -> str | None:
        words = measure(passage, question)
        if words is None:
            return None
        return labels[sum(words > top for top in tops)]

    return Grouping(name, tuple(labels), group)


def _answer_words(passage: Passage, question: Question) -> int | None:
    return _words(question.answers[0].text) if question.answers else None


GROUPINGS = (
    _lengths("answer length", (1, 2, 3, 4, 5, 7, 10), _answer_words),
    _lengths("question length", (7, 9, 11, 13, 16), lambda _, question: _words(question.text)),
    Grouping("question type", TYPES, lambda _, question: question_type(question.text)),
    _lengths("passage length", (75, 100, 125, 150, 200), lambda passage, _: _words(passage.text)),
)


@dataclass(frozen=True)
class UnknownWords:
    """A division of questions by how many words of a text a model has no vector for. The groups
    differ between models.

    Args:
        name: the property that divides the groups
        text: returns the text of a question, or None if the question is in no group
    """

    name: str
    text: Callable[[Question], str | None]
    labels = "0", "1", "2", "> 2"

    def group(self, question: Question, vocabulary: Vocabulary) -> str | None:
        """The label of a question, or None if it is in no group."""
        text = self.text(question)
        return None if text is None else self.labels[min(unknown_words(text, vocabulary), 3)]


UNKNOWN_WORDS = (
    UnknownWords("unknown question words", lambda question: question.text),
    UnknownWords(
        "unknown answer words",
        lambda question: question.answers[0].text if question.answers else None,
    ),
)
