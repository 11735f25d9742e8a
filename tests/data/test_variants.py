"""Variants of questions: what each kind changes, and that answers stay where they should be."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.data.variants.entities import Entities
from fabir.data.variants.making import KINDS, Varied, vary
from fabir.data.variants.near_words import NearWords
from fabir.errors import InputError
from fabir.text.sentences import sentences
from fabir.text.tokens import tokenise
from fabir.text.vectors import Vectors

OLM = (
    "The Olm is 212 km long. It was mapped by Ada Quist in 1871. Boats from Lake Sandar go up the "
    "river every summer."
)
SOURCE = (
    "The source of the Olm lies in the Grey Hills, 90 miles from Marrow. Few people live there."
)
MOUTH = (
    "The mouth of the Olm is a delta. It was drawn by Ben Haller in 1902, who found 340 islands."
)
KITE = "A kite needs wind. The longest tail, made by Cem Odak in 1955, measured 470 m."


def question(id: str, text: str, answer: str, passage: str) -> Question:
    return Question(id, text, (Answer(answer, passage.index(answer)),))


LONG = question("long", "How long is the river called Olm?", "212 km", OLM)
WHO = question("who", "Who was it that mapped the Olm in 1871?", "Ada Quist", OLM)
BOATS = question("boats", "When do the boats go up the river?", "every summer", OLM)
BEGIN = question("begin", "Where does the river Olm have its source?", "the Grey Hills", SOURCE)
END = question("end", "What is there at the mouth of the Olm?", "a delta", MOUTH)
NEEDS = question("needs", "What does a kite need most of all?", "wind", KITE)
NONE = Question("none", "Who owns the boats that go up the Olm?", (), impossible=True)
DATA = Dataset(
    (
        Passage(OLM, "Olm", (LONG, WHO, BOATS, NONE)),
        Passage(SOURCE, "Olm", (BEGIN,)),
        Passage(MOUTH, "Olm", (END,)),
        Passage(KITE, "Kite", (NEEDS,)),
    ),
    "v2.0",
)
SEEDS = range(20)


def made(kind: str, seed: int = 0, data: Dataset = DATA, copies: int = 1) -> dict[str, tuple]:
    """Passage text and question of each variant of a kind, by the id of the original."""
    varied = vary(data, kinds=[kind], seed=seed, copies=copies)
    assert_exact(varied)
    assert varied.counts == {kind: len(varied.data)}
    return {q.id.removesuffix(f"-{kind}"): (p.text, q) for p, q in varied.data.questions}


def assert_exact(varied: Varied) -> None:
    for passage, asked in varied.data.questions:
        assert asked.impossible == (not asked.answers)
        for answer in asked.answers:
            assert passage.text.startswith(answer.text, answer.start)


def sentences_of(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def answers(asked: Question) -> list[str]:
    return [answer.text for answer in asked.answers]


def test_other_asks_a_passage_of_the_article_that_has_no_answer() -> None:
    for seed in SEEDS:
        found = made("other", seed)
        assert found.keys() == {"long", "who", "boats", "begin", "end"}  # one kite, one article
        for id, (text, asked) in found.items():
            assert asked.impossible
            home, original = next((p, q) for p, q in DATA.questions if q.id == id)
            assert text in {OLM, SOURCE, MOUTH} - {home.text}
            assert asked.text == original.text
            assert not any(answer in text for answer in answers(original))


def test_other_is_drawn_among_the_three_most_similar() -> None:
    texts = [f"The Olm has {'river ' * (number < 3)}number {'x' * number}." for number in range(6)]
    others = tuple(Passage(text, "Olm", ()) for text in texts)
    data = Dataset((Passage(OLM, "Olm", (LONG,)), *others), "1.1")
    assert {made("other", seed, data)["long"][0] for seed in SEEDS} == set(texts[:3])


def test_dropped_keeps_the_sentences_with_answers_and_the_order() -> None:
    lengths = set()
    for seed in SEEDS:
        for id, (text, asked) in made("dropped", seed).items():
            home, original = next((p, q) for p, q in DATA.questions if q.id == id)
            kept = sentences_of(text)
            before = sentences_of(home.text)
            assert 0 < len(kept) < len(before)
            assert kept == [sentence for sentence in before if sentence in kept]
            assert answers(asked) == answers(original)
            lengths.add((len(kept), len(before)))
    assert {(1, 3), (2, 3), (1, 2)} <= lengths


def test_moved_has_the_same_sentences_in_another_order() -> None:
    orders = set()
    for seed in SEEDS:
        found = made("moved", seed)
        assert found.keys() == {q.id for _, q in DATA.questions}
        for id, (text, asked) in found.items():
            home, original = next((p, q) for p, q in DATA.questions if q.id == id)
            assert text != home.text
            assert sorted(sentences_of(text)) == sorted(sentences_of(home.text))
            assert answers(asked) == answers(original)
        orders.add(found["long"][0])
        assert {found[id][0] for id in ("who", "boats", "none")} == {found["long"][0]}
    assert len(orders) == 5  # all orders of three sentences but their own


def test_sentences_that_an_answer_runs_over_stay_together() -> None:
    across = question("across", "What is said?", "1871. Boats", OLM)
    data = Dataset((Passage(OLM, "Olm", (across,)),), "1.1")
    for seed in SEEDS:
        assert made("moved", seed, data)["across"][0].startswith("It was mapped")
        assert made("dropped", seed, data)["across"][0] == OLM[OLM.index("It was") :]


def test_joined_has_another_passage_of_the_article_before_or_behind() -> None:
    texts = set()
    for seed in SEEDS:
        found = made("joined", seed)
        assert found.keys() == {"long", "who", "boats", "begin", "end"}
        assert len({found[id][0] for id in ("long", "who", "boats")}) == 1
        texts.add(found["begin"][0])
        assert answers(found["begin"][1]) == ["the Grey Hills"]
    assert texts == {f"{SOURCE} {OLM}", f"{OLM} {SOURCE}", f"{SOURCE} {MOUTH}", f"{MOUTH} {SOURCE}"}


def test_a_passage_with_the_same_question_is_neither_asked_nor_joined() -> None:
    again = question("again", "How long is a river, called Olm?", "340 islands", MOUTH)
    data = Dataset(
        (
            Passage(OLM, "Olm", (LONG, WHO)),
            Passage(SOURCE, "Olm", (BEGIN,)),
            Passage(MOUTH, "Olm", (again,)),
        ),
        "1.1",
    )
    for seed in SEEDS:
        assert made("other", seed, data)["long"][0] == SOURCE
        joined = made("joined", seed, data)
        assert joined["again"][0] in {f"{SOURCE} {MOUTH}", f"{MOUTH} {SOURCE}"}
        assert joined["long"][0] in {f"{SOURCE} {OLM}", f"{OLM} {SOURCE}"}
        assert joined["who"][0] == joined["long"][0]
    alone = Dataset((data.passages[0], data.passages[2]), "1.1")
    assert made("joined", data=alone).keys() == {"who"}


@pytest.mark.parametrize(("words", "fits"), [(380, True), (381, False)])
def test_joined_has_380_tokens_at_most(words: int, fits: bool) -> None:
    more = " ".join(["word"] * (words - len(tokenise(SOURCE).words)))
    data = Dataset((Passage(SOURCE, "Olm", (BEGIN,)), Passage(more, "Olm", ())), "1.1")
    if fits:
        assert len(tokenise(made("joined", data=data)["begin"][0]).words) == 380
    else:
        with pytest.raises(InputError, match="no question suits: joined"):
            made("joined", data=data)


def test_lure_adds_the_answers_sentence_with_other_names_and_numbers() -> None:
    places = set()
    for seed in SEEDS:
        text, asked = made("lure", seed)["who"]
        before, after = sentences_of(OLM), sentences_of(text)
        assert [sentence for sentence in after if sentence in before] == before
        added = [sentence for sentence in after if sentence not in before]
        (lure,) = [sentence for sentence in added if sentence.startswith("It was")]
        # MOUTH has a name after "by" and a year; the article comes before the rest of the data.
        assert lure == "It was mapped by Ben Haller in 1902."
        assert answers(asked) == ["Ada Quist"]
        places.add(after.index(lure))
    assert len(places) > 2


def test_lure_needs_an_answer_that_can_be_exchanged() -> None:
    found = made("lure")
    assert "end" not in found  # "a delta" would be true of the lure too
    assert "none" not in found


def test_question_loses_words_but_no_question_words() -> None:
    asked = {id: asked.text for id, (_, asked) in made("question").items()}
    assert asked.keys() == {"long", "who", "boats", "begin", "end", "needs"}
    for seed in SEEDS:
        for id, (text, changed) in made("question", seed).items():
            home, original = next((p, q) for p, q in DATA.questions if q.id == id)
            assert text == home.text
            assert changed.answers == original.answers
            left = Counter(tokenise(changed.text).words)
            lost = Counter(tokenise(original.text).words) - left
            assert not left - Counter(tokenise(original.text).words)
            assert 1 <= lost.total() <= 2
            assert not {"How", "Who", "When", "Where", "What", "?"} & lost.keys()
            assert "  " not in changed.text


def vectors_of(*groups: Sequence[str]) -> Vectors:
    """The words of a group are near each other, those of different groups are not."""
    words = [word for group in groups for word in group]
    matrix = np.zeros((len(words), len(groups) + 1), np.float32)
    row = 0
    for number, group in enumerate(groups):
        for place in range(len(group)):
            matrix[row, [number, -1]] = 1, place / 10
            row += 1
    return Vectors(words, matrix, "")


def test_question_replaces_words_by_near_ones() -> None:
    vectors = vectors_of(["river", "stream", "brook"], ["boats", "ships"], ["the", "which"])
    texts = set()
    for seed in range(60):
        varied = vary(DATA, kinds=["question"], vectors=vectors, seed=seed)
        texts |= {q.text for _, q in varied.data.questions if q.id == "boats-question"}
    words = {word for text in texts for word in tokenise(text).words}
    assert {"stream", "brook", "ships"} <= words
    assert "which" not in words  # words of grammar are not replaced


def test_near_words_are_the_nearest_first_without_the_word_itself() -> None:
    near = NearWords(vectors_of(["River", "river", "brook", "stream", "9th"], ["kite", "wind"]))
    assert near.near("river") == ["brook", "stream"]
    assert near.near("kite") == ["wind"]
    assert near.near("unknown") == []


def test_entity_asks_about_something_that_is_not_in_the_passage() -> None:
    for seed in SEEDS:
        found = made("entity", seed)
        assert "boats" not in found  # it has no name and no number
        text, asked = found["who"]
        assert text == OLM
        assert asked.impossible
        lost = set(WHO.text.split()) ^ set(asked.text.split())
        assert lost & {"Olm", "1871?"}
        assert all(word.strip("?") not in OLM for word in lost - set(WHO.text.split()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The mouth was drawn by Ben Haller in 1902.", ["Ben Haller", "1902"]),
        ("Ben sells 1,200 maps of the Isle of Wight.", ["Ben", "1,200", "Isle of Wight"]),
        ("Maps and St. John's the 3rd C-17 or the U.S. army", ["St. John", "3rd", "C-17", "U.S."]),
        ("Where is Åse? Here, in Кыргызстан, five of them are.", ["Åse", "Кыргызстан", "five"]),
        ("They sail with Maps or with Charts, Ben; The EU", ["Charts", "Ben", "EU"]),
        ('He said "Maps sell" on 4 May; I did not.', ["4", "May"]),
    ],
)
def test_names_and_numbers_are_found(text: str, expected: list[str]) -> None:
    entities = Entities(["I saw Ben, with maps. And Ben saw me, where he said so. The maps: here."])
    found = entities.find(text)
    assert [entity.text for entity in found] == expected
    assert all(text[entity.start : entity.end] == entity.text for entity in found)


def test_kinds_are_equally_probable_and_nobody_is_left_out() -> None:
    total: Counter[str] = Counter()
    for seed in range(200):
        varied = vary(DATA, seed=seed)
        assert_exact(varied)
        assert varied.without == 0
        assert sorted(q.id.rsplit("-", 1)[0] for _, q in varied.data.questions) == sorted(
            q.id for _, q in DATA.questions
        )
        total.update(q.id for _, q in varied.data.questions)
    shares = [total[f"who-{kind}"] for kind in KINDS]
    assert sum(shares) == 200
    assert min(shares) > 12  # of 29 expected, four standard deviations below


def test_copies_have_numbers_and_a_seed_decides() -> None:
    varied = vary(DATA, copies=3, seed=4)
    ids = [q.id for _, q in varied.data.questions]
    assert len(ids) == len(set(ids)) == 3 * len(DATA)
    assert {id.rsplit("-", 1)[1] for id in ids} == {"1", "2", "3"}
    assert vary(DATA, copies=3, seed=4) == varied
    assert vary(DATA, copies=3, seed=4, kinds=KINDS[::-1]) == varied
    assert vary(DATA, copies=3, seed=5) != varied


def test_articles_stay_together_and_texts_occur_once_in_each() -> None:
    varied = vary(DATA, copies=5)
    titles = [passage.title for passage in varied.data.passages]
    assert titles == sorted(titles, reverse=True)  # Olm, then Kite
    texts = [passage.text for passage in varied.data.passages]
    assert len(texts) == len(set(texts))
    assert varied.data.has_unanswerable
    assert not {q.id for _, q in varied.data.questions} & {q.id for _, q in DATA.questions}


def test_questions_about_a_passage_share_changed_passages() -> None:
    many = tuple(
        question(f"{i}", "Who was it that mapped it?", "Ada Quist", OLM) for i in range(10)
    )
    data = Dataset((Passage(OLM, "Olm", many), Passage(MOUTH, "Olm", ())), "1.1")
    for kind in ("dropped", "moved", "joined", "lure"):
        varied = vary(data, kinds=[kind])
        assert len(varied.data) == 10
        assert len(varied.data.passages) <= 2


def test_a_question_without_a_label_has_no_variants() -> None:
    unlabelled = Passage(MOUTH, "Olm", (Question("open", "What is there at the mouth?", ()),))
    varied = vary(Dataset((*DATA.passages, unlabelled), "v2.0"))
    assert varied.without == 1
    assert not any(q.id.startswith("open") for _, q in varied.data.questions)


word = st.sampled_from(["Ada", "Olm", "river", "in", "1871", "the", "Ben", "90", "C-17", "é", "."])
paragraph = st.lists(word, min_size=1, max_size=25).map(lambda words: " ".join(words) + " x.\n")


@st.composite
def passages(draw: st.DrawFn) -> Passage:
    text = draw(paragraph)
    asked = []
    for _ in range(draw(st.integers(0, 7))):
        start = draw(st.integers(0, len(text) - 2))
        end = draw(st.integers(start + 1, len(text)))
        if text[start:end].strip():
            asked.append(Question("", draw(paragraph), (Answer(text[start:end], start),)))
    return Passage(text, draw(st.sampled_from("ab")), tuple(asked))


@settings(max_examples=60, deadline=None)
@given(st.lists(passages(), min_size=1, max_size=5), st.integers(0, 9))
def test_answers_stay_word_for_word(drawn: list[Passage], seed: int) -> None:
    texts = {}
    numbered = []
    for place, passage in enumerate(drawn):
        asked = [
            Question(f"{place}.{number}", q.text, q.answers)
            for number, q in enumerate(passage.questions)
        ]
        texts |= {q.id: answers(q) for q in asked}
        numbered.append(Passage(passage.text, passage.title, tuple(asked)))
    data = Dataset(tuple(numbered), "1.1")
    try:
        varied = vary(data, seed=seed)
    except InputError:
        return
    assert_exact(varied)
    for _, asked in varied.data.questions:
        id, _, kind = asked.id.rpartition("-")
        assert answers(asked) == ([] if kind in {"other", "entity"} else texts[id])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": ["moved", "turned"]}, "unknown kind 'turned': choose among other, dropped"),
        ({"copies": 0}, "at least 1, not 0"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_wrong_options_are_the_users_mistake(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        vary(DATA, **options)
