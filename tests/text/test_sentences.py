"""Sentences cover a text with exact offsets, and end where a reader would say so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.text.sentences import sentences


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("It cost $1.5 million. Then 2.5.", ["It cost $1.5 million.", "Then 2.5."]),
        ("Dr. J. R. Smith of St. Ives came.", ["Dr. J. R. Smith of St. Ives came."]),
        ("The U.S. Navy left at 5 p.m. today.", ["The U.S. Navy left at 5 p.m. today."]),
        ("A title\nThe text. More", ["A title", "The text.", "More"]),
        ("In 1871 it was lit. 30 years on it went out.", 2),
        ("東京は大きい。大阪も大きい。", ["東京は大きい。", "大阪も大きい。"]),
        ("Ende. Über uns.", ["Ende.", "Über uns."]),
        ("  padded.  \n\n ", ["padded."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_ends(text: str, expected: list[str] | int) -> None:
    found = parts(text)
    assert (len(found) if isinstance(expected, int) else found) == expected


@given(st.text(alphabet="aB.!? \n\"”'(]。1é", max_size=60) | st.text())
def test_nothing_but_white_space_is_left_out(text: str) -> None:
    end = 0
    for start, stop in sentences(text):
        assert end <= start < stop
        assert not text[end:start].strip()
        assert text[start:stop] == text[start:stop].strip()
        end = stop
    assert not text[end:].strip()


@pytest.mark.parametrize("text", ["a" + " " * 100_000 + "b", "A. " * 50_000, "a.)" * 50_000])
def test_the_time_is_linear_on_hostile_text(text: str) -> None:
    assert sentences(text)
