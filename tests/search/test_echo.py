"""Text that only repeats a question is told from text that answers it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.search.echo import blank_echoes, blank_marks, repeats_question
from fabir.search.terms import load_language

QUESTION = "When was the Marl tower built?"
PIECES = st.sampled_from(
    ["When was the Marl tower built", "Marl", "tower", "?", ".", "\n", "- ", " "]
)


ENGLISH = load_language("english", False)


def kept(text: str, question: str = QUESTION) -> str:
    return " ".join(blank_echoes(text, question, ENGLISH).split())


@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)))
def test_everything_else_stays_where_it_was(text: str) -> None:
    for new in (blank_echoes(text, QUESTION, ENGLISH), blank_marks(text)):
        assert len(new) == len(text)
        changed = {(old, now) for old, now in zip(text, new, strict=True) if old != now}
        assert all(now == " " or (now == "\t" and old in " |") for old, now in changed)


@pytest.mark.parametrize(
    "text",
    [
        "When was the Marl tower built?",
        "- When was the Marl tower built?\n- Who built the Marl tower?",
        "when was the marl tower built\nwho built the marl tower",
        "I would like to know when the Marl tower was built.",
        "Do you know when the Marl tower was built? Best wishes, Ann",
        "When was the Marl tower built? Yours, Ann",
        "When was the Marl tower built?\n\nKind regards\nAnn",
        "Do you know who built the Marl tower? When was the Marl tower built? Ann is asking.",
        "1. When was the Marl tower built?\n\n2. Who built the Marl tower?",
        "4.1 When was the Marl tower built?\n\n4.2 Who built the Marl tower?",
        "viii) When was the Marl tower built?\n\nix) Who built the Marl tower?",
        'for each in ask("When was the Marl tower built?", passage, top_k=3):',
        "fabir ask 'When was the Marl tower built?' --index notes",
    ],
)
def test_a_repeated_question_is_blank(text: str) -> None:
    assert "Marl" not in kept(text)


@pytest.mark.parametrize(
    "text",
    [
        "The Marl tower was built in 1771.",
        "## When was the Marl tower built?\n\nIn 1771.",
        "Q: When was the Marl tower built?\nA: In 1771.",
        "1. When was the Marl tower built?\n\nIn 1771.",
        "4.1 When was the Marl tower built?\n\nIn 1771.",
        "4.1. When was the Marl tower built?\n\nIn 1771.",
        "viii. When was the Marl tower built?\n\nIn 1771.",
        "(a) When was the Marl tower built?\n\nIn 1771.",
        "When was the Marl tower built? In 1771.",
        "When was the Marl tower built?\nThanks to a gift of 1770 it was built in 1771.",
        "When the Marl tower was built, the town had a wall.",
        "Where is the museum? It is beside the Marl tower.",
        'ask("When was the Marl tower built?", "It was built in 1771.")',
        '{"question": "When was the Marl tower built?", "answer": "1771"}',
        '"When was the Marl tower built?" asked Ann. "In 1771," said Bo.',
        'ask("Where is the museum?", passage)',
    ],
)
def test_other_sentences_stay(text: str) -> None:
    assert kept(text) == " ".join(text.split())


def test_marks_of_headings_and_items_are_blank() -> None:
    text = "# Fees\n\n- 85 crowns\n  * for - members\n---\n#1 is free"
    assert (
        blank_marks("a **bold** `word`, *one more*, 2 * 3")
        == "a   bold    word ,  one more , 2 * 3"
    )
    assert blank_marks(text) == "  Fees\n\n  85 crowns\n    for - members\n   \n#1 is free"


def test_cells_of_tables_are_parted_by_tabs() -> None:
    table = "| Key | Use |\n|:--|---|\n| A | a\\|b |\n+---+---+\n|x|y|"
    assert (
        blank_marks(table) == "\t Key\t  Use\t \n         \n\t A\t  a\\|b\t \n         \n\tx\ty\t"
    )
    assert blank_marks("cat a | sort\n+1-2") == "cat a | sort\n+1-2"


def test_directives_that_show_nothing_are_blank() -> None:
    shown = "Of oak.\n\n.. note:: Open daily\n:width: 5"
    text = f"Mills\n\n.. image:: mill.png\n   :width: 380 px\n\n{shown}"
    read = blank_marks(text)
    assert read.split() == ["Mills", *shown.split()]
    assert len(read) == len(text)


def test_numbers_in_brackets_before_items_are_blank() -> None:
    text = "(a) 85 crowns\n\nb) free\n  (iv) see (b)\n12) mills"
    assert blank_marks(text) == "    85 crowns\n\n   free\n       see (b)\n    mills"


@pytest.mark.parametrize(
    "text", ["4.2 Termination", "3. Mix the flour", "(see) it", "a)b", "iv. x"]
)
def test_other_numbers_and_brackets_stay(text: str) -> None:
    assert blank_marks(text) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("See [the plan](https://a.org/b_c.html) of it.", "See [the plan] of it."),
        ("`libxml2 <http://xmlsoft.org/>`_ 2.9", "libxml2 _ 2.9"),
        ("[![badge](img/a.svg)](#top) Fees", "[![badge] ] Fees"),
    ],
)
def test_targets_of_links_are_blank(text: str, words: str) -> None:
    assert blank_marks(text).split() == words.split()


@pytest.mark.parametrize("text", ["see <https://a.org/>", "f[x](y)", "a[0] (see b.py)"])
def test_other_addresses_and_brackets_stay(text: str) -> None:
    assert blank_marks(text) == text


@pytest.mark.parametrize(
    "text", ["*12 cancels\n*21 goes on", "*.tmp and *.log", "5* (2*3)", "*141*3# or 2*3*4"]
)
def test_stars_that_mark_nothing_stay(text: str) -> None:
    assert blank_marks(text) == text


@pytest.mark.parametrize("answer", ["the Marl tower", "?", "- When", "", "tower built", "MARL!"])
def test_an_answer_of_the_question_s_words_repeats_it(answer: str) -> None:
    assert repeats_question(answer, QUESTION)


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("1771", QUESTION),
        ("the Marl tower of 1771", QUESTION),
        ("the tower", "Which is older, the tower or the bridge?"),
        ("IT", "What does the I stand for?"),
    ],
)
def test_other_answers_do_not(answer: str, question: str) -> None:
    assert not repeats_question(answer, question)


def test_no_answer_at_all_repeats_every_question() -> None:
    assert repeats_question("...", "Which is older, the tower or the bridge?")


@pytest.mark.parametrize("text", ["\n" * 100_000 + "x", "1.\n" * 50_000, "a" + " " * 100_000 + "b"])
def test_the_time_is_linear_on_hostile_text(text: str) -> None:
    assert blank_echoes(text, QUESTION, ENGLISH) == text
