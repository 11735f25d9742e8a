"""Training curves of runs: loss and scores as their `metrics.jsonl` has them."""

import json
from collections.abc import Sequence
from pathlib import Path

from fabir.errors import InputError
from fabir.files import open_text
from fabir.plots import COLOURS, MARKERS, new_figure, save
from fabir.training.metrics import FILE

_PANELS = {"loss": "training loss of a batch", "f1": "F1 on dev, %", "exact": "EM on dev, %"}


def plot_runs(folders: Sequence[Path], path: Path) -> None:
    """Draw the loss, F1 and EM of every evaluation against epochs, a line for each run.

    Raises:
        InputError: a folder without metrics, a damaged line, or as `fabir.plots.save`.
    """
    runs = {str(folder): _read(folder) for folder in folders}
    figure = new_figure(8, 9)
    for axes, (key, name) in zip(figure.subplots(3, 1, sharex=True), _PANELS.items(), strict=True):
        for number, (run, lines) in enumerate(runs.items()):
            axes.plot(
                [line["epoch"] for line in lines],
                [line[key] for line in lines],
                marker=MARKERS[number % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
                label=run,
            )
        axes.set_ylabel(name)
        axes.grid(color="0.9")
    axes.set_xlabel("epochs")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right")
    save(figure, path)


def _read(folder: Path) -> list[dict[str, float]]:
    path = folder / FILE
    with open_text(path) as file:
        lines = file.read().splitlines()
    try:
        measured = [json.loads(line) for line in lines]
        if all(line.keys() >= {"epoch", *_PANELS} for line in measured) and measured:
            return measured
    except (ValueError, AttributeError):
        pass
    raise InputError(f"{path}: not the metrics of a run that was evaluated at least once")
