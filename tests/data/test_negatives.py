"""Negatives are unanswerable where they are asked, and nothing else changes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.data.negatives import OtherPassages, make_negatives
from fabir.errors import InputError

OLM, SOURCE, MOUTH, KITE = (
    "The Olm is 212 km long.",
    "The source of the Olm lies in the Grey Hills, far from any town.",
    "Its mouth is Lake Sandar. It is 212 km from there to the hills.",
    "A kite needs wind.",
)


def question(id: str, text: str, answer: str, passage: str) -> Question:
    return Question(id, text, (Answer(answer, passage.index(answer)),))


LONG = question("long", "How long is the Olm?", "212 km", OLM)
BEGIN = question("begin", "Where is the source of the Olm?", "the Grey Hills", SOURCE)
END = question("end", "Where is the mouth of the Olm?", "Lake Sandar", MOUTH)
NEEDS = question("needs", "What does a kite need?", "wind", KITE)
DATA = Dataset(
    (
        Passage(OLM, "Olm", (LONG,)),
        Passage(SOURCE, "Olm", (BEGIN,)),
        Passage(MOUTH, "Olm", (END,)),
        Passage(KITE, "Kite", (NEEDS,)),
    ),
    "1.1",
)


def test_ids_are_distinct_where_there_are_negatives_already() -> None:
    made = make_negatives(make_negatives(DATA, ratio=1), ratio=1)
    ids = [asked.id for _, asked in made.questions]
    assert len(set(ids)) == len(ids) == 4 + 3 + 3
    assert {"long", "long-negative", "long-negative-2"} <= set(ids)


def test_a_question_is_asked_of_the_most_similar_paragraph_without_its_answer() -> None:
    made = make_negatives(DATA, ratio=1)
    negatives = {q.id: p.text for p, q in made.questions if q.impossible}
    assert negatives == {
        "long-negative": SOURCE,  # MOUTH has its answer's text too
        "begin-negative": OLM,
        "end-negative": SOURCE,  # that has "Olm" and "of" in common with it
    }


def test_of_equally_similar_paragraphs_it_is_the_first() -> None:
    # Rare words before common ones, and after: as much, but for what rounding makes of the sums.
    texts = ["aa bb cc dd ee ff gg", "hh ii jj kk ll mm nn"]
    common = Passage("dd ee ff gg hh ii jj kk 212 km", "Olm", ())
    asked = question("long", "How long? aa bb cc dd ee ff gg hh ii jj kk ll mm nn", "212 km", OLM)
    for order in (texts, texts[::-1]):
        others = (Passage(text, "Olm", ()) for text in order)
        made = make_negatives(
            Dataset((Passage(OLM, "Olm", (asked,)), *others, common), "1.1"), ratio=1
        )
        assert [p.text for p, q in made.questions if q.impossible] == [order[0]]


def test_a_paragraph_that_answers_the_question_is_not_asked() -> None:
    def sheet(number: int, asked: str) -> Passage:
        text = f"Pump {number} weighs {number} kg."
        return Passage(text, "", (question(f"{number}", asked, f"{number} kg", text),))

    alike = "How much does it weigh?", "how much does it weigh", "How much does  the it weigh ?"
    sheets = [sheet(number, asked) for number, asked in enumerate(alike)]
    with pytest.raises(InputError, match="no question has another paragraph"):
        make_negatives(Dataset(tuple(sheets), "1.1"))
    other = sheet(7, "Which pump is it?")
    made = make_negatives(Dataset((*sheets, other), "1.1"), ratio=1)
    negatives = {q.id: p.text for p, q in made.questions if q.impossible}
    asked_of_other = {f"{number}-negative": other.text for number in range(3)}
    assert negatives == asked_of_other | {"7-negative": sheets[0].text}


def test_above_1_further_paragraphs_follow() -> None:
    def asked(ratio: float) -> dict[str, str]:
        made = make_negatives(DATA, ratio)
        return {q.id: p.text for p, q in made.questions if q.impossible}

    assert asked(1.25).items() > asked(0.75).items()
    assert len(asked(1.25)) == 5  # of 4 answerable questions
    # All that there are: "long" has one other paragraph without its answer.
    further = {"begin-negative-2": MOUTH, "end-negative-2": OLM}
    assert asked(2) == asked(1e308) == asked(0.75) | further


def test_the_rest_stays_as_it_was() -> None:
    made = make_negatives(DATA, ratio=1)
    assert made.has_unanswerable
    assert [p.text for p in made.passages] == [p.text for p in DATA.passages]
    kept = [(p.text, q) for p, q in made.questions if not q.impossible]
    assert kept == [(p.text, q) for p, q in DATA.questions]
    texts = {q.id: q.text for _, q in DATA.questions}
    for _, negative in made.questions:
        if negative.impossible:
            assert negative.answers == ()
            assert negative.text == texts[negative.id.removesuffix("-negative")]


def test_as_many_as_asked_and_a_seed_decides_which() -> None:
    def chosen(ratio: float, seed: int = 0) -> set[str]:
        return {q.id for _, q in make_negatives(DATA, ratio, seed).questions if q.impossible}

    assert len(chosen(0.5)) == 2
    assert len(chosen(0.25)) == 1
    assert chosen(0.5, 3) == chosen(0.5, 3)
    assert len({frozenset(chosen(0.25, seed)) for seed in range(20)}) == 3


@pytest.mark.parametrize("number", [1, 64, 65, 1000])
def test_all_paragraphs_are_ranked(number: int) -> None:
    """Of so many words of the question each has the first few: more of them are more alike."""
    words = list("abcdefgh")
    common = np.random.default_rng(number).integers(0, 9, number).tolist()
    article = [Passage(" ".join(["x", *words[:count]]), "", ()) for count in common]
    ranked = OtherPassages(article).ranked(Question("q", " ".join(words), ()), 0)
    assert list(ranked) == sorted(range(1, number), key=lambda place: -common[place])


def test_the_bar_counts_the_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables without titles are one article."""
    shown: list[tuple[int, int | None]] = []

    def track(items: Iterable[Any], _: str, total: int | None = None) -> list[Any]:
        drawn = list(items)
        shown.append((len(drawn), total))
        return drawn

    monkeypatch.setattr("fabir.data.negatives.track", track)
    make_negatives(DATA)
    assert shown == [(4, 4)]


@pytest.mark.parametrize(
    ("data", "ratio", "message"),
    [
        (DATA, 0.0, "must be above 0"),
        (Dataset((DATA.passages[3],), "1.1"), 1.0, "no question has another paragraph"),
    ],
)
def test_nothing_to_make_is_the_users_mistake(data: Dataset, ratio: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_negatives(data, ratio)
