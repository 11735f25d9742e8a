"""Softmaxes that leave padding out. Masks are [batch, length, 1], True on real tokens."""

import torch
from torch import Tensor

_FAR = 1e4  # what masked logits are lowered by; exp(-1e4) is zero in every precision


def mask_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to logits over the words of `mask`: [batch, 1, length], 0 on real tokens."""
    return (mask.transpose(1, 2).to(dtype) - 1) * _FAR


def masked_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Weights over the words of `mask`, the last dimension of logits [batch, rows, length]."""
    return (logits + mask_bias(mask, logits.dtype)).softmax(dim=2)
