"""Paraphrased passages: what changes, what stays, and that answers are found again."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.augmentation import augment, find_again
from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.errors import InputError

TEXT = "The lighthouse was lit in 1871 by Ada Quist.\nShe kept it thirty years. It still stands."


class Dictionary:
    """A deterministic paraphraser: words replaced, in one way or in several."""

    def __init__(self, *ways: dict[str, str]) -> None:
        self.ways = ways

    def paraphrase(self, texts: Sequence[str]) -> Iterator[list[str]]:
        for text in texts:
            yield [" ".join(way.get(word, word) for word in text.split()) for way in self.ways]


def data(*questions: Question) -> Dataset:
    return Dataset((Passage(TEXT, "Lights", questions),), "1.1")


def question(id: str, *answers: str) -> Question:
    found = tuple(Answer(answer, TEXT.index(answer)) for answer in answers)
    return Question(id, "What?", found)


def test_answers_are_found_where_they_moved_to() -> None:
    other = Dictionary({"lighthouse": "lighthouses", "was": "had been", "thirty": "for thirty"})
    asked = question("who", "Ada Quist"), question("what", "lighthouse"), question("long", "years")
    made = augment(data(*asked), other)
    (passage,) = made.data.passages
    assert passage.text == (
        "The lighthouses had been lit in 1871 by Ada Quist.\n"
        "She kept it for thirty years. It still stands."
    )
    assert passage.title == "Lights"
    answers = {q.id: [a.text for a in q.answers] for q in passage.questions}
    assert answers == {
        "who-paraphrase": ["Ada Quist"],
        "what-paraphrase": ["lighthouses"],
        "long-paraphrase": ["years"],
    }
    for asked in passage.questions:
        for answer in asked.answers:
            assert passage.text.startswith(answer.text, answer.start)
    assert made.lost == 0


@pytest.mark.parametrize(
    "answer", ['"golden anniversary"', "October 16, 2012,", "2012, 3", "16", "2012", "He", "2012."]
)
@pytest.mark.parametrize("place", [0, -1])
def test_an_answer_that_is_there_unchanged_stays(answer: str, place: int) -> None:
    text = 'On "May 1" the "golden anniversary" of October 16, 2012, 3 men came. He came in 2012.'
    start = text.index(answer) if place == 0 else text.rindex(answer)
    asked = Question("q", "What?", (Answer(answer, start),))
    unchanged = Dataset((Passage(text, "", (asked,)),), "1.1")
    ((_, made),) = augment(unchanged, Dictionary({})).data.questions
    assert made.answers == asked.answers


def test_of_several_places_the_one_near_the_old_place_is_taken() -> None:
    text = "In Rome the 9 men of Rome saw it all and Rome fell."
    for place in (3, 21, 41):
        asked = Question("q", "Where?", (Answer("Rome", place),))
        made = augment(
            Dataset((Passage(text, "", (asked,)),), "1.1"), Dictionary({"In": "So then in"})
        )
        ((_, found),) = made.data.questions
        assert found.answers == (Answer("Rome", place + 8),)


def test_what_is_not_found_again_is_lost() -> None:
    other = Dictionary({"1871": "olden", "in": "during"})
    across = Question("across", "What?", (Answer("1871 by Ada Quist.\nShe", TEXT.index("1871")),))
    both = question("both", "1871", "Ada Quist")
    made = augment(data(question("when", "1871"), across, both), other)
    assert [q.id for _, q in made.data.questions] == ["both-paraphrase"]
    assert made.lost == 3
    # A threshold of 0 takes whatever is most alike.
    assert augment(data(question("when", "1871")), other, threshold=0).lost == 0


def test_a_data_set_without_questions_is_refused() -> None:
    with pytest.raises(InputError, match="no question is kept: 1 answers were not found again"):
        augment(data(question("when", "1871")), Dictionary({"1871": "olden"}))


def test_questions_without_an_answer_stay() -> None:
    none = Question("none", "Why?", (), impossible=True, plausible=(Answer("1871", 26),))
    ((_, kept),) = augment(data(none), Dictionary({})).data.questions
    assert kept == Question("none-paraphrase", "Why?", (), impossible=True)
    unknown = Question("unknown", "Why?", ())  # a teacher can answer it
    ((_, kept),) = augment(data(unknown), Dictionary({})).data.questions
    assert kept == Question("unknown-paraphrase", "Why?", ())


def test_a_seed_chooses_among_paraphrases() -> None:
    ways = Dictionary({}, {"She": "Ada"}, {"She": "The keeper"})
    asked = data(question("who", "Ada Quist"))
    texts = [augment(asked, ways, seed=seed).data.passages[0].text for seed in range(20)]
    assert texts[3] == augment(asked, ways, seed=3).data.passages[0].text
    assert len({text.split("\n")[1] for text in texts}) == 3


@pytest.mark.parametrize(
    ("answer", "words", "expected"),
    [
        ("Department of Studies", "the Department of Preparatory Studies .", (1, 4, 1.0)),
        ("Paris", "in Paris and in Paris", (1, 1, 1.0)),
        ('" gold "', '" May be " gold "', (3, 5, 1.0)),  # as long as the answer
        ("a b c", "a x c a b x c", (0, 2, 1.0)),
        ("a b", "b a", (0, 0, 0.5)),  # the wrong way round: one end at most
        ("departments", "all department", (1, 1, 20 / 23)),  # 10 in common of 12 and 11
    ],
)
def test_find_again(answer: str, words: str, expected: tuple[int, int, float]) -> None:
    first, last, score = find_again(answer.split(), words.split())
    assert (first, last) == expected[:2]
    assert score == pytest.approx(expected[2])


word = st.text(alphabet="abcAB", min_size=1, max_size=4)


@given(st.lists(word, min_size=1, max_size=4), st.lists(word, min_size=1, max_size=12))
def test_a_score_is_1_just_when_both_ends_are_there(answer: list[str], words: list[str]) -> None:
    first, last, score = find_again(answer, words)
    assert 0 <= first <= last < len(words)
    assert last - first < 2 * len(answer) + 1
    assert 0 <= score <= 1
    ends = [answer[0].lower(), answer[-1].lower()]
    if [words[first].lower(), words[last].lower()] == ends:
        assert score == pytest.approx(1)
    for place in range(len(words) - len(answer) + 1):
        if words[place : place + len(answer)] == answer:
            assert score == pytest.approx(1)


def test_a_threshold_is_a_share() -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        augment(data(), Dictionary({}), threshold=50)
