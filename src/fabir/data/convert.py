"""Converts a table of questions, passages and answers to SQuAD data: finds the answer offsets."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.data.tables import Numbered, check_text, read_header, read_table, row_id
from fabir.errors import InputError
from fabir.progress import counted

_NEEDED = ("question",), ("passage", "context"), ("answer", "answers")  # or the other name
_MOST_NAMES = 20  # columns that an error lists


@dataclass(slots=True)
class Converted:
    """The result of a conversion.

    notes: one line for each answer that is missing or ambiguous, for each question left out because
        none of its answers was found, and for each skipped bad row
    """

    data: Dataset
    notes: list[str] = field(default_factory=list)
    answers: int = 0
    several: int = 0
    other_case: int = 0
    missing: int = 0
    left_out: int = 0
    bad: int = 0

    @property
    def summary(self) -> str:
        """One line of counts."""
        impossible = sum(question.impossible for _, question in self.data.questions)
        return (
            f"{counted(len(self.data), 'question')} about "
            f"{counted(len(self.data.passages), 'passage')}, {impossible} of them unanswerable; "
            f"{counted(self.answers, 'answer')}, {self.several} in several places, "
            f"{self.other_case} in other case, {self.missing} not found; "
            f"{counted(self.left_out, 'question')} left out, {counted(self.bad, 'bad row')}"
        )


def convert(
    path: str | Path,
    *,
    separator: str = "|",
    on_bad_row: Literal["error", "skip"] = "error",
) -> Converted:
    """Convert a table to SQuAD data: a file with one of the endings `fabir.data.tables.ENDINGS`.

    Columns: `question`, `passage` (or `context`), `answer` (or `answers`), and optionally `id` and
    `title`. A row without an id has its number as one. Several answers are a list, or one text with
    `separator` between them. An empty cell makes the question unanswerable. An answer is searched
    with its exact case first, then without case; white space may differ. Whole words have priority
    over parts of words, then the first place. Rows with the same passage become one paragraph, at
    the place of the first.

    Raises:
        InputError: the file cannot be read or lacks a column, a row is bad, or no row can be used.
    """
    if not separator:
        raise InputError("--separator is empty: name the text between the answers of a question")
    _check_header(path)
    made = Converted(Dataset((), "1.1"))
    questions: dict[tuple[str, str], list[Question]] = {}
    ids: set[str] = set()
    for numbered in read_table(path):
        where = f"row {numbered.number}"
        try:
            passage, question, texts = _fields(numbered, separator, ids)
        except InputError as error:
            if on_bad_row == "error":
                raise InputError(
                    f"{path}: {where}, {error}; correct it, or choose --on-bad-row skip"
                ) from error
            made.notes.append(f"{where}, {error}; skipped")
            made.bad += 1
            continue
        ids.add(question[0])
        found = [_place(made, text, passage[1], where) for text in texts]
        answers = tuple(dict.fromkeys(answer for answer in found if answer))
        made.answers += len(answers)
        if texts and not answers:
            made.notes.append(f"{where}: no answer is left; question left out")
            made.left_out += 1
            continue
        asked = Question(question[0], question[1], answers, impossible=not texts)
        questions.setdefault(passage, []).append(asked)
    if not questions:
        why = f": {made.notes[0]}" if made.notes else ""
        raise InputError(f"{path}: none of its rows makes a question{why}")
    passages = tuple(Passage(text, title, tuple(of)) for (title, text), of in questions.items())
    v2 = any(question.impossible for of in questions.values() for question in of)
    made.data = Dataset(passages, "v2.0" if v2 else "1.1")
    return made


def find(answer: str, passage: str, *, whole: bool = False) -> list[Answer]:
    """All equally good places of an answer in a passage, as it is written there; none if the
    passage does not have it.

    Args:
        answer: not blank
        whole: parts of words do not count
    """
    pattern = r"\s+".join(map(re.escape, answer.split()))
    of_words = rf"(?<!\w)(?:{pattern})(?!\w)"
    for flags in (re.NOFLAG, re.IGNORECASE):
        for searched in (of_words,) if whole else (of_words, pattern):
            if found := list(re.finditer(searched, passage, flags)):
                return [Answer(match.group(), match.start()) for match in found]
    return []


def _check_header(path: str | Path) -> None:
    """Raises an InputError if the file has a header, and a needed column is not in it."""
    header = read_header(path)
    if header and (name := _missing(header)):
        shown = ", ".join(list(header)[:_MOST_NAMES])
        raise InputError(f'{path} has no column "{name}", only {shown}: rename the right one')


def _missing(names: Collection[str]) -> str:
    """The first needed column that is not among the names; empty if all are there."""
    return next((either[0] for either in _NEEDED if not any(map(names.__contains__, either))), "")


def _fields(
    numbered: Numbered, separator: str, ids: set[str]
) -> tuple[tuple[str, str], tuple[str, str], list[str]]:
    """The title and passage, the id and question, and the texts of the answers."""
    if numbered.problem:
        raise InputError(numbered.problem)
    row = numbered.row
    passage = "passage" if "passage" in row else "context"
    answer = "answer" if "answer" in row else "answers"
    if name := _missing(row):
        raise InputError(f'field "{name}": missing')
    id = row_id(numbered)
    if id in ids:
        raise InputError(
            f'field "id": another row has {id!r} too (a row without an id has its number): give '
            "each row its own"
        )
    given = row[answer]
    if given is None:
        given = []
    texts = given if type(given) is list else check_text(given, answer, blank=True).split(separator)
    texts = [check_text(text, answer, blank=True).strip() for text in texts]
    if type(given) is str and given.strip() and not any(texts):
        raise InputError(
            f'field "{answer}": nothing but {given.strip()!r}; leave it empty for none'
        )
    title = check_text(row.get("title") or "", "title", blank=True)
    return (
        (title, check_text(row[passage], passage)),
        (id, check_text(row["question"], "question")),
        list(filter(None, texts)),
    )


def _place(made: Converted, text: str, passage: str, where: str) -> Answer | None:
    """The answer at its first place. Missing and ambiguous answers get a note."""
    found = find(text, passage)
    if not found:
        made.notes.append(f"{where}: {text!r} is not in the passage")
        made.missing += 1
        return None
    first = found[0]
    if first.text.split() != text.split():
        made.notes.append(f"{where}: {text!r} is {first.text!r} in the passage")
        made.other_case += 1
    if len(found) > 1:
        made.notes.append(
            f"{where}: {text!r} is in {len(found)} places; taken is the first, at {first.start}"
        )
        made.several += 1
    return first
