"""Quality and speed of answers from a collection of passages, by search.

    python benchmarks/retrieval.py --dev dev-v1.1.json [--train train-v1.1.json] \
        [--questions N] [--rounds N] [--reader DIR] [--copies N] [--output FILE]

The collections are the passages of the dev file and, with `--train`, those of both files. Each
passage is a document with its article's title. Every dev question is asked without its passage.
Recall: the share of questions whose passage is among the first k. EM and F1: of the best answer
from k passages, up to ten for every question, and fifty for `--questions` spread over the file.
Speed: a warm `Asker.ask` for `--rounds` questions. `--copies` indexes the largest collection that
many times in a new process, and prints the time and memory. The result is Markdown; `--output
FILE.json` writes it as JSON, and as FILE.md. The weights in `fabir.search` come from questions of
the train file.
"""

import argparse
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fabir import Predictor, __version__, read_squad, tune_process
from fabir.data.dataset import Passage
from fabir.evaluation.squad import exact_match, f1
from fabir.progress import track
from fabir.search.asker import Asker, merge
from fabir.search.index import Index

KS = 1, 5, 10, 50
FEW = KS[:3]


class Asked(NamedTuple):
    """A question, the text of its passage, and its reference answers."""

    text: str
    passage: str
    answers: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--questions", type=int, default=2000, help=f"with {KS[-1]} passages each")
    parser.add_argument("--rounds", type=int, default=100, help="questions that are timed")
    parser.add_argument("--reader", type=Path, metavar="DIR")
    parser.add_argument("--copies", type=int, default=0)
    parser.add_argument("--output", type=Path, metavar="FILE.json")
    options = parser.parse_args()
    tune_process()
    dev = read_squad(options.dev, "keep")
    asked = [
        Asked(question.text, passage.text, [answer.text for answer in question.answers])
        for passage, question in dev.questions
    ]
    collections = {"dev": list(dev.passages)}
    if options.train:
        more = read_squad(options.train, "keep").passages
        collections["train and dev"] = [*dev.passages, *more]
    predictor = Predictor.load(options.reader)
    report: dict[str, Any] = {"fabir": __version__, "processors": multiprocessing.cpu_count()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report["collections"] = [
            {"name": name} | measure(passages, asked, predictor, folder, options)
            for name, passages in collections.items()
        ]
        if options.copies:
            largest = max(collections.values(), key=len)
            report["indexing"] = measure_indexing(largest, folder, options.copies)
    text = render(report)
    print(text)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
        options.output.with_suffix(".md").write_text(text + "\n", "utf-8")


def measure(
    passages: list[Passage],
    asked: list[Asked],
    predictor: Predictor,
    folder: Path,
    options: argparse.Namespace,
) -> dict[str, Any]:
    write_passages(passages, folder / "passages.jsonl")
    index = Index.build([folder / "passages.jsonl"], folder / "index", size=10**6)
    some = asked[:: max(1, len(asked) // options.questions)]
    timed = asked[:: max(1, len(asked) // options.rounds)][: options.rounds]
    return {
        "passages": len(index),
        **recall(index, asked),
        "quality": {
            len(asked): quality(index, asked, predictor, FEW),
            len(some): quality(index, some, predictor, KS),
        },
        "speed": {k: speed(Asker(index, predictor, passages=k), timed) for k in KS},
    }


def write_passages(passages: Iterable[Passage], path: Path) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for passage in passages:
            file.write(json.dumps({"text": passage.text, "title": passage.title}) + "\n")


def recall(index: Index, asked: list[Asked]) -> dict[str, Any]:
    """The share of questions with their passage among the first k, and a search's median time."""
    found = dict.fromkeys(KS, 0)
    times = []
    for question in track(asked, "searching", len(asked)):
        began = time.perf_counter()
        passages = index.search(question.text, max(KS))
        times.append(time.perf_counter() - began)
        texts = [passage.text for passage in passages]
        for k in KS:
            found[k] += question.passage.strip() in texts[:k]
    shares = {k: 100 * count / len(asked) for k, count in found.items()}
    return {"recall": shares, "search, ms, median": 1e3 * statistics.median(times)}


def quality(
    index: Index, asked: list[Asked], predictor: Predictor, ks: Sequence[int]
) -> dict[int, dict[str, float]]:
    """EM and F1 of the best answer for each k. The model reads each passage once."""
    totals = {k: [0.0, 0.0] for k in ks}
    calibration = predictor.model.calibration
    for question in track(asked, "reading", len(asked)):
        passages = index.search(question.text, max(ks))
        readings = list(predictor.read_all((question.text, passage.text) for passage in passages))
        for k in ks:
            read = list(zip(passages, readings, strict=True))[:k]
            best = merge(read, calibration=calibration)
            text = best[0][2].text if best else ""
            totals[k][0] += exact_match(text, question.answers)
            totals[k][1] += f1(text, question.answers)
    return {
        k: {"EM": 100 * em / len(asked), "F1": 100 * total / len(asked)}
        for k, (em, total) in totals.items()
    }


def speed(asker: Asker, asked: list[Asked]) -> dict[str, float]:
    """Milliseconds per question, from text to answers, one after another."""
    for question in asked[:10]:
        asker.ask(question.text)
    asker.predictor.forget()  # some of the passages are in the cache
    times = []
    for question in asked:
        began = time.perf_counter()
        asker.ask(question.text)
        times.append(time.perf_counter() - began)
    return {"ms, median": 1e3 * statistics.median(times), "questions/s": len(times) / sum(times)}


def measure_indexing(passages: list[Passage], folder: Path, copies: int) -> dict[str, Any]:
    write_passages((passage for _ in range(copies) for passage in passages), folder / "many.jsonl")
    with multiprocessing.get_context("spawn").Pool(1, tune_process) as pool:
        return pool.apply(index_anew, (folder,))


def index_anew(folder: Path) -> dict[str, Any]:
    began = time.perf_counter()
    Index.build([folder / "many.jsonl"], folder / "many", size=10**6)
    built = time.perf_counter()
    index = Index.open(folder / "many")
    opened = time.perf_counter()
    status = Path("/proc/self/status").read_text()  # getrusage includes the parent's peak
    return {
        "passages": len(index),
        "seconds": built - began,
        "memory, MB": int(status.partition("VmHWM:")[2].split()[0]) / 1024,
        "opening, ms": 1e3 * (opened - built),
    }


def render(report: dict[str, Any]) -> str:
    """Markdown tables."""
    lines = [f"fabir {report['fabir']}, {report['processors']} processors"]
    for each in report["collections"]:
        lines += [
            "",
            f"{each['passages']:,} passages of {each['name']}; a search takes "
            f"{each['search, ms, median']:.1f} ms",
            "",
            "| passages | recall, % | ms, median | questions/s |",
            "|---|---|---|---|",
        ]
        for k in KS:
            cells = each["recall"][k], *each["speed"][k].values()
            lines.append(f"| {k} | {' | '.join(f'{cell:.1f}' for cell in cells)} |")
        for count, scores in each["quality"].items():
            lines += ["", f"{count:,} questions:", "", "| passages | EM | F1 |", "|---|---|---|"]
            lines += [
                f"| {k} | {score['EM']:.1f} | {score['F1']:.1f} |" for k, score in scores.items()
            ]
    if "indexing" in report:
        facts = (f"{name} {value:,.0f}" for name, value in report["indexing"].items())
        lines += ["", "Indexing: " + ", ".join(facts)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
