"""Data in Hugging Face's SQuAD schema is read wherever a SQuAD file is."""

import json
from pathlib import Path
from typing import Any

import pytest

from fabir.data.dataset import Dataset
from fabir.data.squad import read_squad
from fabir.errors import InputError
from tiny import Files, dataset, run_config, train_tiny


def rows_of(data: Dataset) -> list[dict[str, Any]]:
    return [
        {
            "id": question.id,
            "title": passage.title,
            "context": passage.text,
            "question": question.text,
            "answers": {
                "text": [answer.text for answer in question.answers],
                "answer_start": [answer.start for answer in question.answers],
            },
        }
        for passage, question in data.questions
    ]


def save(path: Path, rows: list[Any]) -> Path:
    if path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["train.jsonl", "train.parquet"])
def test_rows_are_the_data_set_they_were_made_of(tmp_path: Path, name: str) -> None:
    assert read_squad(save(tmp_path / name, rows_of(dataset()))) == dataset()


def test_an_empty_list_of_answers_says_that_there_is_none(tmp_path: Path) -> None:
    rows = rows_of(dataset())
    rows[3]["answers"] = {"text": [], "answer_start": []}
    data = read_squad(save(tmp_path / "train.jsonl", rows))
    assert data.version == "v2.0"
    assert [question.impossible for _, question in data.questions].count(True) == 1


def test_questions_without_answers_are_data_to_predict_on(tmp_path: Path) -> None:
    rows = [{k: row[k] for k in ("context", "question")} for row in rows_of(dataset())]
    rows[0] |= {"title": None}
    data = read_squad(save(tmp_path / "test.jsonl", rows))
    assert data.version == "1.1"
    assert [question.id for _, question in data.questions] == [str(i) for i in range(1, 20)]
    assert not any(question.answers or question.impossible for _, question in data.questions)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answers": "Ada"}, 'row 2, field "answers": expected an object .* `fabir convert`'),
        ({"answers": {"text": ["Ada"]}}, 'row 2, field "answers": .* not lists of one length'),
        ({"question": ""}, 'row 2, field "question": blank'),
        ({"context": None}, 'row 2, field "context": expected a string, got null'),
        ({"id": 0.5}, 'row 2, field "id": 0.5 is no text or whole number'),
        ({"id": None}, 'row 2, field "id": missing; give all rows one, or none'),
        ({"id": "0-0"}, "another question of this file has the same id"),
        ({"answers": {"text": ["Ada"], "answer_start": [1]}}, "'Ada' is not at offset 1"),
        (
            {"answers": {"text": ["Ada"], "answer_start": ["1"]}},
            'row 2, field "answers": "answer_start" has \'1\', no whole number',
        ),
        (
            {"answers": {"text": [7], "answer_start": [1]}},
            'row 2, field "text": expected a string, got int',
        ),
    ],
)
def test_a_malformed_row_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    rows = rows_of(dataset())
    rows[1] |= change
    path = save(tmp_path / "train.jsonl", rows)
    with pytest.raises(InputError, match=problem) as caught:
        read_squad(path)
    assert str(path) in str(caught.value)


def test_a_table_for_convert_is_told_from_rows(tmp_path: Path) -> None:
    path = save(tmp_path / "mine.jsonl", [{"question": "?", "passage": "Rain.", "answer": "Rain"}])
    with pytest.raises(InputError, match=r'"context": missing; `fabir convert` makes data of such'):
        read_squad(path)


def test_a_reader_trains_on_rows_as_on_a_squad_file(files: Files, tmp_path: Path) -> None:
    rows = save(tmp_path / "train.jsonl", rows_of(dataset()))
    config = run_config(epochs=1)
    from_rows = Files(rows, files.dev, files.vectors)
    found = [
        train_tiny(each, tmp_path / str(i), config) for i, each in enumerate((files, from_rows))
    ]
    assert found[0] == found[1]
