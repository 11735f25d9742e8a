"""Training curves of runs: loss and scores as their `metrics.jsonl` has them."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fabir.errors import InputError
from fabir.files import open_text
from fabir.plots import add_legend, legend_name, new_figure, save, short_names, style
from fabir.training.metrics import FILE
from fabir.training.notes import note

_PANELS = {"loss": "mean training loss", "f1": "F1 on dev, %", "exact": "EM on dev, %"}


def plot_runs(folders: Sequence[Path], path: Path) -> None:
    """Draw the loss, and F1 and EM where they were measured, against epochs, a line for each run.

    Raises:
        InputError: a folder without metrics or named twice, a damaged line, or as
            `fabir.plots.save`.
    """
    runs = dict(zip(short_names(folders), map(_read, folders), strict=True))
    for run, lines in runs.items():
        if not any("f1" in line for line in lines):
            note(f"{run} is not evaluated yet: it has its loss alone")
    figure = new_figure(8, 9)
    panels = figure.subplots(len(_PANELS), 1, sharex=True)
    for axes, (key, name) in zip(panels, _PANELS.items(), strict=True):
        for number, (run, lines) in enumerate(runs.items()):
            measured = [line for line in lines if key in line]
            axes.plot(
                [line["epoch"] for line in measured],
                [line[key] for line in measured],
                **style(number) | ({"marker": None} if key == "loss" else {}),
                label=legend_name(run),
            )
        axes.set_ylabel(name)
        axes.grid(color="0.9")
    panels[-1].set_xlabel("epochs")
    add_legend(figure, panels[-1])
    save(figure, path)


def _read(folder: Path) -> list[dict[str, float]]:
    path = folder / FILE
    if not path.exists():
        raise InputError(
            f"there are no metrics in {folder}: name the folder of a training that has logged some"
        )
    with open_text(path) as file, suppress(ValueError, AttributeError):
        measured = [json.loads(line) for line in file.read().splitlines()]
        if all(line.keys() >= {"epoch", "loss"} for line in measured) and measured:
            return measured
    raise InputError(f"{path}: not the metrics of a run")
