"""Which passages have which term how often, written from their terms in order.

A block of passages at a time, so that memory does not grow with the collection.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap

_BLOCK = 4_000_000  # terms in order that are sorted at once


def write_postings(
    folder: Path, tokens: np.ndarray, firsts: np.ndarray, stems: list[str]
) -> list[str]:
    """Write `tokens`, `starts`, `places` and `counts`; returns the stems in their new order.

    Args:
        tokens: numbers of terms, passage after passage
        firsts: where each passage's begin
        stems: what the numbers stand for. The new numbers are those of the sorted stems, without
            the ones that no passage has.
    """
    edges = np.append(firsts, len(tokens))
    frequency = np.zeros(len(stems), np.int64)
    for terms, _, _ in _blocks(tokens, edges):
        frequency += np.bincount(terms, minlength=len(stems))
    order = sorted(np.flatnonzero(frequency).tolist(), key=stems.__getitem__)
    new = np.zeros(len(stems), np.int32)
    new[order] = np.arange(len(order))
    starts = np.concatenate([[0], np.cumsum(frequency[order])])
    np.save(folder / "starts.npy", starts)
    renamed = open_memmap(folder / "tokens.npy", "w+", np.int32, tokens.shape)
    total = (int(starts[-1]),)
    places = open_memmap(folder / "places.npy", "w+", np.int32, total)
    counts = open_memmap(folder / "counts.npy", "w+", np.uint8, total)
    for begin in range(0, len(tokens), _BLOCK):
        renamed[begin : begin + _BLOCK] = new[tokens[begin : begin + _BLOCK]]
    free = starts[:-1].copy()  # where each term's next passage goes
    for terms, passages, times in _blocks(renamed, edges):
        distinct, first, number = np.unique(terms, return_index=True, return_counts=True)
        rank = np.arange(len(terms)) - np.repeat(first, number)
        target = free[terms] + rank
        places[target], counts[target] = passages, np.minimum(times, 255)
        free[distinct] += number
    return [stems[number] for number in order]


def _blocks(
    tokens: np.ndarray, edges: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Terms, passages and counts, by term and passage, of a block of passages at a time."""
    total = len(edges) - 1
    begin = 0
    while begin < total:
        end = int(np.searchsorted(edges, edges[begin] + _BLOCK, "right")) - 1
        end = min(max(end, begin + 1), total)
        lengths = np.diff(edges[begin : end + 1])
        keys = tokens[edges[begin] : edges[end]].astype(np.int64) * (end - begin)
        keys += np.repeat(np.arange(end - begin), lengths)
        pairs, times = np.unique(keys, return_counts=True)
        yield pairs // (end - begin), begin + pairs % (end - begin), times
        begin = end
