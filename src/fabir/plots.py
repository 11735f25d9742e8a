"""What all plots share: matplotlib if it is there, colours, files that are whole or not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabir.errors import InputError
from fabir.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's, apart for colour-blind readers; markers and lines tell them apart in grey.
COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
MARKERS = "o", "s", "^", "D", "v", "P", "X"
LINES = "-", "--", "-.", ":"  # with 7 colours 28 runs before two look alike


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
    with replacing(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=300, metadata=metadata)
