"""The policy of all caches between calls: of word vectors, spellings and passages.

Each cache has `BUDGET` bytes. A cache that is full is emptied before the next entry. So memory is
bounded, and no bookkeeping of recent use is needed.
"""

from collections.abc import Callable

import numpy as np

from fabir.locks import make_lock

BUDGET = 32 << 20  # bytes of each cache
_ENTRY = 128  # bytes, about, of a key and its place


class VectorTable:
    """A cache of vectors by key. Several threads may share it."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self._lock = make_lock()
        self.clear()

    def __call__(
        self, keys: list[bytes], compute: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """[keys, dim] float32. `compute` takes indices of keys and returns their vectors."""
        with self._lock:
            place_of = self._places.get
            places = np.array([place_of(key, -1) for key in keys])
            new = np.flatnonzero(places < 0)
            if self._used + len(new) > len(self._table):
                self._places.clear()
                self._used, new = 0, np.arange(len(keys))
            if len(new):
                rows = compute(new)
                if len(rows) > len(self._table):
                    most = self.budget // (rows.itemsize * rows.shape[1] + _ENTRY)
                    self._table = np.empty((max(most, len(rows)), rows.shape[1]), np.float32)
                places[new] = range(self._used, self._used + len(new))
                self._table[places[new]] = rows
                self._places.update((keys[i], int(places[i])) for i in new)
                self._used += len(new)
            return self._table[places]

    def __len__(self) -> int:
        return self._used

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._places: dict[bytes, int] = {}
            self._used = 0
            self._table = np.empty((0, 0), np.float32)
