"""Dynamic batching: questions of many clients are read together.

This module is independent of HTTP. All calls come from one event loop, so it needs no locks.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from fabir.answer.predictor import Predictor, Reading

BATCHING_DELAY = 0.002  # seconds that a question waits for others to join its batch
# The size of a batch, in words to read: some hundredths of a second. A request for more is long.
BATCH_WORDS = 5_000
# With two batches at a time the processors are busy while the answers of one are sent. Of long
# requests one is read at a time, beside these.
CONCURRENT_BATCHES = 2
MAX_WAITING = 300_000  # words in a lane, about a second of work; further requests are rejected
_LONG_TEXT = 10_000  # characters that take a thousandth of a second or two to tokenise
_MOST_UNCOUNTED = 1_000_000  # characters of long texts that wait to be counted: a second, mostly
_BUSY = "too many questions are waiting: try again in a moment"
_MIN_WORDS = 60  # lower limit of the words that a question and passage count as


class BusyError(Exception):
    """Too much work is waiting."""


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """A question about one passage or several."""

    pairs: list[tuple[str, str]]
    top_k: int
    work: int
    since: float
    result: asyncio.Future[Any]


@dataclass(slots=True, eq=False)
class _Lane:
    """Requests that wait for each other, and the tasks that read them.

    at_a_time: batches that are read at a time
    waiting: words that wait to be read
    """

    at_a_time: int
    requests: deque[_Request] = field(default_factory=deque)
    running: set[asyncio.Task[Any] | None] = field(default_factory=set)
    waiting: int = 0


class Batcher:
    """Reads questions in batches. Long requests have a lane of their own, so that no short one
    waits for them.

    Args:
        predictor: reads the passages; nothing else may use it afterwards
        max_waiting: limit of words that wait to be read, of short requests and of long ones
        on_batch: gets the number of questions of every batch
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        max_waiting: int = MAX_WAITING,
        on_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        self.predictor = predictor
        self._max_waiting = max_waiting
        self._on_batch = on_batch
        self._short, self._long = _Lane(CONCURRENT_BATCHES), _Lane(1)
        self._threads = ThreadPoolExecutor(CONCURRENT_BATCHES + 1, "fabir-reader")
        self._counting = ThreadPoolExecutor(1, "fabir-counter")
        self._uncounted = 0  # characters of long texts whose words are still to be counted

    @property
    def waiting(self) -> int:
        """Words that wait to be read."""
        return self._short.waiting + self._long.waiting

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown()
        self._counting.shutdown()

    async def read(self, pairs: list[tuple[str, str]], top_k: int) -> list[Reading]:
        """Read pairs of question and passage, as `Predictor.read_all` does.

        Raises:
            InputError: see `Predictor.read_all`.
            BusyError: too much work is waiting.
        """
        # Texts are tokenised here, and the reading finds them in the cache. Long ones must not hold
        # up the event loop.
        size = sum(len(question) + len(passage) for question, passage in pairs)
        if size > _LONG_TEXT:
            if self._uncounted and self._uncounted + size > _MOST_UNCOUNTED:
                raise BusyError(_BUSY)
            self._uncounted += size
            loop = asyncio.get_running_loop()
            try:
                work = await loop.run_in_executor(self._counting, self.predictor.work, pairs)
            finally:
                self._uncounted -= size
        else:
            work = self.predictor.work(pairs)
        work = max(_MIN_WORDS * len(pairs), work)
        lane = self._long if work > BATCH_WORDS else self._short
        if lane.waiting and lane.waiting + work > self._max_waiting:
            raise BusyError(_BUSY)
        result = asyncio.get_running_loop().create_future()
        lane.requests.append(_Request(pairs, top_k, work, time.monotonic(), result))
        lane.waiting += work
        if len(lane.running) < lane.at_a_time:
            lane.running.add(asyncio.create_task(self._dispatch(lane)))
        return await result

    async def _dispatch(self, lane: _Lane) -> None:
        """Run batches until no request waits. New requests join the next batch."""
        loop = asyncio.get_running_loop()
        while lane.requests:
            pause = lane.requests[0].since + BATCHING_DELAY - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            batch = _take(lane)
            results = await loop.run_in_executor(self._threads, self._run_batch, batch)
            for request, result in zip(batch, results, strict=True):
                if request.result.done():  # the client has disconnected
                    continue
                if isinstance(result, Exception):
                    request.result.set_exception(result)
                else:
                    request.result.set_result(result)
        lane.running.discard(asyncio.current_task())

    def _run_batch(self, batch: list[_Request]) -> list[Any]:
        """In a worker thread: the result of each request, or its exception."""
        self._on_batch(sum(len(request.pairs) for request in batch))
        return self._read(batch)

    def _read(self, requests: list[_Request]) -> list[Any]:
        """Read the requests together. If that fails, read each alone to isolate the failing one."""
        pairs = [pair for request in requests for pair in request.pairs]
        try:
            top_k = max(request.top_k for request in requests)
            readings = list(self.predictor.read_all(pairs, top_k))
        except Exception as error:
            if len(requests) == 1:
                return [error]
            return [self._read([request])[0] for request in requests]
        left = iter(readings)
        return [
            [
                replace(reading, answers=reading.answers[: request.top_k])
                for reading in islice(left, len(request.pairs))
            ]
            for request in requests
        ]


def _take(lane: _Lane) -> list[_Request]:
    """The next batch of a lane."""
    batch = [lane.requests.popleft()]
    work = batch[0].work
    while lane.requests and work + lane.requests[0].work <= BATCH_WORDS:
        batch.append(lane.requests.popleft())
        work += batch[-1].work
    lane.waiting -= work
    return batch
