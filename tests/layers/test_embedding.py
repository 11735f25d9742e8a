"""Word rows, character convolution and highway against plain versions of them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from fabir.layers.embedding import CharacterConvolution, Highway, VocabularySizes, WordRows

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
        rows.tuned += 1
    assert torch.equal(rows.fixed_rows(), torch.cat([rows.fixed[:2] + 1, rows.fixed[2:]]))
    assert torch.equal(rows(order), before + torch.tensor([0, 0, 0, 1, 0])[:, None])


def by_conv1d(layer: CharacterConvolution, characters: list[int]) -> Tensor:
    """One word: every window that begins at a character, zeros beyond the last one."""
    dim, filters = layer.table.embedding_dim, layer.linear.out_features
    convolution = nn.Conv1d(dim, filters, layer.width).double()
    weight = layer.linear.weight.view(filters, layer.width, dim).transpose(1, 2)
    convolution.load_state_dict({"weight": weight, "bias": layer.linear.bias})
    word = torch.cat([layer.table.weight[characters], torch.zeros(layer.width - 1, dim)])
    return convolution(word.T).amax(dim=1).tanh()


@given(
    st.lists(st.lists(st.integers(1, 8), min_size=1, max_size=9), min_size=1, max_size=5),
    st.integers(0, 6),
    st.sampled_from([1, 2, 5]),
)
def test_characters_equal_conv1d_and_a_maximum(
    words: list[list[int]], padding: int, width: int
) -> None:
    torch.manual_seed(0)
    layer = CharacterConvolution(9, 4, 6, width, dropout=0.25).double().eval()
    longest = max(map(len, words)) + padding
    result = layer(torch.tensor([word + [0] * (longest - len(word)) for word in words]))
    expected = torch.stack([by_conv1d(layer, word) for word in words])
    # The maximum over windows is taken in float32.
    torch.testing.assert_close(result, expected, atol=1e-6, rtol=0)


def test_the_gradient_of_characters_spares_padding() -> None:
    torch.manual_seed(0)
    layer = CharacterConvolution(9, 4, 6, 3, dropout=0.0)
    layer(torch.tensor([[0, 0, 0], [1, 2, 0], [2, 0, 0]])).sum().backward()
    gradient = layer.table.weight.grad
    assert gradient is not None
    assert gradient.any(dim=1).tolist() == [False, True, True] + [False] * 6


def test_highway_gates_between_carrying_and_transforming() -> None:
    torch.manual_seed(0)
    layer, x = Highway(5, 2), torch.randn(7, 5)
    expected = x
    for linear in layer.layers:
        assert isinstance(linear, nn.Linear)
        gate = (expected @ linear.weight[:5].T + linear.bias[:5]).sigmoid()
        transformed = (expected @ linear.weight[5:].T + linear.bias[5:]).relu()
        expected = gate * expected + (1 - gate) * transformed
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_highway_carries_where_its_gates_are_open(layers: int) -> None:
    layer, x = Highway(5, layers), torch.randn(7, 5)
    for linear in layer.layers:
        assert isinstance(linear, nn.Linear)
        nn.init.constant_(linear.bias[:5], 100.0)
    torch.testing.assert_close(layer(x), x)
