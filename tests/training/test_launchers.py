"""`fabir train` started by accelerate, and by torchrun on two machines that are both this one."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from fabir.training.settings import RunConfig
from tiny import NO_DROPOUT, Files, run_config, train_tiny

SURROUNDINGS = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
RECORD = Path(__file__).with_name("record_losses.py")


def write_config(path: Path, config: RunConfig) -> Path:
    path.write_text(json.dumps(asdict(config)))
    return path


def start(*arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=os.environ | SURROUNDINGS,
        stderr=subprocess.PIPE,
        text=True,
    )


def check(*runs: "subprocess.Popen[str]") -> None:
    """All end well."""
    for run in runs:
        _, errors = run.communicate(timeout=500)
        assert run.returncode == 0, errors
        assert "FutureWarning" not in errors


def evaluations(output: Path) -> list[dict[str, float]]:
    lines = map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
    return [line for line in lines if "f1" in line]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def arguments(files: Files, config: Path, output: Path) -> list[object]:
    data = ("--train", files.train, "--dev", files.dev, "--vectors", files.vectors)
    return [config, *data, "--output", output]


@pytest.mark.slow
def test_accelerate_launch(files: Files, tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.yaml", run_config(epochs=2))
    launcher = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    launcher += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    launcher += ["--main_process_port", str(free_port()), "-m", "fabir", "train"]
    check(start(*launcher, *arguments(files, config, tmp_path / "run")))
    assert [line["epoch"] for line in evaluations(tmp_path / "run")] == [1, 2]


@pytest.mark.slow
def test_two_machines_make_the_losses_of_one(files: Files, tmp_path: Path) -> None:
    # Batches of 9, 9 and 1: uneven shares, and a process without any.
    config, port = run_config(NO_DROPOUT, batch_size=9), free_port()
    path = write_config(tmp_path / "config.yaml", config)
    torchrun = ["-m", "torch.distributed.run", "--nnodes", "2", "--master-addr", "127.0.0.1"]
    torchrun += ["--master-port", str(port), "--node-rank"]
    train = [RECORD, tmp_path / "losses.json", *arguments(files, path, tmp_path / "two")]
    machines = [start(*torchrun, rank, *train) for rank in range(2)]
    train_tiny(files, tmp_path / "one", config)
    check(*machines)
    lines = map(json.loads, (tmp_path / "one" / "metrics.jsonl").read_text().splitlines())
    losses = [line["loss"] for line in lines]  # of every step: there are few
    processes, *found = json.loads((tmp_path / "losses.json").read_text())
    assert processes == 2
    assert len(found) == 3 * 3
    assert found == pytest.approx(losses, rel=1e-5)
    runs = (evaluations(tmp_path / name) for name in ("one", "two"))
    for first, second in zip(*runs, strict=True):
        assert (first["f1"], first["exact"]) == (second["f1"], second["exact"])
    assert [line["epoch"] for line in evaluations(tmp_path / "two")] == [1, 2, 3]
