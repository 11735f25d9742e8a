"""Makes unanswerable questions from answerable ones, for data that has none."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from fabir.data.checks import check_seed
from fabir.data.dataset import Dataset, Passage, Question, unused
from fabir.errors import InputError
from fabir.progress import track
from fabir.text.tokens import tokenise


def make_negatives(dataset: Dataset, ratio: float = 0.5, seed: int = 0) -> Dataset:
    """`dataset` as SQuAD 2.0 data, with `ratio` unanswerable questions per answerable question.

    A negative pairs a question with another paragraph of its article (adjacent passages with one
    title). The paragraph contains none of the answers' texts. It has the largest overlap of words
    with the question, weighted by inverse document frequency; the first one wins a tie. The id gets
    "-negative" appended, and a number if the data has such an id. Only `seed` determines the choice
    of questions. There may be fewer negatives if the articles have too few paragraphs.

    Raises:
        InputError: `ratio` is not positive and finite, `seed` is negative, or no question has a
            suitable paragraph.
    """
    if not 0 < ratio < math.inf:
        raise InputError(f"the ratio of negatives must be above 0 and finite, not {ratio}")
    check_seed(seed)
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
    taken = {question.id for _, question in dataset.questions}
    added: dict[tuple[int, int], list[Question]] = {}
    for index in sorted(chosen):
        number, place, question = possible[index]
        added.setdefault((number, place), []).append(_negative(question, taken))
    passages = (
        replace(passage, questions=(*passage.questions, *added.get((number, place), ())))
        for number, article in enumerate(articles)
        for place, passage in enumerate(article)
    )
    return Dataset(tuple(passages), "v2.0", dataset.bad_answers)


def _negative(question: Question, taken: set[str]) -> Question:
    return Question(unused(f"{question.id}-negative", taken), question.text, (), impossible=True)


class OtherPassages:
    """The other paragraphs of an article that a question may be asked of, the most similar first.

    A paragraph that contains the text of one of the question's answers is left out. Similarity is
    the overlap of words, weighted by inverse document frequency; ties stay in order.
    """

    def __init__(self, article: Sequence[Passage]) -> None:
        places: dict[str, list[int]] = {}  # indices of the paragraphs with a word
        for place, passage in enumerate(article):
            for word in _words(passage.text):
                places.setdefault(word, []).append(place)
        self._found = {word: np.array(having) for word, having in places.items()}
        self._texts = [passage.text.lower() for passage in article]

    def ranked(self, question: Question, home: int) -> Iterator[int]:
        """Yield the indices of the paragraphs; `home` is that of the question's own."""
        scores = np.zeros(len(self._texts))
        for word in sorted(_words(question.text) & self._found.keys()):
            having = self._found[word]
            scores[having] += math.log(1 + len(scores) / len(having))
        answers = [answer.text.strip().lower() for answer in question.answers]
        for place in np.argsort(-scores.round(9), kind="stable").tolist():
            if place != home and not any(answer in self._texts[place] for answer in answers):
                yield place


def _elsewhere(article: Sequence[Passage]) -> Iterator[tuple[Question, int]]:
    """Yield each answerable question with the index of its best other paragraph."""
    others = OtherPassages(article)
    for home, passage in enumerate(article):
        for question in passage.questions:
            best = next(others.ranked(question, home), None) if question.answers else None
            if best is not None:
                yield question, best


def _words(text: str) -> set[str]:
    return {word.lower() for word in tokenise(text).words}
