"""Recurrent networks over padded sequences, both ways, without packing."""

from contextlib import nullcontext
from typing import Any, Literal

import torch
from torch import Tensor, nn

Cell = Literal["lstm", "gru"]


class Bidirectional(nn.Module):
    """An LSTM or GRU from left to right beside one from right to left.

    The second reads each sequence reversed within its own length, so that it starts at the last
    real token. This equals packing, can be exported, and is faster on a CPU. On a GPU it is in
    float32, since autocast to bfloat16 takes float16 for recurrent networks, whose range is small.

    Args:
        inputs: features of the input
        hidden: features of each direction
        cell: "lstm" or "gru"

    Shape:
        x: [batch, length, inputs]
        mask: [batch, length, 1], True on real tokens, which come first
        result: [batch, length, 2 * hidden], zeros at padding
    """

    def __init__(self, inputs: int, hidden: int, cell: Cell = "lstm") -> None:
        super().__init__()
        cells = {"lstm": nn.LSTM, "gru": nn.GRU}
        if cell not in cells:
            raise ValueError(f"a recurrent cell is 'lstm' or 'gru', got {cell!r}")
        self.forwards = cells[cell](inputs, hidden, batch_first=True)
        self.backwards = cells[cell](inputs, hidden, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        order = reversed_order(mask)
        with torch.autocast("cuda", enabled=False) if x.is_cuda else nullcontext():
            x = x.float() if x.is_cuda else x
            right, _ = self.forwards(x)
            left, _ = self.backwards(reorder(x, order))
        if not torch.compiler.is_compiling():
            return torch.cat([right, reorder(left, order)], dim=2) * mask
        # `right` is gathered too, in its own order. Otherwise the exporter would take the length of
        # a recurrent network's output for a constant.
        same = torch.arange(mask.shape[1], device=mask.device)[None, :, None].expand_as(order)
        size = right.shape[2]
        places = torch.cat([same.expand(-1, -1, size), order.expand(-1, -1, size)], dim=2)
        return torch.cat([right, left], dim=2).gather(1, places) * mask


def reversed_order(mask: Tensor) -> Tensor:
    """The place of each token after real tokens are reversed; padding stays. It is its own inverse.

    Shape:
        mask: [batch, length, 1], True on real tokens, which come first
        result: [batch, length, 1] int64
    """
    places = torch.arange(mask.shape[1], device=mask.device)[None, :, None]
    return torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - places, places)


def reorder(x: Tensor, order: Tensor) -> Tensor:
    """Tokens of `x` [batch, length, dim] taken in `order` [batch, length, 1], its own inverse."""
    if torch.compiler.is_compiling():
        return x.gather(1, order.expand_as(x))
    first = torch.arange(0, x.shape[0] * x.shape[1], x.shape[1], device=x.device)
    return _Reordered.apply(x, (order + first[:, None, None]).flatten())


class _Reordered(torch.autograd.Function):
    """Rows of all texts, copied whole; the gradient takes the same way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return x.flatten(0, 1).index_select(0, rows).view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,) = gradients
        (rows,) = ctx.saved_tensors
        return gradient.flatten(0, 1).index_select(0, rows).view_as(gradient), None
