"""What is read of a row, what is refused, and that chunks are the same whatever is skipped."""

import json
from pathlib import Path
from typing import Any

import pytest

from bulk_rows import write_rows
from fabir.answer.predictor import Answer, Reading
from fabir.bulk import rows
from fabir.bulk.rows import QuestionRow, answer_row, read_chunks
from fabir.errors import InputError


def save(folder: Path, *lines: Any) -> Path:
    path = folder / "rows.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def test_passage_is_another_name_of_context_and_an_id_is_optional(tmp_path: Path) -> None:
    first = {"id": 7, "question": "Who?", "passage": "Ada did."}
    path = save(tmp_path, first, "", {"question": "Where?", "context": "At sea.", "more": [1]})
    (chunk,) = read_chunks(path)
    assert chunk.questions == [
        QuestionRow("7", "Who?", "Ada did."),
        QuestionRow("3", "Where?", "At sea."),
    ]
    assert chunk.bad == []
    assert chunk.share == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not valid JSON"),
        ("[1]", "expected an object, got list"),
        ({"context": "At sea."}, 'field "question": missing'),
        ({"question": "Who?"}, 'field "context": missing'),
        ({"question": "Who?", "context": None}, 'field "context": expected a string, got null'),
        ({"question": 1, "context": "At sea."}, 'field "question": expected a string, got int'),
        ({"question": " ", "context": "At sea."}, 'field "question": blank'),
        ({"question": "Who?", "passage": "\n"}, 'field "passage": blank'),
        ({"question": "Who?", "context": "\ud800"}, "half a surrogate pair, at character 0"),
        ({"id": [1], "question": "Who?", "context": "At sea."}, 'field "id": expected a string'),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, line: Any, problem: str) -> None:
    good = {"question": "Who?", "context": "Ada did."}
    path = save(tmp_path, good, line, good)
    (chunk,) = read_chunks(path)
    assert [asked.id for asked in chunk.questions] == ["1", "3"]
    (bad,) = chunk.bad
    assert bad.startswith(f"{path}: row 2, ")
    assert problem in bad
    assert [(chunk.questions, chunk.bad) for chunk in read_chunks(path, strict=True)] == [
        ([], [bad])
    ]


def test_chunks_do_not_depend_on_what_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "CHUNK", 4)
    path = write_rows(tmp_path / "rows.jsonl", 10)
    chunks = list(read_chunks(path))
    assert [len(chunk.questions) for chunk in chunks] == [4, 4, 2]
    for skip in range(4):
        assert list(read_chunks(path, skip)) == chunks[skip:]


def test_a_row_has_the_answer_that_is_given_or_the_best_guess() -> None:
    asked = QuestionRow("q", "Who?", "Ada did.")
    reading = Reading([Answer("Ada", 0, 3, 0.5)], 0.4)
    row = answer_row(asked, reading, reading.answers)
    assert list(row) == list(rows.COLUMNS)
    assert (row["answer"], row["score"], row["no_answer_score"]) == ("Ada", 0.5, 0.4)
    assert (row["best_guess"], row["best_guess_score"]) == ("", None)
    withheld = answer_row(asked, reading, [])
    assert (withheld["best_guess"], withheld["best_guess_score"]) == ("Ada", 0.5)
    blank = answer_row(asked, Reading([], 1.0), [])
    assert (blank["best_guess"], blank["best_guess_score"]) == ("", None)
    for nothing in (withheld, blank):
        assert list(nothing) == list(rows.COLUMNS)
        assert nothing["answer"] == ""
        assert nothing["start"] is nothing["end"] is nothing["score"] is None


def test_a_file_of_another_kind_is_read_as_squad(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        list(read_chunks(tmp_path / "no.json"))
