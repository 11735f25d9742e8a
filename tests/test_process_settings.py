"""Settings of the process: a library changes none of them unless asked, the command line does."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabir import process_settings
from fabir.cli import main
from fabir.process_settings import temporary_defaults, tune_process
from factories import ABBEY

QUESTION = "When was the abbey founded?"
PASSAGE = str(Path(__file__).parents[1] / "examples" / "precipitation.txt")
TUNED = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "ORT_DISABLE_TELEMETRY": "1",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "96",
    "LRU_CACHE_CAPACITY": "96",
}
ALLOCATOR = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
# Prints what a program changed: environment variables, and calls of mallopt.
PROGRAM = """
import ctypes, json, os, sys
calls = []
class Library(ctypes.CDLL):
    def mallopt(self, *given):
        calls.append(given)
ctypes.CDLL = Library
before = dict(os.environ)
{code}
assert not before.items() - os.environ.items()
print(json.dumps([dict(os.environ.items() - before.items()), calls]))
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Records the calls of mallopt, with none of the variables in the environment."""
    made: list[tuple[int, int]] = []

    class Library:
        def __init__(self, name: None) -> None: ...

        def mallopt(self, option: int, value: int) -> None:
            made.append((option, value))

    monkeypatch.setattr(process_settings.ctypes, "CDLL", Library)
    for name in (*TUNED, *ALLOCATOR):
        monkeypatch.setenv(name, "")  # so that what is set below is removed afterwards
        monkeypatch.delenv(name)
    return made


def changed(code: str, *arguments: str) -> list[Any]:
    """What a program of this code changes in a fresh process of its own."""
    environment = {
        name: value for name, value in os.environ.items() if name not in (*TUNED, *ALLOCATOR)
    }
    command = [sys.executable, "-c", PROGRAM.format(code=code), *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_program_that_answers_is_left_alone() -> None:
    code = "import fabir; fabir.Predictor.load().answer(*sys.argv[1:])[0]"
    assert changed(code, QUESTION, ABBEY) == [{}, []]


def test_commands_tune_their_process() -> None:
    code = "from fabir.cli import main; main(sys.argv[1:])"
    expected = [TUNED, [[-1, 64 << 20], [-3, 16 << 20]]]
    assert changed(code, "answer", QUESTION, "--passage", PASSAGE) == expected


def test_commands_that_train_do_not_limit_kernels(calls: list[tuple[int, int]]) -> None:
    with pytest.raises(SystemExit):
        main(["reproduce", "no-such-study", "--output", "nowhere"])
    assert {name for name in TUNED if name in os.environ} == {
        "OMP_WAIT_POLICY",
        "ORT_DISABLE_TELEMETRY",
    }
    assert len(calls) == 2


def test_a_process_is_tuned_when_asked(calls: list[tuple[int, int]]) -> None:
    tune_process()
    assert {name: os.environ[name] for name in TUNED} == TUNED
    assert calls == [(-1, 64 << 20), (-3, 16 << 20)]


def test_the_environment_stays(
    calls: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LRU_CACHE_CAPACITY", "7")
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    tune_process()
    assert os.environ["LRU_CACHE_CAPACITY"] == "7"
    assert calls == [(-3, 16 << 20)]


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_other_c_libraries_do_without(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def missing(name: None) -> None:
        raise error

    monkeypatch.setattr(process_settings.ctypes, "CDLL", missing)
    tune_process()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_temporary_variables_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABIR_GIVEN", "theirs")
    monkeypatch.delenv("FABIR_NEW", raising=False)
    before = dict(os.environ)
    with temporary_defaults({"FABIR_GIVEN": "1", "FABIR_NEW": "2"}):
        assert os.environ["FABIR_GIVEN"] == "theirs"
        assert os.environ["FABIR_NEW"] == "2"
    assert dict(os.environ) == before
