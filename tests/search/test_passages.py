"""Passages: exact places, everything covered, paragraphs and sentences left whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.search.passages import passages

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
