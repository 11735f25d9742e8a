"""Several processes started by fabir itself learn what one learns."""

import builtins
import errno
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from torch.multiprocessing.spawn import start_processes

from fabir.errors import InputError
from fabir.process_settings import TRAINING
from fabir.training import launch
from fabir.training.launch import best_processes
from fabir.training.settings import TrainingConfig
from tiny import NO_DROPOUT, Files, run_config, train_tiny
from tracking import assert_settings, assert_tracked


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # with it accelerate is silent
    environment = dict(os.environ)
    config = run_config(NO_DROPOUT, average=0.9, seed=1)  # no spans nearly tie
    for processes in (1, 2):
        output = tmp_path / str(processes)
        train_tiny(files, output, config, processes=processes, log_with=["tensorboard"])
        assert_tracked(output)
        assert_settings(output, "training.epochs: 3", "reader: fabir", "network.heads: 2")
    one, two = (evaluations(tmp_path / str(processes)) for processes in (1, 2))
    assert len(one) == len(two) == config.training.epochs
    # Not the weights: Adam makes steps of rounding errors where a gradient is zero.
    assert [loss for loss, _ in two] == pytest.approx([loss for loss, _ in one], abs=1e-4)
    assert [f1 for _, f1 in two] == pytest.approx([f1 for _, f1 in one])
    assert "Warning" not in capfd.readouterr().err
    changed = os.environ.items() - environment.items()
    assert not {name for name, _ in changed} & {*TRAINING}


def evaluations(folder: Path) -> list[tuple[float, float]]:
    """Loss and F1 of each evaluation of a run."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [(line["loss"], line["f1"]) for line in map(json.loads, lines) if "f1" in line]


def test_no_processes_are_refused(files: Files, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 1 process"):
        train_tiny(files, tmp_path / "run", run_config(), processes=0)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """New processes are forks of this one: they import nothing again."""
    AcceleratorState._reset_state(reset_partial_state=True)  # this process may have trained

    def start(*given: Any, **options: Any) -> Any:
        return start_processes(*given, **options | {"start_method": "fork"})

    monkeypatch.setattr(launch, "start_processes", start)


@pytest.mark.usefixtures("forks")
def test_what_a_process_finds_wrong_is_said_as_if_it_were_this_one(
    files: Files, tmp_path: Path
) -> None:
    (tmp_path / "run").touch()
    for processes in (1, 2):
        with pytest.raises(InputError, match=f"cannot write {tmp_path / 'run'}.*not a folder"):
            train_tiny(files, tmp_path / "run", run_config(), processes=processes)


@pytest.mark.usefixtures("forks")
def test_a_full_disk_is_said_in_a_line(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In each new process writing metrics fails, and the job is gone by then.
    opened, here = builtins.open, os.getpid()

    def full(file: Any, mode: str = "r", *rest: Any, **others: Any) -> Any:
        if str(file).endswith("metrics.jsonl") and mode != "r" and os.getpid() != here:
            assert not list(tmp_path.glob("*/job"))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        return opened(file, mode, *rest, **others)

    monkeypatch.setattr(builtins, "open", full)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputError, match=r"metrics.jsonl: No space left on device"):
        train_tiny(files, tmp_path / "run", run_config(), processes=2)


def test_a_process_for_each_thread_but_not_for_a_handful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("RANK", raising=False)
    assert best_processes(TrainingConfig(batch_size=75)) == 4
    assert best_processes(TrainingConfig(batch_size=33)) == 2
    assert best_processes(TrainingConfig(batch_size=8)) == 1
    monkeypatch.setenv("RANK", "0")  # a launcher has started this one
    assert best_processes(TrainingConfig(batch_size=75)) == 1


_KILLED = """
import multiprocessing, os, signal, time
from fabir.training.launch import end_with_parent

def work():
    end_with_parent()
    print(os.getpid(), flush=True)
    time.sleep(100)

signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background
multiprocessing.get_context("fork").Process(target=work).start()
time.sleep(100)
"""


def test_a_process_ends_with_the_one_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", _KILLED], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        child = int(run.stdout.readline())
        run.kill()
    deadline = time.monotonic() + 20
    while alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2][:3]
