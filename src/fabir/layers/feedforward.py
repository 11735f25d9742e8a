"""The vector-wise feed-forward sublayer and the residual join around every sublayer."""

from torch import Tensor, nn

from fabir.layers.dropout import Dropout


class FeedForward(nn.Sequential):
    """`ReLU(x W1 + b1) W2 + b2` (FABIR eq. 15).

    Shape:
        x: [..., dim]
        result: [..., dim]
    """

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))


class Join(nn.Module):
    """Dropout on a sublayer's output, the residual, then layer normalisation (thesis 5.3.4, 5.6.4).

    Shape:
        x, change: [..., dim]
        result: [..., dim]
    """

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor, change: Tensor) -> Tensor:
        return self.norm(x + self.dropout(change))
