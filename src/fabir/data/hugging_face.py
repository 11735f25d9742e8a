"""Converts data sets in Hugging Face's SQuAD schema, one question a row, into SQuAD's JSON."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from fabir.data.tables import Numbered, Row, check_id, check_text, read_table, row_id
from fabir.errors import InputError


def read_as_squad(path: str | Path, *, blank: bool = False) -> dict[str, Any]:
    """The JSON of a SQuAD file, made of a table: see `rows_as_squad`.

    Raises:
        InputError: the file cannot be read, or a row is malformed.
    """
    return rows_as_squad(path, read_table(path), blank=blank)


def rows_as_squad(
    path: str | Path, numbered: Iterable[Numbered], *, blank: bool = False
) -> dict[str, Any]:
    """The JSON of a SQuAD file, made of the rows of the file `path`.

    Columns: `question`, `context` and, if they are there, `id`, `title` and `answers`, an object of
    two lists, `text` and `answer_start`. Rows are numbered if none has an `id`.
    Neighbouring rows with the same passage share it; neighbouring rows with the same title share an
    article. `blank` allows blank questions and passages.

    Raises:
        InputError: a row is malformed.
    """
    listed = list(numbered)
    given = any("id" in row.row for row in listed)
    rows = [_checked(path, row, needs_id=given, blank=blank) for row in listed]
    articles = [
        {"title": title, "paragraphs": _paragraphs(same)}
        for title, same in groupby(rows, key=lambda row: row["title"])
    ]
    return {"version": "1.1", "data": articles}


def _paragraphs(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [
        {"context": context, "qas": list(map(_qa, same))}
        for context, same in groupby(rows, key=lambda row: row["context"])
    ]


def _qa(row: Row) -> dict[str, Any]:
    record = {"id": row["id"], "question": row["question"]}
    if row["answers"] is not None:
        record["answers"] = row["answers"]
    return record


def _checked(path: str | Path, numbered: Numbered, *, needs_id: bool, blank: bool) -> Row:
    """The row with all its fields; `answers` are SQuAD's records, or None if there are none."""
    try:
        if numbered.problem:
            raise InputError(numbered.problem)
        row = numbered.row
        missing = [name for name in ("question", "context") if name not in row]
        if missing:
            hint = "; `fabir convert` makes data of such a table" if "passage" in row else ""
            raise InputError(f'field "{missing[0]}": missing{hint}')
        if needs_id and check_id(row.get("id"), "id") is None:
            raise InputError('field "id": missing; give all rows one, or none')
        return {
            "id": row_id(numbered),
            "title": check_text(row.get("title") or "", "title", blank=True),
            "question": check_text(row["question"], "question", blank=blank),
            "context": check_text(row["context"], "context", blank=blank),
            "answers": _answers(row["answers"]) if row.get("answers") is not None else None,
        }
    except InputError as error:
        raise InputError(f"{path}: row {numbered.number}, {error}") from error


def _answers(given: Any) -> list[dict[str, Any]]:
    if type(given) is not dict:
        raise InputError(
            f'field "answers": expected an object with "text" and "answer_start", got '
            f"{type(given).__name__}; `fabir convert` makes data of answers without places"
        )
    texts, starts = given.get("text"), given.get("answer_start")
    if type(texts) is not list or type(starts) is not list or len(texts) != len(starts):
        raise InputError('field "answers": "text" and "answer_start" are not lists of one length')
    for start in starts:
        if not (type(start) is int or (type(start) is float and start.is_integer())):
            raise InputError(f'field "answers": "answer_start" has {start!r}, no whole number')
    return [
        {"text": check_text(text, "text", blank=True), "answer_start": int(start)}
        for text, start in zip(texts, starts, strict=True)
    ]
