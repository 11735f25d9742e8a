"""The inverted index: bm25s over the terms of the passages, in their order."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.format import write_array_header_1_0

from fabir.errors import InputError

if TYPE_CHECKING:
    from bm25s import BM25

K1, B = 0.9, 0.4
_BLOCK = 4_000_000  # terms to renumber at once


class _Passages(Sequence[list[int]]):
    """The terms of each passage, read on access."""

    def __init__(self, tokens: np.ndarray, firsts: np.ndarray) -> None:
        self._tokens, self._edges = tokens, np.append(firsts, len(tokens))

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, number: Any) -> Any:
        if number >= len(self):
            raise IndexError(number)
        return self._tokens[self._edges[number] : self._edges[number + 1]].tolist()


def write_postings(folder: Path, tokens: np.ndarray, firsts: np.ndarray, stems: list[str]) -> None:
    """Write `tokens.npy` and the files of bm25s. Stems that no passage has lose their numbers.

    Args:
        tokens: numbers of terms, passage after passage
        firsts: index in `tokens` at which each passage begins
        stems: the stem of each number

    Raises:
        InputError: bm25s is missing.
    """
    blocks = [slice(begin, begin + _BLOCK) for begin in range(0, len(tokens), _BLOCK)]
    used = np.zeros(len(stems), np.bool_)
    for block in blocks:
        used[tokens[block]] = True
    new = (np.cumsum(used) - 1).astype(np.int32)
    path = folder / "tokens.npy"
    with open(path, "wb") as file:  # and not a memory map: a full disk would kill the process
        header = {"descr": "<i4", "fortran_order": False, "shape": tokens.shape}
        write_array_header_1_0(file, header)
        for block in blocks:
            file.write(new[tokens[block]].astype("<i4").tobytes())
    renumbered = np.load(path, mmap_mode="r")
    kept = [stems[number] for number in np.flatnonzero(used)]
    bm25 = _bm25s()(method="lucene", k1=K1, b=B, csc_backend="numpy")
    bm25.vocab_dict = {stem: number for number, stem in enumerate(kept)}
    passages: Any = _Passages(renumbered, firsts)
    if not kept:  # bm25s has no empty index
        return
    bm25.scores = bm25.build_index_from_ids(list(range(len(kept))), passages, show_progress=False)
    bm25.save(folder, show_progress=False)


def read_postings(folder: Path) -> "BM25":
    """Open the files of `write_postings`, memory-mapped except for the vocabulary.

    Raises:
        InputError: bm25s is missing.
    """
    if not len(np.load(folder / "tokens.npy", mmap_mode="r")):
        empty = _bm25s()()
        empty.vocab_dict, empty.scores = {}, {"indptr": np.zeros(1, np.int64)}
        return empty
    return _bm25s().load(folder, mmap=True)


def _bm25s() -> "type[BM25]":
    try:
        from bm25s import BM25
    except ImportError as error:
        raise InputError("an index needs bm25s: pip install bm25s") from error
    return BM25
