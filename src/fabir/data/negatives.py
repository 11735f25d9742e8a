"""Unanswerable questions made from answerable ones, for users whose data has none."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from fabir.data.squad import Dataset, Passage, Question
from fabir.errors import InputError
from fabir.progress import track
from fabir.text.tokens import tokenise


def make_negatives(dataset: Dataset, ratio: float = 0.5, seed: int = 0) -> Dataset:
    """`dataset` as SQuAD 2.0 data, with `ratio` unanswerable questions to an answerable one.

    A question is asked again of another paragraph of the same article (neighbouring passages of
    one title). That paragraph shares the most words with it, weighted by rarity, and contains none
    of its answers' texts. The first wins a tie. The id gets "-negative" appended. `seed` alone
    decides which questions are taken. There may be fewer than `ratio` asks for.

    Raises:
        InputError: `ratio` is not positive, or no question can be asked elsewhere.
    """
    if not ratio > 0:
        raise InputError(f"the ratio of negatives must be above 0, not {ratio}")
    articles = [list(group) for _, group in groupby(dataset.passages, key=lambda p: p.title)]
    possible = [
        (number, place, question)
        for number, article in enumerate(track(articles, "looking for other paragraphs"))
        for question, place in _elsewhere(article)
    ]
    if not possible:
        raise InputError("no question has another paragraph in its article that could be asked")
    answerable = sum(bool(question.answers) for _, question in dataset.questions)
    wanted = min(len(possible), round(ratio * answerable))
    chosen = np.random.default_rng(seed).permutation(len(possible))[:wanted]
    added: dict[tuple[int, int], list[Question]] = {}
    for index in sorted(chosen):
        number, place, question = possible[index]
        added.setdefault((number, place), []).append(_negative(question))
    passages = (
        replace(passage, questions=(*passage.questions, *added.get((number, place), ())))
        for number, article in enumerate(articles)
        for place, passage in enumerate(article)
    )
    return Dataset(tuple(passages), "v2.0", dataset.bad_answers)


def _negative(question: Question) -> Question:
    return Question(f"{question.id}-negative", question.text, (), impossible=True)


def _elsewhere(article: Sequence[Passage]) -> Iterator[tuple[Question, int]]:
    """Each answerable question with the place of the best other paragraph to ask it of."""
    places: dict[str, list[int]] = {}  # the paragraphs that contain each word
    for place, passage in enumerate(article):
        for word in _words(passage.text):
            places.setdefault(word, []).append(place)
    found = {word: np.array(having) for word, having in places.items()}
    texts = [passage.text.lower() for passage in article]
    for home, passage in enumerate(article):
        for question in passage.questions:
            if not question.answers:
                continue
            scores = np.zeros(len(article))
            for word in sorted(_words(question.text) & found.keys()):
                scores[found[word]] += math.log(1 + len(article) / len(found[word]))
            answers = [answer.text.strip().lower() for answer in question.answers]
            best = np.argsort(-scores.round(9), kind="stable")  # equal ones in order
            for place in best.tolist():
                if place != home and not any(answer in texts[place] for answer in answers):
                    yield question, place
                    break


def _words(text: str) -> set[str]:
    return {word.lower() for word in tokenise(text).words}
