"""A Predictor in other processes: forked, spawned, pickled, copied, in joblib's workers."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asking import spans
from fabir.answer.pipeline import pipeline
from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.locks import make_lock
from fabir.runtime.locate import BUNDLED
from fabir.runtime.onnx_model import OnnxModel
from fabir.runtime.store import copy_model
from fabir.runtime.torch_model import TorchModel
from factories import EXAMPLES, small_reader

PAIRS = [(question, f"{passage} {passage}") for question, passage, _, _ in EXAMPLES] * 8
LONGEST = 60  # seconds that a process may take


@pytest.fixture(params=[OnnxModel, TorchModel])
def predictor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Predictor:
    """One that reads the pairs in several batches, in two threads; others here read them so too."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(request.param, "parallel", 2)
    monkeypatch.setattr(request.param, "batch_words", 64)
    return Predictor.load() if request.param is OnnxModel else Predictor(small_reader())


def in_a_fork(work: Callable[[], Any]) -> Any:
    """What `work` returns in a child that is forked from here; fails if it hangs."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sending.send(work()))
    process.start()
    sending.close()  # so that a child that fails ends the waiting
    try:
        assert receiving.poll(LONGEST), "the child hangs"
        return receiving.recv()
    finally:
        process.kill()


def test_a_fork_answers_what_its_parent_answers(predictor: Predictor) -> None:
    expected = spans(predictor, PAIRS)  # and threads are alive from now on
    assert in_a_fork(lambda: spans(predictor, PAIRS)) == expected
    assert in_a_fork(lambda: in_a_fork(lambda: spans(predictor, PAIRS))) == expected
    assert spans(predictor, PAIRS) == expected


def test_a_program_ends_while_a_thread_of_its_reads() -> None:
    """The thread may fail then, but it must not wait for ever."""
    code = """
import threading, time
from fabir import Predictor
predictor = Predictor.load()
def ask():
    for _ in predictor.answer_all([("Who built it?", "The mill was built by Ada. " * 3000)] * 40):
        pass
thread = threading.Thread(target=ask)
thread.start()
time.sleep(0.7)  # by now it reads, for some seconds
print(thread.is_alive())
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    ended = subprocess.run(
        [sys.executable, "-c", code], timeout=LONGEST, capture_output=True, env=environment
    )
    assert (ended.returncode, ended.stdout) == (0, b"True\n")


def test_a_fork_answers_while_others_ask_its_parent(predictor: Predictor) -> None:
    expected, ended = spans(predictor, PAIRS), threading.Event()

    def ask() -> None:
        while not ended.is_set():
            predictor.forget()
            spans(predictor, PAIRS)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            assert in_a_fork(lambda: spans(predictor, PAIRS)) == expected
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_a_fork_waits_for_who_holds_a_lock() -> None:
    lock, held = make_lock(), threading.Event()
    done = []

    def hold() -> None:
        with lock:
            held.set()
            time.sleep(0.2)
            done.append(True)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert in_a_fork(lambda: (lock.acquire(timeout=5), done)) == (True, [True])
    thread.join()
    assert lock.acquire(timeout=5)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_answers_like_the_first(
    predictor: Predictor, duplicate: Callable[[Any], Any]
) -> None:
    small = Predictor(
        predictor.model, window=20, stride=10, max_words=3, memory=1000, threshold=0.125
    )
    small.model.no_answer_threshold = 0.875
    other = duplicate(small)
    assert (other.window, other.stride, other.max_words) == (20, 10, 3)
    assert (other.memory, other.threshold) == (1000, 0.125)
    assert other.model is not small.model
    assert other.model.no_answer_threshold == 0.875
    assert other.model.calibration == small.model.calibration
    assert spans(other, PAIRS) == spans(small, PAIRS)


def test_an_exported_model_is_pickled_as_its_folder() -> None:
    assert len(pickle.dumps(Predictor.load())) < 2000


def test_a_pipeline_is_pickled_with_its_options() -> None:
    asking = pipeline(top_k=2, max_answer_len=4)
    other = pickle.loads(pickle.dumps(asking))
    question, passage = PAIRS[0]
    assert other(question=question, context=passage) == asking(question=question, context=passage)


def test_a_folder_that_was_replaced_is_not_taken_for_the_pickled_one(tmp_path: Path) -> None:
    copy_model(BUNDLED, tmp_path)
    data = pickle.dumps(Predictor.load(tmp_path))
    assert isinstance(pickle.loads(data), Predictor)
    small_reader().save(tmp_path)
    with pytest.raises(InputError, match=str(tmp_path)):
        pickle.loads(data)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_new_process_answers_too(predictor: Predictor, method: str) -> None:
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap_async(spans, [(predictor, PAIRS)] * 2).get(2 * LONGEST)
    assert found == [spans(predictor, PAIRS)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblibs_workers_answer_too(predictor: Predictor, backend: str) -> None:
    import joblib

    tasks = [joblib.delayed(spans)(predictor, PAIRS)] * 4
    found = joblib.Parallel(2, backend=backend, timeout=2 * LONGEST)(tasks)
    assert found == [spans(predictor, PAIRS)] * 4


def test_forgetting_gives_back_all_memory() -> None:
    predictor = Predictor.load()
    tracemalloc.start()
    try:
        predictor.answer(*PAIRS[0])
        predictor.forget()
        before = tracemalloc.get_traced_memory()[0]
        predictor.answer("Who?", " ".join(f"word{number}" for number in range(20_000)))
        assert tracemalloc.get_traced_memory()[0] - before > 5e6
        predictor.forget()
        assert tracemalloc.get_traced_memory()[0] - before < 1e6
    finally:
        tracemalloc.stop()
