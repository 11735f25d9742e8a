"""Answers cut no number, time, date or emoji, and never end in what cannot be seen."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.answer.predictor import Predictor
from fabir.text.tokens import tokenise
from fabir.text.units import is_blank, place_words, visible_tokens
from factories import small_reader


def pieces(text: str) -> list[str]:
    """The least answers in a text."""
    _, starts, ends = place_words(text)
    places = dict.fromkeys(zip(starts.tolist(), ends.tolist(), strict=True))
    return [text[start:end] for start, end in places]


@pytest.mark.parametrize(
    "unit",
    [
        *("12,34,567", "1,00,000", "10,00,00,000", "1,234.50", "1'234'567", "1’234’567.5"),
        *(
            "1.234.567,89",
            "1 234 567",
            "12\u2009345",
            "1\u202f234\u00a0567",
            "3.5",
            "3,5",
            "3.11.7",
        ),
        *("-40", "−40", "+8%", "±5", "-40°C", "50%", "5‰", "5km", "120kHz", "41st", "2nd", "1990s"),
        *("$1.5m", "$20", "€27,814", "£3bn", "$5k", "12:30", "9:15am", "10:59:58"),
        *("3/4", "11/25/2026", "2026-11-25", "31.12.1999"),
        *("🇩🇪", "👍🏽", "👩🏽‍🚒", "👨‍👩‍👧‍👦", "1️⃣", "❤️", "🏴\U000e0067\U000e0062\U000e007f"),
        *("mia@qa.debian.org", "irc.libera.chat", "dh_make", "www.example.org/a_b", ".vimrc"),
        *("prov\u00adince", "Krol\u2060owska", "a\ufeffb"),
    ],
)
def test_a_unit_is_one_piece(unit: str) -> None:
    assert pieces(unit) == [unit]
    assert pieces(f"It had {unit}, more or less.") == [
        *("It", "had", unit, ",", "more", "or", "less", "."),
    ]
    assert pieces(f"({unit})") == ["(", unit, ")"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1990–1995 and 3-4", ["1990", "–", "1995", "and", "3", "-", "4"]),
        ("In 1990 200 came", ["In", "1990", "200", "came"]),
        ("1,2,3 or 10,20,30", [*"1,2,3", "or", "10", ",", "20", ",", "30"]),
        ("routes 101 102 103 104", ["routes", "101", "102", "103", "104"]),
        ("1 234 567 890", ["1", "234", "567", "890"]),
        ("in 1990,1991", ["in", "1990", ",", "1991"]),
        ("It is 45° outside", ["It", "is", "45°", "outside"]),
        ("20-year, a-7", ["20", "-", "year", ",", "a", "-", "7"]),
        ("it is 3.5. Then", ["it", "is", "3.5", ".", "Then"]),
        ("$20 million", ["$20", "million"]),
        ("in .swp. The .b-c.d", ["in", ".swp", ".", "The", ".b-c.d"]),
        ("it ends.then .The 3 .", ["it", "ends", ".", "then", ".", "The", "3", "."]),
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
        ("Hanna\u200b Krol\u200b,", ["Hanna", "Krol", ","]),
        ("a\u200bb", ["a", "b"]),
        ("\u200b \ufeff", []),
        ("a\x00b \x07 c\x1b\x9b", ["a", "b", "c"]),
    ],
)
def test_what_stands_side_by_side_is_not_one(text: str, found: list[str]) -> None:
    assert pieces(text) == found


def test_the_time_is_linear_on_hostile_text() -> None:
    for text in (
        *(
            "\u200d a" + "\ufe0f" * 100_000,
            "\U0001f3fb" * 100_000,
            "1,1" * 50_000,
            "1 111" * 50_000,
        ),
        *("9" * 100_000, "1.1" * 50_000, "a\u200d" * 50_000, "$1" * 50_000, "1:11" * 50_000),
        *("a" * 100_000 + " @", "é" * 100_000 + " _", "a_" * 50_000 + "@", "a." * 50_000 + "@"),
    ):
        assert place_words(text)[0]


letters = st.text(alphabet="ab 12,.:/'-$%°\u200b\u00ad\u2009\u202f👍🏽🇩🇪\u200d\ufe0f") | st.text()


@given(letters)
def test_places_are_ascending_and_of_whole_words(text: str) -> None:
    words, starts, ends = place_words(text)
    assert len(words) == len(starts) == len(ends)
    tokens = visible_tokens(text)
    assert words == tokens.words
    for begins, own in (starts, tokens.starts), (ends, tokens.ends):
        assert (begins[1:] >= begins[:-1]).all()
        assert set(begins.tolist()) <= set(own)
    for start, end, first, last in zip(starts, ends, tokens.starts, tokens.ends, strict=True):
        assert start <= first < last <= end
        assert (
            unicodedata.category(text[start]) not in ("Cc", "Cf") or text[start] in "\u200c\u200d"
        )


@given(st.text())
def test_visible_text_has_the_tokenisers_words(text: str) -> None:
    unseen = {each for each in text if unicodedata.category(each) in ("Cc", "Cf")}
    visible = "".join(each for each in text if each.isspace() or each not in unseen)
    assert visible_tokens(visible) == tokenise(visible)


@given(st.text(alphabet=" \n\u3000\u200b\u00ad\ufeff\u200da") | st.text())
def test_a_text_without_words_is_blank(text: str) -> None:
    assert is_blank(text) or visible_tokens(text).words


@pytest.mark.parametrize(
    "unseen",
    [
        *("", " ", "\t\r\n", "\x00", "\x1f", "\x85", "\u00a0", "\u2028", "\u2029", "\u3000"),
        *("\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\U000e0020"),
        *("\ufe0f", "\u034f", "\u0301", "\U000e0100"),
        *("\u2800", "\u3164", "\u115f", "\u1160", "\uffa0"),
    ],
)
def test_a_text_is_blank_if_nothing_of_it_can_be_seen(unseen: str) -> None:
    assert is_blank(unseen)
    assert is_blank(f" {unseen}\u200d{unseen}\n")
    for seen in ("a", "é", "e\u0301", "क", "?", "_", "☔", "❤\ufe0f", "\ue000", "한"):
        assert not is_blank(unseen + seen)
        assert not is_blank(seen + unseen)


def test_a_blank_text_is_found_in_linear_time() -> None:
    for unseen in (" ", "\u200d", "\u0301", "\u3164"):
        assert is_blank(unseen * 1_000_000)
        assert not is_blank(unseen * 1_000_000 + "a")


def test_answers_are_whole_units() -> None:
    predictor = Predictor(small_reader())
    passage = "In 1990 the city had 12,34,567 inhabitants, 👩🏽‍🚒\u200b and -40°C."
    answers = predictor.answer("How many inhabitants had the city?", passage, top_k=50)
    for answer in answers:
        for unit in ("12,34,567", "👩🏽‍🚒", "-40°C"):
            begin = passage.index(unit)
            inside = range(begin + 1, begin + len(unit))
            assert answer.start not in inside
            assert answer.end not in inside
        assert "\u200b" not in (answer.text[0], answer.text[-1])
    assert predictor.answer("Who?", "\u200b") == []
