"""Terms of a question: which of its words are names."""

import unicodedata

import pytest

from fabir.search.terms import ENGLISH, load_language


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
        ("", []),
    ],
)
def test_names_are_words_with_a_capital_inside_a_sentence(question: str, found: list[str]) -> None:
    assert load_language(ENGLISH, False).names(question) == found
