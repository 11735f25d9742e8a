"""A question of HotpotQA, with its paragraphs."""

from pathlib import Path
from typing import Any

import pytest

from fabir.data.published.hotpotqa import reader
from fabir.data.published.records import Entry, Options
from fabir.errors import InputError

CONTEXT = [
    ["Rain", ["Rain falls in Spain.", " Spain is wet."]],
    ["Snow", ["Snow is white."]],
    ["Plain", ["The plain is dry.", " It is in Spain."]],
]
TEXT = (
    "Rain\nRain falls in Spain. Spain is wet.\n\nSnow\nSnow is white.\n\n"
    "Plain\nThe plain is dry. It is in Spain."
)


def question(answer: Any = "Spain", **fields: Any) -> dict[str, Any]:
    known = {"_id": "5a8b", "question": "Where?", "answer": answer, "type": "bridge"}
    facts = [["Plain", 1], ["Rain", 1], ["Gone", 7]]
    return known | {"level": "hard", "supporting_facts": facts, "context": CONTEXT} | fields


def read(record: Any, **options: Any) -> Entry:
    (entry,) = reader(Path("hotpot.json"), Options(**options))(record)
    return entry


def test_the_answer_is_in_the_first_supporting_fact_that_has_it() -> None:
    entry = read(question())
    assert (entry.title, entry.text, entry.left_out) == ("5a8b", TEXT, [])
    place = TEXT.index(" Spain is wet") + 1
    answers = [{"text": "Spain", "answer_start": place}]
    assert entry.questions == [{"id": "5a8b", "question": "Where?", "answers": answers}]


def test_an_answer_outside_of_the_facts_is_the_first_of_the_text() -> None:
    assert read(question("white")).questions[0]["answers"] == [
        {"text": "white", "answer_start": TEXT.index("white")}
    ]
    assert read(question("SNOW")).questions[0]["answers"][0]["text"] == "Snow"
    entry = read(question(supporting_facts=[]))
    assert entry.questions[0]["answers"][0]["answer_start"] == TEXT.index("Spain")


def test_only_paragraphs_with_supporting_facts() -> None:
    entry = read(question(), supporting=True)
    assert entry.text == TEXT.replace("Snow\nSnow is white.\n\n", "")
    (answer,) = entry.questions[0]["answers"]
    assert entry.text.startswith("Spain is wet", answer["answer_start"])


def test_what_cannot_be_answered_from_the_text_is_left_out() -> None:
    for answer in ("yes", "No", " YES "):
        assert read(question(answer)).left_out == ["with the answer yes or no"]
    assert read(question("hail")).left_out == ["with no answer in the text"]
    assert read(question("plain is", context=CONTEXT[:1])).left_out == [
        "with no answer in the text"
    ]
    assert read(question(" ")).left_out == ["blank"]
    assert read(question(context=[])).left_out == ["blank"]  # as in some of the open-domain files
    for blank in ("\n", "\u200b"):
        assert read(question(question=blank)).left_out == ["blank"]
    assert read(question("dry"), max_words=12).left_out == ["with no answer in the text"]


def test_a_question_of_the_test_set_has_no_answers() -> None:
    record = question()
    del record["answer"], record["supporting_facts"]
    assert read(record).questions == [{"id": "5a8b", "question": "Where?"}]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ([], "expected an object, got list"),
        (question(_id=5), 'field "_id": expected a string, got int'),
        (question(7), 'field "answer": expected a string, got int'),
        (question(context="Rain"), 'field "context": expected a list, got str'),
        (question(context=[["Rain"]]), 'field "context": expected lists of a title and a list'),
        (question(context=[["Rain", [3]]]), 'field "context": expected a string, got int'),
        (question(supporting_facts=[["Rain", "1"]]), "expected lists of a title and an integer"),
    ],
)
def test_a_bad_record_is_said(record: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(record)
