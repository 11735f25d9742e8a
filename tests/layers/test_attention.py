"""Attention against the paper's equation written out: a convolution over the logits, in float64."""

from collections.abc import Iterable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fabir.layers.attention import AttentionWeights, Projection, _MixKeys

BATCH, QUERIES, KEYS, DIM, HEADS = 3, 9, 6, 12, 4


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def attention(width: int, over: str = "keys") -> AttentionWeights:
    weights = AttentionWeights(DIM, HEADS, width=width, over=over).double()
    if width:
        torch.nn.init.normal_(weights.kernel)
    return weights


def text(length: int) -> Tensor:
    return torch.randn(BATCH, length, DIM, dtype=torch.float64, requires_grad=True)


def mask_of(length: int, *padding: int) -> Tensor:
    """[batch, length, 1] with so many words of each text padding."""
    mask = torch.ones(BATCH, length, 1, dtype=torch.float64)
    for row, words in enumerate(padding):
        mask[row, length - words :] = 0
    return mask


def by_the_paper(
    layer: AttentionWeights, queries: Tensor, keys: Tensor, query_mask: Tensor, key_mask: Tensor
) -> Tensor:
    """Eq. 12 as printed, and the masks: [batch, heads, queries, keys]."""
    heads, dim_head = layer.heads, DIM // layer.heads
    u = layer.query(queries).unflatten(2, (heads, dim_head)).transpose(1, 2)
    k = layer.key(keys).unflatten(2, (heads, dim_head)).transpose(1, 2)
    logits = u @ k.transpose(2, 3) * key_mask.transpose(1, 2)[:, None]
    if layer.width:
        kernel = layer.kernel[:, :, None]  # heads out, heads in, 1 query, width keys
        logits = F.conv2d(logits, kernel, padding=(0, layer.width // 2))
    logits = logits / dim_head**0.5
    if layer.over == "queries":
        return logits.masked_fill(query_mask[:, None] == 0, -torch.inf).softmax(dim=2)
    return logits.masked_fill(key_mask.transpose(1, 2)[:, None] == 0, -torch.inf).softmax(dim=3)


def gradients(maps: Tensor, inputs: Iterable[Tensor]) -> tuple[Tensor | None, ...]:
    generator = torch.Generator().manual_seed(1)
    total = (maps * torch.randn(maps.shape, generator=generator, dtype=maps.dtype)).sum()
    return torch.autograd.grad(total, list(inputs))


@pytest.mark.parametrize("width", [0, 1, 5, 9])
@pytest.mark.parametrize("over", ["keys", "queries"])
@pytest.mark.parametrize("cross", [False, True], ids=["self", "cross"])
@pytest.mark.parametrize("padding", [(0, 0, 0), (0, 2, 5)])
def test_equals_a_convolution_over_the_logits(
    width: int, over: str, cross: bool, padding: tuple[int, ...]
) -> None:
    layer = attention(width, over)
    queries, query_mask = text(QUERIES), mask_of(QUERIES, *padding)
    keys, key_mask = queries, query_mask
    if cross:
        keys, key_mask = text(KEYS), mask_of(KEYS, *reversed(padding))
    arguments = queries, keys, query_mask, key_mask
    maps, expected = torch.stack(layer(*arguments), dim=1), by_the_paper(layer, *arguments)
    torch.testing.assert_close(maps, expected)
    inputs = [queries, *([keys] if cross else []), *layer.parameters()]
    for ours, theirs in zip(gradients(maps, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(("heads", "width"), [(1, 3), (2, 5), (4, 7)])
def test_the_gradient_written_by_hand(heads: int, width: int) -> None:
    key = torch.randn(2, 5, 8, dtype=torch.float64, requires_grad=True)
    kernel = torch.randn(heads, heads, width, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(_MixKeys.apply, (key, kernel))


@pytest.mark.parametrize("width", [0, 5])
@pytest.mark.parametrize("over", ["keys", "queries"])
def test_padding_changes_nothing(width: int, over: str) -> None:
    layer, projection = attention(width, over), Projection(DIM, HEADS).double()
    queries, keys = text(QUERIES), text(KEYS)
    masks = mask_of(QUERIES), mask_of(KEYS)
    alone = layer(queries, keys, *masks)
    # What stands at padding is arbitrary: biases and norms leave it anything but zero.
    longer = [torch.cat([x, 100 * torch.randn_like(x)], dim=1) for x in (queries, keys)]
    longer_masks = [torch.cat([mask, torch.zeros_like(mask)], dim=1) for mask in masks]
    padded = layer(*longer, *longer_masks)
    if over == "queries":  # a key's weights: none of them on queries that are padding
        assert all((weights[:, QUERIES:, :KEYS] == 0).all() for weights in padded)
    else:
        assert all((weights[:, :QUERIES, KEYS:] == 0).all() for weights in padded)
    for with_padding, without in zip(padded, alone, strict=True):
        torch.testing.assert_close(with_padding[:, :QUERIES, :KEYS], without)
    torch.testing.assert_close(
        projection(padded, longer[1], longer_masks[1])[:, :QUERIES],
        projection(alone, keys, masks[1]),
    )


def test_weights_sum_to_one_over_keys_or_over_queries() -> None:
    arguments = text(QUERIES), text(KEYS), mask_of(QUERIES, 0, 1, 2), mask_of(KEYS, 2, 1, 0)
    for weights in attention(5, "keys")(*arguments):  # row-wise
        torch.testing.assert_close(weights.sum(2), torch.ones_like(weights.sum(2)))
    for weights in attention(5, "queries")(*arguments):  # column-wise
        torch.testing.assert_close(weights.sum(1), torch.ones_like(weights.sum(1)))


def test_projection_sums_values_head_by_head() -> None:
    projection, x, mask = Projection(DIM, HEADS).double(), text(KEYS), mask_of(KEYS, 0, 1, 3)
    maps = torch.randn(BATCH, HEADS, QUERIES, KEYS, dtype=torch.float64)
    values = (projection.value(x) * mask).unflatten(2, (HEADS, -1)).transpose(1, 2)
    expected = projection.output((maps @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(projection(list(maps.unbind(1)), x, mask), expected)


def test_refuses_what_makes_no_attention() -> None:
    with pytest.raises(ValueError, match="5 heads do not divide 12"):
        AttentionWeights(12, 5)
    with pytest.raises(ValueError, match="0 heads"):
        AttentionWeights(12, 0)
    with pytest.raises(ValueError, match="odd width, got 4"):
        AttentionWeights(12, 4, width=4)
    with pytest.raises(ValueError, match="'rows'"):
        AttentionWeights(12, 4, over="rows")
    with pytest.raises(ValueError, match="5 heads do not divide 12"):
        Projection(12, 5)


def test_capped_weights_keep_their_shares_and_stay_below_one() -> None:
    layer = attention(5, over="queries")
    queries, keys = text(QUERIES), text(KEYS)
    masks = mask_of(QUERIES, 0, 2, 3), mask_of(KEYS, 0, 1, 2)
    free = torch.stack(layer(queries, keys, *masks), dim=1) * masks[1].transpose(1, 2)[:, None]
    layer.capped = True
    capped = torch.stack(layer(queries, keys, *masks), dim=1) * masks[1].transpose(1, 2)[:, None]
    gathered = free.sum(dim=3, keepdim=True)
    torch.testing.assert_close(capped, free / (1 + gathered))
    assert (capped.sum(dim=3) < 1).all()
    assert (gathered > 1).any()
