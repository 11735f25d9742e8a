"""Reads rows of questions in chunks, and makes rows of their answers."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from fabir.answer.predictor import Answer, Reading
from fabir.answer.threshold import best_guess
from fabir.bulk.columns import SQUAD, Columns
from fabir.bulk.inputs import InputFile
from fabir.data.addresses import STDIN, is_address
from fabir.data.squad import read_squad
from fabir.data.tables import Numbered, Row, batched, check_text, read_table, table_kind
from fabir.errors import InputError

CHUNK = 1024  # rows to answer together; another number changes the last digits of scores


class QuestionRow(NamedTuple):
    """A row of the input: a question about a text, and what is kept of the row."""

    question: str
    context: str
    kept: Row


class Chunk(NamedTuple):
    """Consecutive rows of the input.

    questions: the valid rows
    bad: one line for each invalid row, with its file, row and field
    share: share of the input up to the end of this chunk, from 0 to 1; 0 if it is not known
    """

    questions: list[QuestionRow]
    bad: list[str]
    share: float


class _Place(NamedTuple):
    """A row with its file, its number in all files, and the share of all files up to it."""

    file: str
    row: Numbered
    number: int
    share: float


def read_chunks(
    files: Sequence[InputFile], columns: Columns, skip: int = 0, *, strict: bool = False
) -> Iterator[Chunk]:
    """The rows of tables, and the questions of SQuAD files, in chunks that never change.

    Args:
        skip: number of chunks to skip
        strict: whether to stop at the first bad row, which gets its own chunk

    Raises:
        InputError: a file cannot be read.
    """
    places = _places(files, columns)
    if files[0].name == STDIN:
        columns, places = _ids_of_first(columns, places)
    for batch in batched(islice(places, skip * CHUNK, None), CHUNK):
        chunk = Chunk([], [], batch[-1].share)
        for place in batch:
            try:
                chunk.questions.append(_question(place.row, place.number, columns))
            except InputError as error:
                bad = f"{place.file}: row {place.row.number}, {error}"
                if strict:
                    yield Chunk([], [bad], place.share)
                    return
                chunk.bad.append(bad)
        yield chunk


def answers_of(reading: Reading, given: list[Answer]) -> Row:
    """The columns `fabir.bulk.columns.ANSWERS` of a row.

    If no answer is given, its text is empty, its offsets and score are None, and `best_guess` has
    the best span. If one is given, `best_guess` is empty and its score None.
    """
    row: Row
    if given:
        best = given[0]
        row = {"answer": best.text, "start": best.start, "end": best.end, "score": best.score}
    else:
        row = {"answer": "", "start": None, "end": None, "score": None}
    guess = best_guess(reading, given)
    return row | {
        "no_answer_score": reading.no_answer,
        "best_guess": guess.text if guess else "",
        "best_guess_score": guess.score if guess else None,
    }


def _places(files: Sequence[InputFile], columns: Columns) -> Iterator[_Place]:
    """All rows of all files."""
    total = sum(file.size for file in files) or 1
    bytes_before = rows_before = 0
    for file in files:
        last = 0
        for row in _rows(file.name, columns):
            last = row.number
            if not row.problem:
                row = row._replace(row=file.partition | row.row)
            share = (bytes_before + row.share * file.size) / total
            yield _Place(file.name, row, rows_before + last, share)
        bytes_before += file.size
        rows_before += last


def _ids_of_first(columns: Columns, places: Iterator[_Place]) -> tuple[Columns, Iterator[_Place]]:
    """`find_ids` for standard input, and all its rows."""
    read: list[_Place] = []
    for place in places:
        read.append(place)
        if not place.row.problem:
            if columns.id_name in place.row.row:
                columns = columns._replace(id=columns.id_name)
            break
    return columns, chain(read, places)


def _rows(name: str, columns: Columns) -> Iterator[Numbered]:
    if name == STDIN or is_address(name) or table_kind(name):
        return read_table(name, columns.wanted)
    return _squad_rows(name)


def _squad_rows(name: str) -> Iterator[Numbered]:
    data = read_squad(Path(name), "keep", allow_blank=True)  # a blank row is a bad one
    for number, (passage, question) in enumerate(data.questions, 1):
        row = zip(SQUAD, (question.id, passage.title, question.text, passage.text), strict=True)
        yield Numbered(number, dict(row), "", number / len(data))


def _question(numbered: Numbered, number: int, columns: Columns) -> QuestionRow:
    """What is asked in a row, which is row `number` of all files."""
    if numbered.problem:
        raise InputError(numbered.problem)
    row = numbered.row
    context = columns.context_in(row)
    for name, option in ((columns.question, "question"), (context, "context")):
        if name not in row:
            raise InputError(f'field "{name}": missing (--{option}-column names another)')
    return QuestionRow(
        check_text(row[columns.question], columns.question),
        check_text(row[context], context),
        columns.kept_row(row, number),
    )
