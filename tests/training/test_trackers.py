"""Trackers get what metrics.jsonl gets. TensorBoard's files are read back."""

import sys
from pathlib import Path
from typing import Any

import pytest
from accelerate.tracking import TensorBoardTracker

from fabir.errors import InputError
from fabir.training.trackers import check_trackers
from tiny import Files, run_config, train_tiny
from tracking import assert_settings, assert_tracked, metric_lines

CONFIG = run_config(epochs=2)


def test_tensorboard_shows_what_the_metrics_say(files: Files, tmp_path: Path) -> None:
    """Several processes: see `test_launch.py`."""
    output = tmp_path / "run"
    train_tiny(files, output, CONFIG, log_with=["tensorboard"])
    assert_tracked(output)
    assert_settings(output, "training.epochs: 2", "reader: fabir", "network.heads: 2")


def test_a_resumed_run_goes_on_in_the_same_curves(files: Files, tmp_path: Path) -> None:
    output = tmp_path / "run"
    train_tiny(files, output, run_config(epochs=1), log_with=["tensorboard"])
    train_tiny(files, output, CONFIG, resume=True, log_with=["tensorboard"])
    assert_tracked(output)


def test_trackers_change_nothing_else(files: Files, tmp_path: Path) -> None:
    for name, log_with in ("plain", []), ("tracked", ["tensorboard"]):
        train_tiny(files, tmp_path / name, CONFIG, log_with=log_with)
    plain, tracked = (tmp_path / name for name in ("plain", "tracked"))
    for name in ("network.safetensors", "vocabulary.json", "words.safetensors", "config.json"):
        assert (plain / name).read_bytes() == (tracked / name).read_bytes()
    losses = ([line["loss"] for line in metric_lines(folder)] for folder in (plain, tracked))
    assert next(losses) == next(losses)
    assert not (plain / "logs").exists()


@pytest.mark.parametrize("name", ["tensorboard", "trackio", "wandb"])
def test_a_package_that_is_missing_is_named_before_anything_is_read(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=f"needs {name}: pip install {name}$"):
        train_tiny(files, tmp_path / "run", CONFIG, train=(tmp_path / "no",), log_with=[name])
    assert not (tmp_path / "run").exists()


def test_a_tracker_that_there_is_not() -> None:
    with pytest.raises(InputError, match="'tensorbord': there are tensorboard, trackio, wandb"):
        check_trackers(["tensorbord"])


def test_a_tracker_that_does_not_start_is_one_line(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("no account:\n  log in first")

    monkeypatch.setattr(TensorBoardTracker, "start", refuse)
    said = "--log-with tensorboard does not start: no account: log in first"
    with pytest.raises(InputError, match=said):
        train_tiny(files, tmp_path / "run", CONFIG, log_with=["tensorboard"])
    train_tiny(files, tmp_path / "run", CONFIG)  # the folder is still free
