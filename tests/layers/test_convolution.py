"""Convolutions along a sequence against torch's own, and against their definition."""

import pytest
import torch
import torch.nn.functional as F

from fabir.layers.convolution import Convolution, neighbourhoods


@pytest.mark.parametrize("width", [1, 3, 9])
def test_convolution_equals_conv1d(width: int) -> None:
    torch.manual_seed(0)
    layer = Convolution(4, 6, width).double()
    x = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    expected = F.conv1d(x.transpose(1, 2), layer.weight, layer.bias, padding=width // 2)
    result = layer(x)
    torch.testing.assert_close(result, expected.transpose(1, 2))
    inputs = [x, *layer.parameters()]
    ours = torch.autograd.grad(result.square().sum(), inputs)
    theirs = torch.autograd.grad(expected.square().sum(), inputs)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("width", [0, 2, -1])
def test_convolution_refuses_a_width_without_a_middle(width: int) -> None:
    with pytest.raises(ValueError, match=f"odd width, got {width}"):
        Convolution(4, 6, width)


def test_neighbourhoods_around_and_from_each_position() -> None:
    x = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    around = [[0, 0, 1, 10, 2, 20], [1, 10, 2, 20, 3, 30], [2, 20, 3, 30, 0, 0]]
    onwards = [[1, 10, 2, 20, 3, 30], [2, 20, 3, 30, 0, 0], [3, 30, 0, 0, 0, 0]]
    assert neighbourhoods(x, 3).tolist() == around
    assert neighbourhoods(x, 3, centred=False).tolist() == onwards
    assert neighbourhoods(x.expand(4, 2, 3, 2), 3).tolist() == [[around] * 2] * 4
    assert torch.equal(neighbourhoods(x, 1), x)
