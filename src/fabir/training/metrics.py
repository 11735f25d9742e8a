"""`metrics.jsonl` in a run's folder: a line for each evaluation, and some between with the loss.
The training loop decides what is measured."""

import json
import statistics
from itertools import islice, pairwise
from pathlib import Path

from fabir.files import replacing

FILE = "metrics.jsonl"
_COURSE = {"step", "seconds", "epoch", "loss"}  # of a run, in every line


def log_metrics(folder: Path, **values: float) -> None:
    """Append a line; `step` must be among the values."""
    with open(folder / FILE, "a", encoding="utf-8") as file:
        file.write(json.dumps(values) + "\n")


def forget_metrics(folder: Path, step: int) -> None:
    """Drop the lines after `step`, the last that the checkpoint knows of, and any cut short: a
    resumed run writes them again."""
    path = folder / FILE
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = (line for line in lines if line.endswith("}\n"))
    kept = [line for line in whole if json.loads(line)["step"] <= step]
    with replacing(path) as temporary:
        temporary.write_text("".join(kept), encoding="utf-8")


def _lines(folder: Path) -> list[dict[str, float]]:
    return list(map(json.loads, (folder / FILE).read_text(encoding="utf-8").splitlines()))


def _evaluations(folder: Path) -> list[dict[str, float]]:
    return [line for line in _lines(folder) if "f1" in line]


def best_evaluation(folder: Path, *, last: bool = False) -> dict[str, float]:
    """The line of the evaluation with the highest F1, or of the last one: whose weights are in the
    folder."""
    found = _evaluations(folder)
    return found[-1] if last else max(found, key=lambda line: line["f1"])


def best_scores(folder: Path, *, last: bool = False) -> dict[str, float]:
    """The scores of `best_evaluation`."""
    best = best_evaluation(folder, last=last)
    return {name: value for name, value in best.items() if name not in _COURSE}


def curve(folder: Path) -> list[dict[str, float]]:
    """Epoch and mean loss of every line, and the scores of each evaluation."""
    return [
        {name: value for name, value in line.items() if name not in ("step", "seconds", "total")}
        for line in _lines(folder)
    ]


def median_rate(folder: Path) -> float:
    """Steps per second: the median over the lines of the run, so that pauses and other load on the
    machine do not count."""
    places = [(0, 0.0), *((line["step"], line["seconds"]) for line in _lines(folder))]
    return statistics.median(
        (step - last) / (seconds - before)
        for (last, before), (step, seconds) in pairwise(places)
        if step > last and seconds > before
    )


def hours_until(folder: Path, f1: float) -> dict[str, float]:
    """`hours_until_F1`: of training until an evaluation measured `f1`; nothing if none did."""
    seconds = (line["seconds"] for line in _evaluations(folder) if line["f1"] >= f1)
    return {f"hours_until_{f1:g}": round(each / 3600, 3) for each in islice(seconds, 1)}
