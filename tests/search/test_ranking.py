"""Ranking: the proximity of a question's words, and what a long question costs."""

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

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
    features = ranker.features(query, passages, ranker.bm25(query)[passages])
    weight = dict(zip(query.terms, query.weights.tolist(), strict=True))
    tokens = np.split(generation.tokens, generation.passage_tokens[1:-1])
    for row, distance in enumerate(WINDOWS, 1):
        for column, passage in enumerate(passages):
            own = tokens[passage].tolist()
            windows = [set(own[at : at + distance]) for at in range(len(own))]
            best = max(sum(weight.get(term, 0) for term in window) for window in windows)
            assert features[row, column] == pytest.approx(best / query.total, abs=1e-5)


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
