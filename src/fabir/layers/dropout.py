"""Fast dropout: masks are slices of a pool of random numbers.

On a CPU the random numbers of ordinary dropout cost more than the matrix products around it.
"""

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_POOL = 1 << 23  # elements; few enough to stay in a processor's last cache


class Dropout(nn.Module):
    """Zeroes elements with probability `rate` (rounded to 1/256) and rescales the others.

    On a GPU it is torch's. On a CPU a mask is a slice of one fixed pool of independent draws. Each
    call draws the slice's start. Elements of a mask of at most half the pool are independent.
    A larger one joins slices, which may overlap. Two masks are equal only if they have the same
    start.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"a dropout rate must be at least 0 and below 1, got {rate}")
        self.threshold = min(255, round(rate * 256))
        self.enabled = True

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements of `x` (any shape) while training and enabled; identity otherwise."""
        if not (self.training and self.enabled and self.threshold and x.numel()):
            return x
        if x.is_cuda:  # where random numbers are free, and a CUDA graph draws new ones
            return F.dropout(x, self.threshold / 256)
        pool = _pool(self.threshold, x.dtype)
        sizes = [min(_POOL // 2, x.numel() - i) for i in range(0, x.numel(), _POOL // 2)]
        places = torch.randint(_POOL // 2, (len(sizes),)).tolist()
        parts = [pool.narrow(0, place, size) for place, size in zip(places, sizes, strict=True)]
        mask = parts[0] if len(parts) == 1 else torch.cat(parts)
        return x * mask.view(x.shape)

    def extra_repr(self) -> str:
        return f"rate={self.threshold / 256:.3f}"


def enable_dropout(network: nn.Module, enabled: bool) -> None:
    """Turn every `Dropout` of a network on or off."""
    for module in network.modules():
        if isinstance(module, Dropout):
            module.enabled = enabled


@cache
def _pool(threshold: int, dtype: torch.dtype) -> Tensor:
    """Draws of a mask: zero with probability threshold / 256, else the scale to keep the mean."""
    generator = torch.Generator().manual_seed(threshold)
    kept = torch.randint(256, (_POOL,), generator=generator, dtype=torch.uint8) >= threshold
    return (kept * (256 / (256 - threshold))).to(dtype)
