"""Shared by all plots: the optional matplotlib, colours and line styles, atomic writing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabir.errors import InputError
from fabir.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The Okabe-Ito palette, which is safe for colour-blind people. Markers and dashes differ in grey.
_COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
_MARKERS = "o", "s", "^", "D", "v", "P", "X"
_LINES = "-", "--", "-.", ":"
KINDS = "png", "svg", "pdf"
_DPI = 300  # dots per inch, for print


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; `width` and `height` are in inches.

    Raises:
        InputError: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib: pip install 'fabir[plots]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def style(number: int) -> dict[str, Any]:
    """Colour, marker and dashes of the line with this number, from 0.

    Any two of the first 28 styles differ in at least two of the three.
    """
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "marker": _MARKERS[(number + number // len(_COLOURS)) % len(_MARKERS)],
        "linestyle": _LINES[number % len(_LINES)],
    }


def legend_name(name: str) -> str:
    """A name in a legend as it is: matplotlib leaves out those that begin with "_", and takes
    dollar signs for mathematics."""
    return f"{' ' * name.startswith('_')}{name}".replace("$", r"\$")


def add_legend(figure: Figure, axes: Any) -> None:
    """Add a legend of the lines of `axes` above the figure; long names get one column."""
    lines, names = axes.get_legend_handles_labels()
    columns = max(1, 80 // (max(map(len, names)) + 6))
    figure.legend(lines, names, loc="outside upper right", ncols=columns)


def short_names(folders: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that are all different.

    Raises:
        InputError: a path occurs twice.
    """
    paths = [Path(os.path.abspath(folder)) for folder in folders]
    for path in paths:
        if paths.count(path) > 1:
            raise InputError(f"{path} is named twice: name it once")
    parts = max((len(path.parts) for path in paths), default=0)
    ends = ([str(Path(*path.parts[-size:])) for path in paths] for size in range(1, parts + 1))
    return next((names for names in ends if len(set(names)) == len(names)), [])


def check_plot(path: Path) -> None:
    """Check before long work that a plot can be written to `path`.

    Raises:
        InputError: matplotlib is missing, or the file type is none of `KINDS`.
    """
    new_figure(1, 1)
    if _kind(path) not in KINDS:
        raise InputError(f"cannot draw {path}: name a .png, .svg or .pdf file")


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the suffix of `path` gives the file type. Equal figures give equal bytes.

    Raises:
        InputError: as `check_plot`, or the file cannot be written.
    """
    check_plot(path)
    kind = _kind(path)
    # Without metadata that depends on the date or on the version of matplotlib.
    metadata: dict[str, Any] = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }.get(kind, {})
    from matplotlib import rc_context

    # Without a fixed salt the identifiers in an SVG file are random.
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "fabir"}):
        figure.savefig(temporary, format=kind, dpi=_DPI, metadata=metadata)


def _kind(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")
