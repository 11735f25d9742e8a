"""Several processes started by fabir itself learn what one learns."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch

from fabir.errors import InputError
from fabir.process_settings import TRAINING
from fabir.training.launch import best_processes
from fabir.training.settings import TrainingConfig
from tiny import NO_DROPOUT, Files, run_config, train_tiny
from tracking import assert_settings, assert_tracked

# In each new process: writing metrics fails, and the job is gone by then.
FULL = """
import builtins, errno, glob, os
opened = builtins.open
def full(file, mode="r", *rest, **others):
    if str(file).endswith("metrics.jsonl") and mode != "r":
        assert not glob.glob(os.environ["TMPDIR"] + "/*/job")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
    return opened(file, mode, *rest, **others)
builtins.open = full
"""


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


def test_what_a_process_finds_wrong_is_said_as_if_it_were_this_one(
    files: Files, tmp_path: Path
) -> None:
    (tmp_path / "run").touch()
    for processes in (1, 2):
        with pytest.raises(InputError, match=f"cannot write {tmp_path / 'run'}.*not a folder"):
            train_tiny(files, tmp_path / "run", run_config(), processes=processes)


def test_a_full_disk_is_said_in_a_line(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(FULL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
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
