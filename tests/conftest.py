"""Settings every test runs under: few threads, repeatable generated cases, no deadlines."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from calling import PASSAGE
from damage import THOROUGH
from factories import small_reader
from tiny import Files, write_files

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # some tests import onnxruntime before fabir does

# More threads make tests of this size slower, and the suite unpredictable on a busy machine.
torch.set_num_threads(1)

# Deadlines fail at random where other work shares the cores.
settings.register_profile("fabir", deadline=None, max_examples=1000 if THOROUGH else 50)
settings.load_profile("fabir")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: some wait for a browser, a server or a cluster."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: else one processor ends with them long after the others."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Nothing that was imported or collected becomes garbage: collections need not look at it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Caches of the tests' own, and the CPU also where there is a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ACCELERATE_USE_CPU", "true")
        patch.setenv("OMP_NUM_THREADS", "1")  # of processes that tests start
        yield


@pytest.fixture(autouse=True)
def _seed() -> None:
    """What hangs on chance hangs on the same chance each time."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The tiny data set and its word vectors."""
    return write_files(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny reader."""
    folder = tmp_path_factory.mktemp("reader")
    torch.manual_seed(0)
    small_reader().save(folder)
    return folder


@pytest.fixture
def passage(tmp_path: Path) -> Path:
    """The file of a passage."""
    path = tmp_path / "passage.txt"
    path.write_bytes(PASSAGE.encode())
    return path
