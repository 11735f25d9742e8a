"""Words that are near a word, by the cosine of their vectors."""

from itertools import islice

import numpy as np

from fabir.text.vectors import Vectors

_FREQUENT = 30_000  # words among which neighbours are looked for; files have frequent words first
_NEAREST = 5
_MINIMUM = 0.7  # cosine


class NearWords:
    """The nearest neighbours of words among the most frequent words of a vectors file."""

    def __init__(self, vectors: Vectors) -> None:
        self._words = vectors.words[:_FREQUENT]
        matrix = np.array(vectors.matrix[:_FREQUENT], np.float32)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        self._matrix = matrix / np.maximum(norms, 1e-12)
        self._rows = {word: row for row, word in enumerate(self._words)}
        self._found: dict[str, list[str]] = {}

    def near(self, word: str) -> list[str]:
        """Up to five words, the nearest first; none if the word is rare or has no near ones."""
        if word not in self._found:
            self._found[word] = self._search(word)
        return self._found[word]

    def _search(self, word: str) -> list[str]:
        row = self._rows.get(word, self._rows.get(word.lower()))
        if row is None:
            return []
        # Not `@`: its threads make sums, and so ties, depend on the machine.
        cosines = np.einsum("ij,j->i", self._matrix, self._matrix[row])
        near = np.flatnonzero(cosines >= _MINIMUM)
        words = [self._words[index] for index in near[np.argsort(-cosines[near], kind="stable")]]
        found = (near for near in words if near.isalpha() and near.lower() != word.lower())
        return list(islice(found, _NEAREST))
