"""The group of each question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.dataset import Answer, Passage, Question
from fabir.evaluation.breakdown import (
    GROUPINGS,
    TYPES,
    UNKNOWN_WORDS,
    question_type,
    unknown_words,
)
from fabir.text.vocabulary import Vocabulary

BY_NAME = {grouping.name: grouping for grouping in GROUPINGS}
VOCABULARY = Vocabulary(("tugh",), ("who", "was", "?", "café"), "abc", 8)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What is it?", "what"),
        ("In what year did it begin?", "what"),
        ("Whose idea was it?", "who"),
        ("To whom was it given?", "who"),
        ("WHEN?", "when"),
        ("How does it work?", "how"),
        ("How  many are there?", "how many / much / long"),
        ("For how long did it last?", "how many / much / long"),
        ("How much, and why?", "how many / much / long"),
        ("How is what they say known?", "how"),
        ("Name a type of bread.", "other"),
        ("Hoe was it made?", "other"),  # the paper's own example
        ("Does it whatsoever?", "other"),
        ("", "other"),
    ],
)
def test_a_question_has_the_type_of_its_first_question_word(text: str, kind: str) -> None:
    assert question_type(text) == kind


@given(st.text())
def test_every_question_has_a_type(text: str) -> None:
    assert question_type(text) in TYPES


def words(count: int) -> str:
    return " ".join(["word"] * count)


@given(st.integers(1, 300), st.integers(1, 30), st.integers(1, 20))
def test_lengths_fall_within_their_group(passage: int, asked: int, said: int) -> None:
    question = Question("q", words(asked), (Answer(words(said), 0), Answer("one", 0)))
    text = Passage(words(passage), "", (question,))
    lengths = {"passage length": passage, "question length": asked, "answer length": said}
    for name, length in lengths.items():
        label = BY_NAME[name].group(text, question)
        assert label in BY_NAME[name].labels
        low, _, high = label.partition("-")
        if low.startswith(">"):
            assert length > int(low[2:])
        else:
            assert int(low) <= length <= int(high or low)


def test_a_question_without_an_answer_has_no_answer_length() -> None:
    question = Question("q", "Why?", (), impossible=True)
    assert BY_NAME["answer length"].group(Passage("text", "", (question,)), question) is None


def test_words_without_a_vector_are_counted() -> None:
    assert unknown_words("Who was TUGH?", VOCABULARY) == 0
    assert unknown_words("Who was Zhu, Xi?", VOCABULARY) == 3
    assert unknown_words("cafe\u0301", VOCABULARY) == 0  # as a model reads it
    assert unknown_words("", VOCABULARY) == 0


def test_questions_are_divided_by_the_unknown_words_of_question_and_answer() -> None:
    asked, said = UNKNOWN_WORDS
    question = Question("q", "Who was Zhu, Xi?", (Answer("Xi", 0), Answer("a b c", 0)))
    assert asked.group(question, VOCABULARY) == "> 2"
    assert said.group(question, VOCABULARY) == "1"
    unanswerable = Question("q", "Who was Xi?", (), impossible=True)
    assert asked.group(unanswerable, VOCABULARY) == "1"
    assert said.group(unanswerable, VOCABULARY) is None
    many = [Question("q", "x " * count + "?", ()) for count in range(5)]
    assert [asked.group(each, VOCABULARY) for each in many] == ["0", "1", "2", "> 2", "> 2"]
