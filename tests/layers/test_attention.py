"""Attention against the paper's equation written out: a convolution over the logits, in float64."""

from collections.abc import Iterable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fabir.layers.attention import (
    AttentionWeights,
    CrossAttention,
    Projection,
    _Logits,
    _MixKeys,
    dot_product_attention,
)

BATCH, QUERIES, KEYS, DIM, HEADS = 3, 9, 6, 12, 4


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def attention(width: int, *, heads: int = HEADS, **options: Any) -> AttentionWeights:
    layer = AttentionWeights(DIM, heads, width=width, **options)
    if width:
        torch.nn.init.normal_(layer.kernel)
    return layer.double()


def cross_attention(width: int, over: str, *, heads: int = HEADS, **options: Any) -> CrossAttention:
    layer = CrossAttention(DIM, heads, width=width, over=over, **options)
    if width:
        torch.nn.init.normal_(layer.kernel)
    return layer.double()


def text(length: int) -> Tensor:
    return torch.randn(BATCH, length, DIM, dtype=torch.float64, requires_grad=True)


def mask_of(length: int, *padding: int) -> Tensor:
    """[batch, length, 1] with so many words of each text padding."""
    mask = torch.ones(BATCH, length, 1, dtype=torch.float64)
    for row, words in enumerate(padding):
        mask[row, length - words :] = 0
    return mask


def by_the_paper(
    layer: AttentionWeights | CrossAttention,
    queries: Tensor,
    keys: Tensor,
    query_mask: Tensor,
    key_mask: Tensor,
    over: str = "keys",
    scaled: bool = True,
) -> Tensor:
    """Eq. 12 as printed, and the masks: [batch, heads, queries, keys]. What eq. 12 has not: the
    logits divided by the root of a head's features, if `scaled`."""
    heads, dim_head = layer.heads, DIM // layer.heads
    u = layer.query(queries)
    if layer.height > 1:
        u = u * query_mask
    u = u.unflatten(2, (heads, dim_head)).transpose(1, 2)
    k = layer.key(keys).unflatten(2, (heads, dim_head)).transpose(1, 2)
    logits = u @ k.transpose(2, 3) * key_mask.transpose(1, 2)[:, None]
    if layer.width:
        # heads out, heads in, height queries, width keys
        kernel = layer.kernel.unflatten(1, (layer.height, heads)).transpose(1, 2)
        logits = F.conv2d(logits, kernel, padding=(layer.height // 2, layer.width // 2))
    if scaled:
        logits = logits / dim_head**0.5
    if over == "queries":
        return logits.masked_fill(query_mask[:, None] == 0, -torch.inf).softmax(dim=2)
    return logits.masked_fill(key_mask.transpose(1, 2)[:, None] == 0, -torch.inf).softmax(dim=3)


def gathered(layer: Projection | CrossAttention, maps: Tensor, x: Tensor, mask: Tensor) -> Tensor:
    """Values under `maps` [batch, heads, queries, keys], head by head, and the output."""
    values = (layer.value(x) * mask).unflatten(2, (layer.heads, -1)).transpose(1, 2)
    return layer.output((maps @ values).transpose(1, 2).flatten(2))


def gradients(result: Tensor, inputs: Iterable[Tensor]) -> tuple[Tensor | None, ...]:
    generator = torch.Generator().manual_seed(1)
    total = (result * torch.randn(result.shape, generator=generator, dtype=result.dtype)).sum()
    return torch.autograd.grad(total, list(inputs))


@pytest.mark.parametrize("width", [0, 1, 5, 9])
@pytest.mark.parametrize("heads", [HEADS, 1])
@pytest.mark.parametrize("padding", [(0, 0, 0), (0, 2, 5)])
def test_equals_a_convolution_over_the_logits(
    width: int, heads: int, padding: tuple[int, ...]
) -> None:
    layer = attention(width, heads=heads)
    x, mask = text(QUERIES), mask_of(QUERIES, *padding)
    maps = torch.stack(layer(x, mask), dim=1)
    expected = by_the_paper(layer, x, x, mask, mask)
    torch.testing.assert_close(maps, expected)
    inputs = [x, *layer.parameters()]
    for ours, theirs in zip(gradients(maps, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("width", [0, 1, 5, 9])
@pytest.mark.parametrize("over", ["keys", "queries"])
@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("heads", [HEADS, 1])
@pytest.mark.parametrize("padding", [(0, 0, 0), (0, 2, 5)])
def test_cross_attention_equals_the_paper_step_by_step(
    width: int, over: str, capped: bool, heads: int, padding: tuple[int, ...]
) -> None:
    layer = cross_attention(width, over, capped=capped, heads=heads)
    queries, query_mask = 3 * text(QUERIES), mask_of(QUERIES, *padding)
    keys, key_mask = text(KEYS), mask_of(KEYS, *reversed(padding))
    result = layer(queries, keys, query_mask, key_mask)
    maps = by_the_paper(layer, queries, keys, query_mask, key_mask, over)
    if capped:
        real = maps * key_mask.transpose(1, 2)[:, None]
        assert over == "keys" or (real.sum(3) > 1).any()
        maps = real / (1 + real.sum(3, keepdim=True))
    expected = gathered(layer, maps, keys, key_mask)
    torch.testing.assert_close(result, expected)
    inputs = [queries, keys, *layer.parameters()]
    for ours, theirs in zip(gradients(result, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(ours, theirs)


# Eq. 12 to the letter, and kernels of several rows (eq. 11).
OPTIONS = [
    {"scaled": False},
    {"bias": False},
    {"scaled": False, "bias": False},
    {"height": 3},
    {"height": 5, "scaled": False, "bias": False},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("heads", [HEADS, 1])
@pytest.mark.parametrize("width", [1, 5])
def test_equals_eq_11_and_eq_12(options: dict[str, Any], heads: int, width: int) -> None:
    layer = attention(width, heads=heads, **options)
    assert (layer.query.bias is None, layer.key.bias is None) == (
        not options.get("bias", True),
    ) * 2
    x, mask = text(QUERIES), mask_of(QUERIES, 0, 2, 5)
    scaled = options.get("scaled", True)
    maps = torch.stack(layer(x, mask), dim=1)
    expected = by_the_paper(layer, x, x, mask, mask, scaled=scaled)
    real = mask[:, None] > 0  # what a query that is padding attends to is arbitrary
    inputs = [x, *layer.parameters()]
    torch.testing.assert_close(maps * real, expected * real)
    found = gradients(maps * real, inputs), gradients(expected * real, inputs)
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("heads", [HEADS, 1])
@pytest.mark.parametrize("over", ["keys", "queries"])
@pytest.mark.parametrize("capped", [False, True])
def test_cross_attention_equals_eq_11_and_eq_12(
    options: dict[str, Any], heads: int, over: str, capped: bool
) -> None:
    layer = cross_attention(5, over, capped=capped, heads=heads, **options)
    assert (layer.output.bias is None) == (not options.get("bias", True))
    queries, query_mask = text(QUERIES), mask_of(QUERIES, 0, 2, 5)
    keys, key_mask = text(KEYS), mask_of(KEYS, 5, 2, 0)
    result = layer(queries, keys, query_mask, key_mask) * query_mask
    scaled = options.get("scaled", True)
    maps = by_the_paper(layer, queries, keys, query_mask, key_mask, over, scaled)
    if capped:
        maps = maps * key_mask.transpose(1, 2)[:, None]
        maps = maps / (1 + maps.sum(3, keepdim=True))
    expected = gathered(layer, maps, keys, key_mask) * query_mask
    torch.testing.assert_close(result, expected)
    inputs = [queries, keys, *layer.parameters()]
    for ours, theirs in zip(gradients(result, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("heads", [HEADS, 1])
@pytest.mark.parametrize("over", ["keys", "queries"])
def test_cross_attention_learns_under_autocast(
    over: str, heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its softmax is in float32: bfloat16 leaves little of differences of nearly equal weights."""
    layer = CrossAttention(DIM, heads, over=over)
    torch.nn.init.normal_(layer.kernel, std=0.1)
    queries, keys = (text(length).detach().float() for length in (QUERIES, KEYS))
    masks = mask_of(QUERIES, 0, 2, 1).bool(), mask_of(KEYS, 1, 0, 2).bool()
    slope, weights = torch.randn(BATCH, QUERIES, DIM), (layer.query.weight, layer.key.weight)
    exact = torch.autograd.grad((layer(queries, keys, *masks) * slope).sum(), weights)
    softmax, types = Tensor.softmax, []

    def spied(x: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
        types.append(dtype)
        return softmax(x, dim, dtype=dtype)

    monkeypatch.setattr(Tensor, "softmax", spied)
    with torch.autocast("cpu", torch.bfloat16):
        result = layer(queries, keys, *masks)
    assert (types, result.dtype) == ([torch.float32], torch.bfloat16)
    close = torch.autograd.grad((result * slope).sum(), weights)
    for ours, theirs in zip(close, exact, strict=True):
        assert torch.cosine_similarity(ours.flatten(), theirs.flatten(), dim=0) > 0.99


@pytest.mark.parametrize(
    ("outputs", "heads", "width"), [(1, 1, 3), (2, 2, 5), (4, 4, 7), (1, 4, 5)]
)
def test_the_gradient_of_mixed_keys(outputs: int, heads: int, width: int) -> None:
    key = torch.randn(2, 5, 8, dtype=torch.float64, requires_grad=True)
    kernel = torch.randn(outputs, heads, width, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(_MixKeys.apply, (key, kernel))


@pytest.mark.parametrize("bias_shape", [(1, 1, 3), (2, 1, 3), (2, 5, 3)])
def test_the_gradient_of_logits(bias_shape: tuple[int, ...]) -> None:
    inputs = tuple(
        torch.randn(shape, dtype=torch.float64, requires_grad=True)
        for shape in (bias_shape, (2, 5, 8), (2, 3, 8))
    )
    assert torch.autograd.gradcheck(_Logits.apply, inputs)


def test_the_gradient_of_logits_from_float32_under_autocast() -> None:
    bias = torch.zeros(1, 1, 3)
    query, key = (torch.randn(2, n, 8, requires_grad=True) for n in (5, 3))
    with torch.autocast("cpu", torch.bfloat16):
        ours = _Logits.apply(bias, query, key)
        library = torch.baddbmm(bias, query, key.transpose(1, 2))
    assert ours.dtype is torch.bfloat16
    for mine, theirs in zip(
        *(torch.autograd.grad(x.sum(), (query, key)) for x in (ours, library)), strict=True
    ):
        assert (mine.dtype, mine.tolist()) == (theirs.dtype, theirs.tolist())


def padded(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Twice as long. What stands at padding is arbitrary: biases and norms leave no zeros."""
    longer = torch.cat([x, 100 * torch.randn_like(x)], dim=1)
    return longer, torch.cat([mask, torch.zeros_like(mask)], dim=1)


@pytest.mark.parametrize("rough", [False, True])
def test_dot_products_are_in_float32_under_autocast_too(rough: bool) -> None:
    dtype = torch.bfloat16 if rough else torch.float32
    query, key = (torch.randn(2, 3, 7, 4).to(dtype).requires_grad_() for _ in range(2))
    value = torch.randn(2, 3, 7, 5).to(dtype).requires_grad_()
    mask = torch.arange(7)[None, :, None] < torch.tensor([7, 4])[:, None, None]
    with torch.autocast("cpu", torch.bfloat16, enabled=rough):
        found = dot_product_attention(query, key, value, mask)
    exact = [each.detach().float().requires_grad_() for each in (query, key, value)]
    logits = exact[0] @ exact[1].mT / 2
    weights = logits.masked_fill(~mask.mT[:, None], -torch.inf).softmax(dim=3)
    expected = torch.cat((weights @ exact[2]).unbind(1), dim=2)
    torch.testing.assert_close(found, expected)
    change = torch.randn_like(found)
    gradients = torch.autograd.grad(found, (query, key, value), change)
    for ours, theirs in zip(gradients, torch.autograd.grad(expected, exact, change), strict=True):
        torch.testing.assert_close(ours, theirs.to(dtype))


@pytest.mark.parametrize(("width", "height"), [(0, 1), (5, 1), (5, 3)])
def test_padding_changes_nothing(width: int, height: int) -> None:
    layer, projection = attention(width, height=height), Projection(DIM, HEADS).double()
    x, mask = text(QUERIES), mask_of(QUERIES)
    alone = layer(x, mask)
    longer, longer_mask = padded(x, mask)
    maps = layer(longer, longer_mask)
    assert all((weights[:, :, QUERIES:] == 0).all() for weights in maps)
    for with_padding, without in zip(maps, alone, strict=True):
        torch.testing.assert_close(with_padding[:, :QUERIES, :QUERIES], without)
    torch.testing.assert_close(projection(maps, longer)[:, :QUERIES], projection(alone, x))


@pytest.mark.parametrize(("width", "height"), [(0, 1), (5, 1), (5, 3)])
@pytest.mark.parametrize("over", ["keys", "queries"])
def test_padding_changes_no_cross_attention(width: int, height: int, over: str) -> None:
    layer = cross_attention(width, over, height=height, capped=True)
    queries, keys = (text(QUERIES), mask_of(QUERIES)), (text(KEYS), mask_of(KEYS))
    alone = layer(queries[0], keys[0], queries[1], keys[1])
    queries, keys = padded(*queries), padded(*keys)
    longer = layer(queries[0], keys[0], queries[1], keys[1])
    torch.testing.assert_close(longer[:, :QUERIES], alone)


def test_weights_sum_to_one_over_keys() -> None:
    for weights in attention(5)(text(KEYS), mask_of(KEYS, 2, 1, 0)):
        torch.testing.assert_close(weights.sum(2), torch.ones_like(weights.sum(2)))


@pytest.mark.parametrize("heads", [HEADS, 1])
def test_projection_sums_values_head_by_head(heads: int) -> None:
    projection, x = Projection(DIM, heads).double(), text(KEYS)
    maps = torch.randn(BATCH, heads, QUERIES, KEYS, dtype=torch.float64)
    result = projection(list(maps.unbind(1)), x)
    torch.testing.assert_close(result, gathered(projection, maps, x, mask_of(KEYS)))
    shared = projection(list(maps.unbind(1)), x[:1])
    expected = projection(list(maps.unbind(1)), x[:1].expand(BATCH, -1, -1))
    torch.testing.assert_close(shared, expected)


@pytest.mark.parametrize("kind", [AttentionWeights, CrossAttention, Projection])
def test_refuses_heads_that_do_not_divide(kind: type[nn.Module]) -> None:
    with pytest.raises(ValueError, match="5 heads do not divide 12"):
        kind(12, 5)
    with pytest.raises(ValueError, match="0 heads"):
        kind(12, 0)


def test_refuses_what_makes_no_attention() -> None:
    with pytest.raises(ValueError, match="odd width, got 4"):
        AttentionWeights(12, 4, width=4)
    with pytest.raises(ValueError, match="odd width, got 4"):
        CrossAttention(12, 4, width=4)
    with pytest.raises(ValueError, match="odd height, got 2"):
        AttentionWeights(12, 4, height=2)
    with pytest.raises(ValueError, match="height of 3 needs a width"):
        CrossAttention(12, 4, width=0, height=3)
    with pytest.raises(ValueError, match="'rows'"):
        CrossAttention(12, 4, over="rows")


@pytest.mark.parametrize(("width", "height"), [(0, 1), (5, 1), (5, 3)])
@pytest.mark.parametrize("over", ["keys", "queries"])
def test_alike_words_meet_at_the_start(width: int, height: int, over: str) -> None:
    layer = cross_attention(width, over, height=height)
    for name, parameter in layer.named_parameters():
        if name.endswith("bias"):  # as in a reader at the start
            nn.init.zeros_(parameter)
    layer.start_matching()
    words = 9 * torch.eye(DIM, dtype=torch.float64)[None]
    mask = torch.ones(1, DIM, 1, dtype=torch.float64)
    # A head sees a part of each word: what all heads say together is sure.
    weights = by_the_paper(layer, words, words, mask, mask, over).log().mean(dim=1)
    best = weights[0].argmax(dim=1 if over == "keys" else 0)
    assert (best == torch.arange(DIM)).all()
