"""Word rows, character convolution and highway against plain versions of them."""

from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from fabir.layers.embedding import (
    CharacterConvolution,
    CharacterWindows,
    Embedding,
    Highway,
    VocabularySizes,
    WordRows,
)

SIZES = VocabularySizes(word_dim=3, trained_words=2, fixed_words=4, characters=9)


def word_rows(sizes: VocabularySizes = SIZES) -> WordRows:
    torch.manual_seed(0)
    rows = WordRows(sizes)
    rows.fixed.copy_(torch.randn(rows.fixed.shape))
    return rows


def test_rows_are_padding_then_trained_then_fixed() -> None:
    rows = word_rows()
    expected = torch.cat([torch.zeros(1, 3), rows.trained, rows.fixed])
    order = torch.tensor([6, 0, 1, 2, 3, 3, 5, 4])
    assert torch.equal(rows(order), expected[order])


def test_rows_without_fixed_words() -> None:
    rows = word_rows(VocabularySizes(word_dim=3, trained_words=2, fixed_words=0, characters=9))
    assert torch.equal(
        rows(torch.tensor([0, 2, 1])), torch.cat([torch.zeros(1, 3), rows.trained.flip(0)])
    )


def test_fixed_rows_are_neither_trained_nor_stored_until_unfrozen() -> None:
    rows = word_rows()
    order = torch.tensor([0, 1, 1, 3, 6])
    before = rows(order)
    assert [name for name, _ in rows.named_parameters()] == ["trained"]
    assert set(rows.state_dict()) == {"trained"}
    before.sum().backward()
    assert rows.trained.grad is not None
    assert rows.trained.grad.tolist() == [[2.0] * 3, [0.0] * 3]

    rows.unfreeze(2)
    assert dict(rows.named_parameters()).keys() == set(rows.state_dict()) == {"trained", "tuned"}
    after = rows(order)
    assert torch.equal(before, after)
    after.sum().backward()
    assert rows.tuned is not None
    assert rows.tuned.grad is not None
    assert rows.tuned.grad.tolist() == [[1.0] * 3, [0.0] * 3]
    with torch.no_grad():
        rows.tuned.add_(1)
    assert torch.equal(rows.fixed_rows(), torch.cat([rows.fixed[:2] + 1, rows.fixed[2:]]))
    assert torch.equal(rows(order), before + torch.tensor([0, 0, 0, 1, 0])[:, None])


def by_conv1d(layer: CharacterConvolution, characters: list[int]) -> Tensor:
    """One word with the margin before it, and after it zeros as windows overhang it, or the margin
    again; a shorter word than a filter is filled up."""
    dim = layer.table.embedding_dim
    found = []
    for linear, width in zip(layer.linears, layer.widths, strict=True):
        assert isinstance(linear, nn.Linear)
        filters = linear.out_features
        convolution = nn.Conv1d(dim, filters, width).double()
        weight = linear.weight.view(filters, width, dim).transpose(1, 2)
        convolution.load_state_dict({"weight": weight, "bias": linear.bias})
        blank = torch.zeros(1, dim).double()
        before, after = layer.margin, layer.margin if layer.valid else width - 1
        lacking = max(0, width - before - len(characters) - after)
        parts = [blank] * before + [layer.table.weight[characters]] + [blank] * (after + lacking)
        found.append(convolution(torch.cat(parts).T).amax(dim=1))
    return torch.cat(found)


@given(
    st.lists(st.lists(st.integers(1, 8), min_size=1, max_size=9), min_size=1, max_size=9),
    st.integers(0, 6),
    st.sampled_from([[1], [2], [5], [2, 3, 4]]),
    st.sampled_from([0, 1]),
    st.sampled_from(["overhanging", "valid"]),
)
def test_characters_equal_conv1d_and_a_maximum(
    words: list[list[int]],
    padding: int,
    widths: list[int],
    margin: int,
    windows: CharacterWindows,
) -> None:
    torch.manual_seed(0)
    filters = [6] * len(widths)
    layer = CharacterConvolution(
        9, 4, filters, widths, margin=margin, windows=windows, dropout=0.25
    )
    layer = layer.double().eval()
    longest = max(map(len, words)) + padding
    result = layer(torch.tensor([word + [0] * (longest - len(word)) for word in words]))
    expected = torch.stack([by_conv1d(layer, word) for word in words]).tanh()
    torch.testing.assert_close(result, expected)


@pytest.mark.parametrize("activation", ["relu", "none"])
def test_what_follows_the_maximum(activation: Literal["relu", "none"]) -> None:
    torch.manual_seed(0)
    layer = CharacterConvolution(9, 4, [6], [2], activation=activation).double()
    expected = by_conv1d(layer, [1, 2])
    expected = expected.relu() if activation == "relu" else expected
    torch.testing.assert_close(layer(torch.tensor([[1, 2, 0]]))[0], expected)


def test_characters_have_the_precision_of_products() -> None:
    layer = CharacterConvolution(9, 4, [6], [2])
    characters = torch.tensor([[1, 2, 0]])
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(characters)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), layer(characters), atol=0.01, rtol=0)


def test_characters_start_with_the_spread_asked_for() -> None:
    tables = []
    for spread in 1.0, 0.1:
        torch.manual_seed(0)
        tables.append(CharacterConvolution(300, 8, [6], [2], spread=spread).table.weight)
    assert tables[0][1:].std().item() == pytest.approx(1, rel=0.05)
    torch.testing.assert_close(tables[1], 0.1 * tables[0])
    assert not tables[1][0].any()  # padding


def test_word_and_characters_are_mapped_and_joined() -> None:
    torch.manual_seed(0)
    characters = CharacterConvolution(9, 4, [6], [2])
    layer = Embedding(SIZES, characters=characters, word_dim=5, joined_dim=7, highway_layers=1)
    rows, spelt = torch.tensor([1, 2]), torch.tensor([[1, 0], [3, 4]])
    both = torch.cat([layer.projection(layer.words(rows)), characters(spelt)], dim=1)
    torch.testing.assert_close(layer(rows, spelt), layer.highway(layer.joined(both)))
    assert layer.dim == 7
    alone = Embedding(SIZES, characters=None)
    assert alone.dim == SIZES.word_dim
    torch.testing.assert_close(alone(rows, spelt), alone.highway(alone.words(rows)))


def test_an_activation_of_the_mapped_word_alone() -> None:
    """A3 section 3.3: the sigmoid of the projected word vector."""
    torch.manual_seed(0)
    characters = CharacterConvolution(9, 4, [6], [2])
    layer = Embedding(
        SIZES, characters=characters, word_dim=5, word_activation="sigmoid", highway_layers=0
    )
    rows, spelt = torch.tensor([1, 2]), torch.tensor([[1, 0], [3, 4]])
    word = 1 / (1 + torch.exp(-layer.projection(layer.words(rows))))
    torch.testing.assert_close(layer(rows, spelt), torch.cat([word, characters(spelt)], dim=1))


def test_a_highway_of_characters_alone() -> None:
    """Anderson 2019: word = [word vector; highway(characters)], and no highway after that."""
    torch.manual_seed(0)
    layer = CharacterConvolution(9, 4, [6], [2], highway_layers=2).double()
    expected = gated(layer.highway, by_conv1d(layer, [1, 2]).tanh())
    torch.testing.assert_close(layer(torch.tensor([[1, 2, 0]]))[0], expected)


def test_the_gradient_of_characters_spares_padding() -> None:
    torch.manual_seed(0)
    layer = CharacterConvolution(9, 4, [6], [3])
    layer(torch.tensor([[0, 0, 0], [1, 2, 0], [2, 0, 0]])).sum().backward()
    gradient = layer.table.weight.grad
    assert gradient is not None
    assert gradient.any(dim=1).tolist() == [False, True, True] + [False] * 6


def gated(highway: Highway, x: Tensor) -> Tensor:
    for linear in highway.layers:
        assert isinstance(linear, nn.Linear)
        open_gate, transform = linear.weight.chunk(2)
        gate = (x @ open_gate.T + linear.bias[: x.shape[-1]]).sigmoid()
        transformed = (x @ transform.T + linear.bias[x.shape[-1] :]).relu()
        x = gate * x + (1 - gate) * transformed
    return x


def test_highway_gates_between_carrying_and_transforming() -> None:
    torch.manual_seed(0)
    layer, x = Highway(5, 2), torch.randn(7, 5)
    torch.testing.assert_close(layer(x), gated(layer, x))


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_highway_carries_where_its_gates_are_open(layers: int) -> None:
    layer, x = Highway(5, layers), torch.randn(7, 5)
    for linear in layer.layers:
        assert isinstance(linear, nn.Linear)
        nn.init.constant_(linear.bias[:5], 100.0)
    torch.testing.assert_close(layer(x), x)
