"""Passages: exact places, everything covered, paragraphs and sentences left whole."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.search.passages import begins_with_row, column_names, last_gap, passages

WORDS = ["Rain falls.", "a", "Dr. Mill", "。", "?!", "x" * 30]
SPACES = [" ", "\t", "\n", "\r\n", "\n\n", " \n \n", " " * 120]
PIECES = st.sampled_from(WORDS + SPACES)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join))


@given(TEXTS, st.integers(1, 80), st.lists(st.integers(0, 100), max_size=4))
def test_passages_are_pieces_that_cover_the_text(text: str, size: int, places: list[int]) -> None:
    found = passages(text, size, [(place, place + 1) for place in sorted(places)])
    after = 0
    for start, end in found:
        assert after <= start < end
        assert text[start:end] == text[start:end].strip()
        assert not text[after:start].strip()
        assert end - start <= 1.25 * size
        after = end
    assert not text[after:].strip()


def cut(text: str, size: int) -> list[str]:
    return [text[start:end] for start, end in passages(text, size, None)]


def test_paragraphs_are_passages_and_a_heading_goes_with_what_follows() -> None:
    first, second = "Rain falls from clouds to the ground.", "Snow falls when it is very cold."
    text = f"# Weather\n\n{first}\n \n{second}\n\n"
    assert cut(text, 40) == [f"# Weather\n\n{first}", second]


LONG = "The river rises in the hills of Tarn and flows through nine villages to the sea. " * 3


@pytest.mark.parametrize("gap", ["\n\n", "\n"])
def test_a_heading_never_ends_a_passage(gap: str) -> None:
    expected = [
        LONG[:200].strip(),
        f"## Opening hours{gap}From 9:30 to 17:45.",
        f"## Prices{gap}### For groups{gap}{LONG.strip()}",
    ]
    text = gap.join(expected)
    places = [text.index(name) for name in ("Opening", "Prices", "For groups")]
    headings = [(place, text.index("\n", place)) for place in places]
    assert [text[start:end] for start, end in passages(text, 1000, headings)] == expected


def test_a_short_line_is_a_heading_where_none_is_known() -> None:
    text = f"{LONG[:200]}\n\nOpening hours\n\nFrom 9:30 to 17:45 on weekdays."
    assert cut(text, 1000) == [
        LONG[:200].strip(),
        "Opening hours\n\nFrom 9:30 to 17:45 on weekdays.",
    ]


HOURS = "From 9:30 to 17:45 on weekdays. " * 6


@pytest.mark.parametrize("line", ["Opening hours", "**Opening hours**", "We are open:"])
@pytest.mark.parametrize("headings", [(), [(0, 5)]])
def test_a_short_line_behind_a_sentence_goes_with_what_follows(
    line: str, headings: list[tuple[int, int]]
) -> None:
    expected = [f"Belmar\n\n{LONG[:230].strip()}.", f"{line}\n\n{HOURS.strip()}"]
    text = "\n\n".join(expected)
    assert [text[start:end] for start, end in passages(text, 1000, headings)] == expected


def test_a_numbered_line_between_others_goes_with_what_follows() -> None:
    goals = [
        f"{number}. The part called {name}\n\nGoal: a {name} that all can find and all can read"
        for number, name in enumerate(("index", "guide", "wiki", "glossary", "course", "map"), 1)
    ]
    text = "\n\n".join(goals)
    parts = [text[start:end] for start, end in passages(text, 1000)]
    assert len(parts) > 1
    assert all(re.match(r"\d\. .*\n\nGoal: ", part) for part in parts)
    assert all(not re.search(r"\d\. [^\n]*$", part) for part in parts)


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("Who designed it?", "Josephine Bell", HOURS),  # an answer
        ("We sell rye, and:", "Apples", HOURS),  # the only item of a list
        ("It is open.", "It is closed on Mondays.", HOURS),
        ("It is open.", "Mondays", "Tuesdays"),
    ],
)
def test_other_short_lines_stay_with_what_is_before(before: str, line: str, after: str) -> None:
    expected = [f"{LONG[:230].strip()}\n\n{before}\n\n{line}", after.strip()]
    text = "\n\n".join(expected)
    assert [text[start:end] for start, end in passages(text, 1000)] == expected


def names_above(text: str, start: int) -> str:
    return column_names(text, max(0, last_gap(text, 0, start)), start)


TABLES = {
    "Markdown": (
        "| Pump | Built | Owner of the pump |\n|---|---|---|\n",
        "| Pump {0}. Of the county | 18{0} | Ada Berg {0} |",
    ),
    "Markdown without bars at the ends": (
        "Pump | Built | Owner of the pump\n--- | :-: | ---\n",
        "Pump {0} of the county | 18{0} | Ada Berg {0}",
    ),
    "reStructuredText": (
        "=============  =====  ====\nPump           Built  Owner\n=============  =====  ====\n",
        "Pump {0}. Of it  18{0}   Berg",
    ),
    "a grid": (
        "+------+-------+---------+\n| Pump | Built | Owner   |\n+======+=======+=========+\n",
        "| P {0} | 18{0}  | Berg {0} |\n+------+-------+---------+",
    ),
    "text": (
        "Pump            Built    Owner\n----            -----    -----\n",
        "Pump {0}         18{0}     Berg",
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_rows_of_a_table_stay_whole_and_know_their_columns(kind: str) -> None:
    top, row = TABLES[kind]
    rows = [row.format(number) for number in range(10, 99)]
    text = f"# Pumps\n\nThe county has pumps.\n\n{top}" + "\n".join(rows)
    places = passages(text, 1000, [(0, 7)])
    found = [text[start:end] for start, end in places]
    assert "\n".join(found) == text
    assert 100 < min(map(len, found)) < max(map(len, found)) < 350
    for start, end in places[1:]:
        assert begins_with_row(text[start:end])
        assert names_above(text, start).startswith(("| Pump", "Pump"))


def test_a_list_of_texts_has_no_columns() -> None:
    text = "Pumps\n-----\n" + "\n".join(f"+ Pump {number} of the county" for number in range(99))
    places = [start for start, _ in passages(text, 500, [(0, 11)])]
    assert len(places) > 3
    assert {names_above(text, start) for start in places} == {""}


def test_many_short_lines_are_passages_of_some_length() -> None:
    lines = [f"Item {number}" for number in range(500)]
    parts = cut("\n\n".join(lines), 1000)
    assert "\n\n".join(parts).split("\n\n") == lines
    assert all(900 < len(part) < 1100 for part in parts[:-1])


def test_long_paragraphs_are_cut_between_sentences_into_similar_parts() -> None:
    sentence = "Dr. Mill saw the rain fall on No. 9 in the valley."
    text = " ".join([sentence] * 6)
    assert cut(text, 160) == [" ".join([sentence] * 3)] * 2
    assert cut(text, 50) == [sentence] * 6


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    text = " ".join(["drop"] * 100)
    parts = cut(text, 50)
    assert " ".join(parts) == text
    assert all(set(part.split()) == {"drop"} for part in parts)


@pytest.mark.parametrize("text", [" " * 300_000, "\n" * 300_000, "A. " * 100_000, "x" * 300_000])
def test_strange_texts_take_no_longer_than_others(text: str) -> None:
    assert sum(end - start for start, end in passages(text)) <= len(text)


def test_a_rule_goes_with_what_is_before_it() -> None:
    body = "The mill stands on the Nere." * 3
    text = f"{body}\n\n---\n\n## Prices\n\n{body}\n\n____\n"
    headings = [(text.index("##"), text.index("\n\nThe", 20))]
    found = [text[start:end] for start, end in passages(text, 100, headings)]
    assert found == [f"{body}\n\n---", f"## Prices\n\n{body}\n\n____"]


def test_a_numbered_title_above_its_text_begins_a_passage() -> None:
    sections = [
        "2. Services\nThe Consultant advises on rules of accounting, and on the plans for taxes.",
        "3. Term\nThe term begins on 3 May and ends on 4 June, unless both agree on a later day.",
        "12.1 Governing Law\nThe laws of Wales govern this Agreement and all that follows from it.",
    ]
    assert cut("\n".join(sections), 1000) == sections


def test_a_numbered_line_of_wrapped_text_begins_none() -> None:
    text = "1. Send the two signed copies of this form to the Registrar at\nHull before 3 May."
    text += "\n2. Keep one.\nIt is yours."
    assert cut(text, 1000) == [text]


def test_long_lists_of_records_are_cut_between_them() -> None:
    record = "ID : {}\nPopulation : 452415\nSize :\nName : Oslo\n Country : Norway\n//\n"
    text = "".join(record.format(number) for number in range(40))
    parts = cut(text, 300)
    assert len(parts) > 5
    assert all(part.startswith("ID :") and part.endswith("//") for part in parts)
