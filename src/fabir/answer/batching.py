"""Windows sorted by length, batched within a budget of words, and run through a model.

This module handles windows and logits. The Predictor handles texts and answers.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain, groupby
from typing import NamedTuple, TypeVar

import numpy as np

from fabir.answer.merging import Found
from fabir.answer.passages import Part, PassageCache, count_words
from fabir.answer.spans import Spans, top_spans
from fabir.data.batches import Batch, SpanLogits, collate, round_up
from fabir.errors import InputError
from fabir.locks import make_lock
from fabir.runtime.base import Model
from fabir.text.vocabulary import WordTable

T = TypeVar("T")
R = TypeVar("R")


class Window(NamedTuple):
    """A part of a passage with one question about it.

    support: what is added to the logits of each word, see `Layout.support`; None for nothing
    """

    pair: int
    question: list[str]
    part: Part
    support: np.ndarray | None = None


class Plan(NamedTuple):
    """How a chunk of windows is divided into batches.

    batches: indices into the chunk; the windows of a batch are of similar length
    cached: parts whose encodings are in the cache; all parts of a batch are cached, or none
    cache: whether new encodings go into the cache
    """

    batches: list[list[int]]
    cached: set[Part]
    cache: bool


class Started(NamedTuple):
    """A chunk that is being read: its results, and a function that drops what is not begun."""

    found: Iterator[Found]
    drop: Callable[[], None]


class BatchedModel:
    """Runs a model on windows, several batches at a time. Threads may share it.

    Args:
        passages: the cache of encoded passages
        max_words: words of the longest answer
    """

    chunk = 2048  # windows that are sorted by length together: each length has its own kernels
    most_cached = 1 << 16  # words of one call's passages; more would evict each other

    def __init__(self, model: Model, passages: PassageCache, max_words: int) -> None:
        self._model, self._passages, self._max_words = model, passages, max_words
        self._table = WordTable(model.vocabulary)
        self._lock = make_lock()
        self._parallel = model.parallel
        self._pool: tuple[int, ThreadPoolExecutor] | None = None  # with its process

    def read(self, chunk: list[Window], top_k: int) -> Started:
        """Candidates and masses of each window, in the order of the chunk.

        The call starts several batches at a time, each in its own thread. That is faster than
        several threads for each batch. Calls at the same time take turns.
        """
        plan = self._plan(chunk)
        batches = [[chunk[i] for i in chosen] for chosen in plan.batches]
        read = partial(self._read_batch, plan=plan, top_k=top_k)
        if min(self._parallel, len(batches)) > 1:
            found, drop = _map_in_turns(self._threads(), read, batches, self._parallel)
        else:
            found, drop = map(read, batches), lambda: None
        return Started(_in_order(plan.batches, found), drop)

    def work(self, windows: Iterable[Window]) -> int:
        """How much there is to read: the words of all windows, or of the question if it is longer
        than the window."""
        return sum(max(len(window.part.words), len(window.question)) for window in windows)

    def clear(self) -> None:
        """Empty the caches of spellings, passages and the model's vectors."""
        with self._lock:
            self._table = WordTable(self._model.vocabulary)
        self._passages.clear()
        self._model.clear()

    def _threads(self) -> ThreadPoolExecutor:
        """This process's threads: a fork does not inherit its parent's threads."""
        with self._lock:
            if self._pool is None or self._pool[0] != os.getpid():
                self._pool = os.getpid(), ThreadPoolExecutor(self._parallel)
            return self._pool[1]

    def _plan(self, chunk: list[Window]) -> Plan:
        """Batches of similar length, within a budget of padded words.

        Questions about one part stay together. Cached parts have batches of their own, which skip
        the encoding.
        """
        longest: dict[Part, int] = {}  # the longest question about each part: it sets the padding
        for window in chunk:
            longest[window.part] = max(longest.get(window.part, 0), len(window.question))
        cache = len(chunk) < self.chunk and count_words(longest) <= self.most_cached
        cached = {part for part in longest if cache and part.encoded is not None}

        step = self._model.steps.passage
        lengths = {part: round_up(len(part.words), step) for part in longest}
        keys = {part: (part in cached, -lengths[part], longest[part]) for part in longest}
        order = sorted(range(len(chunk)), key=lambda i: keys[chunk[i].part])
        # A row of a batch has the passage's words beside the question's: the longer ones count.
        rows = [max(lengths[window.part], len(window.question)) for window in chunk]
        most = min(self._model.batch_words, -(-sum(rows) // self._parallel))  # one for each thread
        batches: list[list[int]] = []
        for _, group in groupby(order, key=lambda i: chunk[i].part in cached):
            batch: list[int] = []
            widest = 0
            for i in group:
                widest = max(widest, rows[i])
                if batch and (len(batch) + 1) * widest > most:
                    batches.append(batch)
                    batch, widest = [], rows[i]
                batch.append(i)
            batches.append(batch)
        return Plan(batches, cached, cache)

    def _collate(self, batch: list[Window], parts: list[Part]) -> Batch[np.ndarray]:
        rows = {part: row for row, part in enumerate(parts)}
        passage_of = [rows[window.part] for window in batch]
        with self._lock:
            if self._table.size > self._passages.budget:
                self._table = WordTable(self._model.vocabulary)
            number = self._table.number
            passages = [number(part.words) for part in parts]
            questions = [number(window.question) for window in batch]
            return collate(self._table, passages, questions, passage_of, self._model.steps)

    def _read_batch(self, batch: list[Window], *, plan: Plan, top_k: int) -> list[Found]:
        parts = list(dict.fromkeys(window.part for window in batch))
        arrays = self._collate(batch, parts)
        cached = parts[0] in plan.cached
        vectors = self._model.embed(arrays, questions_only=cached)
        if cached:
            encoded = self._passages.get(parts, arrays.passage.shape[1])
        else:
            encoded = self._model.encode(arrays, vectors)
            if plan.cache:
                self._passages.put(parts, encoded, (arrays.passage > 0).sum(axis=1).tolist())
        logits = self._model.answer(arrays, vectors, encoded)
        first = len(self._table.before)  # the first word, after the no-answer position if any
        return _decode(batch, logits, first, self._max_words, top_k)


def _map_in_turns(
    pool: ThreadPoolExecutor, function: Callable[[T], R], items: Sequence[T], threads: int
) -> tuple[Iterator[R], Callable[[], None]]:
    """The same as `pool.map`, and a function that drops the items which are not begun. Only
    `threads` items are in the pool's queue at a time, so that several calls advance side by side.
    """
    futures: list[Future[R]] = [Future() for _ in items]
    left = deque(zip(futures, items, strict=True))

    def step() -> None:
        try:
            future, item = left.popleft()
        except IndexError:
            return
        try:
            future.set_result(function(item))
        except BaseException as error:
            future.set_exception(error)
        submit()

    def submit() -> None:
        if not left:
            return
        try:
            pool.submit(step)
        except RuntimeError as error:  # the program ends
            while left:
                with suppress(IndexError):
                    left.popleft()[0].set_exception(error)

    for _ in range(threads):
        submit()
    return (future.result() for future in futures), left.clear


def _in_order(rows: list[list[int]], found: Iterable[list[Found]]) -> Iterator[Found]:
    """The results of all batches, sorted by row number."""
    results = dict(zip(chain(*rows), chain.from_iterable(found), strict=True))
    yield from map(results.__getitem__, range(len(results)))


def _decode(
    batch: list[Window],
    logits: SpanLogits[np.ndarray],
    first: int,
    max_words: int,
    top_k: int,
) -> list[Found]:
    """What was found in each window of a batch.

    Shape: logits [batch, first + passage] each

    Raises:
        InputError: a logit is not finite.
    """
    start, end = logits.start[:, first:], logits.end[:, first:]
    length = start.shape[1]
    max_words = min(max_words, length)
    support = _padded([window.support for window in batch], length)
    if support is not None:
        start, end = start + support, end + support
    wanted = min(_spans_for(top_k, max_words), length * max_words)
    lines = _padded([window.part.lines for window in batch], length)
    punctuation = _padded([window.part.punctuation for window in batch], length)
    spans = top_spans(
        start, end, max_words=max_words, k=wanted, lines=lines, punctuation=punctuation
    )
    masses = _log_sum(start), _log_sum(end)
    none = [] if logits.no_answer is None else [logits.no_answer]
    if not np.isfinite([*masses, *none]).all():
        raise InputError("the model's logits are not finite: its weights are damaged or too large")
    heads = [None] * len(batch) if logits.no_answer is None else logits.no_answer.tolist()
    before = [logits.start[:, 0].tolist(), logits.end[:, 0].tolist()] if first else []
    rows = zip(*(mass.tolist() for mass in masses), heads, *before, strict=True)
    found = []
    for i, (window, row) in enumerate(zip(batch, rows, strict=True)):
        part, words = window.part, len(window.part.words)
        sides = start[i, :words], end[i, :words]
        more = wanted < length * max_words
        every = partial(_every_span, part, *sides, max_words) if more else None
        found.append(Found(part, *sides, _real(spans, i), every, *row))
    return found


def _every_span(part: Part, start: np.ndarray, end: np.ndarray, max_words: int) -> Spans:
    """All spans of one window, best first. Shape: start, end [words] -> [spans]"""
    rows = [None if row is None else row[None] for row in (part.lines, part.punctuation)]
    found = top_spans(
        *(start[None], end[None]),
        max_words=max_words,
        k=len(start) * max_words,
        lines=rows[0],
        punctuation=rows[1],
    )
    return _real(found, 0)


def _real(spans: Spans, row: int) -> Spans:
    """The spans of one passage that exist."""
    real = spans.score[row] > -np.inf
    return Spans(*(column[row, real] for column in spans))


def _padded(rows: list[np.ndarray | None], length: int) -> np.ndarray | None:
    """What each window has of each word: [batch, length], padded with 0; None if none has it."""
    known = [row for row in rows if row is not None]
    if not known:
        return None
    padded = np.zeros((len(rows), length), known[0].dtype)
    for place, row in zip(padded, rows, strict=True):
        if row is not None:
            place[: len(row)] = row
    return padded


def _spans_for(top_k: int, n: int) -> int:
    """How many of a window's best spans are enough to hold its share of the `top_k` answers.

    Spans have at most `n` words. A span of that length overlaps at most `n * n` spans that start
    inside it, and `n * (n - 1) / 2` spans that start before it.
    """
    return 1 + (top_k - 1) * (n * n + n * (n - 1) // 2)


def _log_sum(logits: np.ndarray) -> np.ndarray:
    """The log-sum-exp of each row. Shape: [batch, passage] -> [batch] float64"""
    highest = logits.max(axis=1)
    return np.log(np.exp(logits - highest[:, None]).sum(axis=1, dtype=np.float64)) + highest
