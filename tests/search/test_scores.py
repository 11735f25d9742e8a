"""Scores of answers from small collections: high for what they say, low for what they lack."""

from pathlib import Path

import pytest

import small_files
from fabir.answer.predictor import Predictor
from fabir.search.asker import Asker
from fabir.search.index import Index
from small_files import Answered, write_small_files

COLLECTIONS = [
    (small_files.THREE, small_files.THREE_ANSWER, small_files.THREE_LACK),
    (small_files.MANY, small_files.MANY_ANSWER, small_files.MANY_LACK),
]
LOW = 0.3
# One verb in common, no name, and a short sentence that answers any question of its kind.
DECEPTIVE = {"Who invented the telescope?"}


def build(texts: dict[str, str], folder: Path) -> Index:
    write_small_files(folder / "texts", texts)
    return Index.build([folder / "texts"], folder / "index")


@pytest.mark.parametrize("reader", ["fast", "accurate"])
@pytest.mark.parametrize(("texts", "answered", "lacking"), COLLECTIONS)
def test_what_the_files_lack_scores_low(
    texts: dict[str, str], answered: Answered, lacking: list[str], reader: str, tmp_path: Path
) -> None:
    asker = Asker(build(texts, tmp_path), Predictor.load(reader))
    right: list[float] = []
    for question, answer in answered.items():
        found = asker.ask(question, 1)[0]
        assert found.text == answer
        right.append(found.score)
    assert min(right) > 0.5
    scores = {question: asker.ask(question, 1) for question in lacking}
    high = {question for question, found in scores.items() if found and found[0].score >= LOW}
    assert high <= DECEPTIVE
    assert all(found[0].score < min(right) - 0.1 for found in scores.values() if found)


def best_score(index: Index, question: str) -> float:
    return index.search(question, 1)[0].score


def test_a_word_that_no_passage_has_lowers_the_score(tmp_path: Path) -> None:
    index = build(small_files.THREE, tmp_path)
    known = best_score(index, "founded")
    one, two = best_score(index, "founded zanzibar"), best_score(index, "founded old zanzibar")
    assert known > 2 * one > 2 * two > 0
    assert best_score(index, "founded zanzibar zanzibar") == pytest.approx(one)


def test_a_stop_word_that_no_passage_has_does_not(tmp_path: Path) -> None:
    index = build(small_files.THREE, tmp_path)
    assert best_score(index, "Whom founded?") == pytest.approx(best_score(index, "founded"))


def test_there_is_no_passage_where_no_word_is_known(tmp_path: Path) -> None:
    index = build(small_files.THREE, tmp_path)
    assert index.search("zanzibar telephone") == []
    assert index.search("?!") == []
    many = "founded " + " ".join(f"zanzibar{number}" for number in range(20_000))
    assert 0 < best_score(index, many) < 0.01
