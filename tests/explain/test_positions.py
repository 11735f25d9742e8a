"""The thesis' properties of its position encoding, and the picture of them."""

from pathlib import Path

import numpy as np
import pytest

from fabir.explain.positions import PANELS, plot_positions, positional_attention


@pytest.mark.parametrize("setting", [each for panel in PANELS.values() for each in panel])
def test_attention_is_that_of_the_equations(setting: tuple[int, float, float]) -> None:
    dim, lowest, highest = setting
    frequencies = np.geomspace(highest, lowest, dim // 2)
    distances = np.arange(400)
    # sin(a) sin(b) + cos(a) cos(b) = cos(a - b): properties 5.3 and 5.4 follow.
    expected = np.cos(distances[:, None] * frequencies).mean(axis=1)
    np.testing.assert_allclose(positional_attention(*setting), expected, atol=1e-4)


def test_more_features_swing_less_and_low_frequencies_are_flat_nearby() -> None:
    def swings(attention: np.ndarray) -> float:
        return float(np.abs(np.diff(attention[100:])).mean())

    (large, small), (fast, slow) = (
        [positional_attention(*setting) for setting in panel] for panel in PANELS.values()
    )
    assert swings(large) < swings(small)
    assert swings(slow) < swings(fast)
    assert fast[5] < slow[5]


def test_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot_positions(tmp_path / "positions.png")
    assert (tmp_path / "positions.png").read_bytes().startswith(b"\x89PNG")
