"""What all plots share: matplotlib if it is there, colours, files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabir.errors import InputError
from fabir.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's, apart for colour-blind readers; markers and lines tell them apart in grey.
_COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
_MARKERS = "o", "s", "^", "D", "v", "P", "X"
_LINES = "-", "--", "-.", ":"
_DOTS = 300  # an inch, for print


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches.

    Raises:
        InputError: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib: pip install 'fabir[plots]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def style(number: int) -> dict[str, Any]:
    """What tells the line or the points of this number, from 0, apart: colour, marker and dashes.

    The first 28 differ in two of them.
    """
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "marker": _MARKERS[(number + number // len(_COLOURS)) % len(_MARKERS)],
        "linestyle": _LINES[number % len(_LINES)],
    }


def add_legend(figure: Figure, axes: Any) -> None:
    """What the lines of `axes` are, above all of a figure; long names one below the other."""
    lines, names = axes.get_legend_handles_labels()
    columns = max(1, 80 // (max(map(len, names)) + 6))
    figure.legend(lines, names, loc="outside upper right", ncols=columns)


def short_names(folders: Sequence[Path]) -> list[str]:
    """The ends of paths, as long as is needed to tell them apart.

    Raises:
        InputError: one is there twice.
    """
    paths = [Path(os.path.abspath(folder)) for folder in folders]
    for path in paths:
        if paths.count(path) > 1:
            raise InputError(f"{path} is named twice: name it once")
    parts = max((len(path.parts) for path in paths), default=0)
    ends = ([str(Path(*path.parts[-size:])) for path in paths] for size in range(1, parts + 1))
    return next((names for names in ends if len(set(names)) == len(names)), [])


def check_plot(path: Path) -> None:
    """Find out before long work whether it can be drawn into `path`.

    Raises:
        InputError: matplotlib is missing, or does not know the kind of file.
    """
    kinds = new_figure(1, 1).canvas.get_supported_filetypes()
    if path.suffix.lstrip(".") not in kinds:
        raise InputError(f"cannot draw {path}: name a .png, .svg or .pdf file")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as the kind of file that `path` ends in: the same bytes for the same figure.

    Raises:
        InputError: as `check_plot`, or the file cannot be written.
    """
    check_plot(path)
    kind = path.suffix.lstrip(".")
    # What would change from one day or version to the next.
    metadata: dict[str, Any] = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }.get(kind, {})
    from matplotlib import rc_context

    # Names within an SVG file are random without a salt of ours.
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "fabir"}):
        figure.savefig(temporary, format=kind, dpi=_DOTS, metadata=metadata)
