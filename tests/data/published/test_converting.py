"""Whole files, from a published format to what `read_squad` reads."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fabir.data.published.converting import Conversion, convert_published
from fabir.data.published.records import Options
from fabir.data.squad import read_squad
from fabir.errors import InputError

HOTPOT = {
    "_id": "a",
    "question": "What falls?",
    "answer": "Rain",
    "supporting_facts": [["Weather", 0]],
    "context": [["Weather", ["Rain falls.", " Snow too."]]],
}
STORY = {
    "storyId": "s.story",
    "type": "dev",
    "text": "Rain falls.",
    "questions": [
        {"q": "What falls?", "consensus": {"s": 0, "e": 5}},
        {"q": "Why?", "consensus": {"noAnswer": True}},
        {"q": "Falls what why?", "consensus": {"badQuestion": True}},
    ],
}
TRIVIA = {
    "QuestionId": "t1",
    "Question": "What falls?",
    "Answer": {"Value": "Rain", "Aliases": ["rain"]},
    "EntityPages": [{"Filename": "Rain.txt"}, {"Filename": "Gone.txt"}],
}


def converted(folder: Path, document: Any, *, skip: bool = False, **options: Any) -> Conversion:
    path = folder / "data.json"
    path.write_text(json.dumps(document))
    output = folder / "squad.json"
    return convert_published(path, output, Options(**options), "skip" if skip else "error")


def test_newsqa_becomes_data_of_version_2(tmp_path: Path) -> None:
    made = converted(tmp_path, {"data": [STORY], "version": "1"}, split="dev")
    data = read_squad(tmp_path / "squad.json")
    assert (data.version, data.has_unanswerable, data.bad_answers) == ("v2.0", True, ())
    assert [question.impossible for _, question in data.questions] == [False, True]
    assert made.summary == (
        "2 questions of NewsQA, 1 of them unanswerable; left out: 1 that make no sense; "
        "0 bad records"
    )


@pytest.mark.parametrize("name", ["squad.json.gz", "SQUAD.JSON.GZ"])
def test_hotpotqa_becomes_data_of_version_1(tmp_path: Path, name: str) -> None:
    other = HOTPOT | {"_id": "b", "answer": "yes"}
    third = HOTPOT | {"_id": "c", "answer": "Snow"}
    made = converted(tmp_path, [HOTPOT, other, third])
    data = read_squad(tmp_path / "squad.json")
    assert (data.version, data.has_unanswerable, len(data)) == ("1.1", False, 2)
    assert made.left_out == {"with the answer yes or no": 1}
    plain = (tmp_path / "squad.json").read_bytes()
    packed = tmp_path / name
    convert_published(tmp_path / "data.json", packed, Options())
    first = packed.read_bytes()
    assert gzip.decompress(first) == plain
    convert_published(tmp_path / "data.json", packed, Options())
    assert packed.read_bytes() == first


def test_triviaqa_is_converted_with_its_documents(tmp_path: Path) -> None:
    (tmp_path / "evidence" / "wikipedia").mkdir(parents=True)
    (tmp_path / "evidence" / "wikipedia" / "Rain.txt").write_text("The rain.\r\n")
    made = converted(tmp_path, {"Data": [TRIVIA]}, evidence=tmp_path / "evidence")
    ((passage, question),) = read_squad(tmp_path / "squad.json").questions
    assert (passage.text, passage.title, question.id) == (
        "The rain.\r\n",
        "Rain.txt",
        "t1--Rain.txt",
    )
    assert made.left_out == {"whose document is missing": 1}


def test_bad_records_are_named_or_skipped(tmp_path: Path) -> None:
    bad = HOTPOT | {"context": 3}
    with pytest.raises(
        InputError, match=r"data\.json: record 2, field \"context\": .* choose --on-bad-row skip"
    ):
        converted(tmp_path, [HOTPOT, bad])
    assert not (tmp_path / "squad.json").exists()
    made = converted(tmp_path, [HOTPOT, bad, {}], skip=True)
    assert [note.split(",")[0] for note in made.notes] == ["record 2", "record 3"]
    assert made.questions == 1
    assert "2 bad records" in made.summary


def test_a_record_that_comes_again_is_bad(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"record 2, another question of this file has the id 'a'"):
        converted(tmp_path, [HOTPOT, HOTPOT])
    made = converted(tmp_path, [HOTPOT, HOTPOT, HOTPOT | {"_id": "b"}], skip=True)
    assert made.questions == len(read_squad(tmp_path / "squad.json")) == 2


def test_of_a_record_with_an_id_that_is_taken_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "evidence" / "wikipedia").mkdir(parents=True)
    for name in ("Rain.txt", "Snow.txt"):
        (tmp_path / "evidence" / "wikipedia" / name).write_text("Rain falls.")
    again = TRIVIA | {"EntityPages": [{"Filename": "Snow.txt"}, *TRIVIA["EntityPages"]]}
    made = converted(tmp_path, {"Data": [TRIVIA, again]}, skip=True, evidence=tmp_path / "evidence")
    ids = {question.id for _, question in read_squad(tmp_path / "squad.json").questions}
    assert made.ids == ids == {"t1--Rain.txt"}
    assert (made.questions, made.left_out) == (1, {"whose document is missing": 1})


def test_nothing_is_written_of_what_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([HOTPOT, HOTPOT])[:-20])
    with pytest.raises(InputError, match=r"data\.json: not valid JSON after record 1"):
        convert_published(path, tmp_path / "squad.json", Options())
    assert [each.name for each in tmp_path.iterdir()] == ["data.json"]


@pytest.mark.parametrize(
    ("document", "options", "problem"),
    [
        ([{"paragraphs": []}], {}, r"of none of these: TriviaQA \('QuestionId'\)"),
        ([], {}, "of none of these"),
        ([HOTPOT], {"split": "dev"}, r"--split is for NewsQA, and .*data\.json is HotpotQA"),
        ({"data": [STORY]}, {"supporting": True}, "--supporting is for HotpotQA"),
        ({"data": [STORY]}, {"split": "test"}, "none of its questions can be converted"),
        ([HOTPOT | {"answer": "no"}], {}, r"can be converted \(0 questions .* 1 with the answer"),
        ({"Data": [TRIVIA]}, {}, "with --evidence"),
    ],
)
def test_what_cannot_be_converted_is_said(
    tmp_path: Path, document: Any, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        converted(tmp_path, document, **options)
    assert not (tmp_path / "squad.json").exists()


def test_a_file_is_not_written_over_itself(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([HOTPOT]))
    with pytest.raises(InputError, match="is read, and would be written over"):
        convert_published(path, path, Options())
    assert json.loads(path.read_text()) == [HOTPOT]
