"""Position encoding by sines and cosines (FABIR eq. 9, thesis eq. 5.10), or by a learned matrix."""

import torch
from torch import Tensor, nn


def trigonometric_positions(
    length: int,
    dim: int,
    *,
    first: int = 500,
    lowest: float = 1e-4,
    highest: float = 1.0,
    device: torch.device | None = None,
) -> Tensor:
    """Encode `length` consecutive positions, the first of them numbered `first`.

    Frequencies are a geometric progression from `highest` down to `lowest`, in radians a word;
    sines fill the first half of the features and cosines the second, as in the authors' program.

    Shape:
        result: [length, dim] float32, `dim` even
    """
    if dim % 2:
        raise ValueError(f"a position encoding needs an even dimension, got {dim}")
    steps = torch.linspace(0, 1, dim // 2, device=device)
    frequencies = highest * (lowest / highest) ** steps
    angles = torch.arange(first, first + length, device=device)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class LearnedPositions(nn.Module):
    """A trained vector for each position (thesis 5.2). Positions beyond the last row share it.

    Shape:
        result: [length, dim]
    """

    def __init__(self, rows: int, dim: int) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.randn(rows, dim))

    def forward(self, length: int) -> Tensor:
        places = torch.arange(length, device=self.rows.device)
        return self.rows[places.clamp(max=len(self.rows) - 1)]
