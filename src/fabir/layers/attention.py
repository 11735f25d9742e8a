"""Attention with a convolution over its logits (FABIR eq. 12), for self- and cross-attention.

Heads are kept as separate maps of [batch, queries, keys]: every product then reads and writes
plain matrices.
"""

from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fabir.layers.convolution import depthwise, neighbourhoods
from fabir.layers.dropout import Dropout
from fabir.layers.masking import mask_bias

_SHARPNESS = 2.0  # of cross-attention with matching initialisation


class _MixKeys(torch.autograd.Function):
    """`mixed[o][b, j, (h, c)] = sum_t kernel[o, h, t] * key[b, j + t - width // 2, (h, c)]`.

    This is one depthwise convolution for each o. The gradient of the kernel is written by hand as
    one matrix product, since the library's is several times slower than everything else here.
    """

    @staticmethod
    def forward(ctx: Any, key: Tensor, kernel: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(key, kernel)
        return tuple(_depthwise(key, filters) for filters in kernel)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        key, kernel = ctx.saved_tensors
        outputs, heads, width = kernel.shape
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
            product = product.view(outputs, dim_head, width, dim_head)
            to_kernel[:, head] = product.diagonal(dim1=1, dim2=3).sum(2)
        return to_key, to_kernel


class _Logits(torch.autograd.Function):
    """`bias + query @ key.transpose(1, 2)`, with a gradient of the key in the key's memory layout.

    The library's gradient is transposed, which costs the operation before it a copy.
    """

    @staticmethod
    def forward(ctx: Any, bias: Tensor, query: Tensor, key: Tensor) -> Tensor:
        ctx.save_for_backward(query, key)
        ctx.bias_shape = bias.shape
        return torch.baddbmm(bias, query, key.transpose(1, 2))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        (gradient,) = gradients
        query, key = (x.to(gradient.dtype) for x in ctx.saved_tensors)  # as autocast had them
        to_bias = gradient.sum_to_size(ctx.bias_shape) if ctx.needs_input_grad[0] else None
        return to_bias, gradient @ key, gradient.transpose(1, 2) @ query


def _mix(key: Tensor, kernel: Tensor | None, scale: float) -> tuple[Tensor, ...]:
    """The keys times `scale`. A kernel mixes their heads and neighbours.

    Shape: one [batch, keys, dim] for all heads, or with a kernel one for each head, of
        [batch, keys, height * dim]
    """
    if kernel is None:
        return (key * scale,)
    outputs, inputs, _ = kernel.shape
    if inputs > outputs:  # a part for each row of the kernel
        key = key.repeat(1, 1, inputs // outputs)
    return _MixKeys.apply(key, kernel * scale)


def _depthwise(x: Tensor, filters: Tensor) -> Tensor:
    """Convolve each head's features of `x` [batch, length, dim] with its row of `filters`."""
    of_features = filters.to(x.dtype).repeat_interleave(x.shape[2] // len(filters), dim=0)
    return depthwise(x, of_features)


class AttentionWeights(nn.Module):
    """The maps of multi-head self-attention: logits, a convolution over them, softmax (eq. 12a-d).

    The convolution mixes heads and is linear in the keys, so it is applied to the keys instead of
    the logits: `sum_t,h H[o,h,t] q_h . k_h[j+t]` is the product of the whole query with a key
    whose heads were mixed and shifted. This is exact. It is also cheap: a key is far smaller than a
    row of logits, and plain matrix products remain. A kernel of several rows (eq. 11) has such a
    key for each row; the product is with the queries around, side by side.

    Args:
        dim: features of queries and keys
        heads: number of heads, a divisor of `dim`
        width: size of the convolution along the keys, odd; 0 for none
        height: its size along the queries, odd
        scaled: divide the logits by the root of a head's features, which eq. 12 does not
        bias: add biases to queries and keys, which eq. 12 does not
        dropout: rate on the weights
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        width: int = 5,
        height: int = 1,
        scaled: bool = True,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _check_sizes(dim, heads, width, height)
        self.heads, self.width, self.height = heads, width, height
        self.scale = (dim // heads) ** -0.5 if scaled else 1.0
        self.query = nn.Linear(dim, dim, bias=bias)
        self.key = nn.Linear(dim, dim, bias=bias)
        self.dropout = Dropout(dropout)
        if width:
            self.kernel = _kernel(heads, height, width)

    def forward(self, x: Tensor, mask: Tensor) -> list[Tensor]:
        """One map for each head. Keys that are padding have weight zero, if the text has any word.

        Shape:
            x: [batch, length, dim]
            mask: [batch, length, 1], True on real tokens
            result: heads times [batch, length, length], queries by keys
        """
        query, key = self.query(x), self.key(x) * mask
        if self.height > 1:
            query = neighbourhoods(query * mask, self.height)
        mixed = _mix(key, self.kernel if self.width else None, self.scale)
        if len(mixed) == 1:
            pairs = zip(_parts(query, self.heads), _parts(mixed[0], self.heads), strict=True)
        else:
            pairs = zip([query] * self.heads, mixed, strict=True)
        bias = mask_bias(mask, query.dtype)
        maps = (_Logits.apply(bias, q, k).softmax(dim=2) for q, k in pairs)
        return [self.dropout(weights) for weights in maps]


class Projection(nn.Module):
    """Values and output of multi-head attention for one stream of vectors (FABIR eqs. 12d, 12e).

    `bias` says whether both maps have one.
    """

    def __init__(self, dim: int, heads: int, *, bias: bool = True) -> None:
        super().__init__()
        _check_sizes(dim, heads)
        self.heads = heads
        self.value = nn.Linear(dim, dim, bias=bias)
        self.output = nn.Linear(dim, dim, bias=bias)

    def forward(self, weights: list[Tensor], x: Tensor) -> Tensor:
        """Sum the values of `x` under `weights`, which are zero at padding: see `AttentionWeights`.

        Shape:
            weights: heads times [batch, queries, keys]
            x: [batch, keys, dim], or [1, keys, dim] for all of the batch
            result: [batch, queries, dim]
        """
        if self.heads == 1:
            values = _through(self.value, self.output.weight.T, x)
            attended = torch.matmul(weights[0], values)
            bias = self.output.bias
            return attended if bias is None else attended + bias.to(values.dtype)
        values = _parts(self.value(x), self.heads)
        attended = [torch.matmul(w, v) for w, v in zip(weights, values, strict=True)]
        return self.output(torch.cat(attended, dim=2))


class CrossAttention(nn.Module):
    """Cross-attention from the words of a text to a question (FABIR eqs. 12, 14).

    There are few keys, so linear maps are applied to them instead of the queries. The keys are
    multiplied by the query weights, and the values by the output weights. This is exact, and
    leaves two products for all heads on the side of the queries.

    Args:
        dim: features of queries and keys
        heads: number of heads, a divisor of `dim`
        width, height, scaled, bias: as of `AttentionWeights`; `bias` is that of all four maps
        over: "keys" normalises each query's weights over the keys (row-wise), "queries" each
            key's over the queries (column-wise, FABIR III-D.2). Only "keys" has a bias of queries:
            the softmax over "queries" cancels one, but for kernels of several rows at the ends
        capped: divide the weights of a query by one plus their sum. Over "queries" that sum may
            be as large as the number of keys; the gathered vector would then drown the query
        dropout: rate on the weights
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        width: int = 5,
        height: int = 1,
        scaled: bool = True,
        bias: bool = True,
        over: str = "keys",
        capped: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _check_sizes(dim, heads, width, height)
        if over not in ("keys", "queries"):
            raise ValueError(f"softmax goes over 'keys' or 'queries', got {over!r}")
        self.heads, self.width, self.height = heads, width, height
        self.over, self.capped = over, capped
        self.scale = (dim // heads) ** -0.5 if scaled else 1.0
        self.query = nn.Linear(dim, dim, bias=bias and over == "keys")
        self.key = nn.Linear(dim, dim, bias=bias)
        self.value = nn.Linear(dim, dim, bias=bias)
        self.output = nn.Linear(dim, dim, bias=bias)
        self.dropout = Dropout(dropout)
        if width:
            self.kernel = _kernel(heads, height, width)

    @torch.no_grad()
    def start_matching(self) -> None:
        """Matching initialisation: like words attend to each other. Queries and keys get the same
        orthogonal map, and the convolution mixes neither heads nor neighbours."""
        nn.init.orthogonal_(self.query.weight)
        self.key.weight.copy_(self.query.weight)
        if self.width:
            self.kernel.zero_()
            rows = self.kernel.unflatten(1, (self.height, self.heads))
            rows[:, self.height // 2, :, self.width // 2].fill_diagonal_(_SHARPNESS)

    def forward(
        self, queries: Tensor, keys: Tensor, query_mask: Tensor, key_mask: Tensor
    ) -> Tensor:
        """Shape:
        queries: [batch, queries, dim]
        keys: [batch, keys, dim]
        query_mask, key_mask: [batch, length, 1], True on real tokens
        result: [batch, queries, dim], of the type that autocast gives to products
        """
        (folded, offset), values = self._folded(keys, key_mask), self._values(keys, key_mask)
        if self.height > 1:
            queries = neighbourhoods(self.query(queries) * query_mask, self.height)
        with torch.autocast(queries.device.type, enabled=False):
            queries = queries.to(folded.dtype)
            weights = self._weights(queries, folded, offset, query_mask, key_mask)
            weights = weights.transpose(1, 2).to(values.dtype)
            if self.output.bias is None:
                return torch.bmm(weights, values)
            return torch.baddbmm(self.output.bias.to(values.dtype), weights, values)

    def _weights(
        self,
        queries: Tensor,
        folded: Tensor,
        offset: Tensor | None,
        query_mask: Tensor,
        key_mask: Tensor,
    ) -> Tensor:
        """The softmax is in float32 even between products in bfloat16. The weights of a column stay
        nearly equal for long, and their gradients are differences of nearly equal numbers.

        Shape: result [batch, heads * keys, queries]
        """
        dtype = torch.promote_types(folded.dtype, torch.float32)
        if self.over == "queries":
            bias = mask_bias(query_mask, queries.dtype)
            logits = _Logits.apply(bias, folded, queries)
            weights = _apart(logits.softmax(dim=2, dtype=dtype), self.heads)
        else:
            bias = mask_bias(key_mask, queries.dtype).expand(-1, self.heads, -1)
            if offset is not None:
                bias = bias + _apart(offset, self.heads)
            logits = _Logits.apply(bias.flatten(1)[:, None], queries, folded)
            weights = logits.unflatten(2, (self.heads, -1)).softmax(dim=3, dtype=dtype)
            weights = weights.permute(0, 2, 3, 1)
        if self.capped:
            weights = weights * key_mask[:, None]
            total = weights.sum(dim=2, keepdim=True)
            weights = weights * (1 + total).reciprocal()  # a division would have a slower gradient
        return self.dropout(_together(weights))

    def _folded(self, keys: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """Keys multiplied by the query weights, and their product with the bias of queries.

        With a kernel of several rows the keys are left as they are, for mapped queries: a bias of
        these ends where a text ends.

        Shape: result [batch, heads * keys, height * dim], [batch, heads * keys] or None
        """
        kernel = self.kernel if self.width else None
        if self.height > 1:
            mixed = torch.stack(_mix(self.key(keys) * mask, kernel, self.scale), dim=1)
            return _together(mixed), None
        if self.heads == 1 and self.over == "queries":
            key = _through(self.key, self.query.weight, keys)
            return _mix(key * mask, kernel, self.scale)[0], None
        mixed = _mix(self.key(keys) * mask, kernel, self.scale)
        whole = len(mixed) == self.heads > 1
        x = torch.stack(mixed, dim=1) if whole else mixed[0]
        times = torch.matmul if whole else self._of_heads
        folded = _together(times(x, self.query.weight))
        if self.query.bias is None:
            return folded, None
        return folded, _together(times(x, self.query.bias[:, None]))[..., 0]

    def _values(self, keys: Tensor, mask: Tensor) -> Tensor:
        """Each head's values times the output weights; zero at padding unless capped weights are.

        Shape: result [batch, heads * keys, dim]
        """
        if self.heads == 1:
            values = _through(self.value, self.output.weight.T, keys)
            return values if self.capped else values * mask
        values = self.value(keys) if self.capped else self.value(keys) * mask
        return _together(self._of_heads(values, self.output.weight.T))

    def _of_heads(self, x: Tensor, matrix: Tensor) -> Tensor:
        """Each head's part of `x` [batch, keys, dim] times its rows of a matrix of [dim, dim].

        Shape: result [batch, heads, keys, dim]
        """
        if self.heads == 1:  # a plain linear map, which the export quantises to 8 bits
            return torch.matmul(x, matrix).unsqueeze(1)
        parts = x.unflatten(2, (self.heads, -1)).transpose(1, 2)
        return torch.matmul(parts, matrix.unflatten(0, (self.heads, -1)))


def dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """torch's scaled dot-product attention over the words of a text.

    Where it needs a gradient on a CPU it is in float32, also under autocast to bfloat16, in which
    the gradient takes four times as long (torch 2.13).

    Shape:
        query, key: [batch, heads, length, key_dim]
        value: [batch, heads, length, value_dim]
        mask: [batch, length, 1], True on real tokens
        result: [batch, length, heads * value_dim]
    """
    exact = query.requires_grad and query.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu", enabled=False) if exact else nullcontext():
        if exact:
            query, key, value = query.float(), key.float(), value.float()
        bias = mask_bias(mask, query.dtype)[:, None]
        attended = F.scaled_dot_product_attention(query, key, value, bias)
    return attended.transpose(1, 2).flatten(2)


def _through(linear: nn.Linear, matrix: Tensor, x: Tensor) -> Tensor:
    """`linear(x) @ matrix` as one linear map of `x`. With one head nothing stands between the two
    maps, and their product is cheaper than a second map of all texts."""
    bias = None if linear.bias is None else linear.bias @ matrix
    return F.linear(x, matrix.T @ linear.weight, bias)


def _apart(x: Tensor, heads: int) -> Tensor:
    """[batch, heads * keys, ...] as [batch, heads, keys, ...]."""
    return x.unsqueeze(1) if heads == 1 else x.unflatten(1, (heads, -1))


def _together(x: Tensor) -> Tensor:
    """[batch, heads, keys, ...] as [batch, heads * keys, ...]: the inverse of `_apart`."""
    return x.squeeze(1) if x.shape[1] == 1 else x.flatten(1, 2)


def _parts(x: Tensor, heads: int) -> tuple[Tensor, ...]:
    """Each head's features of `x` [batch, length, dim]."""
    return (x,) if heads == 1 else x.split(x.shape[2] // heads, dim=2)


def _kernel(heads: int, height: int, width: int) -> nn.Parameter:
    """Shape: [heads out, height * heads in, shift], normal with the variance of the sum it is part
    of."""
    inputs = height * heads
    return nn.Parameter(torch.randn(heads, inputs, width) * (inputs * width) ** -0.5)


def _check_sizes(dim: int, heads: int, width: int = 0, height: int = 1) -> None:
    """Raise ValueError for a number of heads or a kernel that attention cannot have."""
    if heads < 1 or dim % heads:
        raise ValueError(f"{heads} heads do not divide {dim} features")
    for name, size in (("width", width or 1), ("height", height)):
        if size % 2 == 0:
            raise ValueError(f"the convolution in attention needs an odd {name}, got {size}")
    if height > 1 and not width:
        raise ValueError(f"a convolution in attention with a height of {height} needs a width")
