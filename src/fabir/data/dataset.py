"""Questions about passages, with their answers.

Everything here is text and character offsets; tokens and tensors are `fabir.data.features`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of a passage; `start` is its character offset there."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its reference answers; `plausible` are the plausible answers of SQuAD 2.0."""

    id: str
    text: str
    answers: tuple[Answer, ...]
    impossible: bool = False
    plausible: tuple[Answer, ...] = ()

    @property
    def labelled(self) -> bool:
        """Whether its answers are known, or that it has none."""
        return bool(self.answers) or self.impossible


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph with its questions; `title` is that of its article, or empty."""

    text: str
    title: str
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions about passages. Its length is the number of questions.

    `bad_answers` has one line for each bad answer that was found while reading, and for each
    question that was removed or got another id: the question's id and what was wrong.
    """

    passages: tuple[Passage, ...]
    version: str
    bad_answers: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(len(passage.questions) for passage in self.passages)

    def __repr__(self) -> str:
        return f"<Dataset: {len(self):,} questions, {len(self.passages):,} passages>"

    @property
    def questions(self) -> Iterator[tuple[Passage, Question]]:
        """Every question with its passage, in the order of the file."""
        for passage in self.passages:
            for question in passage.questions:
                yield passage, question

    @property
    def has_unanswerable(self) -> bool:
        """Whether this is SQuAD 2.0 data, in which a question may have no answer."""
        return is_version_2(self.version) or any(
            question.impossible for _, question in self.questions
        )


def joined(datasets: Sequence[Dataset]) -> Dataset:
    """Several data sets as one; it has version 2.0 if one of them has.

    Where an id is in several of them, all but the first of these questions get a number appended.
    """
    taken: set[str] = set()

    def own(question: Question) -> Question:
        id = unused(question.id, taken)
        return question if id == question.id else replace(question, id=id)

    passages = tuple(
        replace(passage, questions=tuple(map(own, passage.questions)))
        for data in datasets
        for passage in data.passages
    )
    bad = tuple(line for data in datasets for line in data.bad_answers)
    versions = [data.version for data in datasets]
    return Dataset(passages, next(filter(is_version_2, versions), versions[0]), bad)


def unused(id: str, taken: set[str]) -> str:
    """`id`, or that with a number appended, such that `taken` lacks it; it is added to `taken`."""
    tried = chain([id], (f"{id}-{number}" for number in count(2)))
    found = next(each for each in tried if each not in taken)
    taken.add(found)
    return found


def is_version_2(version: str) -> bool:
    """Whether a data set that states this version may have unanswerable questions."""
    return version.lower().lstrip("v").split(".")[0] == "2"
