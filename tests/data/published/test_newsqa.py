"""A story of NewsQA, as its own tool writes it."""

from pathlib import Path
from typing import Any

import pytest

from fabir.data.published.newsqa import reader
from fabir.data.published.records import Entry, Options
from fabir.errors import InputError

TEXT = "Hyrule (Contoso) -- Tingle, Tingle!\n\nThe words are his. \nDon't steal them!"


def asked(question: str, **consensus: Any) -> dict[str, Any]:
    answers = [{"sourcerAnswers": [{"s": 0, "e": 6}, {"noAnswer": True}]}]
    return {"q": question, "consensus": consensus, "isAnswerAbsent": 0.25, "answers": answers}


def story(*questions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    told = {"storyId": "./contoso/2e1.story", "text": TEXT, "type": "train"}
    return told | {"questions": list(questions)} | fields


def read(record: Any, **options: Any) -> list[Entry]:
    return list(reader(Path("news.json"), Options(**options))(record))


def test_the_answer_is_the_consensus_without_white_space_around_it() -> None:
    start = TEXT.index("\nThe")
    (entry,) = read(
        story(asked("Whose words?", s=start, e=start + 20), asked("What place?", s=0, e=6))
    )
    assert (entry.title, entry.text, entry.left_out) == ("./contoso/2e1.story", TEXT, [])
    assert entry.questions == [
        {
            "id": "./contoso/2e1.story#0",
            "question": "Whose words?",
            "answers": [{"text": "The words are his.", "answer_start": start + 1}],
        },
        {
            "id": "./contoso/2e1.story#1",
            "question": "What place?",
            "answers": [{"text": "Hyrule", "answer_start": 0}],
        },
    ]


def test_a_question_without_an_answer_stays_and_a_bad_one_does_not() -> None:
    (entry,) = read(
        story(
            asked("Why?", noAnswer=True),
            asked("Wy x?", badQuestion=True),
            asked("\ufeff", s=0, e=6),
            asked("Where?", s=len(TEXT) - 2, e=len(TEXT) + 1),
            asked("Where?", s=36, e=37),
        )
    )
    assert [(each["id"][-1], each["answers"]) for each in entry.questions] == [("0", [])]
    unfound = "with no answer in the text"
    assert entry.left_out == ["that make no sense", "blank", unfound, unfound]
    (blank,) = read(story(asked("Why?", noAnswer=True), text="\n"))
    assert (blank.questions, blank.left_out) == ([], ["blank"])


def test_one_part_is_taken_if_it_is_named() -> None:
    record = story(asked("What place?", s=0, e=6))
    assert len(read(record, split="train")) == 1
    assert read(record, split="dev") == []


def test_an_answer_after_the_cut_is_left_out() -> None:
    (entry,) = read(story(asked("What place?", s=0, e=6), asked("What?", s=57, e=62)), max_words=8)
    assert entry.text == "Hyrule (Contoso) -- Tingle,"
    assert [each["question"] for each in entry.questions] == ["What place?"]
    assert entry.left_out == ["with no answer in the text"]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (7, "expected an object, got int"),
        (story(storyId=None), 'field "storyId": expected a string, got null'),
        (story(text=["a"]), 'field "text": expected a string, got list'),
        (story(text="\ud83d"), 'field "text": half a surrogate pair'),
        (story(questions={}), 'field "questions": expected a list, got dict'),
        (story({"q": "Why?"}), 'field "consensus": missing'),
        (story(asked("Why?")), 'field "s": missing'),
        (story(asked("Why?", s=1, e="2")), 'field "e": expected an integer, got str'),
        (story(asked("Why?", s=-3, e=2)), 'field "s": -3 is no place in a text'),
        (story(asked("Why?", s=0, e=-1)), 'field "e": -1 is no place in a text'),
    ],
)
def test_a_bad_record_is_said(record: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(record)
