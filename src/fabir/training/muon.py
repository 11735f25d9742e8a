"""Muon: steps by the orthogonalised momentum of matrices."""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import (
    Tensor,
    _foreach_add_,  # pyright: ignore[reportPrivateImportUsage]
    _foreach_lerp,  # pyright: ignore[reportPrivateImportUsage]
    _foreach_lerp_,  # pyright: ignore[reportPrivateImportUsage]
    _foreach_mul_,  # pyright: ignore[reportPrivateImportUsage]
    nn,
)
from torch.optim import Optimizer

from fabir.runtime.processors import fast_bf16

_FACTORS = 3.4445, -4.7750, 2.0315  # of x, x³ and x⁵ (Jordan et al. 2024)
_ITERATIONS = 5
_MOMENTUM = 0.95
_OF_ADAMS = 0.2  # the root mean square of AdamW's updates, as a share of the rate (Liu et al. 2025)


class Muon(Optimizer):
    """Muon (Jordan et al. 2024) with steps of the size of AdamW's (Liu et al. 2025).

    As `torch.optim.Muon` with `adjust_lr_fn="match_rms_adamw"`, but matrices of one shape are
    orthogonalised together. One by one, matrices of a hundred features each way take a CPU twice
    as long, a tenth of a step.

    Args:
        matrices: parameters of two dimensions
        lr, weight_decay: as AdamW's
    """

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update all matrices that have a gradient."""
        for group in self.param_groups:
            alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[matrix.shape].append(matrix)
            for shape, matrices in alike.items():
                update = orthogonalised(torch.stack(self._nesterov(matrices)))
                rate = _OF_ADAMS * max(shape) ** 0.5 * group["lr"]
                _foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
                _foreach_add_(matrices, update.to(matrices[0]).unbind(), alpha=-rate)

    def _nesterov(self, matrices: list[Tensor]) -> list[Tensor]:
        """Update the momenta; returns the Nesterov directions, made of gradients and momenta."""
        gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
        for matrix, gradient in zip(matrices, gradients, strict=True):
            if "momentum_buffer" not in self.state[matrix]:
                self.state[matrix]["momentum_buffer"] = torch.zeros_like(gradient)
        momenta = [self.state[matrix]["momentum_buffer"] for matrix in matrices]
        _foreach_lerp_(momenta, gradients, 1 - _MOMENTUM)
        return list(_foreach_lerp(gradients, momenta, _MOMENTUM))


def orthogonalised(matrices: Tensor) -> Tensor:
    """Matrices with the same singular vectors, whose singular values lie around 1 (a Newton-Schulz
    iteration). Its products are in bfloat16 where that is faster.

    Shape: matrices, result [number, rows, columns]
    """
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonalised(matrices.mT).mT
    once, cubed, fifth = _FACTORS
    x = matrices.bfloat16() if fast_bf16(matrices.device) else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(_ITERATIONS):
        gram = torch.bmm(x, x.mT)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=cubed, alpha=fifth), x, beta=once)
    return x
