from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data import features as module
from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.data.features import (
    Features,
    Ragged,
    build_features,
    load_features,
    ragged,
    renumber,
)
from fabir.data.squad import read_squad
from fabir.text.tokens import Tokeniser, tokenise
from fabir.text.vocabulary import Vocabulary
from tiny import Files, dataset

RIVER = "The Olm (212 km) ends in Lake Sandar."
# "Minji Kim lit the lighthouse in Seoul, in 1871.": particles are part of the words before them.
LIGHTHOUSE = "김민지가 1871년에 서울에서 등대를 켰다."


def one(text: str, *questions: tuple[Answer, ...]) -> Dataset:
    """A data set of one passage, its questions known by their answers alone."""
    asked = (Question(str(n), "Where?", answers) for n, answers in enumerate(questions))
    return Dataset((Passage(text, "", tuple(asked)),), "1.1")


def spans(data: Dataset) -> list[list[int]]:
    found = build_features(data).spans
    return [found[row].tolist() for row in range(len(found))]


def answer(text: str, answer: str) -> Answer:
    return Answer(answer, text.index(answer))


def words_of(features: Features, rows: Ragged, row: int) -> list[str]:
    return [features.spellings[number] for number in rows[row]]


def assert_equal(one: Features, other: Features) -> None:
    for name, value in vars(one).items():
        if isinstance(value, Ragged):
            np.testing.assert_array_equal(value.values, getattr(other, name).values)
            np.testing.assert_array_equal(value.offsets, getattr(other, name).offsets)
        else:
            np.testing.assert_array_equal(value, getattr(other, name))


def no_building(dataset: Dataset) -> Features:
    raise AssertionError("built anew")


@given(st.lists(st.lists(st.integers(-5, 2**31 - 1))))
def test_ragged_rows_come_back_as_they_went_in(rows: list[list[int]]) -> None:
    joined = ragged(rows)
    assert len(joined) == len(rows)
    assert [joined[row].tolist() for row in range(len(rows))] == rows
    assert joined.lengths.tolist() == [len(row) for row in rows]


def test_words_offsets_and_questions_are_those_of_the_texts() -> None:
    data = dataset()
    features = build_features(data)
    assert len(features.passages) == len(data.passages)
    assert len(features.questions) == len(features.spans) == len(data) == 19
    assert repr(features) == f"<Features: 19 questions, {len(data.passages)} passages>"
    for row, passage in enumerate(data.passages):
        tokens = tokenise(passage.text)
        assert words_of(features, features.passages, row) == tokens.words
        assert features.starts[row].tolist() == tokens.starts
        assert features.ends[row].tolist() == tokens.ends
    for row, (passage, question) in enumerate(data.questions):
        assert words_of(features, features.questions, row) == tokenise(question.text).words
        assert data.passages[features.passage_of[row]] == passage
    assert len(set(features.spellings)) == len(features.spellings)


def test_a_tokeniser_has_features_of_its_own(files: Files, tmp_path: Path) -> None:
    text = "It's a well-known bee."
    data = one(text, (answer(text, "well-known"),))
    words = []
    for tokeniser in get_args(Tokeniser):
        features = load_features(data, [files.train], tmp_path, tokeniser=tokeniser)
        assert_equal(features, build_features(data, tokeniser=tokeniser))
        places = zip(features.starts[0], features.ends[0], strict=True)
        words.append(words_of(features, features.passages, 0))
        assert words[-1] == [text[start:end] for start, end in places]
    assert words[0] == ["It", "'s", "a", "well", "-", "known", "bee", "."]
    assert words[1] == ["It", "'s", "a", "well-known", "bee", "."]


def test_spans_give_back_the_texts_of_the_answers() -> None:
    data = dataset()
    features = build_features(data)
    assert not features.unaligned.any()
    for row, (passage, question) in enumerate(data.questions):
        place = features.passage_of[row]
        starts, ends = features.starts[place], features.ends[place]
        texts = [
            passage.text[starts[first] : ends[last]]
            for first, last in features.spans[row].reshape(-1, 2)
        ]
        assert texts == [answer.text for answer in question.answers]


def test_white_space_around_an_answer_is_no_part_of_it() -> None:
    exact = spans(one(RIVER, (answer(RIVER, "Lake Sandar"),)))
    for loose in ("Lake Sandar", " Lake Sandar"):
        assert spans(one(RIVER, (answer(RIVER, loose),))) == exact == [[8, 9]]
    text = "a\n\u3000b \t c"
    assert spans(one(text, (Answer("\n\u3000b \t ", 1),))) == [[2, 2]]


def test_an_answer_must_begin_and_end_on_word_borders() -> None:
    cut = tuple((answer(RIVER, part),) for part in ("ake Sandar", "Lake Sand", "12", "O"))
    features = build_features(one(RIVER, *cut, (answer(RIVER, "(212 km)"),)))
    assert features.unaligned.tolist() == [1, 1, 1, 1, 0]
    assert features.spans.lengths.tolist() == [0, 0, 0, 0, 2]


def test_an_answer_inside_a_word_is_left_out_or_widened() -> None:
    parts = ("서울", "김민지", "1871년", "서울에서 등대", "켰다")
    data = one(LIGHTHOUSE, *((answer(LIGHTHOUSE, part),) for part in parts))
    skipped, widened = build_features(data), build_features(data, "widen")
    assert skipped.spans.lengths.tolist() == [0, 0, 0, 0, 2]
    words = tokenise(LIGHTHOUSE).words
    assert [words[first : last + 1] for first, last in widened.spans.values.reshape(-1, 2)] == [
        ["서울에서"],
        ["김민지가"],
        ["1871", "년에"],
        ["서울에서", "등대를"],
        ["켰다"],
    ]
    for features in (skipped, widened):
        assert features.unaligned.tolist() == [1, 1, 1, 1, 0]


@given(st.text(alphabet="ab1, 가나에\u200b\u0301"), st.integers(0, 9), st.integers(0, 9))
def test_widening_takes_the_words_that_an_answer_touches(text: str, start: int, size: int) -> None:
    part = text[start : start + size]
    features = build_features(one(text, (Answer(part, start),)), "widen")
    letters = {start + at for at, letter in enumerate(part) if not letter.isspace()}
    words = zip(features.starts[0], features.ends[0], strict=True)
    touched = [number for number, word in enumerate(words) if letters & set(range(*word))]
    assert features.spans[0].tolist() == ([touched[0], touched[-1]] if touched else [])


def test_equal_answers_are_merged_and_the_first_stays_first() -> None:
    lake, sandar, cut = (answer(RIVER, part) for part in ("Lake Sandar", "Sandar", "Sandar."))
    answers = (sandar, lake, sandar, Answer("Lake Sand", lake.start), cut, lake)
    features = build_features(one(RIVER, answers, ()))
    assert features.spans[0].tolist() == [9, 9, 8, 9, 9, 10]
    assert features.spans[1].tolist() == []
    assert features.unaligned.tolist() == [1, 0]


def test_answers_that_fit_nowhere_are_counted_not_followed() -> None:
    blank, beyond, before = Answer("  ", 3), Answer("Olm", 900), Answer("Olm", -4)
    for way in ("skip", "widen"):
        features = build_features(one(RIVER, (blank, beyond, before)), way)
        assert features.unaligned.tolist() == [3]
        assert features.spans[0].tolist() == []


def test_a_passage_is_counted_once_for_each_of_its_questions() -> None:
    data = Dataset(
        (
            Passage("rain or rain", "", (Question("1", "Is it rain?", ()),) * 3),
            Passage("snow", "", ()),
        ),
        "1.1",
    )
    assert build_features(data).counts() == {
        "rain": 2 * 3 + 3,
        "or": 3,
        "Is": 3,
        "it": 3,
        "?": 3,
        "snow": 0,
    }


def test_the_second_start_reads_the_cache(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = read_squad(files.train)
    first = load_features(data, [files.train], tmp_path)
    assert_equal(first, build_features(data))
    monkeypatch.setattr(module, "build_features", no_building)
    assert_equal(load_features(data, [files.train], tmp_path), first)


def test_the_default_cache_is_where_caches_belong(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    load_features(read_squad(files.train), [files.train])
    assert len(list((tmp_path / "fabir" / "features").iterdir())) == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    load_features(read_squad(files.train), [files.train])
    assert len(list((tmp_path / "home" / ".cache" / "fabir" / "features").iterdir())) == 1


def test_a_damaged_entry_is_made_anew(files: Files, tmp_path: Path) -> None:
    data = read_squad(files.train)
    expected = load_features(data, [files.train], tmp_path)
    (entry,) = tmp_path.iterdir()
    good = entry.read_bytes()
    generator = np.random.default_rng(0)
    damages = [b"", b"no archive", b"PK\x03\x04", good[: len(good) // 2], good[:-1], good[100:]]
    for place in generator.integers(len(good), size=60):
        damages.append(good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :])
    for damage in damages:
        entry.write_bytes(damage)
        assert_equal(load_features(data, [files.train], tmp_path), expected)
    entry.write_bytes(good[:-1])
    load_features(data, [files.train], tmp_path)
    assert entry.read_bytes() == good


def test_other_contents_are_another_entry(files: Files, tmp_path: Path) -> None:
    source = tmp_path / "data.json"
    cache = tmp_path / "cache"
    source.write_bytes(files.train.read_bytes())
    load_features(read_squad(source), [source], cache)
    source.write_text(source.read_text().replace("lighthouse", "LIGHTHOUSE"))
    data = read_squad(source)
    assert_equal(load_features(data, [source], cache), build_features(data))
    assert len(list(cache.iterdir())) == 2


def test_bad_answers_treated_in_another_way_are_another_entry(files: Files, tmp_path: Path) -> None:
    source = tmp_path / "data.json"
    cache = tmp_path / "cache"
    source.write_text(files.train.read_text().replace('"answer_start": 41', '"answer_start": 3'))
    found = {}
    for way in ("skip", "repair", "keep"):
        data = read_squad(source, way)
        assert data.bad_answers
        found[way] = load_features(data, [source], cache)
        assert_equal(found[way], build_features(data))
    assert len(found["skip"].spans) < len(found["repair"].spans)
    assert found["repair"].unaligned.sum() < found["keep"].unaligned.sum()
    assert len(list(cache.iterdir())) == 3


def test_answers_aligned_in_another_way_are_another_entry(tmp_path: Path) -> None:
    source, cache = tmp_path / "data.json", tmp_path / "cache"
    source.write_text(LIGHTHOUSE, "utf-8")
    data = one(LIGHTHOUSE, (answer(LIGHTHOUSE, "서울"),))
    for way in ("skip", "widen", "skip"):
        found = load_features(data, [source], cache, way)
        assert_equal(found, build_features(data, way))
    assert len(list(cache.iterdir())) == 2


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shelf")


@given(st.lists(st.text() | st.text(alphabet="a\n\r\u2028\x00\x85🏽é")))
def test_any_text_survives_the_cache(shelf: Path, texts: list[str]) -> None:
    data = Dataset(
        tuple(Passage(text, "", (Question("1", text[::-1], ()),)) for text in texts), "1.1"
    )
    source = shelf / "data.json"
    source.write_text(repr(texts))
    first = load_features(data, [source], shelf / "cache")
    again = load_features(data, [source], shelf / "cache")
    assert_equal(first, again)
    assert first.spellings == again.spellings


def test_renumbering_keeps_the_words() -> None:
    features = build_features(dataset())
    vocabulary = Vocabulary(("yeast",), ("the", "of"), "abcdefgh", 6)
    table, passages, questions = renumber(features, vocabulary)
    assert len(table) == 1 + len(features.spellings)
    numbers = table.number(features.spellings)
    for old, new in ((features.passages, passages), (features.questions, questions)):
        assert new.lengths.tolist() == old.lengths.tolist()
        assert new.values.tolist() == numbers[old.values].tolist()
    rows = table.rows(passages[2])
    words = words_of(features, features.passages, 2)
    assert rows.tolist() == [vocabulary.word_row(word) for word in words]


def test_a_hard_line_end_is_read_as_a_semicolon_as_it_is_when_answering() -> None:
    text = "Station: Wick\nOpened: 1934"
    features = build_features(one(text, (answer(text, "1934"),)))
    read = [features.spellings[number] for number in features.passages[0]]
    assert read == ["Station", ":", "Wick", ";", "Opened", ":", "1934"]
    assert features.spans[0].tolist() == [6, 6]
    assert text[features.starts[0][6] : features.ends[0][6]] == "1934"
