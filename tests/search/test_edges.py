"""Answers begin and end at brackets, names and numbers as a reader would."""

import pytest

from fabir.search.edges import after_number, pair_brackets, whole_name


@pytest.mark.parametrize(
    ("text", "answer", "paired"),
    [
        ("From: Ida <ida@mill.org>", "Ida <ida@mill.org", "Ida <ida@mill.org>"),
        ("Lothian (124 per cent) in 1995", "124 per cent)", "124 per cent"),
        ("the Nere (a river in Tarn)", "(a river", "a river"),
        ("see [9], f(x) and (b)", "f(x)", "f(x)"),
        ("it is a ) red", "a )", "a"),
    ],
)
def test_brackets_at_the_ends_of_an_answer_are_pairs(text: str, answer: str, paired: str) -> None:
    begin = text.index(answer)
    start, end = pair_brackets(text, begin, begin + len(answer))
    assert text[start:end] == paired


@pytest.mark.parametrize(
    ("text", "answer", "shown"),
    [
        ("Rent\n\n4.2 Ann Lind pays.", "4.2 Ann Lind", "Ann Lind"),
        ("4.2.1. Ann Lind pays.", "4.2.1. Ann Lind", "Ann Lind"),
        ("4.2 Termination", "4.2", "4.2"),
        ("4.2 Termination", "4.2 Termination", "4.2 Termination"),
        ("It is 4.2 Ann", "4.2 Ann", "4.2 Ann"),
        ("4.2 million people", "4.2 million people", "4.2 million people"),
        ("3.5 GHz and more", "3.5 GHz", "3.5 GHz"),
        ("12 Angry Men", "12 Angry Men", "12 Angry Men"),
    ],
)
def test_an_answer_begins_behind_the_number_of_its_item(text: str, answer: str, shown: str) -> None:
    begin = text.index(answer)
    end = begin + len(answer)
    start = after_number(text, begin, end, "Which section is about the termination?")
    assert text[start:end] == shown


@pytest.mark.parametrize(
    ("text", "answer", "shown"),
    [
        ("see multi-user.target, which", "multi-user", "multi-user.target"),
        ("call env.run() first", "env", "env.run()"),
        ("the file TPX.BIN.", "TPX", "TPX.BIN"),
        ("the file TPX.BIN.", "TPX.BIN", "TPX.BIN"),
        ("in 1902.The mill", "1902", "1902"),
        ("a kite (new)", "kite", "kite"),
        ("a kite.", "kite", "kite"),
        ("java.util contains Date", "util", "java.util"),
        ("the map of docs.mill_house.org here", "house", "docs.mill_house.org"),
        ("in 1902.the mill", "the mill", "the mill"),
        ("It was old.Ida mended it", "Ida", "Ida"),
        ("a _kite", "kite", "kite"),
    ],
)
def test_an_answer_is_not_a_part_of_a_name(text: str, answer: str, shown: str) -> None:
    start = text.index(answer)
    start, end = whole_name(text, start, start + len(answer))
    assert text[start:end] == shown
