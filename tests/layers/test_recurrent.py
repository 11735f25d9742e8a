"""The recurrent brick against packed sequences."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from exporting import assert_exports
from fabir.layers.recurrent import Bidirectional, Cell, reorder, reversed_order


def packed(layer: Bidirectional, cell: Cell, x: Tensor, lengths: list[int]) -> Tensor:
    """PyTorch's own bidirectional network with the same weights, over packed sequences."""
    make = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
    both = make(x.shape[2], layer.forwards.hidden_size, batch_first=True, bidirectional=True)
    back = {f"{name}_reverse": value for name, value in layer.backwards.state_dict().items()}
    weights = layer.forwards.state_dict() | back
    both.load_state_dict(weights)
    sequence = pack_padded_sequence(
        x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    return pad_packed_sequence(both(sequence)[0], batch_first=True, total_length=x.shape[1])[0]


def mask_of(lengths: list[int], more: int = 0) -> Tensor:
    places = torch.arange(max(lengths) + more)[None, :, None]
    return places < torch.tensor(lengths)[:, None, None]


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4), more=st.integers(0, 3))
def test_equals_packing(cell: Cell, lengths: list[int], more: int) -> None:
    torch.manual_seed(0)
    layer = Bidirectional(3, 5, cell)
    mask = mask_of(lengths, more)
    x = torch.randn(*mask.shape[:2], 3)
    torch.testing.assert_close(layer(x, mask), packed(layer, cell, x, lengths))


def test_turning_round_twice_changes_nothing() -> None:
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]]).bool()[..., None]
    x = torch.arange(12.0).view(3, 4, 1)
    order = reversed_order(mask)
    once = reorder(x, order)
    assert once[..., 0].tolist() == [[2, 1, 0, 3], [7, 6, 5, 4], [8, 9, 10, 11]]
    assert torch.equal(reorder(once, order), x)


def test_the_gradient_of_turning_round_is_exact() -> None:
    order = reversed_order(mask_of([3, 0, 4, 1], more=1))
    x = torch.randn(4, 5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: reorder(x, order), [x])


def test_refuses_another_cell() -> None:
    with pytest.raises(ValueError, match="'lstm' or 'gru', got 'rnn'"):
        Bidirectional(2, 2, "rnn")  # pyright: ignore[reportArgumentType]


class BothCells(nn.Module):
    """Layers of both kinds, which are exported together: it takes half the time."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = Bidirectional(6, 5, "lstm"), Bidirectional(6, 5, "gru")

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return self.lstm(x, mask), self.gru(x, mask)


@pytest.mark.slow
def test_exports_for_every_length(tmp_path: Path) -> None:
    def inputs(lengths: list[int]) -> tuple[Tensor, Tensor]:
        return torch.randn(len(lengths), max(lengths), 6), mask_of(lengths)

    assert_exports(
        BothCells(),
        dict(zip(("x", "mask"), inputs([7, 4, 1]), strict=True)),
        dict.fromkeys(("x", "mask"), ("batch", "length")),
        [inputs(lengths) for lengths in ([1], [12, 3], [5, 0, 2, 4])],
        tmp_path,
    )
