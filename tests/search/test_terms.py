"""Terms of a question: which of its words are names."""

import unicodedata

import pytest

from fabir.search.terms import ENGLISH, load_language, words


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("When did Napoleon die?", ["Napoleon"]),
        ("Who is Napoleon Bonaparte?", ["Napoleon", "Bonaparte"]),
        ("Napoleon died when?", []),  # the first word may be any
        ('"Who invented the telephone?"', []),
        ("Please tell me: Who invented it? Where was it?", []),
        ("Where is Apple's seat, and Who runs it?", []),  # a stop word has a capital
        ("What Year Was The Mill Built?", []),
        ("WHAT YEAR WAS THE MILL BUILT?", []),
        ("Is the CEO of the USA in Łódź?", ["Łódź"]),
        ("Where did mr. Smith and Dr Hale meet?", ["Hale"]),
        (unicodedata.normalize("NFD", "Where was Dvořák born?"), ["Dvořák"]),
        ("who is the mayor of copenhagen", ["copenhagen"]),
        ("when did napoleon die, in paris?", ["napoleon", "paris"]),
        ("WHO IS THE MAYOR OF COPENHAGEN?", ["copenhagen"]),
        ("which of the mills was built in 1902?", []),
        ("who built the mill?", []),
        ("", []),
    ],
)
def test_names_have_a_capital_or_stand_behind_a_word_such_as_of(
    question: str, found: list[str]
) -> None:
    assert load_language(ENGLISH, False).names(question) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1854-12-01T10:00", "1854 12 01 december 1 t10 00"),
        ("1854-13-01 1854-12-32 11854-12-01", "1854 13 01 1854 12 32 11854 12 01"),
        ("1854/12/1, 1.12.1854", "1854 12 1 december 1 1 12 1854 december 1"),
        ("in 2009-10, 10.0.0.1", "in 2009 10 10 0 0 1"),
        ("Sep 19 1984", "sep september 19 1984"),
        ("19-SEPT-84", "19 sept september 84"),
        ("May 5, JULY 4; and jan met mar", "may 5 july 4 and jan met mar"),
    ],
)
def test_a_date_has_the_name_of_its_month(text: str, found: str) -> None:
    assert words(text) == found.split()


def test_the_time_is_linear_on_hostile_text() -> None:
    assert words("a" * 100_000 + "-")
