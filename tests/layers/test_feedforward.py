"""The vector-wise sublayers against their equations."""

import torch

from fabir.layers.feedforward import FeedForward, Join


def test_feed_forward_is_two_matrices_with_a_relu_between() -> None:
    torch.manual_seed(0)
    layer, x = FeedForward(6, 10), torch.randn(2, 3, 6)
    w1, b1, w2, b2 = layer.parameters()
    torch.testing.assert_close(layer(x), (x @ w1.T + b1).clamp(min=0) @ w2.T + b2)


def test_join_normalises_the_sum() -> None:
    torch.manual_seed(0)
    layer, x, change = Join(32, 0.5).eval(), torch.randn(2, 3, 32), torch.randn(2, 3, 32)
    result = layer(x, change)
    torch.testing.assert_close(result.mean(2), torch.zeros(2, 3), atol=1e-5, rtol=0)
    torch.testing.assert_close(result.var(2, unbiased=False), torch.ones(2, 3), atol=1e-3, rtol=0)
    both = x + change
    centred = both - both.mean(2, keepdim=True)
    torch.testing.assert_close(result * centred.std(2, keepdim=True), centred, atol=0.1, rtol=0.05)


def test_join_drops_from_the_change_and_never_from_the_residual() -> None:
    torch.manual_seed(0)
    layer = Join(1000, 0.5)
    x, change = torch.zeros(1000), torch.ones(1000)
    x[0] = 50.0
    values = layer(x, change).tolist()
    assert len(set(values[1:])) == 2  # dropped or kept
    assert values[0] > 20 * max(abs(value) for value in values[1:])
