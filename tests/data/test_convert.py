"""A table becomes SQuAD data with places for its answers; what is doubtful is said."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.convert import Converted, convert, find
from fabir.data.dataset import Answer
from fabir.data.squad import read_squad, write_squad
from fabir.errors import InputError
from tiny import TEXTS

RAIN = "Rain falls. The rain in Spain\nfalls too."


def converted(folder: Path, *rows: dict[str, Any], **options: Any) -> Converted:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return convert(path, **options)


def row(answer: Any, **fields: Any) -> dict[str, Any]:
    return {"question": "What?", "passage": RAIN, "answer": answer} | fields


def test_a_csv_file_becomes_squad_data(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "question,passage,answer\n"
        "Where does it fall?,It falls in Spain.,Spain|in Spain\n"
        "When?,It falls in Spain.,\n"
        "What falls?,Snow falls.,Snow\n"
    )
    made = convert(path)
    assert made.notes == []
    assert made.data.version == "v2.0"
    assert [len(passage.questions) for passage in made.data.passages] == [2, 1]
    questions = [question for _, question in made.data.questions]
    assert questions[0].answers == (Answer("Spain", 12), Answer("in Spain", 9))
    assert [question.impossible for question in questions] == [False, True, False]
    assert "3 questions about 2 passages, 1 of them unanswerable; 3 answers" in made.summary
    write_squad(made.data, tmp_path / "squad.json")
    assert read_squad(tmp_path / "squad.json") == made.data


def test_what_is_doubtful_is_noted(tmp_path: Path) -> None:
    made = converted(
        tmp_path,
        row("falls"),
        row("Snow"),
        row("spain  falls"),
        row(["rain", "hail"]),
        row(["Rain"], id="five", title="Weather"),
    )
    assert made.notes == [
        "row 1: 'falls' is in 2 places; taken is the first, at 5",
        "row 2: 'Snow' is not in the passage",
        "row 2: no answer is left; question left out",
        "row 3: 'spain  falls' is 'Spain\\nfalls' in the passage",
        "row 4: 'hail' is not in the passage",
    ]
    counts = made.answers, made.several, made.other_case, made.missing, made.left_out
    assert counts == (4, 1, 1, 2, 1)
    assert made.data.version == "1.1"
    assert [question.id for _, question in made.data.questions] == ["1", "3", "4", "five"]
    assert [passage.title for passage in made.data.passages] == ["", "Weather"]


def test_bad_rows_are_named_or_skipped(tmp_path: Path) -> None:
    rows = [row("Rain", id="a"), row("Rain", id="a"), {"question": "What?"}, row(7), row("Rain")]
    with pytest.raises(InputError, match=r"rows\.jsonl: row 2, .*another row has 'a'"):
        converted(tmp_path, *rows)
    made = converted(tmp_path, *rows, on_bad_row="skip")
    assert made.bad == 3
    assert [note.split(":")[0] for note in made.notes] == [
        'row 2, field "id"',
        'row 3, field "passage"',
        'row 4, field "answer"',
    ]
    with pytest.raises(InputError, match="none of its rows makes a question: row 1: 'hail' is not"):
        converted(tmp_path, row("hail"))
    with pytest.raises(InputError, match=r"nothing but '\|'; leave it empty"):
        converted(tmp_path, row(" | "))


def test_what_a_bad_row_needs_is_said(tmp_path: Path) -> None:
    message = r'row 1, field "question": blank; correct it, or choose --on-bad-row skip$'
    with pytest.raises(InputError, match=message):
        converted(tmp_path, row("Rain", question=" "))


def test_a_bad_rows_id_is_free_for_another(tmp_path: Path) -> None:
    rows = [row("Rain", id="a", question=" "), row("Rain", id="a"), row("Spain", id="a")]
    made = converted(tmp_path, *rows, on_bad_row="skip")
    assert [note.split(":")[0] for note in made.notes] == [
        'row 1, field "question"',
        'row 3, field "id"',
    ]
    assert [question.answers for _, question in made.data.questions] == [(Answer("Rain", 0),)]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("Frage,Text,Antwort", 'has no column "question", only Frage, Text, Antwort: rename'),
        ("question,Text,answer", 'has no column "passage", only question, Text, answer: rename'),
        ("question,context,Antwort", 'has no column "answer", only question, context, Antwort'),
    ],
)
def test_a_table_without_a_column_is_refused_with_those_it_has(
    tmp_path: Path, header: str, message: str
) -> None:
    (tmp_path / "rows.csv").write_text(f"{header}\nWhat?,Rain falls.,Rain\n")
    with pytest.raises(InputError, match=rf"rows\.csv {message}"):
        convert(tmp_path / "rows.csv", on_bad_row="skip")


@pytest.mark.parametrize("ids", [["2", ""], [None, 1]])
def test_a_number_that_is_another_rows_id_is_named(tmp_path: Path, ids: list[Any]) -> None:
    message = "row 2, .*another row has '[12]' too .a row without an id has its number.: give each"
    with pytest.raises(InputError, match=message):
        converted(tmp_path, *(row("Rain", id=id) for id in ids))


def test_whole_words_and_the_same_letters_go_first() -> None:
    assert find("rain", "Train of Rain, rain and drain") == [Answer("rain", 15)]
    assert find("rain", "Train of Rain") == [Answer("rain", 1)]
    assert find("rain", "Train of Rain", whole=True) == [Answer("Rain", 9)]
    assert find("RAIN", "Train of Rain") == [Answer("Rain", 9)]
    assert find("(a+b)", "is (a+b) here") == [Answer("(a+b)", 3)]
    assert find("the rain", "The  Rain. The\nrain.") == [
        Answer("The  Rain", 0),
        Answer("The\nrain", 11),
    ]
    assert find("snow", RAIN) == []
    assert find("pai", RAIN, whole=True) == []


@given(st.sampled_from(TEXTS), st.data())
def test_an_answer_is_found_where_it_may_have_stood(text: Any, data: st.DataObject) -> None:
    passage = text[0]
    start = data.draw(st.integers(0, len(passage) - 1))
    answer = passage[start : data.draw(st.integers(start + 1, len(passage)))].strip()
    if not answer:
        return
    found = find(answer, passage)
    assert found == sorted(found, key=lambda each: each.start) != []
    for each in found:
        assert each.text.split() == answer.split()
        assert passage.startswith(each.text, each.start)


def test_nothing_cannot_stand_between_answers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--separator is empty"):
        convert(tmp_path / "none.csv", separator="")
