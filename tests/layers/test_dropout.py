"""Dropout from a pool behaves as dropout does: its rate, its mean, its seed."""

import pytest
import torch

from fabir.layers.dropout import _POOL, Dropout, enable_dropout


def dropped(rate: float, size: int = 1 << 20, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    return Dropout(rate)(torch.ones(size))


@pytest.mark.parametrize("rate", [0.1, 0.19, 0.25, 0.5])
def test_drops_at_its_rate_and_keeps_the_mean(rate: float) -> None:
    rounded = round(rate * 256) / 256
    result = dropped(rate)
    kept = result > 0
    deviation = (rounded * (1 - rounded) / len(result)) ** 0.5
    assert abs(float((~kept).double().mean()) - rounded) < 5 * deviation
    torch.testing.assert_close(result[kept], torch.full_like(result[kept], 1 / (1 - rounded)))
    assert abs(float(result.double().mean()) - 1) < 5 * deviation / (1 - rounded)
    # Neighbours are dropped independently of each other.
    both = float((~kept[1:] & ~kept[:-1]).double().mean())
    assert abs(both - rounded**2) < 5 * (rounded**2 / len(result)) ** 0.5


def test_the_seed_decides_the_mask() -> None:
    assert torch.equal(dropped(0.25, seed=3), dropped(0.25, seed=3))
    assert not torch.equal(dropped(0.25, seed=3), dropped(0.25, seed=4))
    torch.manual_seed(3)
    layer = Dropout(0.25)
    assert not torch.equal(layer(torch.ones(999)), layer(torch.ones(999)))


@pytest.mark.parametrize("size", [_POOL // 2, _POOL + 3])
def test_sizes_as_large_as_the_pool_and_larger(size: int) -> None:
    result = dropped(0.25, size)
    assert len(result) == size
    assert float((result == 0).double().mean()) == pytest.approx(0.25, abs=2e-3)


def test_the_gradient_goes_where_the_value_went() -> None:
    x = torch.randn(3, 5, 7, requires_grad=True)
    torch.manual_seed(0)
    result = Dropout(0.5)(x)
    result.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(result, x * x.grad)
    assert set(x.grad.flatten().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_keeps_shape_and_type(dtype: torch.dtype) -> None:
    result = Dropout(0.25)(torch.ones(2, 5, 3, dtype=dtype))
    assert (result.shape, result.dtype) == ((2, 5, 3), dtype)


def test_can_be_turned_off_and_on_in_a_whole_network() -> None:
    network = torch.nn.Sequential(torch.nn.Sequential(Dropout(0.5)), Dropout(0.5))
    x = torch.ones(999)
    enable_dropout(network, False)
    assert network(x) is x
    enable_dropout(network, True)
    assert float((network(x) == 0).double().mean()) == pytest.approx(0.75, abs=0.1)


def test_the_highest_rate_still_keeps_something() -> None:
    dropped = Dropout(0.999)(torch.ones(1000, 100))
    assert 0 < (dropped > 0).float().mean() < 0.01
    assert dropped.isfinite().all()


def test_nothing_to_drop() -> None:
    assert Dropout(0.5)(torch.ones(2, 0)).shape == (2, 0)


def test_is_the_identity_when_answering_and_at_rate_zero() -> None:
    x = torch.randn(9)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5])
def test_refuses_what_is_no_rate(rate: float) -> None:
    with pytest.raises(ValueError, match=f"got {rate}"):
        Dropout(rate)


def test_shows_its_rate() -> None:
    assert str(Dropout(0.25)) == "Dropout(rate=0.250)"
