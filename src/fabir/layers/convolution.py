"""Convolution along words or characters."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.grad import conv2d_weight


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
        input: [batch, length, inputs], already zero at padding
        result: [batch, length, outputs]
    """

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__(inputs, outputs, _odd(width), padding=width // 2)

    def forward(self, input: Tensor) -> Tensor:  # its name in torch
        padding = (0, self.kernel_size[0] // 2)
        image, weight = _as_image(input), self.weight.unsqueeze(2)
        return _as_text(F.conv2d(image, weight, self.bias, padding=padding))


class DepthwiseConvolution(nn.Conv1d):
    """A depthwise convolution without a bias; it is padded as `Convolution` is.

    Shape:
        input, result: [batch, length, dim]
    """

    def __init__(self, dim: int, width: int) -> None:
        super().__init__(dim, dim, _odd(width), groups=dim, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        x, device = input, input.device.type
        if torch.is_autocast_enabled(device):
            x = x.to(torch.get_autocast_dtype(device))
        filters = self.weight.squeeze(1).to(x.dtype)
        with torch.autocast(device, enabled=False):
            if torch.is_grad_enabled() and filters.requires_grad:
                return _Depthwise.apply(x, filters)  # pyright: ignore[reportReturnType]
            return depthwise(x, filters)


class SeparableConvolution(nn.Sequential):
    """A depthwise convolution, then a linear map of all features (Chollet 2017).

    Shape: as `DepthwiseConvolution`.
    """

    def __init__(self, dim: int, width: int) -> None:
        super().__init__(DepthwiseConvolution(dim, width), nn.Linear(dim, dim))


def depthwise(x: Tensor, filters: Tensor) -> Tensor:
    """Each feature of `x` [batch, length, dim] convolved with its row of `filters` [dim, width]."""
    dim, width = filters.shape
    image, weight = (_exact(each, dim) for each in (_as_image(x), filters[:, None, None]))
    with _native() if x.is_cuda else nullcontext():
        return _as_text(F.conv2d(image, weight, padding=(0, width // 2), groups=dim)).to(x.dtype)


def _native() -> AbstractContextManager[None]:
    """Use torch's own depthwise kernels: cuDNN prepares its kernels anew for every shape."""
    return torch.backends.cudnn.flags(enabled=False)


class _Depthwise(torch.autograd.Function):
    """`depthwise` and its gradient.

    oneDNN (torch 2.13) takes ten times as long for the gradient of filters wider than three words
    as for the gradient of the input. So the filters are cut into rows of three words. Each row
    reads its own copy of the text, shifted three words further than the one before.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, filters: Tensor) -> Tensor:
        ctx.save_for_backward(x, filters)
        return depthwise(x, filters)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        x, filters = ctx.saved_tensors
        (gradient,) = gradients
        (dim, width), length = filters.shape, x.shape[1]
        if x.is_cuda:
            with _native():
                to_filters = conv2d_weight(
                    _as_image(x).contiguous(),
                    (dim, 1, 1, width),
                    _as_image(gradient).contiguous(),
                    padding=(0, width // 2),  # pyright: ignore[reportArgumentType]
                    groups=dim,
                )
            return depthwise(gradient, filters.flip(1)), to_filters.view_as(filters)
        rows = -(-width // 3)
        padded = F.pad(_exact(x, dim), (0, 0, width // 2, 3 * rows - 1 - width // 2))
        shifted = [padded.narrow(1, 3 * row, length + 2) for row in range(rows)]
        to_filters = conv2d_weight(
            torch.stack(shifted, dim=1).permute(0, 3, 1, 2),
            (dim, 1, rows, 3),
            _as_image(_exact(gradient, dim)),
            groups=dim,
        )
        to_filters = to_filters.flatten(1)[:, :width].to(filters.dtype)
        return depthwise(gradient, filters.flip(1)), to_filters


def _as_image(x: Tensor) -> Tensor:
    """[batch, length, dim] as an image one pixel high; the memory layout stays that of `x`.

    The permutation is one of four dimensions, so that ONNX Runtime fuses it with the convolution.
    """
    return x.unsqueeze(1).permute(0, 3, 1, 2)


def _as_text(image: Tensor) -> Tensor:
    return image.permute(0, 2, 3, 1).squeeze(1)


def _exact(x: Tensor, features: int) -> Tensor:
    """`x`, in float32 where oneDNN (torch 2.13) hangs: a depthwise convolution in bfloat16 with 16
    features and 15 words."""
    stuck = features == 16 and x.device.type == "cpu" and x.dtype == torch.bfloat16
    return x.float() if stuck else x


def _odd(width: int) -> int:
    if width < 1 or width % 2 == 0:
        raise ValueError(f"a convolution needs an odd width, got {width}")
    return width
