"""Ranking: the proximity of a question's words, and what a long question costs."""

import json
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from fabir.search import ranking
from fabir.search.index import Index
from fabir.search.ranking import WINDOWS, Ranker
from fabir.search.storage import open_generation

WORDS = ["mill", "kite", "rain", "tower", "snow", "bridge", "the", "of"]


def build(folder: Path, texts: list[str]) -> Path:
    (folder / "texts").mkdir()
    for number, text in enumerate(texts):
        (folder / "texts" / f"{number:03}.txt").write_text(text, "utf-8")
    Index.build([folder / "texts"], folder / "index", size=1000)
    return folder / "index"


@pytest.mark.parametrize("seed", range(5))
def test_proximity_is_the_weight_of_the_best_window(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(1, 120))) for _ in range(20)]
    generation = open_generation(build(tmp_path, texts))
    ranker = Ranker(generation)
    query = ranker.parse("the mill of rain, a kite in snow and the mill")
    passages = np.flatnonzero(ranker.bm25(query) > 0)
    features = ranker.features(query, passages)
    weight = dict(zip(query.terms, query.weights.tolist(), strict=True))
    tokens = np.split(generation.tokens, generation.passage_tokens[1:-1])
    for row, distance in enumerate(WINDOWS, 1):
        for column, passage in enumerate(passages):
            own = tokens[passage].tolist()
            windows = [set(own[at : at + distance]) for at in range(len(own))]
            best = max(sum(weight.get(term, 0) for term in window) for window in windows)
            assert features[row, column] == pytest.approx(best / query.total, abs=1e-5)


def test_a_word_of_the_only_passage_weighs_almost_as_much_as_an_unknown_one(tmp_path: Path) -> None:
    ranker = Ranker(open_generation(build(tmp_path, ["The mill stands in rain and snow."])))
    query = ranker.parse("Is the mill yellow?")
    assert 0.4 < query.weights.sum() / query.total < 0.5


def test_a_question_of_a_thousand_words_needs_little_memory(tmp_path: Path) -> None:
    letters = [chr(0x4E00 + number) for number in range(1000)]
    chance = random.Random(0)
    index = Index(build(tmp_path, ["".join(chance.choices(letters, k=1000)) for _ in range(180)]))
    tracemalloc.start()
    try:
        assert index.search("".join(letters), 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


def test_copies_of_a_passage_take_one_place(tmp_path: Path) -> None:
    minutes = (
        "The annual fee of the Marnix club was discussed. The annual fee will be fixed in May."
    )
    folder = tmp_path / "club"
    folder.mkdir()
    for number in range(1, 7):
        (folder / f"copy-{number}.txt").write_text(minutes)
    (folder / "draft.txt").write_text(minutes.replace("discussed", "discussed again"))
    (folder / "may.txt").write_text("In May the Marnix members fixed the annual fee at 85 crowns.")
    best, other = Index.build([folder], tmp_path / "index").search("annual fee of Marnix", 5)
    assert best.document == "copy-1.txt"
    copies = sorted(copy.document for copy in best.copies)
    assert copies == [*(f"copy-{number}.txt" for number in range(2, 7)), "draft.txt"]
    assert (other.document, other.copies) == ("may.txt", ())


def test_each_copy_of_a_passage_has_its_place(tmp_path: Path) -> None:
    warden = "The warden of the Kessel hostel is Margit Solberg, who lives there. " * 5
    texts = [warden, "In winter the lake is closed.\n" * 9, warden, "Boats sail.\n" * 30, warden]
    path = tmp_path / "book.md"
    path.write_text("\n\n".join(map(str.strip, texts)))
    [best] = Index.build([path], tmp_path / "index").search("Who is the warden of the hostel?")
    places = sorted([best.line or 0, *(copy.line or 0 for copy in best.copies)])
    assert places == [1, 13, 46]
    assert [path.read_text()[copy.start :][:10] for copy in best.copies] == ["The warden"] * 2


def test_many_copies_do_not_hide_what_is_behind_them(tmp_path: Path) -> None:
    rows = [{"text": "The fee of the club is discussed in May."}] * 300
    rows.append({"text": "The members of a club pay 85 crowns."})
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = Index.build([path], tmp_path / "index").search("fee of the club", 2)
    assert [each.document for each in found] == ["rows.jsonl#1", "rows.jsonl#301"]


def test_a_passage_that_is_scored_anew_has_the_score_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [
        "The kite flew over the old mill.",
        "A kite, a kite and rain.",
        "Snow on the mill. " * 9,
    ]
    index = Index.open(build(tmp_path, texts))
    question = "Did a kite fly over the mill?"
    found = index.search(question)
    monkeypatch.setattr(ranking, "blank_echoes", lambda text, *_: f"{text} ")
    again = index.search(question)
    assert [each.text for each in again] == [each.text for each in found]
    assert [each.score for each in again] == pytest.approx([each.score for each in found], abs=1e-4)
