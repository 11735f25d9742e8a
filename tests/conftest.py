"""Settings every test runs under: few threads, repeatable generated cases, no deadlines."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from damage import THOROUGH
from factories import small_reader
from tiny import Files, write_files

# More threads make tests of this size slower, and the suite unpredictable on a busy machine.
torch.set_num_threads(1)

# Deadlines fail at random where other work shares the cores.
settings.register_profile("fabir", deadline=None, max_examples=1000 if THOROUGH else 50)
settings.load_profile("fabir")


@pytest.fixture(scope="session", autouse=True)
def _surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Caches of the tests' own, and the CPU also where there is a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ACCELERATE_USE_CPU", "true")
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
