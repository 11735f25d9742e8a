from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.text.vocabulary import (
    UNKNOWN,
    Vocabulary,
    VocabularyConfig,
    WordTable,
    build_vocabulary,
)

SOME = Vocabulary(
    trained=("kiln", "olm"), fixed=("the", "river"), characters="ehtTr", max_characters=4
)
EVERYTHING = VocabularyConfig(word_count=0, character_count=0)


def test_padding_and_unknown_come_before_trained_and_fixed_words() -> None:
    assert [SOME.word_row(word) for word in ("kiln", "olm", "the", "river")] == [2, 3, 4, 5]
    assert SOME.word_row("weir") == SOME.word_row("") == UNKNOWN == 1


@pytest.mark.parametrize("number", [-1, 257])
def test_a_model_that_could_not_be_opened_is_not_configured(number: int) -> None:
    with pytest.raises(ValueError, match="max_characters must be from 0 to 256"):
        VocabularyConfig(max_characters=number)


def test_its_repr_counts_what_it_has() -> None:
    assert repr(SOME) == "<Vocabulary: 4 words, 5 characters>"


def test_words_are_looked_up_lower_cased_and_characters_as_they_are() -> None:
    assert SOME.word_row("RIVER") == SOME.word_row("River") == 5
    rows = SOME.character_rows(["the", "The", "ré", "\0", "t\ud800𝔱\0"]).tolist()
    assert rows[:3] == [[4, 3, 2, 0], [5, 3, 2, 0], [6, UNKNOWN, 0, 0]]
    assert rows[3:] == [[UNKNOWN, 0, 0, 0], [4, UNKNOWN, UNKNOWN, UNKNOWN]]


def test_only_the_first_characters_of_a_word_are_looked_at() -> None:
    assert SOME.character_rows(["there" * 2000, "ther", ""]).tolist() == [
        [4, 3, 2, 6],
        [4, 3, 2, 6],
        [0, 0, 0, 0],
    ]
    assert SOME.character_rows([]).shape == (0, 4)


@pytest.mark.parametrize(
    ("characters", "most", "rows"),
    [("", 3, [[1, 1, 0], [1, 0, 0]]), ("ab", 0, [[], []]), ("\0a", 2, [[3, 1], [2, 0]])],
)
def test_characters_of_vocabularies_with_few(
    characters: str, most: int, rows: list[list[int]]
) -> None:
    vocabulary = Vocabulary((), (), characters, most)
    assert vocabulary.character_rows(["ax", "\0"]).tolist() == rows
    table = WordTable(vocabulary)
    assert table.characters(table.number(["ax", "\0"])).tolist() == rows


def test_a_word_without_a_vector_is_trained_if_seen_more_often_than_the_threshold() -> None:
    counts = {"Kiln": 2, "kiln": 3, "olm": 4, "weir": 9, "The": 100}
    vocabulary, _ = build_vocabulary(counts, ["the"], VocabularyConfig(word_count=4))
    assert vocabulary.trained == ("weir", "kiln")  # both spellings count; four times is not enough
    assert vocabulary.fixed == ("the",)


def test_a_character_has_a_row_if_seen_more_often_than_the_threshold() -> None:
    counts = {"aba": 3, "A": 6, "c": 3, "d": 4}
    vocabulary, _ = build_vocabulary(counts, [], VocabularyConfig(character_count=3))
    assert vocabulary.characters == "Aad"  # 6 each, equal counts in order; then 4; b and c have 3
    assert vocabulary.max_characters == VocabularyConfig().max_characters


@pytest.mark.parametrize(
    ("fixed_words", "chosen"), [(0, [0, 1, 2, 3, 4]), (2, [0, 1, 3]), (9, [0, 1, 2, 3, 4])]
)
def test_fixed_words_are_the_first_of_the_file_and_those_of_the_training_data(
    fixed_words: int, chosen: list[int]
) -> None:
    known = ["the", "of", "and", "river", "weir"]
    config = VocabularyConfig(fixed_words=fixed_words)
    vocabulary, rows = build_vocabulary({"River": 1}, known, config)
    assert rows == chosen
    assert vocabulary.fixed == tuple(known[row] for row in chosen)


def test_nothing_seen_makes_a_vocabulary_all_the_same() -> None:
    vocabulary, rows = build_vocabulary({}, [], VocabularyConfig())
    assert vocabulary == Vocabulary((), (), "", 20)
    assert rows == []
    assert vocabulary.word_row("anything") == UNKNOWN


words = st.text(min_size=1, max_size=6)


@given(st.dictionaries(words, st.integers(1, 5)), st.lists(words, unique=True))
def test_every_row_has_one_word_and_every_word_its_row(
    counts: dict[str, int], known: list[str]
) -> None:
    vocabulary, rows = build_vocabulary(counts, known, EVERYTHING)
    everything = (*vocabulary.trained, *vocabulary.fixed)
    assert len(set(everything)) == len(everything)
    assert [known[row] for row in rows] == list(vocabulary.fixed)
    for spelling in counts:
        assert spelling.lower() in everything
        assert 1 < vocabulary.word_row(spelling) < 2 + len(everything)
        assert everything[vocabulary.word_row(spelling) - 2] == spelling.lower()
    assert set(vocabulary.characters) == set("".join(counts))
    seen: Counter[str] = Counter()
    for spelling, count in counts.items():
        seen[spelling.lower()] += count
    frequencies = [seen[word] for word in vocabulary.trained]
    assert frequencies == sorted(frequencies, reverse=True)


def test_the_order_of_counting_does_not_change_the_rows() -> None:
    counts = {"b": 3, "a": 3, "c": 7}
    backwards = dict(reversed(counts.items()))
    assert build_vocabulary(counts, [], EVERYTHING) == build_vocabulary(backwards, [], EVERYTHING)


def test_word_types_are_numbered_in_the_order_of_their_coming() -> None:
    table = WordTable(SOME)
    assert len(table) == 1  # padding
    assert table.number(["The", "olm", "The", "the"]).tolist() == [1, 2, 1, 3]
    assert table.number(["weir", "olm"]).tolist() == [4, 2]
    assert table.number([]).tolist() == []
    assert len(table) == 5


def test_a_word_type_has_the_rows_of_its_spelling_and_padding_has_none() -> None:
    table = WordTable(SOME)
    numbers = table.number(["The", "the", "weir"])
    assert table.rows(np.array([0, *numbers])).tolist() == [0, 4, 4, UNKNOWN]
    assert table.characters(np.array([0, *numbers])).tolist() == [
        [0, 0, 0, 0],
        [5, 3, 2, 0],
        [4, 3, 2, 0],
        [UNKNOWN, 2, UNKNOWN, 6],
    ]


def test_the_table_grows_and_old_word_types_stay() -> None:
    table = WordTable(SOME)
    before = table.number(["the", "Olm"])
    many = [f"word{number}" for number in range(5000)]
    numbers = table.number(many)
    assert len(table) == 5003
    assert len(set(numbers.tolist())) == 5000
    assert table.number(["the", "Olm"]).tolist() == before.tolist()
    assert table.rows(before).tolist() == [4, 3]
    assert table.number(many).tolist() == numbers.tolist()
    assert table.characters(numbers[-1:]).tolist() == [[UNKNOWN, UNKNOWN, 6, UNKNOWN]]


@given(st.lists(st.lists(words)))
def test_word_types_have_the_rows_of_the_vocabulary(texts: list[list[str]]) -> None:
    table = WordTable(SOME)
    numbers: dict[str, int] = {}
    for text in texts:
        for word, number in zip(text, table.number(text).tolist(), strict=True):
            assert numbers.setdefault(word, number) == number
    assert len(set(numbers.values())) == len(numbers) == len(table) - 1
    for word, number in numbers.items():
        assert number > 0
        assert table.rows(np.array([number])).tolist() == [SOME.word_row(word)]
        rows = [2 + SOME.characters.find(character) for character in word[:4]]
        rows = [max(row, UNKNOWN) for row in rows]
        assert table.characters(np.array([number])).tolist() == [rows + [0] * (4 - len(rows))]


def test_an_accent_after_its_letter_is_read_as_one_character_with_it() -> None:
    table = WordTable(Vocabulary(("rené",), (), "renéé", 8))
    composed, apart = table.number(["René", "Rene\u0301"])
    assert composed != apart
    assert table.rows(np.array([apart])) == table.rows(np.array([composed])) == 2
    assert (table.characters(np.array([apart])) == table.characters(np.array([composed]))).all()
