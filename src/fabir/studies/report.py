"""The Markdown report of a study's results: the same text from the same results, always."""

from collections.abc import Callable
from typing import Any

_SCORES = {
    "f1": "F1",
    "exact": "EM",
    "HasAns_f1": "HasAns F1",
    "HasAns_exact": "HasAns EM",
    "NoAns_f1": "NoAns F1",
}
_Cell = Callable[[dict[str, float], dict[str, float]], str]  # from our figures and the paper's


def render(results: dict[str, Any]) -> str:
    """A page that says what was run, with a table of ours beside the paper's.

    `results` are those that `fabir.studies.runner.reproduce` stores.
    """
    budget, machine, data = results["budget"], results["machine"], results["data"]
    measured, paper = results["rows"], results["paper"]
    columns = _columns(list(measured.values()), list(paper.values()))
    rows = [
        _line([name, *(cell(measured[name], paper[name]) for cell in columns.values())])
        for name in paper
        if name in measured
    ]
    if "majority" in results:
        no_answer = (cell(results["majority"], {}) for cell in columns.values())
        rows.insert(0, _line(["no answer to any question", *no_answer]))
    missing = [name for name in paper if name not in measured]
    lines = [
        f"# {results['title']}: budget {budget['name']}",
        "",
        f"The paper's figures: {results['source']}",
        "",
        f"Budget: {_describe(budget)}.",
        "",
        *_exceptions(results["training"]),
        f"Trained on {data['train']}, measured on {data['dev']}, word vectors {data['vectors']}; "
        f"{machine['cores']} cores of {machine['processor']}, torch {machine['torch']}, fabir "
        f"{machine['fabir']}, begun {machine['date']}.",
        "",
        _line(["row", *columns]),
        f"|{'---|' * (1 + len(columns))}",
        *rows,
    ]
    if missing:
        lines += ["", f"Not run yet: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _columns(measured: list[dict[str, float]], paper: list[dict[str, float]]) -> dict[str, _Cell]:
    """The table's columns by heading: scores that a row has, sizes, speeds."""
    columns: dict[str, _Cell] = {}
    for key, name in _SCORES.items():
        if any(key in row for row in measured):
            columns[name] = _ours(key, ".2f")
        if any(key in row for row in paper):
            columns[f"paper's {name}"] = lambda _, paper, key=key: _show(paper.get(key), ".1f")
            columns[f"{name} difference"] = lambda ours, paper, key=key: _show(
                ours[key] - paper[key] if key in ours and key in paper else None, "+.1f"
            )
    columns["parameters"] = _ours("parameters", ",.0f")
    if any("parameters" in row for row in paper):
        columns["paper's parameters"] = lambda _, paper: _show(paper.get("parameters"), ",.0f")
    columns["training, questions/s"] = _ours("training_rate", ",.0f")
    columns["answering, questions/s"] = _ours("answering_rate", ",.0f")
    return columns


def _ours(key: str, form: str) -> _Cell:
    return lambda ours, _: _show(ours.get(key), form)


def _show(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _exceptions(training: dict[str, dict[str, Any]]) -> list[str]:
    """Which rows are trained otherwise, those with the same values together."""
    rows: dict[str, list[str]] = {}
    for name, values in training.items():
        rows.setdefault(_values(values), []).append(name)
    if not rows:
        return []
    parts = (f"{values} for {', '.join(names)}" for values, names in rows.items())
    return [f"Except {'; '.join(parts)}.", ""]


def _values(training: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in training.items())


def _describe(budget: dict[str, Any]) -> str:
    limits = {"questions": "questions to train on", "dev_questions": "questions to measure with"}
    parts = [f"at least {budget[key]:,} {what}" for key, what in limits.items() if budget[key]]
    parts += [_values(budget["training"])] * bool(budget["training"])
    return ", ".join(parts) or "all questions, trained as the configurations say"
