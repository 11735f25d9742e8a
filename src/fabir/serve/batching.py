"""Dynamic batching: questions of many clients are read together.

This module is independent of HTTP. All calls come from one event loop, so it needs no locks.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from fabir.answer.predictor import Predictor, Reading

BATCHING_DELAY = 0.002  # seconds that a question waits for others to join its batch
# The size of a batch, in characters to read. A batch takes a tenth of a second on two cores, so no
# client waits long for the passages of another.
BATCH_CHARACTERS = 25_000
# With two batches at a time the processors are busy while the answers of one are sent.
CONCURRENT_BATCHES = 2
MAX_WAITING = 1_500_000  # characters, a few seconds of work; further requests are rejected
_MIN_CHARACTERS = 300  # lower limit of the characters that a question and passage count as


class BusyError(Exception):
    """Too much work is waiting."""


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """A question about one passage or several."""

    pairs: list[tuple[str, str]]
    top_k: int
    characters: int
    since: float
    result: asyncio.Future[Any]


class Batcher:
    """Reads questions in batches.

    Args:
        predictor: reads the passages; nothing else may use it afterwards
        max_waiting: limit of characters that wait to be read
        on_batch: gets the number of requests of every batch
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        max_waiting: int = MAX_WAITING,
        on_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        self.predictor = predictor
        self.waiting = 0  # characters
        self._max_waiting = max_waiting
        self._on_batch = on_batch
        self._requests: deque[_Request] = deque()
        self._threads = ThreadPoolExecutor(CONCURRENT_BATCHES, "fabir-reader")
        self._running: set[asyncio.Task[Any] | None] = set()

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown()

    async def read(self, pairs: list[tuple[str, str]], top_k: int) -> list[Reading]:
        """Read pairs of question and passage, as `Predictor.read_all` does.

        Raises:
            InputError: see `Predictor.read_all`.
            BusyError: too much work is waiting.
        """
        characters = sum(
            max(_MIN_CHARACTERS, len(question) + len(passage)) for question, passage in pairs
        )
        if self.waiting and self.waiting + characters > self._max_waiting:
            raise BusyError("too many questions are waiting: try again in a moment")
        result = asyncio.get_running_loop().create_future()
        self._requests.append(_Request(pairs, top_k, characters, time.monotonic(), result))
        self.waiting += characters
        if len(self._running) < CONCURRENT_BATCHES:
            self._running.add(asyncio.create_task(self._dispatch()))
        return await result

    async def _dispatch(self) -> None:
        """Run batches until no request waits. New requests join the next batch."""
        loop = asyncio.get_running_loop()
        while self._requests:
            pause = self._requests[0].since + BATCHING_DELAY - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            batch = self._take()
            results = await loop.run_in_executor(self._threads, self._run_batch, batch)
            for request, result in zip(batch, results, strict=True):
                if request.result.done():  # the client has disconnected
                    continue
                if isinstance(result, Exception):
                    request.result.set_exception(result)
                else:
                    request.result.set_result(result)
        self._running.discard(asyncio.current_task())

    def _take(self) -> list[_Request]:
        batch = [self._requests.popleft()]
        characters = batch[0].characters
        while self._requests and characters + self._requests[0].characters <= BATCH_CHARACTERS:
            batch.append(self._requests.popleft())
            characters += batch[-1].characters
        self.waiting -= characters
        return batch

    def _run_batch(self, batch: list[_Request]) -> list[Any]:
        """In a worker thread: the result of each request, or its exception."""
        self._on_batch(len(batch))
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
