"""Questions read together: the same answers as alone, and nobody waits for ever."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from fabir.answer.predictor import Predictor, Reading
from fabir.errors import InputError
from fabir.serve import batching
from fabir.serve.batching import CONCURRENT_BATCHES, Batcher, BusyError
from factories import ABBEY, EXAMPLES, RAIN, small_reader

PAIRS = [(question, passage) for question, passage, *_ in EXAMPLES]


class Watched(Predictor):
    """Keeps what it is asked together; can be made to wait, and trips over a word."""

    def __init__(self) -> None:
        super().__init__(small_reader())
        self.asked: list[list[tuple[str, str]]] = []
        self.go = threading.Event()
        self.go.set()

    def read_all(self, pairs: Iterable[tuple[str, str]], top_k: int = 1, **options: Any) -> Any:
        pairs = list(pairs)
        self.asked.append(pairs)
        self.go.wait(60)
        if any(question == "trip" for question, _ in pairs):
            raise RuntimeError("tripped")
        return super().read_all(pairs, top_k)


def read_together(batcher: Batcher, *asked: tuple[str, str, int]) -> list[Any]:
    async def run() -> list[Any]:
        reads = (batcher.read([(question, passage)], top_k) for question, passage, top_k in asked)
        return await asyncio.gather(*reads, return_exceptions=True)

    found = asyncio.run(run())
    return [each if isinstance(each, Exception) else each[0] for each in found]


def test_the_size_of_a_batch_is_that_of_its_questions() -> None:
    sizes: list[int] = []
    batcher = Batcher(Watched(), on_batch=sizes.append)
    asyncio.run(batcher.read(PAIRS, 1))
    batcher.close()
    assert sizes == [len(PAIRS)]


def test_answers_are_those_of_the_predictor_alone() -> None:
    predictor = Watched()
    sizes: list[int] = []
    batcher = Batcher(predictor, on_batch=sizes.append)
    wanted = [1, 3, 2, 5]
    asked = [(*pair, top_k) for pair, top_k in zip(PAIRS, wanted, strict=True)]
    found = read_together(batcher, *asked)
    batcher.close()
    assert sizes == [4]
    assert predictor.asked == [PAIRS]
    for (question, passage, top_k), reading in zip(asked, found, strict=True):
        alone = next(Predictor(predictor.model).read_all([(question, passage)], top_k))
        assert [(a.text, a.start, a.end) for a in reading.answers] == [
            (a.text, a.start, a.end) for a in alone.answers
        ]
        # In bfloat16, and padded otherwise.
        assert reading.no_answer == pytest.approx(alone.no_answer, abs=0.02)


def test_what_fails_fails_alone() -> None:
    batcher = Batcher(Watched())
    asked = [("What falls?", RAIN, 1), ("trip", RAIN, 1), (" ", RAIN, 1), ("Who?", ABBEY, 0)]
    answered, tripped, blank, none = read_together(batcher, *asked)
    batcher.close()
    assert answered.answers
    assert isinstance(tripped, RuntimeError)
    assert isinstance(blank, InputError)
    assert isinstance(none, InputError)


def test_what_comes_while_all_are_reading_makes_the_next_batch() -> None:
    predictor = Watched()
    predictor.go.clear()
    batcher = Batcher(predictor)

    async def run() -> None:
        reads = []
        for number in range(CONCURRENT_BATCHES):
            reads.append(asyncio.create_task(batcher.read([PAIRS[number]], 1)))
            while len(predictor.asked) <= number:
                await asyncio.sleep(0.01)
        assert batcher.waiting == 0
        reads += [
            asyncio.create_task(batcher.read([pair], 1)) for pair in PAIRS[CONCURRENT_BATCHES:]
        ]
        await asyncio.sleep(0.05)
        assert batcher.waiting
        predictor.go.set()
        await asyncio.gather(*reads)
        assert batcher.waiting == 0
        assert (await batcher.read([PAIRS[0]], 1))[0].answers  # whoever read has not gone for ever

    asyncio.run(run())
    batcher.close()
    alone = [[pair] for pair in PAIRS[:CONCURRENT_BATCHES]]
    assert predictor.asked == [*alone, PAIRS[CONCURRENT_BATCHES:], PAIRS[:1]]


def test_a_batch_is_bounded_by_what_there_is_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "BATCH_WORDS", 140)
    monkeypatch.setattr(batching, "CONCURRENT_BATCHES", 1)
    predictor = Watched()
    batcher = Batcher(predictor)
    long = ("Where does rain fall from?", " ".join([RAIN] * 20), 1)
    read_together(batcher, (*PAIRS[0], 1), (*PAIRS[1], 1), (*PAIRS[2], 1), long, (*PAIRS[3], 1))
    batcher.close()
    assert sorted(len(asked) for asked in predictor.asked) == [1, 2, 2]
    assert [long[:2]] in predictor.asked


def test_too_much_is_turned_away_and_then_taken_again() -> None:
    predictor = Watched()
    predictor.go.clear()
    batcher = Batcher(predictor, max_waiting=140)

    async def run() -> None:
        first = asyncio.create_task(batcher.read([PAIRS[0]], 1))
        while not predictor.asked:
            await asyncio.sleep(0.01)
        waiting = [asyncio.create_task(batcher.read([pair], 1)) for pair in PAIRS[1:3]]
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="try again"):
            await batcher.read([PAIRS[3]], 1)
        predictor.go.set()
        await asyncio.gather(first, *waiting)
        assert (await batcher.read([PAIRS[3]], 1))[0].answers

    asyncio.run(run())
    batcher.close()


def test_long_questions_are_counted_beside_the_loop_and_not_without_end() -> None:
    predictor = Watched()
    batcher = Batcher(predictor)
    long = [("?! " * 200, "Rain falls.")] * 20
    threads: list[str] = []
    go = threading.Event()

    def work(pairs: list[tuple[str, str]]) -> int:
        threads.append(threading.current_thread().name)
        assert go.wait(10)
        return 1

    predictor.work = work  # pyright: ignore[reportAttributeAccessIssue]

    async def run() -> None:
        reads = [asyncio.create_task(batcher.read(long, 1)) for _ in range(90)]
        with pytest.raises(BusyError, match="try again"):
            await reads[-1]
        assert not any(read.done() for read in reads[:80])
        for read in reads:
            read.cancel()
        go.set()

    asyncio.run(run())
    batcher.close()
    assert all(name.startswith("fabir-counter") for name in threads)


def test_a_short_request_does_not_wait_for_long_ones() -> None:
    predictor = Watched()
    predictor.go.clear()
    batcher = Batcher(predictor)
    long = [("Where does rain fall from?", " ".join([RAIN] * 400))]

    async def run() -> None:
        reads = [asyncio.create_task(batcher.read(long, 1)) for _ in range(4)]
        while not predictor.asked:
            await asyncio.sleep(0.01)
        reads.append(asyncio.create_task(batcher.read([PAIRS[0]], 1)))
        while len(predictor.asked) < 2:
            await asyncio.sleep(0.01)
        assert predictor.asked == [long, [PAIRS[0]]]  # the other long ones wait for the first
        predictor.go.set()
        assert all(reading.answers for (reading,) in await asyncio.gather(*reads))

    asyncio.run(run())
    batcher.close()


def test_work_is_counted_in_words_of_windows_not_in_characters() -> None:
    predictor = Watched()
    predictor.go.clear()
    batcher = Batcher(predictor)

    async def run() -> None:
        reads = [asyncio.create_task(batcher.read([("?", "." * 6_000)], 1)) for _ in range(3)]
        while not predictor.asked:
            await asyncio.sleep(0.01)
        assert 2 * 6_000 <= batcher.waiting < 3 * 6_000
        predictor.go.set()
        await asyncio.gather(*reads)

    asyncio.run(run())
    batcher.close()


def test_one_who_leaves_does_not_disturb_the_others() -> None:
    batcher = Batcher(Watched())

    async def run() -> None:
        leaving = asyncio.create_task(batcher.read([PAIRS[0]], 1))
        staying = asyncio.create_task(batcher.read([PAIRS[1]], 1))
        await asyncio.sleep(0)
        leaving.cancel()
        assert (await staying)[0].answers

    asyncio.run(run())
    batcher.close()


def test_questions_about_several_passages_join_the_others() -> None:
    predictor = Watched()
    batcher = Batcher(predictor)

    async def run() -> list[list[Reading]]:
        asked = [batcher.read(PAIRS[:3], 2), batcher.read([], 1), batcher.read(PAIRS[3:], 1)]
        return await asyncio.gather(*asked)

    several, nothing, one = asyncio.run(run())
    batcher.close()
    assert predictor.asked == [PAIRS]
    assert [len(reading.answers) for reading in several] == [2, 2, 2]
    assert nothing == []
    assert [len(reading.answers) for reading in one] == [1]
