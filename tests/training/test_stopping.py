"""Ctrl+C and SIGTERM in a training: what was learnt is saved, and it goes on from there."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fabir.errors import Terminated
from fabir.training.checkpoint import load_checkpoint
from fabir.training.loop import Trainer
from tiny import Files, run_config, train_tiny

Signals = dict[int, tuple[signal.Signals, ...]]


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Signals:
    """What comes during a step."""
    coming: Signals = {}
    step = Trainer.step

    def interrupted(trainer: Trainer, rate: float | None = None) -> float:
        for each in coming.get(trainer.progress.step + 1, ()):
            os.kill(os.getpid(), each)
        return step(trainer, rate)

    monkeypatch.setattr(Trainer, "step", interrupted)
    return coming


@pytest.mark.parametrize(
    ("sent", "raised"),
    [
        ([signal.SIGINT], KeyboardInterrupt),
        # A scheduler sends it to all processes, and the first of them to the others.
        ([signal.SIGTERM, signal.SIGTERM], Terminated),
    ],
)
def test_a_training_goes_on_where_it_was_stopped(
    files: Files,
    tmp_path: Path,
    signals: Signals,
    sent: list[signal.Signals],
    raised: type[BaseException],
) -> None:
    config = run_config(epochs=3)
    whole = train_tiny(files, tmp_path / "whole", config)
    expected, groups = load_checkpoint(tmp_path / "whole")
    signals[2] = tuple(sent)
    with pytest.raises(raised):
        train_tiny(files, tmp_path / "run", config)
    assert load_checkpoint(tmp_path / "run")[0].step == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signals.clear()
    assert train_tiny(files, tmp_path / "run", config, resume=True) == whole
    found, again = load_checkpoint(tmp_path / "run")
    assert found.step == expected.step > 2
    for name, weights in groups["network"].items():
        assert weights.equal(again["network"][name])


def test_an_evaluation_that_was_stopped_is_made_anew(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = run_config(epochs=2)
    whole = train_tiny(files, tmp_path / "whole", config)
    with monkeypatch.context() as stopping:
        stopping.setattr(Trainer, "scores", lambda _: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            train_tiny(files, tmp_path / "run", config)
    metrics = [(tmp_path / run / "metrics.jsonl").read_text() for run in ("whole", "run")]
    assert "f1" in metrics[0]
    assert "f1" not in metrics[1]
    assert load_checkpoint(tmp_path / "run")[0].step > 0
    assert train_tiny(files, tmp_path / "run", config, resume=True) == whole


def test_who_asks_twice_does_not_wait(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(trainer: Trainer, rate: float | None = None) -> float:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("it was not stopped")

    monkeypatch.setattr(Trainer, "step", hang)
    with pytest.raises(KeyboardInterrupt):
        train_tiny(files, tmp_path / "run", run_config())
    assert load_checkpoint(tmp_path / "run")[0].step == 0


def test_a_program_that_ignores_it_goes_on_to_ignore_it(
    files: Files, tmp_path: Path, signals: Signals
) -> None:
    signals[1] = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, signal.SIG_IGN) for each in signals[1]}
    try:
        train_tiny(files, tmp_path / "run", run_config(epochs=1))
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert load_checkpoint(tmp_path / "run")[0].epoch == 1


def program(folder: Path, in_processes: str = "pass") -> "subprocess.Popen[bytes]":
    """A program that trains in two processes, into `run`, in a session of its own.

    Args:
        in_processes: what each of the two does before all else
    """
    code = f"""
import os, signal
if __name__ == "__mp_main__":
    {in_processes}
from pathlib import Path
from tiny import run_config, train_tiny, write_files
if __name__ == "__main__":
    folder = Path({str(folder)!r})
    config = run_config(epochs=5000, evaluations=0, checkpoint_minutes=99.0)
    train_tiny(write_files(folder), folder / "run", config, processes=2)
"""
    (folder / "program.py").write_text(code)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, folder / "program.py"],
        env=environment,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def check_end(process: "subprocess.Popen[bytes]", sent: signal.Signals = signal.SIGINT) -> None:
    """Only the program itself shows a traceback, at Ctrl+C alone."""
    _, said = process.communicate(timeout=60)
    interrupted = sent == signal.SIGINT
    assert process.returncode == (-signal.SIGINT if interrupted else 143)
    assert said.count(b"Traceback") == interrupted, said.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("send", "sent"),
    [
        (os.killpg, signal.SIGINT),  # as a terminal does, to all of them
        (os.kill, signal.SIGTERM),  # as `docker stop` does, to the first
    ],
)
def test_all_processes_stop_after_the_same_step(
    tmp_path: Path, send: Callable[[int, int], None], sent: signal.Signals
) -> None:
    process = program(tmp_path)
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    before = load_checkpoint(tmp_path / "run")[0].step
    send(process.pid, sent)
    check_end(process, sent)
    assert load_checkpoint(tmp_path / "run")[0].step > before


@pytest.mark.slow
def test_processes_that_only_begin_stop_without_a_word(tmp_path: Path) -> None:
    mark = str(tmp_path / "begun")  # of two processes, the first one sends the signal
    once = f"""try: open({mark!r}, "x")
    except FileExistsError: pass
    else: os.killpg(0, signal.SIGINT)"""
    check_end(program(tmp_path, once))
    assert not list((tmp_path / "run").glob("*.safetensors"))
