"""Questions of many clients, read together.

Knows nothing of HTTP. All is called from one event loop, so that nothing needs a lock.
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

GATHERING = 0.002  # seconds that a question waits for others to be read with
# Work is counted in characters to read: a batch of them takes a tenth of a second on two cores, so
# that nobody waits long for others' long passages.
BATCH = 25_000
# Batches at a time: while one ends and its answers are sent, the processors have the other.
TOGETHER = 2
WAITING = 1_500_000  # are turned away beyond it: a few seconds of work
_LEAST = 300  # characters that a short passage counts as


class BusyError(Exception):
    """More work is waiting than can be done soon."""


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """A question about a passage, or about several."""

    pairs: list[tuple[str, str]]
    top_k: int
    characters: int
    since: float
    result: asyncio.Future[Any]


class Batcher:
    """Reads together what is asked within a moment.

    Args:
        predictor: what reads; nobody else may use it from now on
        waiting: characters that may wait at a time
        noticed: told of every batch how many were asked in it
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        waiting: int = WAITING,
        noticed: Callable[[int], None] = lambda size: None,
    ) -> None:
        self.predictor = predictor
        self.waiting = 0  # characters
        self._most = waiting
        self._noticed = noticed
        self._jobs: deque[_Job] = deque()
        self._threads = ThreadPoolExecutor(TOGETHER, "fabir-reader")
        self._running: set[asyncio.Task[Any] | None] = set()

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown()

    async def read(self, pairs: list[tuple[str, str]], top_k: int) -> list[Reading]:
        """What the reader makes of questions and passages, as of `Predictor.read_all`.

        Raises:
            InputError: as of `Predictor.read_all`.
            BusyError: too much is waiting.
        """
        characters = sum(max(_LEAST, len(question) + len(passage)) for question, passage in pairs)
        if self.waiting and self.waiting + characters > self._most:
            raise BusyError("too many questions are waiting: try again in a moment")
        result = asyncio.get_running_loop().create_future()
        self._jobs.append(_Job(pairs, top_k, characters, time.monotonic(), result))
        self.waiting += characters
        if len(self._running) < TOGETHER:
            self._running.add(asyncio.create_task(self._run()))
        return await result

    async def _run(self) -> None:
        """Batch after batch until nobody waits; what arrives meanwhile makes the next one."""
        loop = asyncio.get_running_loop()
        while self._jobs:
            pause = self._jobs[0].since + GATHERING - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            batch = self._take()
            results = await loop.run_in_executor(self._threads, self._work, batch)
            for job, result in zip(batch, results, strict=True):
                if job.result.done():  # whoever asked has gone
                    continue
                if isinstance(result, Exception):
                    job.result.set_exception(result)
                else:
                    job.result.set_result(result)
        self._running.discard(asyncio.current_task())

    def _take(self) -> list[_Job]:
        batch = [self._jobs.popleft()]
        characters = batch[0].characters
        while self._jobs and characters + self._jobs[0].characters <= BATCH:
            batch.append(self._jobs.popleft())
            characters += batch[-1].characters
        self.waiting -= characters
        return batch

    def _work(self, batch: list[_Job]) -> list[Any]:
        """In a thread of ours: the result of each job, or the exception it ended with."""
        self._noticed(len(batch))
        return self._read(batch)

    def _read(self, jobs: list[_Job]) -> list[Any]:
        """All together; should that fail, each alone, so that one cannot spoil another's answer."""
        pairs = [pair for job in jobs for pair in job.pairs]
        try:
            readings = list(self.predictor.read_all(pairs, max(job.top_k for job in jobs)))
        except Exception as error:
            return [error] if len(jobs) == 1 else [self._read([job])[0] for job in jobs]
        left = iter(readings)
        return [
            [
                replace(reading, answers=reading.answers[: job.top_k])
                for reading in islice(left, len(job.pairs))
            ]
            for job in jobs
        ]
