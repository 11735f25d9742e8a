"""Muon: steps by the orthogonalised momentum of matrices."""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

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
            alike: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[matrix.shape].append(matrix)
            for shape, matrices in alike.items():
                update = orthogonalised(torch.stack([self._nesterov(m) for m in matrices]))
                rate = _OF_ADAMS * max(shape) ** 0.5 * group["lr"]
                for matrix, change in zip(matrices, update, strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.add_(change, alpha=-rate)

    def _nesterov(self, matrix: nn.Parameter) -> Tensor:
        """Update the momentum; returns the Nesterov direction, made of gradient and momentum."""
        gradient, state = matrix.grad, self.state[matrix]
        assert gradient is not None
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        momentum = state["momentum_buffer"].lerp_(gradient, 1 - _MOMENTUM)
        return gradient.lerp(momentum, _MOMENTUM)


def orthogonalised(matrices: Tensor) -> Tensor:
    """Matrices with the same singular vectors, whose singular values lie around 1, by products
    in bfloat16 (a Newton-Schulz iteration).

    Shape: matrices, result [number, rows, columns]
    """
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonalised(matrices.mT).mT
    once, cubed, fifth = _FACTORS
    x = matrices.bfloat16()
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(_ITERATIONS):
        gram = torch.bmm(x, x.mT)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=cubed, alpha=fifth), x, beta=once)
    return x
