"""Which passages a question is about: BM25 over all of them, then a closer look at the best.

With the telling terms t of a question, their inverse document frequencies idf, and a passage p:

    BM25(p) = sum idf(t) * count(t, p) / (count(t, p) + k1 * (1 - b + b * |p| / mean |p|))

bm25s computes it. The closer look adds what BM25 cannot see: how much of the question stands within
a few words of the passage, which neighbours in the question are neighbours there, and what the
title says. All are divided by what they could be at most, so that scores of different questions
compare.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fabir.search.storage import Generation
from fabir.search.terms import stemmer, telling, words

CLOSER = 100  # passages that are looked at closely
NEAR = 20, 50  # terms that count as near each other
# For BM25, nearness twice, neighbours, the title: those that make the right passage likeliest, by a
# softmax over the passages looked at, for questions of SQuAD's training set.
WEIGHTS = np.array([11.6, 3.8, 6.0, 6.4, 3.7], np.float32)


class Ranking(NamedTuple):
    """Numbers of passages, best first, and their scores."""

    passages: np.ndarray
    scores: np.ndarray


class Asked(NamedTuple):
    """A question: distinct terms that occur in the collection, what each says about it (0 for those
    that say nothing), and which follow each other, as pairs of numbers of `terms`."""

    terms: list[int]
    weights: np.ndarray
    pairs: list[tuple[int, int]]


class _Hits(NamedTuple):
    """Where a question's terms stand: the candidate, the term's number in the question, the place
    among the terms of all candidates, and whether it is in a title; ascending."""

    passage: np.ndarray
    term: np.ndarray
    place: np.ndarray
    titled: np.ndarray


class Ranker:
    """Ranks the passages of one generation."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._stem = stemmer(generation.manifest["stemmed"])
        self._lengths = lengths = np.diff(generation.passage_tokens)
        frequency = np.diff(generation.bm25.scores["indptr"])
        share = (len(lengths) - frequency + 0.5) / (frequency + 0.5)
        self._idf = np.log1p(share).astype(np.float32)

    def rank(self, question: str, k: int) -> Ranking:
        """At most `k` passages that share a telling word with the question."""
        asked = self.understand(question)
        bm25 = self.bm25(asked)
        best = _best(bm25, max(k, CLOSER))
        if not len(best):
            return Ranking(best, bm25[best])
        scores = (WEIGHTS[:, None] * self.features(asked, best, bm25[best])).sum(axis=0)
        order = np.argsort(-scores, kind="stable")[:k]
        return Ranking(best[order], scores[order])

    def understand(self, question: str) -> Asked:
        asked = words(question)
        numbers = [self._number(word) for word in asked]
        terms = [number for number in dict.fromkeys(numbers) if number >= 0]
        tell = {self._number(word) for word in telling(asked)}
        weights = np.array([self._idf[term] * (term in tell) for term in terms], np.float32)
        at = {term: number for number, term in enumerate(terms)}
        pairs = [(at[a], at[b]) for a, b in pairwise(numbers) if a >= 0 <= b]
        return Asked(terms, weights, list(dict.fromkeys(pairs)))

    def _number(self, word: str) -> int:
        return self._generation.bm25.vocab_dict.get(self._stem(word), -1)

    def bm25(self, asked: Asked) -> np.ndarray:
        """Every passage's score."""
        tell = [term for term, weight in zip(asked.terms, asked.weights, strict=True) if weight]
        return self._generation.bm25.get_scores_from_ids(tell)

    def features(self, asked: Asked, passages: np.ndarray, bm25: np.ndarray) -> np.ndarray:
        """What `WEIGHTS` are for, each from 0 to 1. Shape: [feature, passage]

        Args:
            passages: numbers of passages that have a telling term
            bm25: their scores
        """
        hits = self._hits(asked.terms, passages)
        shape = len(passages), len(asked.terms)
        total = asked.weights.sum()
        near = [_near(hits, asked.weights, distance, shape) / total for distance in NEAR]
        titled = np.zeros(shape, np.float32)
        titled[hits.passage[hits.titled], hits.term[hits.titled]] = 1
        in_title = (titled * asked.weights).sum(axis=1) / total
        return np.stack([bm25 / total, *near, _neighbours(hits, asked, shape), in_title])

    def _hits(self, terms: list[int], passages: np.ndarray) -> _Hits:
        of = self._generation
        rows = of.passages[passages]
        lengths = self._lengths[passages]
        tokens = np.concatenate(
            [of.tokens[first : first + n] for first, n in zip(rows["token"], lengths, strict=True)]
        )
        order = np.argsort(terms)
        known = np.asarray(terms, np.int32)[order]
        guess = np.minimum(np.searchsorted(known, tokens), len(terms) - 1)
        place = np.flatnonzero(known[guess] == tokens)
        passage = np.repeat(np.arange(len(passages)), lengths)[place]
        begins = np.cumsum(lengths) - lengths
        title_terms = of.documents["title_terms"][rows["document"]]
        titled = place - begins[passage] < title_terms[passage]
        return _Hits(passage, order[guess[place]], place, titled)


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """Numbers of the `k` highest scores above 0, highest first; equal ones in order."""
    if k < len(scores):
        best = np.sort(np.argpartition(-scores, k - 1)[:k])
    else:
        best = np.arange(len(scores))
    best = best[scores[best] > 0]
    return best[np.argsort(-scores[best], kind="stable")]


def _near(hits: _Hits, weights: np.ndarray, distance: int, shape: tuple[int, int]) -> np.ndarray:
    """The most that the terms within `distance` of each other weigh. Shape: [passage]"""
    last = np.full((shape[1], len(hits.place)), -1)  # place of each term's last hit, up to each hit
    last[hits.term, np.arange(len(hits.place))] = hits.place
    last = np.maximum.accumulate(last, axis=1)
    begins = np.searchsorted(hits.passage, np.arange(shape[0]))
    first = np.maximum(hits.place - distance, hits.place[begins][hits.passage] - 1)
    return np.maximum.reduceat((weights[:, None] * (last > first)).sum(axis=0), begins)


def _neighbours(hits: _Hits, asked: Asked, shape: tuple[int, int]) -> np.ndarray:
    """The share of the question's neighbours that are the passage's. Shape: [passage]"""
    pairs = np.array(asked.pairs, np.int64).reshape(-1, 2)
    weights = asked.weights[pairs].sum(axis=1)
    if not weights.sum():
        return np.zeros(shape[0], np.float32)
    number = np.full((shape[1], shape[1]), -1)
    number[tuple(pairs.T)] = np.arange(len(pairs))
    pair = number[hits.term[:-1], hits.term[1:]]
    pair[(np.diff(hits.place) != 1) | (np.diff(hits.passage) != 0)] = -1
    seen = np.zeros((shape[0], len(pairs)), np.float32)
    seen[hits.passage[:-1][pair >= 0], pair[pair >= 0]] = 1
    return (seen * weights).sum(axis=1) / weights.sum()
