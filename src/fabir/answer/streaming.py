"""A stream of items and of their results. While the next item is waited for, results are given."""

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fabir.answer.batching import BatchedModel, Started, Window
from fabir.answer.merging import Found, Reading, merge
from fabir.runtime.settings import Confidence

T = TypeVar("T")
FIRST = 64  # items taken before the first answer, at most
MOST = 6144  # items taken before their answers, at most
_PATIENCE = 0.005  # seconds without an item after which the source waits


class Source(Generic[T]):
    """Items of an iterable, and whether it waits.

    A sequence never waits. Anything else is read ahead in a thread of its own: as many items as
    have been answered, at least `FIRST` and at most `MOST`.

    Iterate inside `with`, which stops the thread. The iterable's own exception ends the items, and
    `raise_error` raises it.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._items = items
        self._ahead = not isinstance(items, Sequence)
        self._changed = threading.Condition()
        self._come: deque[T] = deque()
        self._taken = self._answered = 0
        self._over = False
        self._error: BaseException | None = None

    def __enter__(self) -> "Source[T]":
        if self._ahead:
            run = contextvars.copy_context().run
            threading.Thread(target=run, args=[self._read], daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[T]:
        if not self._ahead:
            yield from self._items
            return
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._come or self._over)
                if not self._come:
                    return
                item = self._come.popleft()
            yield item

    def waits(self) -> bool:
        """Whether it has more items, but none has come."""
        if not self._ahead:
            return False
        with self._changed:
            come = self._come
            self._changed.wait_for(lambda: come or not self._has_room() or self._over, _PATIENCE)
            return not come and not self._over

    def answered(self, count: int) -> None:
        """Say that so many more items have their answers."""
        with self._changed:
            self._answered += count
            self._changed.notify_all()

    def raise_error(self) -> None:
        """Raise the iterable's own exception, if that was its end."""
        if self._error is not None:
            raise self._error

    def _has_room(self) -> bool:
        most = min(max(FIRST, self._answered), MOST)
        return self._taken - self._answered < most

    def _read(self) -> None:
        try:
            for item in self._items:
                with self._changed:
                    self._come.append(item)
                    self._taken += 1
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._has_room() or self._over)
                    if self._over:
                        return
        except BaseException as error:
            self._error = error
        finally:
            self.__exit__()


@dataclass(slots=True)
class _Asked:
    """An item whose result is not given yet: what was found in its windows, or its error."""

    passage: str = ""
    error: Exception | None = None
    found: list[Found] = field(default_factory=list)


class Stream(Generic[T]):
    """Results of items, in their order.

    Args:
        windows_of: the passage of an item and its windows, from the item and its number, counted
            from 0. An exception of it is the item's error
        batched, top_k, confidence: read the windows and make results of what was found
    """

    def __init__(
        self,
        windows_of: Callable[[T, int], tuple[str, list[Window]]],
        batched: BatchedModel,
        top_k: int,
        confidence: Confidence,
    ) -> None:
        self._windows_of, self._batched = windows_of, batched
        self._top_k, self._confidence = top_k, confidence
        self._asked: deque[_Asked] = deque()  # the items without a result
        self._first = 0  # the number of the first of these

    def read(self, items: Iterable[T]) -> Generator[Reading | Exception]:
        """Yield the result of each item, or its error."""
        started: deque[tuple[list[Window], int, Started]] = deque()
        with Source(items) as source:
            try:
                for chunk, upto in self._chunks(source):
                    started.append((chunk, upto, self._batched.read(chunk, self._top_k)))
                    # While other threads run the model on a chunk, this one makes the next chunk.
                    while len(started) > 1 or (started and source.waits()):
                        yield from self._results(source, *started.popleft())
                while started:
                    yield from self._results(source, *started.popleft())
                source.raise_error()
            finally:
                for *_, each in started:
                    each.drop()

    def _chunks(self, source: Source[T]) -> Iterator[tuple[list[Window], int]]:
        """Windows, and the number of items that they and the chunks before them complete."""
        chunk: list[Window] = []
        most = self._batched.chunk
        number = 0
        for item in source:
            try:
                passage, windows = self._windows_of(item, number)
                self._asked.append(_Asked(passage))
                chunk += windows
            except Exception as error:
                self._asked.append(_Asked(error=error))
            while len(chunk) > most:
                yield chunk[:most], number
                chunk = chunk[most:]
            number += 1
            if len(chunk) == most or source.waits():
                yield chunk, number
                chunk = []
        yield chunk, number

    def _results(
        self, source: Source[T], chunk: list[Window], upto: int, started: Started
    ) -> Iterator[Reading | Exception]:
        try:
            for window, result in zip(chunk, started.found, strict=True):
                self._asked[window.pair - self._first].found.append(result)
        finally:
            started.drop()
        while self._first < upto:
            done = self._asked.popleft()
            self._first += 1
            source.answered(1)
            yield done.error or merge(done.passage, done.found, self._top_k, self._confidence)
