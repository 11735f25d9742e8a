"""What all formats share: options, what a record becomes, checks of fields, cutting of texts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from fabir.data.dataset import Answer
from fabir.data.tables import check_text
from fabir.errors import InputError
from fabir.text.lines import divide
from fabir.text.tokens import tokenise

Json = dict[str, Any]
Split = Literal["train", "dev", "test"]

UNFOUND = "with no answer in the text"
BLANK = "blank"
KINDS = {list: "a list", dict: "an object", int: "an integer"}

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """How a file is converted.

    Args:
        evidence: TriviaQA's folder of documents; the folders `web` and `wikipedia` are in it
        split: the part of NewsQA that is taken, or None for all
        supporting: of HotpotQA's paragraphs take only those with supporting facts
        max_words: a longer text is cut after so many words, counted as in training; 0: none is

    Raises:
        InputError: `max_words` is negative.
    """

    evidence: Path | None = None
    split: Split | None = None
    supporting: bool = False
    max_words: int = 0

    def __post_init__(self) -> None:
        if self.max_words < 0:
            raise InputError(f"--max-words must be at least 0, not {self.max_words}")


@dataclass
class Entry:
    """A text with its questions as SQuAD's records, and why others about it were left out."""

    title: str
    text: str
    questions: list[Json] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add(self, id: str, question: str, answers: Iterable[Answer] | None) -> None:
        """Add a question; `answers` is None if the file does not tell the answer."""
        record: Json = {"id": id, "question": question}
        if answers is not None:
            record["answers"] = [
                {"text": each.text, "answer_start": each.start} for each in answers
            ]
        self.questions.append(record)


Read = Callable[[Any], Iterable[Entry]]  # from a record to what is in it


def take(record: Any, name: str, kind: type[T]) -> T:
    """The field `name` of a record, which is of exactly this kind.

    Raises:
        InputError: it is missing, or of another kind.
    """
    if type(record) is not dict:
        raise InputError(f"expected an object, got {type(record).__name__}")
    if name not in record:
        raise InputError(f'field "{name}": missing')
    value = record[name]
    if kind is str:
        return check_text(value, name, blank=True)  # pyright: ignore[reportReturnType]
    if type(value) is not kind:
        raise InputError(f'field "{name}": expected {KINDS[kind]}, got {type(value).__name__}')
    return value


def cut(text: str, max_words: int) -> str:
    """The beginning of a text, of at most `max_words` words; 0 for all of it."""
    while max_words and len(ends := tokenise(divide(text).text).ends) > max_words:
        text = text[: ends[max_words - 1]]
    return text
