"""The cost of answering by length of passage, questions in a call, and number of processors.

    python benchmarks/scaling.py --data dev-v1.1.json [--reader DIR] [--rounds 3] [--output FILE]

Passages are stretches of the data's passages, cut to a length in words. Each number is the median
over the rounds, in which all cases take turns. Each number of threads has its own process, which
gets it from OMP_NUM_THREADS.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from answering import Pairs, load_pairs

from fabir import Predictor, __version__, tune_process
from fabir.cpu_info import cpu_name

LENGTHS = 100, 150, 300, 1_000, 3_000, 10_000, 30_000, 100_000  # words of a passage
TOGETHER = 1, 2, 4, 8, 16, 32, 64, 128, 256  # questions in a call
ABOUT_ONE = 1, 2, 5, 10, 20, 50  # questions about one passage in a call
CALLS = "first", "second", "third"  # calls about one passage, a question each
WORDS = 150  # of a passage, except where its length varies


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    pairs = load_pairs(options.data)
    every = multiprocessing.cpu_count()
    tables: dict[str, dict[str, dict[str, float]]] = {}
    for threads in sorted({1, every}):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        with multiprocessing.get_context("spawn").Pool(1, tune_process) as pool:
            measured = pool.apply(measure, (options.reader, pairs, options.rounds))
        for table, rows in measured.items():
            for row, cost in rows.items():
                tables.setdefault(table, {}).setdefault(row, {})[f"{threads} threads"] = cost
    report = {
        "fabir": __version__,
        "machine": f"{cpu_name()}, {every} processors",
        "rounds": options.rounds,
        "milliseconds": tables,
    }
    print(render(report))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def measure(reader: Path | None, pairs: Pairs, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds per question of each case of each table."""
    predictor = Predictor.load(reader)
    cases = make_cases(pairs)
    times: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    for number in range(rounds + 1):  # the first is a warm-up
        for case, make in cases.items():
            asked = make(number)
            if case[1] not in CALLS[1:]:
                predictor.forget()  # passages of other cases
            began = time.perf_counter()
            list(predictor.answer_all(asked))
            if number:
                times[case].append(1e3 * (time.perf_counter() - began) / len(asked))
    tables: dict[str, dict[str, float]] = {}
    for (table, row), seconds in times.items():
        tables.setdefault(table, {})[row] = statistics.median(seconds)
    return tables


def make_cases(pairs: Pairs) -> dict[tuple[str, str], Callable[[int], Pairs]]:
    """The pairs of a round, by table and row. Calls about one passage follow each other."""
    text = " ".join(dict.fromkeys(passage for _, passage in pairs)).split(" ")
    questions = [question for question, _ in pairs]

    def passage(number: int, words: int = WORDS) -> str:
        begin = number * words % max(1, len(text) - words)
        return " ".join(text[begin : begin + words])

    def ask(turn: int, count: int, passages: int) -> Pairs:
        """`count` questions about `passages` passages."""
        first = turn * count
        return [(questions[first + j], passage(first + j % passages)) for j in range(count)]

    cases: dict[tuple[str, str], Callable[[int], Pairs]] = {}
    for words in LENGTHS:
        cases["one question, by words of its passage", f"{words:,}"] = lambda i, words=words: [
            (questions[i], passage(i, words))
        ]
    for n in TOGETHER:
        row = "a question, by questions in a call, each with its passage", f"{n}"
        cases[row] = lambda i, n=n: ask(i, n, n)
    for n in ABOUT_ONE:
        row = "a question, by questions about one passage in a call", f"{n}"
        cases[row] = lambda i, n=n: ask(i, n, 1)
    for n, call in enumerate(CALLS):
        row = "one question, by calls about its passage", call
        cases[row] = lambda i, n=n: [(questions[i + n], passage(i))]
    return cases


def render(report: dict[str, Any]) -> str:
    """Markdown tables."""
    lines = [f"{report['machine']}, fabir {report['fabir']}; {report['rounds']} rounds"]
    for table, rows in report["milliseconds"].items():
        threads = list(next(iter(rows.values())))
        lines += ["", f"| {table}: ms | {' | '.join(threads)} |", "|---" * (1 + len(threads)) + "|"]
        for row, costs in rows.items():
            lines.append(f"| {row} | {' | '.join(f'{cost:,.2f}' for cost in costs.values())} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
