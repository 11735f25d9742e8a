"""Attention with a convolution over its logits (FABIR eq. 12), for self- and cross-attention.

Heads are kept as separate maps of [batch, queries, keys]: every product then reads and writes
plain contiguous matrices.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fabir.layers.convolution import neighbourhoods
from fabir.layers.dropout import Dropout


class _MixKeys(torch.autograd.Function):
    """`mixed[o][b, j, (h, c)] = sum_t kernel[o, h, t] * key[b, j + t - width // 2, (h, c)]`.

    A depthwise convolution for each o. Only the gradient of the kernel is written out by hand, as
    one matrix product: the library's own is several times slower than all the rest.
    """

    @staticmethod
    def forward(ctx: Any, key: Tensor, kernel: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(key, kernel)
        return tuple(_depthwise(key, filters) for filters in kernel)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        key, kernel = ctx.saved_tensors
        heads, _, width = kernel.shape
        to_key = torch.zeros_like(key)
        for gradient, filters in zip(gradients, kernel.flip(2), strict=True):
            to_key += _depthwise(gradient, filters)
        to_kernel = torch.empty_like(kernel)
        dim_head = key.shape[2] // heads
        for head, (part, *outer) in enumerate(
            zip(*(x.split(dim_head, dim=2) for x in (key, *gradients)), strict=True)
        ):
            around = neighbourhoods(part, width).flatten(0, 1)  # [tokens, width * dim_head]
            product = torch.cat(outer, dim=2).flatten(0, 1).T @ around
            product = product.view(heads, dim_head, width, dim_head)
            to_kernel[:, head] = product.diagonal(dim1=1, dim2=3).sum(2)
        return to_key, to_kernel


def _depthwise(x: Tensor, filters: Tensor) -> Tensor:
    """Convolve each head's features of `x` [batch, length, dim] with its row of `filters`."""
    dim, (heads, width) = x.shape[2], filters.shape
    weight = filters.to(x.dtype).repeat_interleave(dim // heads, dim=0).view(dim, 1, 1, width)
    rows = x.transpose(1, 2).unsqueeze(2)  # [batch, dim, 1, length], channels last in memory
    return F.conv2d(rows, weight, padding=(0, width // 2), groups=dim).squeeze(2).transpose(1, 2)


class AttentionWeights(nn.Module):
    """The maps of multi-head attention: logits, convolution along the keys, softmax (eq. 12a-d).

    The convolution mixes heads and is linear in the keys, so it is applied to the keys instead of
    the logits: `sum_t,h H[o,h,t] q_h . k_h[j+t]` is the product of the whole query with a key
    whose heads were mixed and shifted. That is exact, a key is far smaller than a row of logits,
    and what remains are plain matrix products.

    Args:
        dim: features of queries and keys
        heads: number of heads, a divisor of `dim`
        width: size of the convolution along the keys, odd; 0 for none
        over: "keys" normalises each query's weights over the keys (row-wise), "queries" each
            key's over the queries (column-wise, FABIR III-D.2)
        capped: divide the weights of a query by one plus their sum. Over "queries" that sum may
            be as large as the number of keys, and what is gathered then drowns the query itself
        dropout: rate on the weights
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        width: int = 5,
        over: str = "keys",
        capped: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if heads < 1 or dim % heads:
            raise ValueError(f"{heads} heads do not divide {dim} features")
        if width and width % 2 == 0:
            raise ValueError(f"the convolution in attention needs an odd width, got {width}")
        if over not in ("keys", "queries"):
            raise ValueError(f"softmax goes over 'keys' or 'queries', got {over!r}")
        self.heads, self.width, self.over, self.capped = heads, width, over, capped
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.dropout = Dropout(dropout)
        if width:
            self.kernel = nn.Parameter(torch.empty(heads, heads, width))  # [out, in, shift]

    def forward(
        self, queries: Tensor, keys: Tensor, query_mask: Tensor, key_mask: Tensor
    ) -> list[Tensor]:
        """One map a head; the weights of padding are zero or meet zero values.

        Shape:
            queries: [batch, queries, dim]
            keys: [batch, keys, dim]
            query_mask, key_mask: [batch, length, 1], True on real tokens
            result: heads times [batch, queries, keys]
        """
        dim_head = queries.shape[-1] // self.heads
        query = self.query(queries) * dim_head**-0.5
        key = self.key(keys) * key_mask
        if self.width:
            pairs = zip([query] * self.heads, _MixKeys.apply(key, self.kernel), strict=True)
        else:
            pairs = zip(query.split(dim_head, dim=2), key.split(dim_head, dim=2), strict=True)
        masked = query_mask if self.over == "queries" else key_mask
        bias = (masked.transpose(1, 2).to(query.dtype) - 1) * 1e4  # [batch, 1, queries or keys]
        maps = [self._map(q, k, bias) for q, k in pairs]
        if self.capped:
            real = key_mask.transpose(1, 2)
            maps = [weights / (1 + (weights * real).sum(dim=2, keepdim=True)) for weights in maps]
        return [self.dropout(weights) for weights in maps]

    def _map(self, query: Tensor, key: Tensor, bias: Tensor) -> Tensor:
        """The softmax runs over the last dimension in memory, whichever way it goes."""
        if self.over == "keys":
            return torch.baddbmm(bias, query, key.transpose(1, 2)).softmax(dim=2)
        return torch.baddbmm(bias, key, query.transpose(1, 2)).softmax(dim=2).transpose(1, 2)


class Projection(nn.Module):
    """Values and output of multi-head attention for one stream of vectors (FABIR eqs. 12d, 12e)."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        if dim % heads:
            raise ValueError(f"{heads} heads do not divide {dim} features")
        self.dim_head = dim // heads
        self.value = nn.Linear(dim, dim)
        self.output = nn.Linear(dim, dim)

    def forward(self, weights: list[Tensor], x: Tensor, mask: Tensor) -> Tensor:
        """Sum the values of `x` under `weights`.

        Shape:
            weights: heads times [batch, queries, keys]
            x: [batch, keys, dim]
            mask: [batch, keys, 1], True on real tokens
            result: [batch, queries, dim]
        """
        values = (self.value(x) * mask).split(self.dim_head, dim=2)
        attended = [torch.bmm(w, v) for w, v in zip(weights, values, strict=True)]
        return self.output(torch.cat(attended, dim=2))
