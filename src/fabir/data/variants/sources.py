"""What variants are made from: a passage, its article, and all the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fabir.data.dataset import Dataset, Passage, Question
from fabir.data.negatives import OtherPassages
from fabir.data.variants.entities import Entities, Entity, Kind, Pool
from fabir.data.variants.near_words import NearWords
from fabir.text.tokens import tokenise


@dataclass(frozen=True, slots=True)
class Variant:
    """A changed question about a passage's text. The question has its id still."""

    text: str
    question: Question


class Corpus:
    """All the data: its entities, and the near words of words, if there are vectors."""

    def __init__(self, data: Dataset, near_words: NearWords | None) -> None:
        texts = [passage.text for passage in data.passages]
        self.entities = Entities(texts)
        self.near_words = near_words
        self._texts = texts

    @cached_property
    def pool(self) -> Pool:
        pool = Pool()
        for text in self._texts:
            pool.add(self.entities.find(text))
        return pool


class Article:
    """The passages of an article."""

    def __init__(self, passages: Sequence[Passage], corpus: Corpus) -> None:
        self.passages = passages
        self.corpus = corpus

    @cached_property
    def others(self) -> OtherPassages:
        return OtherPassages(self.passages)

    @cached_property
    def lengths(self) -> np.ndarray:
        """[passages] tokens."""
        return np.array([len(tokenise(passage.text).words) for passage in self.passages])

    @cached_property
    def pool(self) -> Pool:
        pool = Pool()
        for passage in self.passages:
            pool.add(self.corpus.entities.find(passage.text))
        return pool


@dataclass(frozen=True, slots=True)
class Source:
    """A passage, and its place in its article."""

    article: Article
    place: int

    @property
    def passage(self) -> Passage:
        return self.article.passages[self.place]

    def entities(self, text: str) -> list[Entity]:
        return self.article.corpus.entities.find(text)

    def other_entity(
        self, kind: Kind, avoid: frozenset[str], generator: np.random.Generator
    ) -> str | None:
        """An entity of the article, or else of the data; it shares no word with `avoid`."""
        found = self.article.pool.draw(kind, avoid, generator)
        return found or self.article.corpus.pool.draw(kind, avoid, generator)
