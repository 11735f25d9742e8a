"""How fast readers train, and with how much memory.

    python benchmarks/training.py --train train-v1.1.json --dev dev-v1.1.json --vectors FILE \
        [--configs fabir-fast bidaf] [--seconds 60] [--rounds 1] [--output FILE] \
        [--training.KEY VALUE ...]

Each configuration is trained by `fabir train` for a while, the first 20 seconds of steps not
counted, and then stopped; all take part in every round. Prints a Markdown table of the medians, and
how many times as fast as each the first one is; `--output` writes the same as JSON. Arguments that
are not listed here change the configurations. Memory is the peak of all processes together, shared
pages once (PSS), looked at every second.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from fabir import __version__
from fabir.machine import processor
from fabir.training.checkpoint import FILE, Progress, load_checkpoint
from fabir.training.configuration import load_config

CONFIGS = Path(__file__).parent.parent / "configs"
WARM_UP = 20.0  # seconds of steps


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--train", "--dev", "--vectors"):
        parser.add_argument(name, required=True)
    parser.add_argument("--configs", nargs="+", default=["fabir-fast", "bidaf"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options, changes = parser.parse_known_args()
    files = ["--train", options.train, "--dev", options.dev, "--vectors", options.vectors]
    configs = {name: CONFIGS / f"{name}.yaml" for name in options.configs}
    batches = {
        name: load_config(path, changes).training.batch_size for name, path in configs.items()
    }
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in configs}
    for _ in range(options.rounds):
        for name, path in configs.items():
            arguments = [str(path), *files, *changes]
            runs[name].append(measure(arguments, batches[name], options.seconds))
    rows = {
        name: {"batch": batches[name]}
        | {key: statistics.median(run[key] for run in found) for key in ("rate", "memory")}
        for name, found in runs.items()
    }
    machine = f"{processor()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    print(f"{machine}, fabir {__version__}; {options.rounds} rounds of {options.seconds:.0f} s")
    print(f"changes: {' '.join(changes) or 'none'}\n")
    print("| reader | batch | questions/s | the first is faster by | memory, MB |")
    print("|---|---|---|---|---|")
    first = next(iter(rows.values()))["rate"]
    for name, row in rows.items():
        faster = first / row["rate"]
        print(
            f"| {name} | {row['batch']} | {row['rate']:.1f} | {faster:.1f} | {row['memory']:.0f} |"
        )
    if options.output:
        report = {"machine": machine, "fabir": __version__, "changes": changes, "rows": rows}
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def measure(arguments: list[str], batch_size: int, seconds: float) -> dict[str, float]:
    """Questions per second between two checkpoints, and megabytes."""
    with TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        options = ["--output", str(output), "--training.checkpoint_minutes", "0.1"]
        command = [sys.executable, "-m", "fabir", "train", *arguments, *options]
        run = subprocess.Popen(command, start_new_session=True)
        try:
            first, memory = progress(output), 0.0
            while True:
                time.sleep(1)
                if run.poll() is not None:
                    sys.exit(f"{' '.join(command)}: ended with {run.returncode}")
                memory = max(memory, megabytes(run.pid))
                now = progress(output)
                if first.seconds < WARM_UP:
                    first = now
                elif now.seconds - first.seconds >= seconds:
                    break
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
    return {
        "rate": (now.step - first.step) * batch_size / (now.seconds - first.seconds),
        "memory": memory,
    }


def progress(output: Path) -> Progress:
    return load_checkpoint(output)[0] if (output / FILE).exists() else Progress()


def megabytes(group: int) -> float:
    """Of all processes of a session."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(status.read_text().rpartition(")")[2].split()[3]) == group:
                rollup = (status.parent / "smaps_rollup").read_text()
                total += int(rollup.partition("Pss:")[2].split()[0])
        except (OSError, IndexError, ValueError):  # it has ended
            continue
    return total / 1024


if __name__ == "__main__":
    main()
