"""CUDA graphs against the same computation without them. Without a GPU there is nothing to test."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from fabir.training.graphs import Graphs

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def test_a_graph_adds_the_same_gradient_as_its_function() -> None:
    device = torch.device("cuda")
    layer = nn.Linear(3, 1).to(device)
    calls = 0

    def add_gradient(inputs: Sequence[Tensor]) -> Tensor:
        nonlocal calls
        calls += 1
        loss = layer(inputs[0]).square().sum() * inputs[1]
        loss.backward()
        return loss.detach()

    graphs = Graphs(device)
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(4):
            x, scale = torch.randn(5, 3), torch.rand(())
            layer.zero_grad(set_to_none=False)
            expected = add_gradient([x.to(device), scale.to(device)]).item()
            assert layer.weight.grad is not None
            gradient = layer.weight.grad.clone()
            layer.zero_grad(set_to_none=False)
            assert graphs(add_gradient, [x, scale]).item() == pytest.approx(expected, rel=1e-5)
            torch.testing.assert_close(layer.weight.grad, gradient)
    assert calls == 4 + 2  # once as it is, once captured
