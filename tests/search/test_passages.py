"""Passages: exact places, everything covered, paragraphs and sentences left whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.search.passages import passages, unwrap_lines

WORDS = ["Rain falls.", "a", "Dr. Mill", "。", "?!", "x" * 30]
SPACES = [" ", "\t", "\n", "\r\n", "\n\n", " \n \n", " " * 120]
PIECES = st.sampled_from(WORDS + SPACES)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join))


@given(TEXTS, st.integers(1, 80), st.lists(st.integers(0, 100), max_size=4))
def test_passages_are_pieces_that_cover_the_text(text: str, size: int, borders: list[int]) -> None:
    pages = [border for border in sorted(borders) if border <= len(text)]
    found = passages(text, size, pages)
    after = 0
    for start, end in found:
        assert after <= start < end
        assert text[start:end] == text[start:end].strip()
        assert not text[after:start].strip()
        assert end - start <= 1.25 * size
        assert not any(start < page < end for page in pages)
        after = end
    assert not text[after:].strip()


@given(TEXTS)
def test_flowing_text_has_everything_where_it_was(text: str) -> None:
    changed = [(old, new) for old, new in zip(text, unwrap_lines(text), strict=True) if old != new]
    assert {new for _, new in changed} <= {" "}
    assert {old for old, _ in changed} <= {"\r", "\n"}


def cut(text: str, size: int) -> list[str]:
    return [text[start:end] for start, end in passages(text, size)]


def test_paragraphs_are_passages_and_a_heading_goes_with_what_follows() -> None:
    first, second = "Rain falls from clouds to the ground.", "Snow falls when it is very cold."
    text = f"# Weather\n\n{first}\n \n{second}\n\n"
    assert cut(text, 40) == [f"# Weather\n\n{first}", second]


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


def test_lines_of_even_length_are_read_as_sentences() -> None:
    line = "The abbey was founded in the year 1082 by a duke"
    assert unwrap_lines(f"{line}\nof Normandy") == f"{line} of Normandy"
    assert unwrap_lines(f"{line}.\nOf Normandy") == f"{line}.\nOf Normandy"
    assert unwrap_lines("Kites\nand wind") == "Kites\nand wind"


@pytest.mark.parametrize("text", [" " * 300_000, "\n" * 300_000, "A. " * 100_000, "x" * 300_000])
def test_strange_texts_take_no_longer_than_others(text: str) -> None:
    assert sum(end - start for start, end in passages(text)) <= len(text)
