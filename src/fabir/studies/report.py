"""The Markdown report of a study's results; the same results give the same text."""

import statistics
from typing import Any, NamedTuple

import numpy as np

from fabir.progress import counted


class _Measure(NamedTuple):
    """A column of our figures and one of the paper's; the paper's keep their digits."""

    heading: str
    form: str
    score: bool = False  # of which differences mean something
    always: bool = True  # shown even if the paper has no figure
    absent: str = ""  # what a run has that has no such figure


MEASURES = {
    "f1": _Measure("F1", ".2f", score=True),
    "exact": _Measure("EM", ".2f", score=True),
    "HasAns_f1": _Measure("HasAns F1", ".2f", score=True),
    "HasAns_exact": _Measure("HasAns EM", ".2f", score=True),
    "NoAns_f1": _Measure("NoAns F1", ".2f", score=True),
    "papers_rule_f1": _Measure("F1 at threshold 0.5", ".2f"),
    "papers_rule_exact": _Measure("EM at threshold 0.5", ".2f"),
    "by_halves_f1": _Measure("F1, the other half's threshold", ".2f"),
    "by_halves_exact": _Measure("EM, the other half's threshold", ".2f"),
    "squad_2_f1": _Measure("F1 on SQuAD 2.0", ".2f", always=False),
    "squad_2_exact": _Measure("EM on SQuAD 2.0", ".2f", always=False),
    "parameters": _Measure("parameters", ",.0f"),
    "epochs": _Measure("epochs", "g", always=False),
    "training_hours": _Measure("training, hours", ".2f", always=False),
    "hours_until_77": _Measure("hours until F1 77", ".2f", always=False, absent="not reached"),
    "training_rate": _Measure("training, questions/s", ",.0f"),
    "answering_rate": _Measure("answering, questions/s", ",.0f"),
}
_Row = dict[str, str]  # cells by heading


def render(results: dict[str, Any]) -> str:
    """A page that says what was run, with our figures beside the paper's.

    `results` are those that `fabir.studies.runner.reproduce` stores.
    """
    budget, data = results["budget"], results["data"]
    measured, paper, base = results["rows"], results["paper"], results["base"]
    done = [name for name in paper if name in measured]
    rows = [
        {"row": name, **_scores(measured[name], paper[name]), **_against(name, base, results)}
        for name in done
    ]
    if "majority" in results:
        rows.insert(0, {"row": "no answer to any question", **_scores([results["majority"]], {})})
    present = {heading for row in rows for heading in row}
    headings = [heading for heading in _headings(base) if heading in present]
    missing = [name for name in paper if name not in measured]
    lines = [
        f"# {results['title']}: budget {budget['name']}",
        "",
        f"The paper's figures: {results['source']}",
        "",
        f"Budget: {_describe(budget, measured)}.",
        "",
        *_exceptions(measured),
        f"Trained on {data['train']}, measured on {data['dev']}, word vectors {data['vectors']}.",
        *_conditions(measured),
        "",
        *_table(headings, rows),
        *(_order(done, measured, paper) if results["ranked"] else []),
    ]
    if any(len(runs) > 1 for runs in measured.values()):
        lines += ["", "Means over several seeds, of scores with the standard deviation after ±."]
    if missing:
        lines += ["", f"Not run yet: {', '.join(missing)}."]
    lines += [line for note in results.get("notes", ()) for line in ("", note)]
    return "\n".join(lines) + "\n"


def _table(headings: list[str], rows: list[dict[str, str]]) -> list[str]:
    if not rows:
        return []
    lines = (_line([row.get(heading, "") for heading in headings]) for row in rows)
    return [_line(headings), f"|{'---|' * len(headings)}", *lines]


def _headings(base: str) -> list[str]:
    """Of all columns that a table may have, in their order."""
    headings = ["row"]
    for measure in MEASURES.values():
        headings += [measure.heading, f"paper's {measure.heading}"]
        headings += [f"{measure.heading} {'difference' if measure.score else '/ paper'}"]
        headings += [f"F1 against {base}", f"paper's F1 against {base}"] * (measure.heading == "F1")
    return headings


def _scores(runs: list[dict[str, Any]], paper: dict[str, float]) -> _Row:
    """Cells of a row that was measured with one seed or with several."""
    cells: _Row = {}
    for key, measure in MEASURES.items():
        ours, theirs = _mean(runs, key), paper.get(key)
        if ours is not None and (measure.always or theirs is not None):
            cells[measure.heading] = format(ours, measure.form)
            known = _measured(runs, key)
            if measure.absent and len(known) < len(runs):
                cells[measure.heading] += f" ({len(known)} of {len(runs)})"
            elif len(runs) > 1 and measure.score:
                cells[measure.heading] += f" ± {format(statistics.stdev(known), measure.form)}"
        if theirs is not None:
            cells[f"paper's {measure.heading}"] = format(
                theirs, ".1f" if measure.score and theirs % 1 == 0 else ",.10g"
            )
        if ours is None and theirs is not None and measure.absent:
            cells[measure.heading] = measure.absent
        if ours is not None and theirs is not None:
            if measure.score:
                cells[f"{measure.heading} difference"] = format(ours - theirs, "+.2f")
            elif theirs:
                cells[f"{measure.heading} / paper"] = format(ours / theirs, ".3g")
    return cells


def _against(name: str, base: str, results: dict[str, Any]) -> _Row:
    """Difference in F1 between a row and the row called `base`, ours and the paper's. Ours is over
    the seeds that both have, if there are any."""
    measured, paper = results["rows"], results["paper"]
    cells: _Row = {}
    if name == base or base not in paper:
        return cells
    ours = [_mean(measured.get(row, []), "f1") for row in (name, base)]
    if ours[0] is not None and ours[1] is not None:
        cells[f"F1 against {base}"] = format(ours[0] - ours[1], "+.2f")
        by_seed = [
            {run["conditions"]["seed"]: run["f1"] for run in measured[row]} for row in (name, base)
        ]
        gains = [
            by_seed[0][seed] - by_seed[1][seed] for seed in by_seed[0].keys() & by_seed[1].keys()
        ]
        if gains:
            cells[f"F1 against {base}"] = format(statistics.fmean(gains), "+.2f")
        if len(gains) > 1:
            cells[f"F1 against {base}"] += f" ± {statistics.stdev(gains):.2f}"
    if "f1" in paper[name] and "f1" in paper[base]:
        cells[f"paper's F1 against {base}"] = format(paper[name]["f1"] - paper[base]["f1"], "+.2f")
    return cells


def _order(names: list[str], measured: dict[str, Any], paper: dict[str, Any]) -> list[str]:
    """A sentence on whether our order of rows is the paper's, if three rows or more tell."""
    pairs = ((_mean(measured[name], "f1"), paper[name].get("f1")) for name in names)
    known = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    if len(known) < 3:
        return []
    ranks = [np.array([_rank(value, side) for value in side]) for side in zip(*known, strict=True)]
    if any(side.std() == 0 for side in ranks):
        return []
    agreement = np.corrcoef(ranks)[0, 1]
    what = "Rank correlation (Spearman) of our F1 with the paper's"
    return ["", f"{what}: {agreement:.2f} over {len(known)} rows."]


def _rank(value: float, among: tuple[float, ...]) -> float:
    """Place by size; those of the same size share the mean of their places."""
    return sum(other < value for other in among) + sum(other == value for other in among) / 2


def _measured(runs: list[dict[str, Any]], key: str) -> list[float]:
    return [run[key] for run in runs if key in run]


def _mean(runs: list[dict[str, Any]], key: str) -> float | None:
    values = _measured(runs, key)
    return statistics.fmean(values) if values else None


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _exceptions(measured: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Which rows the study changes beside the budget, those with the same values together."""
    rows: dict[str, list[str]] = {}
    for name, runs in measured.items():
        conditions = runs[0]["conditions"]
        changed = {**conditions["network"], **conditions["training"]}
        if further := conditions.get("train"):
            changed["data"] = f"and {' and '.join(further.values())}"
        if changed:
            rows.setdefault(_values(changed), []).append(name)
    if not rows:
        return []
    parts = (f"{values} for {', '.join(names)}" for values, names in rows.items())
    return [f"Changed from the rows' configurations: {'; '.join(parts)}.", ""]


def _conditions(measured: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Where and when rows were run, and with which seeds; nothing if none was."""
    found = [run["conditions"] for runs in measured.values() for run in runs]
    machines = dict.fromkeys(
        f"{_cores(each)}{each['processor']}, torch {each['torch']}, fabir {each['fabir']}"
        for each in found
    )
    days, seeds = (sorted({each[key] for each in found}) for key in ("date", "seed"))
    if not found:
        return []
    days = " to ".join(dict.fromkeys((days[0], days[-1])))
    return [f"Run on {'; '.join(machines)}; {days}; seed {', '.join(map(str, seeds))}."]


def _cores(conditions: dict[str, Any]) -> str:
    cores = conditions.get("cores")  # a GPU has none
    return f"{counted(cores, 'core')} of " if cores else ""


def _values(training: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in training.items())


def _describe(budget: dict[str, Any], measured: dict[str, list[dict[str, Any]]]) -> str:
    """The budget's settings, without those of a network that no row has."""
    found = [run["conditions"] for runs in measured.values() for run in runs]
    # Rows that do not record their configuration may have any setting, as may rows to come.
    configs = [each.get("config", budget) for each in found] or [budget]
    had = {key for config in configs for key in config.get("network", {})}
    network = {key: value for key, value in budget.get("network", {}).items() if key in had}
    limits = {"questions": "questions to train on", "dev_questions": "questions to measure with"}
    parts = [f"at least {budget[key]:,} {what}" for key, what in limits.items() if budget[key]]
    changed = (budget.get("training"), network, budget.get("vocabulary"))
    parts += [_values(values) for values in changed if values]
    return ", ".join(parts) or "all questions, trained as the configurations say"
