import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabir.errors import InputError
from fabir.text import tokens as module
from fabir.text.lines import divide
from fabir.text.tokens import Tokeniser, check_tokeniser, tokenise

AWKWARD = st.text(
    alphabet="aZn't’.,0159 \t\n-'`\"_\u0301\u0939\u093f\u0e17\u6771\u200b\u200d👩🏽\x00\x1f"
)


@pytest.mark.parametrize("tokeniser", ["fabir", "nltk"])
@given(text=st.text() | AWKWARD)
@example(text="")
@example(text=" \n\t\u3000\x1c")
@example(text="don't U.S. 1,000.5 km² 10th 👩🏽‍🚒 नमस्ते 東京 \ud800")
@example(text="\"'' ``'\"\"` ('' \" '')\n\"x,1.\" cannot")
def test_words_stand_where_the_offsets_say(text: str, tokeniser: Tokeniser) -> None:
    tokens = tokenise(text, tokeniser)
    assert len(tokens.words) == len(tokens.starts) == len(tokens.ends)
    end = 0
    for word, start, stop in zip(tokens.words, tokens.starts, tokens.ends, strict=True):
        assert end <= start < stop <= len(text)
        assert text[start:stop] == word
        # Between two words there is white space at most: no other character is left out.
        assert not text[end:start].strip()
        assert not any(character.isspace() for character in word)
        end = stop
    assert not text[end:].strip()


@given(st.text() | AWKWARD)
def test_white_space_around_a_text_only_moves_its_words(text: str) -> None:
    inner, outer = tokenise(text), tokenise(f" \n{text}\t")
    assert outer.words == inner.words
    assert outer.starts == [start + 2 for start in inner.starts]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        (" \n\t\u00a0\u3000", ""),
        ("water vapor, falls.", "water vapor , falls ."),
        ("well-known 1990–91 and/or ~5°C", "well - known 1990 – 91 and / or ~ 5 ° C"),
        ("It paid $1,234,567.89 (3.5%)", "It paid $ 1,234,567.89 ( 3.5 % )"),
        ("1,0000 12345,678 1.2.3 5.", "1 , 0000 12345 , 678 1.2 . 3 5 ."),
        ("the 1990s, 10th, 20km, B2B", "the 1990 s , 10 th , 20 km , B 2 B"),
        ("U.S.-based, by J.R.R. Tolkien. A.", "U.S. - based , by J.R.R. Tolkien . A ."),
        ("She didn't, can’t, they've", "She did n't , ca n’t , they 've"),
        ("Tesla's 'some' dogs' O'Brien", "Tesla 's ' some ' dogs ' O ' Brien"),
        ("snake_case #tag", "snake _ case # tag"),
        ("नमस्ते दुनिया مُحَمَّد می\u200cخواهم", "नमस्ते दुनिया مُحَمَّد می\u200cخواهم"),
        ("cafe\u0301s a\u0301", "cafe\u0301s a\u0301"),
        ("Kyōto京都タワー ไทย 한국어", "Kyōto 京 都 タ ワ ー ไ ท ย 한국어"),
        ("😀😀 ❤️!", "😀 😀 ❤️ !"),
        ("a\u200bb\ufeffc", "a \u200b b \ufeff c"),
        ("a\x00b\x07", "a \x00 b \x07"),
    ],
)
def test_what_is_a_word(text: str, words: str) -> None:
    assert tokenise(text).words == words.split()


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "é",
        "e\u0301",
        "\u0301",
        "1",
        "1,000",
        ",000",
        "1.",
        "A.",
        "n'",
        "n't",
        "'",
        "東",
        "_",
        "🏽",
    ],
)
def test_hostile_text_takes_no_longer(piece: str) -> None:
    """Well under a second each; a pattern quadratic somewhere would sit here for minutes."""
    text = piece * (300_000 // len(piece))
    assert "".join(tokenise(text).words) == text


def test_a_long_word_is_one_word() -> None:
    assert tokenise("x" * 10_000 + " y").ends == [10_000, 10_002]


QUOTES = (
    """He said "I can't", and ''left''. It cost $3.88 (roughly 3,36 euros) in the U.S. by 1990."""
)


@pytest.mark.parametrize(
    "text", [QUOTES, "\"Wanna?\" --Ann's dogs' 'home' [a]; 5%", "Mr. Ab. Cd, 3:30"]
)
def test_nltk_is_that_of_nltk(text: str) -> None:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    expected = [
        (begin + start, begin + stop)
        for begin, end in PunktSentenceTokenizer().span_tokenize(text)
        for start, stop in NLTKWordTokenizer().span_tokenize(text[begin:end])
    ]
    found = tokenise(text, "nltk")
    assert list(zip(found.starts, found.ends, strict=True)) == expected


def test_nltk_tells_the_marks_of_a_layout_from_the_words_beside_them() -> None:
    divided = divide("A title\n\nits text\nRome\t1871")
    assert len(divided.marks) == 3
    found = tokenise(divided.text, "nltk")
    assert found.words == ["A", "title", ".", "its", "text", ";", "Rome", ",", "1871"]
    assert set(divided.marks) < set(found.starts)


def test_a_tokeniser_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no tokeniser is called 'spacy'"):
        check_tokeniser("spacy")
    with pytest.raises(InputError, match=r"^no tokeniser is called 'x{8,}\.{3}x{8,}': .{,30}$"):
        check_tokeniser("x" * 9000)
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    module._nltk.cache_clear()
    with pytest.raises(InputError, match=r"needs NLTK: pip install 'fabir\[nltk\]'"):
        tokenise("A", "nltk")
    assert tokenise("A").words == ["A"]
