"""An analysis as files: JSON, CSV, plots, and an HTML page of one file.

The same numbers give the same files, also if they are read from the JSON file.
"""

import base64
import csv
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fabir.errors import InputError
from fabir.evaluation.breakdown import GROUPINGS, UNKNOWN_WORDS
from fabir.files import read_json, replacing, write_json
from fabir.plots import add_legend, check_plot, legend_name, new_figure, save, style

ANALYSIS, PAGE = "analysis.json", "report.html"
_TABLES = "groups.csv", "calibration.csv", "no-answer.csv", "questions.csv"
_SCORES = {"f1": "F1", "exact": "EM"}


class _Table(NamedTuple):
    """Cells as texts; the first of each row names it. `numbers` are aligned to the right."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: bool = True


class _Section(NamedTuple):
    heading: str
    table: _Table
    image: str = ""  # a PNG file in base64


def check_report(output: Path, *, again: bool = False) -> None:
    """Check before long work that a report can be written into a folder.

    Args:
        again: from the folder's JSON file, which must be there

    Raises:
        InputError: matplotlib or Jinja is missing, the page cannot be written, or the folder has
            files of the report's names that are of no report.
    """
    names = ANALYSIS, PAGE, *_TABLES
    there = next((output / name for name in names if (output / name).exists()), None)
    if again or there == output / ANALYSIS:
        _read_analysis(output)
    elif there:
        raise InputError(f"{there} is of no report, and would be written over: name another folder")
    check_plot((output / PAGE).with_suffix(".png"))
    _template()


def write_report(analysis: dict[str, Any], output: Path) -> Path:
    """Write all files of an `analysis` (see `fabir.evaluation.analysis`) into a folder.

    The page names the data set if the analysis has the key `data`.

    Returns:
        the page's path

    Raises:
        InputError: matplotlib or Jinja is missing, or a file cannot be written.
    """
    write_json(output / ANALYSIS, analysis)  # first: it took the longest
    figures = {name: _breakdown(analysis, name) for name in _groupings(analysis)}
    figures["calibration"] = _calibration(analysis)
    for name, figure in figures.items():
        save(figure, output / f"{name.replace(' ', '-')}.png")
    questions = _question_rows(analysis) if analysis["questions"] else []  # may be left out
    tables = _group_rows(analysis), _calibration_rows(analysis), _confusions(analysis), questions
    for name, rows in zip(_TABLES, tables, strict=True):
        if rows:
            _write_csv(output / name, rows)
    with replacing(output / PAGE) as temporary:
        temporary.write_text(_page(analysis, output), encoding="utf-8")
    return output / PAGE


def report_again(output: Path) -> Path:
    """Write all files again from the folder's JSON file; returns the page's path.

    Raises:
        InputError: the folder has no analysis; or see `write_report`.
    """
    analysis = _read_analysis(output)
    try:
        return write_report(analysis, output)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise _no_analysis(output) from error


def _read_analysis(output: Path) -> dict[str, Any]:
    analysis = read_json(output / ANALYSIS)
    keys = {"readers", "questions", "worst"}
    if not (isinstance(analysis, dict) and analysis.keys() >= keys and analysis["readers"]):
        raise _no_analysis(output)
    return analysis


def _no_analysis(output: Path) -> InputError:
    return InputError(f"{output / ANALYSIS} is no whole analysis: make it with fabir analyse")


def _groupings(analysis: dict[str, Any]) -> dict[str, list[str]]:
    """The names of the groupings that an analysis has, with the labels of their groups."""
    found = [measured["groups"] for measured in analysis["readers"].values()]
    return {
        each.name: [
            label for label in each.labels if any(label in groups[each.name] for groups in found)
        ]
        for each in (*GROUPINGS, *UNKNOWN_WORDS)
        if all(each.name in groups for groups in found)  # an analysis of before may lack some
    }


def _count(analysis: dict[str, Any], grouping: str, label: str) -> str:
    """How many questions a group has. Groups of unknown words differ between models."""
    found = [measured["groups"][grouping] for measured in analysis["readers"].values()]
    counts = [groups[label]["count"] if label in groups else 0 for groups in found]
    return " / ".join(f"{count:,}" for count in (counts if len(set(counts)) > 1 else counts[:1]))


def _breakdown(analysis: dict[str, Any], grouping: str) -> Any:
    """A plot of F1 above EM for each group, with every model's mean and its 95 % interval."""
    models = analysis["readers"]
    labels = _groupings(analysis)[grouping]
    figure = new_figure(8, 6)
    panels = figure.subplots(len(_SCORES), 1, sharex=True)
    for axes, (key, name) in zip(panels, _SCORES.items(), strict=True):
        for number, (model, measured) in enumerate(models.items()):
            groups = measured["groups"][grouping]
            places = [place for place, label in enumerate(labels) if label in groups]
            scores = [groups[labels[place]][key] for place in places]
            means, lower, upper = zip(*scores, strict=True)
            shift = 0.5 * ((number + 0.5) / len(models) - 0.5)
            axes.errorbar(
                [place + shift for place in places],
                means,
                yerr=[
                    [mean - low for mean, low in zip(means, lower, strict=True)],
                    [high - mean for mean, high in zip(means, upper, strict=True)],
                ],
                **style(number) | {"linestyle": "none"},
                capsize=3,
                label=legend_name(model),
            )
        # The axis does not start at 0, because groups differ by a few percent.
        axes.set_ylabel(f"{name}, %")
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)
    lowest = panels[-1]
    lowest.set_xlabel(grouping + (" in words" if grouping.endswith("length") else ""))
    ticks = [
        f"n = {_count(analysis, grouping, label)}\n{textwrap.fill(label, 11)}" for label in labels
    ]
    lowest.set_xticks(range(len(labels)), ticks, fontsize="small")
    add_legend(figure, lowest)
    return figure


def _calibration(analysis: dict[str, Any]) -> Any:
    figure = new_figure(5, 5)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, label="as sure as right")
    for number, (model, measured) in enumerate(analysis["readers"].items()):
        said, was = zip(*measured["calibration"]["curve"], strict=True)
        error = measured["calibration"]["error"]
        axes.plot(
            said,
            was,
            **style(number),
            label=legend_name(f"{model}, expected error {error:.2f}"),
        )
    axes.set(xlabel="probability given", ylabel="share that is right (F1 of 0.5 or more)")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False)
    return figure


def _group_rows(analysis: dict[str, Any]) -> list[list[Any]]:
    rows: list[list[Any]] = [
        ["reader", "grouping", "group", "count"]
        + [f"{key}{part}" for key in _SCORES for part in ("", "_lower", "_upper")]
    ]
    for model, measured in analysis["readers"].items():
        every = {"all": {"all": measured["all"]}, **measured["groups"]}
        for grouping, groups in every.items():
            for label, group in groups.items():
                scores = [value for key in _SCORES for value in group[key]]
                rows.append([model, grouping, label, group["count"], *scores])
    return rows


def _calibration_rows(analysis: dict[str, Any]) -> list[list[Any]]:
    rows: list[list[Any]] = [["reader", "probability", "right"]]
    for model, measured in analysis["readers"].items():
        rows += [[model, *point] for point in measured["calibration"]["curve"]]
    return rows


def _confusions(analysis: dict[str, Any]) -> list[list[Any]]:
    """Rows of each model's confusion matrix, after their headings; empty without such data."""
    found = {
        name: measured["no_answer"]
        for name, measured in analysis["readers"].items()
        if "no_answer" in measured
    }
    if not found:
        return []
    kinds = list(next(iter(found.values())))
    return [
        ["reader", *kinds],
        *([name, *(x[kind] for kind in kinds)] for name, x in found.items()),
    ]


def _question_rows(analysis: dict[str, Any]) -> list[list[Any]]:
    names = [each.name for each in GROUPINGS]
    unknown = [each.name for each in UNKNOWN_WORDS if each.name in _groupings(analysis)]
    keys = "answer", *_SCORES, *unknown
    models = list(analysis["readers"])
    measured = [f"{model}: {key}" for model in models for key in keys]
    rows: list[list[Any]] = [["id", "title", "question", "references", *names, *measured]]
    for row in analysis["questions"]:
        about = [row["id"], row["title"], row["question"], " | ".join(row["references"])]
        given = [row["readers"][model][key] for model in models for key in keys]
        rows.append([*about, *(row[name] for name in names), *given])
    return rows


def _write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _page(analysis: dict[str, Any], folder: Path) -> str:
    models = analysis["readers"]
    return _template().render(
        models=list(models),
        data=analysis.get("data"),
        count=next(iter(models.values()))["all"]["count"],
        sections=list(_sections(analysis, folder)),
    )


def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise InputError("the report needs Jinja: pip install 'fabir[plots]'") from error
    made = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    return made.from_string(Path(__file__).with_name(PAGE).read_text(encoding="utf-8"))


def _sections(analysis: dict[str, Any], folder: Path) -> Iterator[_Section]:
    models = analysis["readers"]
    headings, first = ["reader", *_SCORES.values()], next(iter(models))
    rows = [[model, *_intervals(measured["all"])] for model, measured in models.items()]
    if any("difference" in measured for measured in models.values()):
        headings += [f"{score} above {first}" for score in _SCORES.values()]
        for row, measured in zip(rows, models.values(), strict=True):
            row += _intervals(measured.get("difference"), "+.2f")
    yield _Section("All questions", _Table("Scores", headings, rows))
    for name, labels in _groupings(analysis).items():
        scores = [f"{model} {score}" for model in models for score in _SCORES.values()]
        rows = [
            [label, _count(analysis, name, label)]
            + [
                score
                for measured in models.values()
                for score in _intervals(measured["groups"][name].get(label))
            ]
            for label in labels
        ]
        table = _Table(f"Scores by {name}", [name, "questions", *scores], rows)
        yield _Section(f"By {name}", table, _image(folder, name))
    errors = [[name, f"{each['calibration']['error']:.4f}"] for name, each in models.items()]
    table = _Table("Expected calibration error", ["reader", "error"], errors)
    yield _Section("Calibration", table, _image(folder, "calibration"))
    if confusions := _confusions(analysis):
        headings, *counted = confusions
        rows = [[name, *(f"{count:,}" for count in counts)] for name, *counts in counted]
        table = _Table("Questions that have an answer, and were given one", headings, rows)
        yield _Section("Answered or not", table)
    if analysis["worst"]:
        yield _Section("Worst questions", _worst(analysis))


def _intervals(group: dict[str, Any] | None, form: str = ".1f") -> list[str]:
    """F1 and EM of a group with their intervals; dashes for a group without questions."""
    if group is None:
        return ["-"] * len(_SCORES)
    scores = ([format(value, form) for value in group[key]] for key in _SCORES)
    return [f"{mean} [{lower}, {upper}]" for mean, lower, upper in scores]


def _worst(analysis: dict[str, Any]) -> _Table:
    models = list(analysis["readers"])
    rows = []
    for number in analysis["worst"]:
        row = analysis["questions"][number]
        answers = [
            f"{given['answer'] or '(no answer)'} ({given['confidence']:.2f})"
            for given in (row["readers"][model] for model in models)
        ]
        references = " / ".join(row["references"]) or "(no answer)"
        rows.append([row["question"], row["title"], references, *answers])
    headings = ["question", "title", "references", *models]
    return _Table("Questions with the lowest F1, with confidences", headings, rows, numbers=False)


def _image(folder: Path, name: str) -> str:
    return base64.b64encode((folder / f"{name.replace(' ', '-')}.png").read_bytes()).decode()
