"""The position encoding has the three properties the thesis proves of it (5.2.1)."""

import math

import pytest
import torch

from fabir.layers.position import LearnedPositions, trigonometric_positions

DIM = 100
# Angles of float32 at position 500 are exact to about 3e-5.
CLOSE = {"atol": 1e-3, "rtol": 0}


def test_sines_and_cosines_of_geometric_frequencies() -> None:
    """Eq. 5.10, all sines before all cosines."""
    encoded = trigonometric_positions(40, DIM, first=500, lowest=1e-4, highest=1.0)
    assert encoded.shape == (40, DIM)
    assert encoded.dtype == torch.float32
    for k in (0, 1, 23, 49):
        frequency = 10 ** (-4 * k / 49)
        for i in (0, 1, 39):
            angle = (500 + i) * frequency
            assert float(encoded[i, k]) == pytest.approx(math.sin(angle), abs=1e-3)
            assert float(encoded[i, 50 + k]) == pytest.approx(math.cos(angle), abs=1e-3)


def test_one_matrix_leads_from_each_position_to_the_next() -> None:
    """Eq. 5.11: found from the first positions, it holds for all others."""
    encoded = trigonometric_positions(300, 12, lowest=0.3).double()
    step = torch.linalg.lstsq(encoded[:40], encoded[1:41]).solution
    torch.testing.assert_close(encoded[100:299] @ step, encoded[101:300], **CLOSE)


def test_attention_depends_on_the_distance_alone_and_is_highest_at_none() -> None:
    """Eqs. 5.12 and 5.13."""
    encoded = trigonometric_positions(60, DIM)
    attention = encoded @ encoded.T
    for distance in range(60):
        expected = attention[0, distance]
        for diagonal in (attention.diagonal(distance), attention.diagonal(-distance)):
            torch.testing.assert_close(diagonal, expected.expand_as(diagonal), **CLOSE)
    torch.testing.assert_close(attention.diagonal(), torch.full((60,), DIM / 2), **CLOSE)
    assert (attention <= DIM / 2 + 1e-3).all()


def test_the_first_position_has_a_number() -> None:
    late = trigonometric_positions(5, DIM, first=510)
    torch.testing.assert_close(trigonometric_positions(15, DIM, first=500)[10:], late)


def test_refuses_an_odd_dimension() -> None:
    with pytest.raises(ValueError, match="even dimension, got 7"):
        trigonometric_positions(5, 7)


def test_learned_positions_are_rows_of_a_matrix() -> None:
    learned = LearnedPositions(4, 6)
    rows = learned.rows.detach()
    assert torch.equal(learned(3), rows[:3])
    assert torch.equal(learned(7), rows[[0, 1, 2, 3, 3, 3, 3]])  # those beyond share the last
    learned(3).sum().backward()
    assert learned.rows.grad is not None
    assert learned.rows.grad.sum(1).tolist() == [6, 6, 6, 0]
