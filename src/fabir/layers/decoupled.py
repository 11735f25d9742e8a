"""FABIR's self-attention over words and positions (III-F, Figure 2; thesis 5.4)."""

from torch import Tensor, nn

from fabir.layers.attention import AttentionWeights, Projection


class DecoupledAttention(nn.Module):
    """Self-attention over words and positions kept apart (Figure 2).

    Queries and keys see word + position; values and the residual see words only. The stream of
    pure positions goes through the same weights with values and an output of its own.

    Args:
        dim: features of a word
        position_dim: features of the stream of positions
        heads, width, height, scaled, bias, dropout: as of `AttentionWeights`

    Shape:
        words, placed (word + position): [batch, length, dim]
        positions: [batch or 1, length, position_dim]
        mask: [batch, length, 1], True on real tokens
        result: what words and what positions gather, [batch, length, dim and position_dim]
    """

    def __init__(
        self,
        dim: int,
        position_dim: int,
        heads: int,
        width: int,
        dropout: float,
        *,
        height: int = 1,
        scaled: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.weights = AttentionWeights(
            dim, heads, width=width, height=height, scaled=scaled, bias=bias, dropout=dropout
        )
        self.words = Projection(dim, heads, bias=bias)
        self.positions = Projection(position_dim, heads, bias=bias)

    def forward(
        self, words: Tensor, placed: Tensor, positions: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        weights = self.weights(placed, mask)
        return self.words(weights, words), self.positions(weights, positions)
