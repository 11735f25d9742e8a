"""Speed and memory of training.

    python benchmarks/training.py --train train-v1.1.json --dev dev-v1.1.json --vectors FILE \
        [--configs crossconv bidaf] [--seconds 60] [--rounds 1] [--output FILE] \
        [--training.KEY VALUE ...]

`fabir train` trains each configuration for a while and is then stopped. The first 20 seconds of
steps do not count. All configurations take part in every round. The result is a Markdown table of
the medians, with the first configuration's rate over each one's; `--output` writes it as JSON.
Arguments that are not listed here change the configurations.

Memory is the peak of all processes together, measured every second, with shared pages counted once
(PSS). The last line has the operations of the first configuration's products: multiplications and
additions, forwards and backwards, with padding. It also has their rate as a share of the fastest
product in bfloat16 on this machine, or on its GPU.
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
from torch.utils.flop_counter import FlopCounterMode

from fabir import __version__
from fabir.cpu_info import cpu_name
from fabir.training.checkpoint import FILE, Progress, load_checkpoint
from fabir.training.config_files import load_config
from fabir.training.inputs import RunFiles
from fabir.training.run import prepare

WARM_UP = 20.0  # seconds of steps
COUNTED = 8  # batches whose operations are counted
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZE = {"cuda": 8192, "cpu": 2048}[DEVICE]  # of the product that measures the peak


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--train", "--dev", "--vectors"):
        parser.add_argument(name, required=True)
    parser.add_argument("--configs", nargs="+", default=["crossconv", "bidaf"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options, changes = parser.parse_known_args()
    files = ["--train", options.train, "--dev", options.dev, "--vectors", options.vectors]
    batches = {name: load_config(name, changes).training.batch_size for name in options.configs}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in options.configs}
    for _ in range(options.rounds):
        for name in options.configs:
            arguments = [name, *files, *changes]
            runs[name].append(measure(arguments, batches[name], options.seconds))
    rows = {
        name: {"batch": batches[name]}
        | {key: statistics.median(run[key] for run in found) for key in ("rate", "memory")}
        for name, found in runs.items()
    }
    machine = f"{cpu_name()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    if DEVICE == "cuda":
        machine += f", {torch.cuda.get_device_name()}"
    name, row = next(iter(rows.items()))
    work = operations(name, changes, options)
    highest = peak()
    products = {
        "millions a question": work / 1e6,
        "billions/s": work * row["rate"] / 1e9,
        "the machine's peak, billions/s": highest / 1e9,
        "share of it": work * row["rate"] / highest,
    }
    print(f"{machine}, fabir {__version__}; {options.rounds} rounds of {options.seconds:.0f} s")
    print(f"changes: {' '.join(changes) or 'none'}\n")
    print("| reader | batch | questions/s | the first is faster by | memory, MB |")
    print("|---|---|---|---|---|")
    for other, its in rows.items():
        faster = row["rate"] / its["rate"]
        print(
            f"| {other} | {its['batch']} | {its['rate']:.1f} | {faster:.1f} | {its['memory']:.0f} |"
        )
    print(f"\nproducts of {name}: " + ", ".join(f"{k} {v:.3g}" for k, v in products.items()))
    if options.output:
        report = {
            "machine": machine,
            "fabir": __version__,
            "changes": changes,
            "rows": rows,
            "products": products,
        }
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def operations(config: str, changes: list[str], options: argparse.Namespace) -> float:
    """Operations of a question's products, the mean over some batches.

    Torch does not count operations in oneDNN's recurrent layers, which BiDAF has.
    """
    settings = load_config(config, changes)
    files = RunFiles(train=(Path(options.train),), vectors=options.vectors, on_bad_answer="skip")
    ready = prepare(settings, files)
    batches = ready.examples.epoch(0, settings.training)[:COUNTED]
    with FlopCounterMode(display=False) as counter:
        for rows in batches:
            logits = ready.reader.network.train()(ready.examples.batch(rows)[0].tensors())
            torch.cat([each for each in logits if each is not None]).sum().backward()
    return counter.get_total_flops() / sum(map(len, batches))


def peak() -> float:
    """Operations per second of the fastest of many matrix products in bfloat16."""
    x = torch.ones(SIZE, SIZE, dtype=torch.bfloat16, device=DEVICE)
    times = []
    for _ in range(30):
        began = time.perf_counter()
        (x @ x)[0, 0].item()  # this waits for a GPU
        times.append(time.perf_counter() - began)
    return 2 * SIZE**3 / min(times)


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
    """Megabytes of all processes of a session."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(status.read_text().rpartition(")")[2].split()[3]) == group:
                rollup = (status.parent / "smaps_rollup").read_text()
                total += int(rollup.partition("Pss:")[2].split()[0])
        except (OSError, IndexError, ValueError):  # the process has ended
            continue
    return total / 1024


if __name__ == "__main__":
    main()
