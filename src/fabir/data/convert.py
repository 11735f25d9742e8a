"""Makes SQuAD data from a table of questions, passages and answers: finds the answers' offsets."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fabir.data.squad import Answer, Dataset, Passage, Question
from fabir.data.tables import Numbered, check_text, read_table, row_id
from fabir.errors import InputError


@dataclass(slots=True)
class Converted:
    """The result of converting a table.

    notes: a line for each answer that is not found, or not surely where it was meant; for each
        question left out because none of its answers is found; for each bad row skipped
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
            f"{len(self.data)} questions about {len(self.data.passages)} passages, {impossible} of "
            f"them unanswerable; {self.answers} answers, {self.several} in several places, "
            f"{self.other_case} in other case, {self.missing} not found; "
            f"{self.left_out} questions left out, {self.bad} bad rows"
        )


def convert(
    path: str | Path,
    *,
    separator: str = "|",
    on_bad_row: Literal["error", "skip"] = "error",
) -> Converted:
    """SQuAD data of a .csv, .jsonl or .parquet table.

    Columns: `question`, `passage` (or `context`), `answer` (or `answers`), and optionally `id` and
    `title`. Several answers are a list, or one text with `separator` between them. No answer means
    that the passage has none. An answer is matched exactly first, then without regard to case;
    white space may differ. Whole words win over parts of words, then the first place wins. Rows
    with the same passage become one paragraph, at the place of the first row.

    Raises:
        InputError: the file cannot be read, a bad row, or no row that can be used.
    """
    if not separator:
        raise InputError("--separator is empty: name what stands between the answers of a question")
    made = Converted(Dataset((), "1.1"))
    questions: dict[tuple[str, str], list[Question]] = {}
    ids: set[str] = set()
    for numbered in read_table(path):
        where = f"row {numbered.number}"
        try:
            passage, question, texts = _fields(numbered, separator, ids)
        except InputError as error:
            if on_bad_row == "error":
                raise InputError(f"{path}: {where}, {error}") from error
            made.notes.append(f"{where}, {error}; skipped")
            made.bad += 1
            continue
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
        raise InputError(f"{path}: none of its rows makes a question")
    passages = tuple(Passage(text, title, tuple(of)) for (title, text), of in questions.items())
    v2 = any(question.impossible for of in questions.values() for question in of)
    made.data = Dataset(passages, "v2.0" if v2 else "1.1")
    return made


def find(answer: str, passage: str) -> tuple[list[int], str]:
    """The equally good places of an answer in a passage, and its text there.

    Raises:
        LookupError: the answer is not in the passage.
    """
    pattern = r"\s+".join(map(re.escape, answer.split()))
    for flags in (re.NOFLAG, re.IGNORECASE):
        for border in (r"(?<!\w){}(?!\w)", "{}"):
            found = list(re.finditer(border.format(f"(?:{pattern})"), passage, flags))
            if found:
                return [match.start() for match in found], found[0].group()
    raise LookupError(answer)


def _fields(
    numbered: Numbered, separator: str, ids: set[str]
) -> tuple[tuple[str, str], tuple[str, str], list[str]]:
    """Title and passage, id and question, and the answers' texts."""
    if numbered.problem:
        raise InputError(numbered.problem)
    row = numbered.row
    passage = "passage" if "passage" in row else "context"
    answer = "answer" if "answer" in row else "answers"
    for name, shown in (("question", "question"), (passage, "passage"), (answer, "answer")):
        if name not in row:
            raise InputError(f'field "{shown}": missing')
    id = row_id(numbered)
    if id in ids:
        raise InputError(f'field "id": another row has {id!r} too')
    ids.add(id)
    given = row[answer]
    if given is None:
        given = []
    texts = given if type(given) is list else check_text(given, answer, blank=True).split(separator)
    texts = [check_text(text, answer, blank=True).strip() for text in texts]
    title = check_text(row.get("title") or "", "title", blank=True)
    return (
        (title, check_text(row[passage], passage)),
        (id, check_text(row["question"], "question")),
        list(filter(None, texts)),
    )


def _place(made: Converted, text: str, passage: str, where: str) -> Answer | None:
    """The answer at its first place; doubts about the place are noted."""
    try:
        places, written = find(text, passage)
    except LookupError:
        made.notes.append(f"{where}: {text!r} is not in the passage")
        made.missing += 1
        return None
    if written.split() != text.split():
        made.notes.append(f"{where}: {text!r} is {written!r} in the passage")
        made.other_case += 1
    if len(places) > 1:
        made.notes.append(
            f"{where}: {text!r} is in {len(places)} places; taken is the first, at {places[0]}"
        )
        made.several += 1
    return Answer(written, places[0])
