"""What is read of a row, what is refused, and that chunks are the same whatever is skipped."""

import json
from pathlib import Path
from typing import Any

import pytest

from bulk_rows import write_rows
from fabir.answer.predictor import Answer, Reading
from fabir.bulk import rows
from fabir.bulk.columns import ANSWERS, Columns, find_ids
from fabir.bulk.inputs import find_inputs
from fabir.bulk.rows import Chunk, QuestionRow, answers_of, read_chunks
from fabir.errors import InputError


def save(folder: Path, *lines: Any) -> Path:
    path = folder / "rows.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def chunks_of(*paths: Path, skip: int = 0, strict: bool = False, **columns: Any) -> list[Chunk]:
    files = find_inputs(paths)
    return list(read_chunks(files, find_ids(files, Columns(**columns)), skip, strict=strict))


def test_passage_is_another_name_of_context_and_an_id_is_optional(tmp_path: Path) -> None:
    first = {"id": 7, "question": "Who?", "passage": "Ada did."}
    path = save(tmp_path, first, "", {"question": "Where?", "context": "At sea.", "more": [1]})
    (chunk,) = chunks_of(path)
    assert chunk.questions == [
        QuestionRow("Who?", "Ada did.", {"id": 7, "question": "Who?"}),
        QuestionRow("Where?", "At sea.", {"id": None, "question": "Where?"}),
    ]
    assert chunk.bad == []
    assert chunk.share == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not valid JSON"),
        ('{"x": ' + "[" * 600 + "]" * 600 + "}", "nested more than 500 deep"),
        ("[1]", "expected an object, got list"),
        ({"context": "At sea."}, 'field "question": missing'),
        ({"question": "Who?"}, 'field "context": missing'),
        ({"question": "Who?", "context": None}, 'field "context": expected a string, got null'),
        ({"question": 1, "context": "At sea."}, 'field "question": expected a string, got int'),
        ({"question": " ", "context": "At sea."}, 'field "question": blank'),
        ({"question": "\u200b", "context": "At sea."}, 'field "question": blank'),
        ({"question": "Who?", "passage": "\n"}, 'field "passage": blank'),
        ({"question": "Who?", "passage": "\ufeff"}, 'field "passage": blank'),
        ({"question": "Who?", "context": "\ud800"}, "half a surrogate pair at character 0"),
        ({"id": [1], "question": "Who?", "context": "At sea."}, "[1] is no text or whole number"),
        ({"id": 2.5, "question": "Who?", "context": "At sea."}, "cast it, or name another column"),
        ({"id": 3, "question": "Who?", "context": "At sea."}, "rows are numbered, since the first"),
        ({"question": "Who?", "context": "caf\udce9"}, "not UTF-8; convert the file, for example"),
        (
            {"question": "Who?", "context": "At sea.", "by": [{"a": "\ud800"}]},
            'field "by": half a surrogate pair',
        ),
        (
            {"question": "Who?", "context": "At sea.", "score": 1},
            'field "score": a column of the answers has this name',
        ),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, line: Any, problem: str) -> None:
    good = {"question": "Who?", "context": "Ada did."}
    path = save(tmp_path, good, line, good)
    (chunk,) = chunks_of(path, keep=("all",))
    assert [asked.kept["id"] for asked in chunk.questions] == [1, 3]
    (bad,) = chunk.bad
    assert bad.startswith(f"{path}: row 2, ")
    assert problem in bad
    strict = chunks_of(path, strict=True, keep=("all",))
    assert [(chunk.questions, chunk.bad) for chunk in strict] == [([], [bad])]


def test_chunks_do_not_depend_on_what_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "CHUNK", 4)
    path = write_rows(tmp_path / "rows.jsonl", 10)
    more = write_rows(tmp_path / "more.jsonl", 3)
    chunks = chunks_of(path, more)
    assert [len(chunk.questions) for chunk in chunks] == [4, 4, 4, 1]
    assert [chunk.share for chunk in chunks] == sorted(chunk.share for chunk in chunks)
    assert chunks[-1].share == 1
    for skip in range(5):
        assert chunks_of(path, more, skip=skip) == chunks[skip:]


def test_rows_are_numbered_through_all_files_and_named_in_their_own(tmp_path: Path) -> None:
    row = {"question": "Who?", "context": "Ada did."}
    paths = [save(tmp_path, row, "", row)]
    (tmp_path / "more.csv").write_text("question,context\n,x\nWho?,Ada did.\n")
    (chunk,) = chunks_of(*paths, tmp_path / "more.csv")
    assert [asked.kept["id"] for asked in chunk.questions] == [1, 3, 5]
    assert chunk.bad == [f'{tmp_path / "more.csv"}: row 1, field "question": blank']


def test_a_row_keeps_what_is_named(tmp_path: Path) -> None:
    row = {"q": "Who?", "text": "Ada did.", "key": "a", "by": None, "tags": [1.5], "": 1}
    path = save(tmp_path, row)

    def kept(keep: Any) -> list[tuple[str, Any]]:
        (chunk,) = chunks_of(path, question="q", context="text", id="key", keep=keep)
        return list(chunk.questions[0].kept.items())

    asked = [("key", "a"), ("q", "Who?")]
    assert kept(()) == asked
    assert kept(("tags", "q", "no")) == [*asked, ("tags", [1.5]), ("no", None)]
    assert kept(("all",)) == list(row.items())[:-1]


def test_a_row_has_the_answer_that_is_given_or_the_best_guess() -> None:
    reading = Reading([Answer("Ada", 0, 3, 0.5)], 0.4)
    row = answers_of(reading, reading.answers)
    assert list(row) == list(ANSWERS)
    assert (row["answer"], row["score"], row["no_answer_score"]) == ("Ada", 0.5, 0.4)
    assert (row["best_guess"], row["best_guess_score"]) == ("", None)
    withheld = answers_of(reading, [])
    assert (withheld["best_guess"], withheld["best_guess_score"]) == ("Ada", 0.5)
    blank = answers_of(Reading([], 1.0), [])
    assert (blank["best_guess"], blank["best_guess_score"]) == ("", None)
    for nothing in (withheld, blank):
        assert list(nothing) == list(ANSWERS)
        assert nothing["answer"] == ""
        assert nothing["start"] is nothing["end"] is nothing["score"] is None


def test_a_row_has_the_columns_of_its_folders(tmp_path: Path) -> None:
    row = {"question": "Who?", "context": "Ada did.", "n": 1}
    (tmp_path / "n=2" / "year=2024").mkdir(parents=True)
    path = save(tmp_path / "n=2" / "year=2024", row, "{")
    for keep in (("n", "year"), ("all",)):
        (chunk,) = chunks_of(path, keep=keep)
        kept = chunk.questions[0].kept
        assert (kept["n"], kept["year"], len(chunk.bad)) == (1, "2024", 1)
    (chunk,) = chunks_of(path, id="year")
    assert chunk.questions[0].kept == {"year": "2024", "question": "Who?"}


def test_a_blank_question_of_a_squad_file_is_a_bad_row(tmp_path: Path) -> None:
    asked = [{"id": str(n), "question": text} for n, text in enumerate(["Who?", "\u200b", " "])]
    paragraphs = [{"context": "Ada did.", "qas": asked}, {"context": "\u00ad", "qas": []}]
    path = tmp_path / "data.json"
    path.write_text(json.dumps({"version": "1.1", "data": [{"paragraphs": paragraphs}]}))
    (chunk,) = chunks_of(path)
    assert [each.question for each in chunk.questions] == ["Who?"]
    assert chunk.bad == [f'{path}: row {row}, field "question": blank' for row in (2, 3)]


def test_a_file_of_another_kind_is_read_as_squad(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("[")
    with pytest.raises(InputError, match=r"data\.json"):
        chunks_of(tmp_path / "data.json")
