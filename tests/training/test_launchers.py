"""`fabir train` started by accelerate, and by torchrun on two machines that are both this one."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tiny import NETWORK, TRAINING, Files

SURROUNDINGS = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}


def write_config(path: Path) -> Path:
    content = {"reader": "fabir", "network": NETWORK, "training": TRAINING | {"epochs": 2}}
    path.write_text(json.dumps(content | {"vocabulary": {"word_count": 1, "character_count": 2}}))
    return path


def start(launcher: list[str], *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *launcher, "-m", "fabir", "train", *map(str, arguments)],
        env=os.environ | SURROUNDINGS,
        stderr=subprocess.PIPE,
        text=True,
    )


def check(output: Path, *runs: "subprocess.Popen[str]") -> None:
    """All ended well, and one of them wrote the run."""
    for run in runs:
        _, errors = run.communicate(timeout=500)
        assert run.returncode == 0, errors
    lines = map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
    assert [line["epoch"] for line in lines if "f1" in line] == [1, 2]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.slow
def test_accelerate_launch(files: Files, tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.yaml")
    data = ("--train", files.train, "--dev", files.dev, "--vectors", files.vectors)
    launcher = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    launcher += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    launcher += ["--main_process_port", str(free_port())]
    check(tmp_path / "run", start(launcher, config, *data, "--output", tmp_path / "run"))


@pytest.mark.slow
def test_two_machines(files: Files, tmp_path: Path) -> None:
    config, port = write_config(tmp_path / "config.yaml"), free_port()
    data = ("--train", files.train, "--dev", files.dev, "--vectors", files.vectors)
    torchrun = ["-m", "torch.distributed.run", "--nnodes", "2", "--master-addr", "127.0.0.1"]
    torchrun += ["--master-port", str(port), "--node-rank"]
    arguments = (config, *data, "--output", tmp_path / "run")
    machines = [start([*torchrun, str(rank)], *arguments) for rank in range(2)]
    check(tmp_path / "run", *machines)
