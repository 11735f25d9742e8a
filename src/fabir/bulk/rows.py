"""Reads rows of questions in chunks, and makes rows of their answers."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from fabir.answer.predictor import Answer, Reading
from fabir.answer.threshold import best_guess
from fabir.data.squad import read_squad
from fabir.data.tables import Numbered, batched, check_text, read_table, row_id, table_kind
from fabir.errors import InputError

CHUNK = 1024  # rows to answer together; another number changes the last digits of scores

COLUMNS: dict[str, type] = {
    "id": str,
    "question": str,
    "answer": str,
    "start": int,
    "end": int,
    "score": float,
    "no_answer_score": float,
    "best_guess": str,
    "best_guess_score": float,
}


class QuestionRow(NamedTuple):
    """A row of the input: a question about a text."""

    id: str
    question: str
    context: str


class Chunk(NamedTuple):
    """Consecutive rows of a file.

    questions: the valid rows
    bad: one line for each invalid row, with its file, row and field
    share: share of the file up to the end of this chunk, from 0 to 1
    """

    questions: list[QuestionRow]
    bad: list[str]
    share: float


def read_chunks(path: Path, skip: int = 0, *, strict: bool = False) -> Iterator[Chunk]:
    """The rows of a table, or the questions of a SQuAD file, in chunks that never change.

    Args:
        skip: number of chunks to skip
        strict: whether to stop at the first bad row, which gets its own chunk

    Raises:
        InputError: the file cannot be read.
    """
    rows = read_table(path) if table_kind(path) else _questions(path)
    for batch in batched(islice(rows, skip * CHUNK, None), CHUNK):
        chunk = Chunk([], [], batch[-1].share)
        for row in batch:
            try:
                chunk.questions.append(_question(row))
            except InputError as error:
                bad = f"{path}: row {row.number}, {error}"
                if strict:
                    yield Chunk([], [bad], row.share)
                    return
                chunk.bad.append(bad)
        yield chunk


def answer_row(asked: QuestionRow, reading: Reading, given: list[Answer]) -> dict[str, Any]:
    """An output row.

    If no answer is given, its text is empty, its offsets and score are None, and `best_guess` has
    the best span. If one is given, `best_guess` is empty and its score None.
    """
    row: dict[str, Any] = {"id": asked.id, "question": asked.question}
    if given:
        best = given[0]
        row |= {"answer": best.text, "start": best.start, "end": best.end, "score": best.score}
    else:
        row |= {"answer": "", "start": None, "end": None, "score": None}
    guess = best_guess(reading, given)
    return row | {
        "no_answer_score": reading.no_answer,
        "best_guess": guess.text if guess else "",
        "best_guess_score": guess.score if guess else None,
    }


def _questions(path: Path) -> Iterator[Numbered]:
    data = read_squad(path, "keep")
    for number, (passage, question) in enumerate(data.questions, 1):
        row = {"id": question.id, "question": question.text, "context": passage.text}
        yield Numbered(number, row, "", number / len(data))


def _question(numbered: Numbered) -> QuestionRow:
    if numbered.problem:
        raise InputError(numbered.problem)
    row = numbered.row
    context = "context" if "context" in row else "passage"
    for name in ("question", context):
        if name not in row:
            missing = "context" if name == context else name
            raise InputError(f'field "{missing}": missing')
    return QuestionRow(
        row_id(numbered),
        check_text(row["question"], "question"),
        check_text(row[context], context),
    )
