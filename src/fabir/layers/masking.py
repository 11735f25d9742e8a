"""Softmaxes that leave padding out. Masks are [batch, length, 1], True on real tokens."""

import torch
from torch import Tensor

_FAR = 1e4  # added to masked logits; exp(-1e4) is zero in every precision


def mask_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The bias that masks logits over the words of `mask`: [batch, 1, length], 0 on real tokens."""
    return (mask.transpose(1, 2).to(dtype) - 1) * _FAR


def masked_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Weights over the words of `mask`, the last dimension of logits [batch, rows, length]."""
    return (logits + mask_bias(mask, logits.dtype)).softmax(dim=2)
