"""What FABIR's position encoding alone gives to attention (thesis Figures 11 and 12)."""

from pathlib import Path

import numpy as np

from fabir.layers.position import trigonometric_positions
from fabir.plots import new_figure, save, style

PASSAGE = 400  # words: 99.5 % of SQuAD's passages are shorter
# The curves of each panel: number of features, lowest and highest frequency in radians per word.
PANELS = {
    "model size (thesis Figure 11)": [(512, 1e-4, 1.0), (100, 1e-4, 1.0)],
    "frequencies (thesis Figure 12)": [(100, 1e-4, 1.0), (100, 3e-3, 1e-1)],
}


def positional_attention(
    dim: int, lowest: float, highest: float, length: int = PASSAGE
) -> np.ndarray:
    """Products of the first position's encoding with every position's, scaled to 1 at the first.

    Shape: [length]

    Raises:
        ValueError: an odd `dim`.
    """
    encoded = trigonometric_positions(length, dim, first=1, lowest=lowest, highest=highest)
    products = encoded @ encoded[0]
    return (products / products[0]).numpy()


def plot_positions(path: Path) -> None:
    """Draw both figures, one above the other.

    Raises:
        InputError: see `fabir.plots.save`.
    """
    figure = new_figure(8, 7)
    panels = figure.subplots(len(PANELS), 1, sharex=True, sharey=True)
    for axes, (title, compared) in zip(panels, PANELS.items(), strict=True):
        for number, (dim, lowest, highest) in enumerate(compared):
            axes.plot(
                range(1, PASSAGE + 1),
                positional_attention(dim, lowest, highest),
                **style(number) | {"marker": None},
                label=f"{dim} features, {lowest:g} to {highest:g} rad/word",
            )
        axes.set(title=title, ylabel="similarity to word 1")
        axes.grid(color="0.9")
        axes.legend()
    panels[-1].set_xlabel("word")
    save(figure, path)
