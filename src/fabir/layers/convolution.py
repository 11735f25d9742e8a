"""Convolution along words or characters."""

from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def neighbourhoods(x: Tensor, width: int, *, centred: bool = True) -> Tensor:
    """Lay the `width` vectors around (or, not centred, from) each position side by side.

    Shape:
        x: [..., length, dim]
        result: [..., length, width * dim], zeros beyond both ends
    """
    length = x.shape[-2]
    before = (width - 1) // 2 if centred else 0
    padded = F.pad(x, (0, 0, before, width - 1 - before))
    return torch.cat([padded.narrow(-2, shift, length) for shift in range(width)], dim=-1)


class Convolution(nn.Conv1d):
    """A convolution of odd `width` over a sequence, zero-padded so that the length stays.

    Shape:
        x: [batch, length, inputs], already zero at padding
        result: [batch, length, outputs]
    """

    def __init__(
        self, inputs: int, outputs: int, width: int, *, groups: int = 1, bias: bool = True
    ) -> None:
        if width < 1 or width % 2 == 0:
            raise ValueError(f"a convolution needs an odd width, got {width}")
        super().__init__(inputs, outputs, width, padding=width // 2, groups=groups, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        # As an image one pixel high, whose features lie side by side in memory as they do in x.
        image = x.transpose(1, 2).unsqueeze(2)
        weight = self.weight.unsqueeze(2)
        padding = (0, self.kernel_size[0] // 2)
        # Of exactly 16 features alone and 15 words oneDNN (torch 2.13) never returns in bfloat16.
        exact = self.groups == 16 and x.device.type == "cpu"
        if exact:
            image = image.to(weight.dtype)
        with torch.autocast(x.device.type, enabled=False) if exact else nullcontext():
            convolved = F.conv2d(image, weight, self.bias, padding=padding, groups=self.groups)
        return convolved.squeeze(2).transpose(1, 2)


class SeparableConvolution(nn.Sequential):
    """A convolution of each feature alone, then a linear map of all (Chollet 2017).

    Shape: as `Convolution`, with as many outputs as inputs.
    """

    def __init__(self, dim: int, width: int) -> None:
        alone = Convolution(dim, dim, width, groups=dim, bias=False)
        super().__init__(alone, nn.Linear(dim, dim))
