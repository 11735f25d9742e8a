"""How fast a reader answers a SQuAD file, from text to answers, and with how much memory.

    python benchmarks/answering.py --data dev-v1.1.json [--reader DIR] [--rounds 3] [--output FILE]

Prints a Markdown table; `--output` writes the same as JSON. Whole file: medians over the rounds.
One question: 500 questions on their own passages, one call each, after a warm-up.
"""

import argparse
import json
import platform
import resource
import statistics
import time
from pathlib import Path

import torch

from fabir import Predictor, read_squad


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    loaded = time.perf_counter()
    predictor = Predictor.load(options.reader)
    loaded = time.perf_counter() - loaded
    data = read_squad(options.data, "keep")
    pairs = [(question.text, passage.text) for passage, question in data.questions]
    measured = {
        "load, s": loaded,
        "whole file, questions/s": len(pairs) / whole_file(predictor, pairs, options.rounds),
        **one_by_one(predictor, pairs),
        "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}\n")
    print("| what | measured |\n|---|---|")
    for name, value in measured.items():
        print(f"| {name} | {value:.2f} |")
    if options.output:
        options.output.write_text(json.dumps(measured, indent=1))


def whole_file(predictor: Predictor, pairs: list[tuple[str, str]], rounds: int) -> float:
    """Median seconds to answer all pairs; a first round that is not counted warms up."""
    seconds = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        answered = sum(1 for _ in predictor.answer_all(pairs))
        seconds.append(time.perf_counter() - began)
        assert answered == len(pairs)
    return statistics.median(seconds[1:])


def one_by_one(predictor: Predictor, pairs: list[tuple[str, str]]) -> dict[str, float]:
    """Milliseconds of single questions, each on its own passage."""
    chosen = pairs[:: max(1, len(pairs) // 500)]
    for question, passage in chosen[:50]:
        predictor.answer(question, passage)
    milliseconds = []
    for question, passage in chosen:
        began = time.perf_counter()
        predictor.answer(question, passage)
        milliseconds.append(1000 * (time.perf_counter() - began))
    milliseconds.sort()
    return {
        "one question, ms, median": statistics.median(milliseconds),
        "one question, ms, 95th percentile": milliseconds[int(0.95 * len(milliseconds))],
    }


if __name__ == "__main__":
    main()
