"""Numbers of lists look as programs show them, and count by levels."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.documents.list_numbers import MARKUP, NUMBER, OFFICE, Counter, Level, with_number

OUTLINE = {0: Level("%1."), 1: Level("%1.%2"), 2: Level("(%3)", OFFICE["lowerLetter"])}
SHOWN = st.sampled_from([*OFFICE.values(), *MARKUP.values()])
LEVELS = st.dictionaries(
    st.integers(0, 8),
    st.builds(
        Level,
        pattern=st.text("%123456789.a)", max_size=50),
        show=SHOWN,
        start=st.integers(0, 32767),
        restart=st.integers(0, 9),
        decimal=st.booleans(),
    ),
)


@pytest.mark.parametrize(
    ("form", "number", "text"),
    [
        ("decimal", 12, "12"),
        ("decimalZero", 9, "09"),
        ("decimalZero", 10, "10"),
        ("lowerLetter", 26, "z"),
        ("lowerLetter", 28, "bb"),
        ("upperLetter", 27, "AA"),
        ("lowerLetter", 0, "0"),
        ("lowerLetter", 20_000, "20000"),
        ("lowerRoman", 1994, "mcmxciv"),
        ("upperRoman", 4, "IV"),
        ("lowerRoman", 4000, "4000"),
        ("ordinal", 1, "1st"),
        ("ordinal", 2, "2nd"),
        ("ordinal", 113, "113th"),
        ("ordinal", 123, "123rd"),
        ("none", 3, ""),
    ],
)
def test_office_programs_show_numbers_in_formats(form: str, number: int, text: str) -> None:
    assert OFFICE[form](number) == text


@pytest.mark.parametrize(
    ("form", "number", "text"),
    [
        ("1", -2, "-2"),
        ("a", 26, "z"),
        ("a", 28, "ab"),
        ("A", 703, "AAA"),
        ("a", 0, "0"),
        ("a", -1, "-1"),
        ("i", 9, "ix"),
        ("I", 40, "XL"),
        ("", 5, ""),
    ],
)
def test_markup_has_formats_too(form: str, number: int, text: str) -> None:
    assert MARKUP[form](number) == text


def counted(levels: dict[int, Level], *places: int) -> list[str]:
    counter = Counter()
    return [counter.next(levels, place).strip() for place in places]


def test_an_inner_level_begins_anew_behind_an_outer_one() -> None:
    numbers = ["1.", "1.1", "(a)", "(b)", "1.2", "(a)", "2.", "2.1"]
    assert counted(OUTLINE, 0, 1, 2, 2, 1, 2, 0, 1) == numbers


def test_a_level_that_is_left_out_counts_as_begun() -> None:
    assert counted(OUTLINE, 1, 1, 0, 1) == ["1.1", "1.2", "2.", "2.1"]


def test_a_level_may_begin_anew_behind_some_levels_only() -> None:
    never = {**OUTLINE, 1: Level("%1.%2", restart=0)}
    assert counted(never, 0, 1, 0, 1) == ["1.", "1.1", "2.", "2.2"]
    first = {**OUTLINE, 2: Level("%3", restart=1)}
    assert counted(first, 0, 1, 2, 1, 2, 0, 2) == ["1.", "1.1", "1", "1.2", "2", "2.", "1"]


def test_a_level_may_show_others_as_decimal() -> None:
    roman = Level("%1", OFFICE["upperRoman"], start=4)
    assert counted({0: roman, 1: Level("%1.%2")}, 0, 1) == ["IV", "IV.1"]
    assert counted({0: roman, 1: Level("%1.%2", decimal=True)}, 0, 1) == ["IV", "4.1"]


def test_bullets_have_no_text_but_inner_levels_begin_anew_behind_them() -> None:
    assert counted({0: Level("•"), 1: Level("%2.")}, 0, 1, 1, 0, 1) == ["", "1.", "2.", "", "1."]
    assert counted({}, 0, 5) == ["", ""]


def test_an_item_may_have_a_number_of_its_own() -> None:
    counter = Counter()
    numbers = [counter.next(OUTLINE, 0, start) for start in (7, None, 0, 10**9)]
    assert numbers == ["7. ", "8. ", "0. ", "32767. "]


def test_the_gap_is_between_number_and_text() -> None:
    assert with_number("4.2 ", "\tTermination") == "4.2 Termination"
    assert with_number("Article 3", " Rent") == "Article 3 Rent"
    assert with_number("", " Rent") == " Rent"


@given(LEVELS, st.lists(st.integers(0, 12), max_size=20))
def test_the_text_of_a_number_is_short_whatever_the_levels_say(
    levels: dict[int, Level], places: list[int]
) -> None:
    counter = Counter()
    for place in places:
        number = counter.next(levels, place)
        assert len(number) <= 101
        assert not number or any(map(str.isalnum, number))


@pytest.mark.parametrize("text", ["1.", "a)", "(iv)", "XII.", "4.2", "4.2.", "10.1.3", "(B)"])
def test_written_numbers_are_known(text: str) -> None:
    assert re.fullmatch(NUMBER, text)


@pytest.mark.parametrize("text", ["1834", "No.", "mill.", "(see", "12.10.1999", "42", "4,2"])
def test_words_and_dates_are_no_numbers_of_lists(text: str) -> None:
    assert not re.fullmatch(NUMBER, text)
