"""Selectors: what they see, what padding does to them, and the masked logits they end in."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fabir.layers.pointer import PADDING_LOGIT, ConvolutionSelector, LinearSelector, mask_logits


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_masked_logits_are_float32_and_untouched_where_real(dtype: torch.dtype) -> None:
    logits = torch.tensor([[1.5, -2.0, torch.nan], [0.25, torch.inf, -torch.inf]], dtype=dtype)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    result = mask_logits(logits, mask)
    assert result.dtype == torch.float32
    padding = pytest.approx(PADDING_LOGIT)
    assert result.tolist() == [[1.5, -2.0, padding], [0.25, padding, padding]]
    assert result.softmax(dim=1)[~mask].tolist() == [0, 0, 0]


def test_two_convolutions_with_a_relu_between() -> None:
    torch.manual_seed(0)
    selector = ConvolutionSelector(6, 4, 2, 5, dropout=0.3).double().eval()
    passage = torch.randn(2, 9, 6, dtype=torch.float64)
    inner, outer = selector.inner, selector.outer
    assert inner is not None
    hidden = F.conv1d(passage.transpose(1, 2), inner.weight, inner.bias, padding=2).relu()
    expected = F.conv1d(hidden, outer.weight, outer.bias, padding=2).transpose(1, 2)
    torch.testing.assert_close(selector(passage, torch.ones(2, 9, 1).double()), expected)


@pytest.mark.parametrize("convolutions", [1, 3, 5])
def test_any_number_of_convolutions(convolutions: int) -> None:
    """Thesis eq. 5.20, `Conv(... Conv(P, H_1) ..., H_n)`, with the ReLU of the paper between."""
    torch.manual_seed(0)
    selector = ConvolutionSelector(6, 4, 2, 5, 0.3, convolutions).double().eval()
    passage = torch.randn(2, 9, 6, dtype=torch.float64)
    kernels = [each for each in selector.modules() if isinstance(each, nn.Conv1d)]
    kernels.sort(key=lambda kernel: kernel is selector.outer)  # the last
    assert len(kernels) == convolutions
    assert [kernel.in_channels for kernel in kernels] == [6, 4, 4, 4, 4][:convolutions]
    x = passage.transpose(1, 2)
    for number, kernel in enumerate(kernels):
        x = F.conv1d(x.relu() if number else x, kernel.weight, kernel.bias, padding=2)
    found = selector(passage, torch.ones(2, 9, 1).double())
    torch.testing.assert_close(found, x.transpose(1, 2))


@pytest.mark.parametrize("width", [1, 9])
def test_what_stands_at_padding_changes_nothing(width: int) -> None:
    torch.manual_seed(0)
    selector = ConvolutionSelector(6, 4, 2, width, dropout=0.3).double().eval()
    passage, mask = torch.randn(2, 20, 6).double(), torch.ones(2, 20, 1).double()
    passage[:, 12:] *= 100
    mask[:, 12:] = 0
    alone = selector(passage[:, :12], mask[:, :12])
    torch.testing.assert_close(selector(passage, mask)[:, :12], alone)


@pytest.mark.parametrize(("width", "window"), [(1, 0), (3, 2), (9, 8)])
def test_a_word_is_seen_within_the_window(width: int, window: int) -> None:
    """Thesis eq. 5.21: two kernels reach `width - 1` words to either side."""
    torch.manual_seed(0)
    selector, mask = ConvolutionSelector(6, 16, 2, width, dropout=0.0).eval(), torch.ones(1, 40, 1)
    passage = torch.randn(1, 40, 6)
    changed = passage.clone()
    changed[0, 20] += 10
    moved = (selector(passage, mask) != selector(changed, mask)).any(dim=2)[0].nonzero().flatten()
    assert moved.tolist() == list(range(20 - window, 21 + window))


def test_linear_selector_is_one_vector_for_each_end() -> None:
    torch.manual_seed(0)
    selector, passage = LinearSelector(6, 2), torch.randn(3, 5, 6)
    assert sum(p.numel() for p in selector.parameters()) == 12
    for end, vector in enumerate(selector.weight):
        torch.testing.assert_close(
            selector(passage, torch.ones(3, 5, 1))[..., end], passage @ vector
        )
