"""Memory allocator settings: applied once, and never over the environment's own."""

import os

import pytest

from fabir import memory_allocator
from fabir.memory_allocator import prepare_to_answer

NAMES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Records the calls of mallopt, with none of the variables in the environment."""
    made: list[tuple[int, int]] = []

    class Library:
        def __init__(self, name: None) -> None: ...

        def mallopt(self, option: int, value: int) -> None:
            made.append((option, value))

    monkeypatch.setattr(memory_allocator.ctypes, "CDLL", Library)
    for name in (*NAMES, "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
        monkeypatch.delenv(name, raising=False)
    prepare_to_answer.cache_clear()
    return made


def test_kernels_are_bounded_and_memory_is_kept_once(calls: list[tuple[int, int]]) -> None:
    prepare_to_answer()
    prepare_to_answer()
    assert {os.environ[name] for name in NAMES} == {"96"}
    assert calls == [(-1, 64 << 20), (-3, 16 << 20)]


def test_the_environment_stays(
    calls: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LRU_CACHE_CAPACITY", "7")
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    prepare_to_answer()
    assert os.environ["LRU_CACHE_CAPACITY"] == "7"
    assert calls == [(-3, 16 << 20)]


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_other_c_libraries_do_without(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def missing(name: None) -> None:
        raise error

    monkeypatch.setattr(memory_allocator.ctypes, "CDLL", missing)
    prepare_to_answer.cache_clear()
    prepare_to_answer()
