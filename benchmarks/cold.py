"""Cold start: the time of a new process that answers one question from the shell.

    python benchmarks/cold.py --data dev-v1.1.json [--questions 15] [--output FILE]

The commands are `fabir answer` with the bundled model, the same with a copy in torch where torch is
installed, and Python that ends at once as the lower bound. All answer the first questions of the
file's passages in turn. The first question does not count, so files are in the system's cache. With
root rights each command answers once more after that cache is emptied. The result is a Markdown
table; `--output` writes it as JSON.
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from answering import load_pairs, render

from fabir import __version__
from fabir.cpu_info import cpu_name
from fabir.runtime.locate import find_model
from fabir.runtime.store import copy_model

CACHES = Path("/proc/sys/vm/drop_caches")


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=15)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    first = {passage: question for question, passage in reversed(load_pairs(options.data))}
    asked = [(first[passage], passage) for passage in reversed(first)][: options.questions + 1]
    ask = [sys.executable, "-m", "fabir", "answer"]
    with tempfile.TemporaryDirectory() as folder:
        ways = {"fabir, bundled": ask}
        if importlib.util.find_spec("torch"):
            copy = Path(folder, "reader")
            copy_model(find_model(None), copy)
            for graph in copy.glob("*.onnx"):
                graph.unlink()
            ways["the same, torch"] = [*ask, "--reader", str(copy)]
        ways["Python alone"] = [sys.executable, "-c", ""]
        rows = measure(ways, asked)
    report = {
        "fabir": __version__,
        "machine": f"{cpu_name()}, {multiprocessing.cpu_count()} processors",
        "questions": len(asked) - 1,
        "rounds": 1,
        "readers": rows,
    }
    print(render(report))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def measure(ways: dict[str, list[str]], asked: list[tuple[str, str]]) -> list[dict[str, Any]]:
    times: dict[str, list[float]] = {name: [] for name in ways}
    for question, passage in asked:
        for name, command in ways.items():
            times[name].append(wait(command, question, passage))
    warm = {name: each[1:] for name, each in times.items()}
    medians = {name: statistics.median(each) for name, each in warm.items()}
    return [
        {
            "name": name,
            "ms, median": medians[name],
            "ms, the slowest": max(warm[name]),
            "the first is faster by": medians[name] / next(iter(medians.values())),
            "from disk, ms": from_disk(command, *asked[0]),
        }
        for name, command in ways.items()
    ]


def wait(command: list[str], question: str, passage: str) -> float:
    """Milliseconds until the process has printed its answer and ended."""
    command = [*command, question, "--passage", "-"]
    began = time.perf_counter()
    subprocess.run(command, input=passage.encode(), check=True, stdout=subprocess.DEVNULL)
    return 1e3 * (time.perf_counter() - began)


def from_disk(command: list[str], question: str, passage: str) -> float | None:
    """The same with an empty file cache of the system; None without the right to empty it."""
    os.sync()
    try:
        CACHES.write_text("3")
    except OSError:
        return None
    return wait(command, question, passage)


if __name__ == "__main__":
    main()
