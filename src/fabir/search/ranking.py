"""Passage ranking: BM25 over all passages, then reranking of the best.

Let t be the content words of a question (its words without stop words), idf their inverse document
frequencies, and p a passage:

    BM25(p) = sum idf(t) * count(t, p) / (count(t, p) + k1 * (1 - b + b * |p| / mean |p|))

bm25s finds the passages that are best by this score. The reranker adds features that BM25 lacks:
the proximity of the question's words in the passage, common bigrams, and words in the title. Each
feature is divided by its maximum, so that the scores of different questions are comparable. Content
words that no passage has count in this maximum, with the idf of frequency 0: what is nowhere scores
low. The reranker's idf counts `LEAST` passages where there are fewer: else a word of the only
passage would weigh a fifth of one that no passage has.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fabir.search.echo import blank_echoes
from fabir.search.postings import K1, B
from fabir.search.storage import Generation
from fabir.search.terms import load_language, words

CANDIDATES = 100  # passages to rerank
LEAST = 100  # passages that a collection counts as, at least
_BEGIN = 5  # characters in which forms of a name agree
ALIKE = 0.9  # share of their terms from which two passages are copies of one
WINDOWS = 20, 50  # lengths in terms for the proximity features
# Weights of BM25, of the two proximities, of bigrams and of the title. They maximise the likelihood
# of the right passage on SQuAD's training questions, under a softmax over the candidates.
WEIGHTS = np.array([11.6, 3.8, 6.0, 6.4, 3.7], np.float32)


class Ranked(NamedTuple):
    """A passage's number and score, and the numbers of its copies among the candidates."""

    passage: int
    score: float
    copies: list[int]


class Query(NamedTuple):
    """A question as terms.

    terms: distinct terms that occur in the collection
    weights: inverse document frequency of each term; 0 for a stop word
    pairs: bigrams of the question, as pairs of indices into `terms`
    total, pairs_total: weight of all terms and of all bigrams, also of those that no passage has
    """

    terms: list[int]
    weights: np.ndarray
    pairs: list[tuple[int, int]]
    total: float
    pairs_total: float


class _Hits(NamedTuple):
    """Occurrences of a question's terms in the candidates, in ascending order of place.

    passage: index of the candidate
    term: index of the term in the question
    place: position among the terms of all candidates
    titled: whether the occurrence is in a title
    """

    passage: np.ndarray
    term: np.ndarray
    place: np.ndarray
    titled: np.ndarray


class Ranker:
    """Ranks the passages of one generation."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        settings = generation.settings
        self.language = load_language(settings.language, settings.stemmed)
        self._stem = self.language.stem
        self._lengths = lengths = np.diff(generation.passage_tokens)
        # The last is that of the words that no passage has.
        frequency = np.append(np.diff(generation.bm25.scores["indptr"]), 0)
        share = (max(len(lengths), LEAST) - frequency + 0.5) / (frequency + 0.5)
        self._idf = np.log1p(share).astype(np.float32)
        self._mean_length = lengths.mean() if len(lengths) else 0.0

    def rank(self, question: str, k: int) -> list[Ranked]:
        """At most `k` passages that share a content word with the question, best first.

        Passages with nearly the same terms take one place.
        """
        query = self.parse(question)
        if not query.terms:
            return []
        bm25 = self.bm25(query)
        count = max(k, CANDIDATES)
        while True:
            best = _best(bm25, count)
            ranked = self.rerank(query, best)
            found = self._distinct(self._without_echoes(question, query, ranked, k), k)
            if len(found) == k or len(best) < count:
                return found
            count *= 10  # copies took the places of other passages

    def rerank(self, query: Query, passages: np.ndarray) -> list[Ranked]:
        """All of `passages`, best first."""
        if not len(passages):
            return []
        scores = _weighed(self.features(query, passages))
        order = np.argsort(-scores, kind="stable")
        pairs = zip(passages[order].tolist(), scores[order].tolist(), strict=True)
        return [Ranked(passage, score, []) for passage, score in pairs]

    def _without_echoes(
        self, question: str, query: Query, ranked: list[Ranked], k: int
    ) -> list[Ranked]:
        """The same passages, ranked without what only repeats the question.

        As many of the first as may be read are looked at.
        """
        looked = ranked[: max(2 * k, 20)]
        scores = [self._echoless_score(question, query, each) for each in looked]
        again = [each._replace(score=score) for each, score in zip(looked, scores, strict=True)]
        return sorted([*again, *ranked[len(looked) :]], key=lambda each: -each.score)

    def _echoless_score(self, question: str, query: Query, ranked: Ranked) -> float:
        of = self._generation
        row = of.passages[ranked.passage]
        text = of.text(row["first"], row["last"])
        left = blank_echoes(text, question, self.language)
        if left == text:
            return ranked.score
        title_terms = int(of.documents["title_terms"][row["document"]])
        number = of.bm25.vocab_dict
        title = of.tokens[row["token"] : row["token"] + title_terms]
        own = np.array([number.get(self._stem(word), -1) for word in words(left)], np.int32)
        tokens = np.concatenate([title, own])
        hits = _find_hits(query.terms, [tokens], np.array([title_terms]))
        if not len(hits.place):
            return 0.0
        return float(
            _weighed(_features(query, hits, np.array([len(tokens)]) / self._mean_length))[0]
        )

    def _distinct(self, ranked: list[Ranked], k: int) -> list[Ranked]:
        """The first `k` that are no copies of better ones, each with its copies."""
        chosen: list[tuple[Ranked, set[int]]] = []
        for each in ranked:
            terms = self._own_terms(each.passage)
            first = next((better for better, of in chosen if _are_alike(of, terms)), None)
            if first:
                first.copies.append(each.passage)
            elif len(chosen) == k:
                break
            else:
                chosen.append((each, terms))
        return [each for each, _ in chosen]

    def _own_terms(self, passage: int) -> set[int]:
        """The terms of a passage without those of its title."""
        of = self._generation
        row = of.passages[passage]
        title_terms = of.documents["title_terms"][row["document"]]
        own = slice(row["token"] + title_terms, row["token"] + self._lengths[passage])
        return set(of.tokens[own].tolist())

    def parse(self, question: str) -> Query:
        """Map a question to the collection's terms."""
        query = words(question)
        stems = [self._stem(word) for word in query]
        content = {self._stem(word) for word in self.language.content_words(question)}
        number = {stem: self._generation.bm25.vocab_dict.get(stem, -1) for stem in stems}
        if all(number.get(stem, -1) < 0 for stem in content):
            content |= number.keys()  # no passage has a content word: the others must do
        weight = {stem: float(self._idf[number[stem]]) * (stem in content) for stem in number}
        known = [stem for stem in number if number[stem] >= 0]
        at = {stem: place for place, stem in enumerate(known)}
        pairs = list(dict.fromkeys(pairwise(stems)))
        return Query(
            terms=[number[stem] for stem in known],
            weights=np.array([weight[stem] for stem in known], np.float32),
            pairs=[(at[a], at[b]) for a, b in pairs if a in at and b in at],
            total=sum(weight.values()),
            pairs_total=sum(weight[a] + weight[b] for a, b in pairs),
        )

    def names(self, question: str) -> list[np.ndarray]:
        """For each word of a question's names the numbers of the passages that have it, or a word
        with the same beginning, such as "german" for "germany"."""
        return [
            self._having(self._stem(word))
            for name in self.language.names(question)
            for word in words(name)
        ]

    def lacks(self, names: Iterable[np.ndarray], passage: int) -> bool:
        """Whether a passage's document lacks one of the `names` of a question."""
        document = int(self._generation.passages["document"][passage])
        rows = self._generation.rows("passages", document, document + 1)
        return not all(((rows.start <= name) & (name < rows.stop)).any() for name in names)

    def _having(self, stem: str) -> np.ndarray:
        """The numbers of the passages with a term that begins as a stem."""
        begin, bm25 = stem[:_BEGIN], self._generation.bm25
        first, end = (bisect_left(self._sorted, each) for each in (begin, begin + "\U0010ffff"))
        terms = [bm25.vocab_dict[term] for term in self._sorted[first:end]]
        begins = bm25.scores["indptr"]
        found = [bm25.scores["indices"][begins[term] : begins[term + 1]] for term in terms]
        return np.concatenate([np.empty(0, np.int64), *found])

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._generation.bm25.vocab_dict)

    def bm25(self, query: Query) -> np.ndarray:
        """The BM25 score of every passage. Shape: [passage]"""
        content = [term for term, weight in zip(query.terms, query.weights, strict=True) if weight]
        return self._generation.bm25.get_scores_from_ids(content)

    def features(self, query: Query, passages: np.ndarray) -> np.ndarray:
        """The features in the order of `WEIGHTS`, each from 0 to 1. Shape: [feature, passage]

        Args:
            passages: numbers of passages that have a content word of the question
        """
        lengths = self._lengths[passages] / self._mean_length
        return _features(query, self._hits(query.terms, passages), lengths)

    def _hits(self, terms: list[int], passages: np.ndarray) -> _Hits:
        of = self._generation
        rows = of.passages[passages]
        tokens = [
            of.tokens[first : first + length]
            for first, length in zip(rows["token"], self._lengths[passages], strict=True)
        ]
        return _find_hits(terms, tokens, of.documents["title_terms"][rows["document"]])


def _features(query: Query, hits: _Hits, lengths: np.ndarray) -> np.ndarray:
    """
    Args:
        lengths: those of the passages, as multiples of the mean. Shape: [passage]
    """
    shape = len(lengths), len(query.terms)
    total = query.total
    near = [_proximity(hits, query.weights, distance, shape) / total for distance in WINDOWS]
    titled = np.zeros(shape, np.float32)
    titled[hits.passage[hits.titled], hits.term[hits.titled]] = 1
    in_title = (titled * query.weights).sum(axis=1) / total
    counts = np.bincount(hits.passage * shape[1] + hits.term, minlength=math.prod(shape))
    counts = counts.reshape(shape)
    norm = K1 * (1 - B + B * lengths[:, None])
    bm25 = (query.weights * counts / (counts + norm)).sum(axis=1)
    return np.stack([bm25 / total, *near, _bigrams(hits, query, shape), in_title])


def _weighed(features: np.ndarray) -> np.ndarray:
    """The scores of passages. Shape: [feature, passage] -> [passage]"""
    return (WEIGHTS[:, None] * features).sum(axis=0)


def _find_hits(terms: list[int], passages: list[np.ndarray], title_terms: np.ndarray) -> _Hits:
    """
    Args:
        terms: the question's terms
        passages: the terms of each passage, its title's first
        title_terms: the number of terms of each passage's title
    """
    tokens = np.concatenate(passages)
    lengths = np.array([len(each) for each in passages])
    order = np.argsort(terms)
    known = np.asarray(terms, np.int32)[order]
    guess = np.minimum(np.searchsorted(known, tokens), len(terms) - 1)
    place = np.flatnonzero(known[guess] == tokens)
    passage = np.repeat(np.arange(len(passages)), lengths)[place]
    begins = np.cumsum(lengths) - lengths
    titled = place - begins[passage] < title_terms[passage]
    return _Hits(passage, order[guess[place]], place, titled)


def _are_alike(some: set[int], others: set[int]) -> bool:
    fewer, more = sorted((len(some), len(others)))
    return fewer >= ALIKE * more and len(some & others) >= ALIKE * len(some | others)


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """Numbers of the `k` highest scores above 0, highest first; ties stay in order."""
    if k < len(scores):
        best = np.sort(np.argpartition(-scores, k - 1)[:k])
    else:
        best = np.arange(len(scores))
    best = best[scores[best] > 0]
    return best[np.argsort(-scores[best], kind="stable")]


def _proximity(
    hits: _Hits, weights: np.ndarray, distance: int, shape: tuple[int, int]
) -> np.ndarray:
    """The largest weight of distinct terms within a window of `distance` terms. Shape: [passage]

    A hit counts in the windows that end at it and at the hits after it: until its term comes again,
    or the window has left it behind. Time and memory are linear in the hits.
    """
    count = len(hits.place)
    begins = np.searchsorted(hits.passage, np.arange(shape[0]))
    first = np.maximum(hits.place - distance, hits.place[begins][hits.passage] - 1)
    left_behind = np.searchsorted(first, hits.place)
    order = np.argsort(hits.term, kind="stable")
    again = np.full(count, count)
    same = hits.term[order][:-1] == hits.term[order][1:]
    again[order[:-1][same]] = order[1:][same]
    weight = weights[hits.term].astype(np.float64)
    change = np.append(weight, 0.0)
    change -= np.bincount(np.minimum(again, left_behind), weight, count + 1)
    within = np.cumsum(change[:-1])
    return np.maximum.reduceat(within, begins).astype(np.float32)


def _bigrams(hits: _Hits, query: Query, shape: tuple[int, int]) -> np.ndarray:
    """The weighted share of the question's bigrams that the passage has. Shape: [passage]"""
    pairs = np.array(query.pairs, np.int64).reshape(-1, 2)
    weights = query.weights[pairs].sum(axis=1)
    if not query.pairs:
        return np.zeros(shape[0], np.float32)
    keys, terms = pairs @ [shape[1], 1], hits.term.astype(np.int64)
    order = np.argsort(keys, kind="stable")
    found = terms[:-1] * shape[1] + terms[1:]
    pair = order[np.searchsorted(keys, found, "right", order) - 1]
    pair[keys[pair] != found] = -1
    pair[(np.diff(hits.place) != 1) | (np.diff(hits.passage) != 0)] = -1
    seen = np.zeros((shape[0], len(pairs)), np.float32)
    seen[hits.passage[:-1][pair >= 0], pair[pair >= 0]] = 1
    return (seen * weights).sum(axis=1) / max(query.pairs_total, 1e-9)
