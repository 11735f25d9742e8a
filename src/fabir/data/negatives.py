"""Makes unanswerable questions from answerable ones, for data that has none."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice

import numpy as np

from fabir.data.checks import check_seed
from fabir.data.dataset import Dataset, Passage, Question, unused
from fabir.errors import InputError
from fabir.progress import track
from fabir.text.normalise import normalise_answer
from fabir.text.tokens import tokenise

_SORTED = 64  # of an article's paragraphs, see `_from_the_highest`


def make_negatives(dataset: Dataset, ratio: float = 0.5, seed: int = 0) -> Dataset:
    """`dataset` as SQuAD 2.0 data, with `ratio` unanswerable questions per answerable question.

    A negative pairs a question with another paragraph of its article (adjacent passages with one
    title), see `OtherPassages`: the most similar one. If `ratio` is above 1, further paragraphs
    follow once each question has its first. The id gets "-negative" appended, and a number if the
    data has such an id. Only `seed` determines the choice of questions. There may be fewer
    negatives if the articles have too few paragraphs.

    Raises:
        InputError: `ratio` is not positive and finite, `seed` is negative, or no question has a
            suitable paragraph.
    """
    if not 0 < ratio < math.inf:
        raise InputError(f"the ratio of negatives must be above 0 and finite, not {ratio}")
    check_seed(seed)
    articles = [list(group) for _, group in groupby(dataset.passages, key=lambda p: p.title)]
    answerable = sum(bool(question.answers) for _, question in dataset.questions)
    found = track(
        _elsewhere(articles, math.ceil(ratio)), "looking for other paragraphs", answerable
    )
    possible = [
        (rank, number, place, question)
        for number, question, places in found
        for rank, place in enumerate(places)
    ]
    if not possible:
        raise InputError("no question has another paragraph in its article that could be asked")
    wanted = round(min(len(possible), ratio * answerable))
    drawn = np.random.default_rng(seed).permutation(len(possible)).tolist()
    chosen = sorted(drawn, key=lambda index: possible[index][0])[:wanted]
    taken = {question.id for _, question in dataset.questions}
    added: dict[tuple[int, int], list[Question]] = {}
    for index in sorted(chosen):
        _, number, place, question = possible[index]
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

    A paragraph that contains the text of one of the question's answers is left out, and so is one
    of which the same question is asked, see `asking`. Similarity is the overlap of words, weighted
    by inverse document frequency; ties stay in order.
    """

    def __init__(self, article: Sequence[Passage]) -> None:
        places: dict[str, list[int]] = {}  # indices of the paragraphs with a word
        for place, passage in enumerate(article):
            for word in _words(passage.text):
                places.setdefault(word, []).append(place)
        self._found = {word: np.array(having) for word, having in places.items()}
        self._texts = [passage.text.lower() for passage in article]
        self._asking: dict[str, set[int]] = {}  # indices of the paragraphs with a question
        for place, passage in enumerate(article):
            for question in passage.questions:
                if not question.impossible:
                    self._asking.setdefault(normalise_answer(question.text), set()).add(place)

    def asking(self, question: Question) -> set[int]:
        """The indices of the paragraphs that have this question, and may answer it otherwise.

        Case, punctuation, English articles and white space do not count.
        """
        return self._asking.get(normalise_answer(question.text), set())

    def ranked(self, question: Question, home: int) -> Iterator[int]:
        """Yield the indices of the paragraphs; `home` is that of the question's own."""
        scores = np.zeros(len(self._texts))
        for word in sorted(_words(question.text) & self._found.keys()):
            having = self._found[word]
            scores[having] += math.log(1 + len(scores) / len(having))
        answers = [answer.text.strip().lower() for answer in question.answers]
        left_out = {home, *self.asking(question)}
        for place in _from_the_highest(scores.round(9)):
            if place not in left_out and not any(each in self._texts[place] for each in answers):
                yield place


def _from_the_highest(scores: np.ndarray) -> Iterator[int]:
    """Yield the indices of scores, the highest first; ties stay in order.

    Few are taken of many, so no more are sorted at a time than the `_SORTED` best, then eight times
    as many, and so on.
    """
    above, best = np.inf, _SORTED
    while above > -np.inf:
        least = np.partition(scores, -best)[-best] if best < len(scores) else -np.inf
        places = np.flatnonzero((scores >= least) & (scores < above))
        yield from places[np.argsort(-scores[places], kind="stable")].tolist()
        above, best = least, 8 * best


def _elsewhere(
    articles: Sequence[Sequence[Passage]], most: int
) -> Iterator[tuple[int, Question, list[int]]]:
    """Yield each answerable question with the number of its article and the indices of its `most`
    best paragraphs there."""
    for number, article in enumerate(articles):
        others = OtherPassages(article)
        for home, passage in enumerate(article):
            for question in filter(lambda asked: asked.answers, passage.questions):
                ranked = others.ranked(question, home)
                yield number, question, list(islice(ranked, min(most, len(article))))


def _words(text: str) -> set[str]:
    return {word.lower() for word in tokenise(text).words}
