"""Trains on the tiny files, once undisturbed and twice killed again and again.

kill_runs.py TRAIN DEV VECTORS FOLDER: the folder gets the runs `unbroken`, `random`, killed at any
moment, and `planned`, killed around the replacement of a file. Prints how many kills hit a run.
Runs are forks of this process, so that none of them has to import everything anew.
"""

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from fabir.runtime.torch_model import TorchModel
from fabir.training.checkpoint import FILE, load_checkpoint
from tiny import NO_DROPOUT, Files, run_config, train_tiny

CONFIG = run_config(NO_DROPOUT | {"dropout_sublayer": 0.1}, epochs=4, checkpoint_minutes=0)


def begin(files: Files, output: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """Start or resume a run in a process of its own; returns its number."""
    process = os.fork()
    if process:
        return process
    try:
        prepare()
        train_tiny(files, output, CONFIG, resume=(output / FILE).exists())
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def end(process: int) -> bool:
    """Wait for a run; returns whether it was killed."""
    status = os.waitpid(process, 0)[1]
    assert status in (0, signal.SIGKILL), f"a run failed with status {status}"
    return status != 0


def check(output: Path) -> None:
    """Once there is a checkpoint there is a reader, and both can be used."""
    if (output / FILE).exists():
        TorchModel.load(output)
        load_checkpoint(output)


def kill_at_replacement(number: int, *, done: bool) -> None:
    """Let this process die at its file number `number`, before or after it takes its name."""
    replace = os.replace
    left = number

    def deadly(source: Path, target: Path) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            if done:
                replace(source, target)
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)

    os.replace = deadly


def main() -> None:
    *paths, folder = map(Path, sys.argv[1:])
    files = Files(*paths)
    started = time.monotonic()
    end(begin(files, folder / "unbroken"))
    duration = time.monotonic() - started
    kills = 0
    for _ in range(5):
        process = begin(files, folder / "random")
        time.sleep(random.uniform(0, duration / 3))
        os.kill(process, signal.SIGKILL)
        kills += end(process)
        check(folder / "random")
    for number in range(10):

        def die(number: int = number) -> None:
            kill_at_replacement(number // 2 % 5, done=number % 2 > 0)

        kills += end(begin(files, folder / "planned", die))
        check(folder / "planned")
    for name in ("random", "planned"):
        assert not end(begin(files, folder / name))
    print(kills)


if __name__ == "__main__":
    main()
