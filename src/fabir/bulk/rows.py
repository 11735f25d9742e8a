"""Questions read row by row, in chunks, and the rows that their answers become."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from fabir.answer.predictor import Reading
from fabir.data.squad import read_squad
from fabir.data.tables import Numbered, batched, check_text, read_table, row_id, table_kind
from fabir.errors import InputError

CHUNK = 1024  # rows that are answered together: another number changes the last digits of scores

COLUMNS: dict[str, type] = {
    "id": str,
    "question": str,
    "answer": str,
    "start": int,
    "end": int,
    "score": float,
    "no_answer_score": float,
}


class Asked(NamedTuple):
    """A row: a question about a text."""

    id: str
    question: str
    context: str


class Chunk(NamedTuple):
    """Rows that follow each other in a file.

    asked: those that can be answered
    bad: a line for each that cannot: file, row and field
    share: of the file that is read with them
    """

    asked: list[Asked]
    bad: list[str]
    share: float


def read_chunks(path: Path, skip: int = 0, *, strict: bool = False) -> Iterator[Chunk]:
    """The rows of a table, or the questions of a SQuAD file, in chunks that never change.

    Args:
        skip: chunks not to look at
        strict: end with the first bad row, in a chunk of its own

    Raises:
        InputError: the file cannot be read.
    """
    rows = read_table(path) if table_kind(path) else _questions(path)
    for some in batched(islice(rows, skip * CHUNK, None), CHUNK):
        chunk = Chunk([], [], some[-1].share)
        for row in some:
            try:
                chunk.asked.append(_asked(row))
            except InputError as error:
                bad = f"{path}: row {row.number}, {error}"
                if strict:
                    yield Chunk([], [bad], row.share)
                    return
                chunk.bad.append(bad)
        yield chunk


def answer_row(asked: Asked, reading: Reading, threshold: float) -> dict[str, Any]:
    """The row of `COLUMNS`. Without an answer its text is empty, its place and score are None."""
    row: dict[str, Any] = {"id": asked.id, "question": asked.question}
    if given := reading.given(threshold):
        best = given[0]
        row |= {"answer": best.text, "start": best.start, "end": best.end, "score": best.score}
    else:
        row |= {"answer": "", "start": None, "end": None, "score": None}
    return row | {"no_answer_score": reading.no_answer}


def _questions(path: Path) -> Iterator[Numbered]:
    data = read_squad(path, "keep")
    for number, (passage, question) in enumerate(data.questions, 1):
        row = {"id": question.id, "question": question.text, "context": passage.text}
        yield Numbered(number, row, "", number / len(data))


def _asked(numbered: Numbered) -> Asked:
    if numbered.problem:
        raise InputError(numbered.problem)
    row = numbered.row
    where = "context" if "context" in row else "passage"
    for name in ("question", where):
        if name not in row:
            missing = "context" if name == where else name
            raise InputError(f'field "{missing}": missing')
    return Asked(
        row_id(numbered),
        check_text(row["question"], "question"),
        check_text(row[where], where),
    )
