"""Convolutions along a sequence against torch's own, and against their definition."""

import pytest
import torch
import torch.nn.functional as F

from fabir.layers.convolution import Convolution, DepthwiseConvolution, neighbourhoods


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


@pytest.mark.parametrize("width", [1, 3, 5, 7, 15])
@pytest.mark.parametrize("length", [1, 4, 40])
def test_depthwise_convolution_equals_conv1d(width: int, length: int) -> None:
    torch.manual_seed(0)
    layer = DepthwiseConvolution(6, width).double()
    x = torch.randn(3, length, 6, dtype=torch.float64, requires_grad=True)
    expected = F.conv1d(x.transpose(1, 2), layer.weight, padding=width // 2, groups=6)
    result = layer(x)
    torch.testing.assert_close(result, expected.transpose(1, 2))
    inputs = [x, layer.weight]
    ours = torch.autograd.grad(result.square().sum(), inputs)
    theirs = torch.autograd.grad(expected.square().sum(), inputs)
    torch.testing.assert_close(ours, theirs)
    with torch.no_grad():
        torch.testing.assert_close(layer(x), result)


@pytest.mark.parametrize("dim", [16, 32])
def test_depthwise_convolution_learns_under_bfloat16(dim: int) -> None:
    torch.manual_seed(0)
    layer = DepthwiseConvolution(dim, 15)
    x = torch.randn(4, 20, dim, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        rough = layer(x)
    assert rough.dtype == torch.bfloat16
    mixed = torch.randn(rough.shape)
    exact = layer(x)
    torch.testing.assert_close(rough.float(), exact, atol=0.05, rtol=0.05)
    for ours, theirs in zip(
        *(
            torch.autograd.grad((y.float() * mixed).sum(), [x, layer.weight])
            for y in (rough, exact)
        ),
        strict=True,
    ):
        assert ours.dtype == torch.float32
        assert F.cosine_similarity(ours.flatten(), theirs.flatten(), dim=0) > 0.999


@pytest.mark.parametrize("width", [0, 2, -1])
def test_convolution_refuses_a_width_without_a_middle(width: int) -> None:
    with pytest.raises(ValueError, match=f"odd width, got {width}"):
        Convolution(4, 6, width)
    with pytest.raises(ValueError, match=f"odd width, got {width}"):
        DepthwiseConvolution(4, width)


def test_neighbourhoods_around_and_from_each_position() -> None:
    x = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    around = [[0, 0, 1, 10, 2, 20], [1, 10, 2, 20, 3, 30], [2, 20, 3, 30, 0, 0]]
    onwards = [[1, 10, 2, 20, 3, 30], [2, 20, 3, 30, 0, 0], [3, 30, 0, 0, 0, 0]]
    assert neighbourhoods(x, 3).tolist() == around
    assert neighbourhoods(x, 3, centred=False).tolist() == onwards
    assert neighbourhoods(x.expand(4, 2, 3, 2), 3).tolist() == [[around] * 2] * 4
    assert torch.equal(neighbourhoods(x, 1), x)
