"""The layers of FABIR: processing layers (III-E) and what comes before them (III-F, thesis 5.4)."""

from typing import Literal

import torch
from torch import Tensor, nn

from fabir.layers.attention import AttentionWeights, CrossAttention, Projection
from fabir.layers.decoupled import DecoupledAttention
from fabir.layers.dropout import Dropout
from fabir.layers.feedforward import FeedForward, Join
from fabir.layers.position import LearnedPositions, trigonometric_positions
from fabir.readers.fabir_config import FabirConfig

# The first text never sees the second, but in bidirectional layers. It is the question, except in
# every other layer of a network that switches.
Text = Literal["first", "second"]


class Stream(nn.Module):
    """The part of a layer that each text has for itself: the norms of self-attention and
    feed-forward, and the feed-forward sublayer (III-E, eq. 15)."""

    def __init__(self, dim: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.after_attention = Join(dim, dropout)
        self.feed_forward = FeedForward(dim, hidden)
        self.after_feed_forward = Join(dim, dropout)

    def feed(self, x: Tensor) -> Tensor:
        return self.after_feed_forward(x, self.feed_forward(x))


class Layer(nn.Module):
    """Cross-attention and feed-forward, which both kinds of layer have after self-attention.

    The second text attends to the output of the first's feed-forward sublayer in this layer
    (III-D.2, III-E). The first never sees the second, but in a bidirectional layer: there it
    attends to the second's self-attention before its feed-forward sublayer, att_cross(Q, P).

    Shape:
        first, second: [batch, length, dim] and masks [batch, length, 1]
        result: both again
    """

    def __init__(
        self, dim: int, hidden: int, config: FabirConfig, sublayer: float, attention: float
    ) -> None:
        super().__init__()
        self.first = Stream(dim, hidden, sublayer)
        self.second = Stream(dim, hidden, sublayer)
        over = "queries" if config.cross_attention == "column-wise" else "keys"
        options = {**config.attention, "over": over, "dropout": attention}
        self.cross_attention = CrossAttention(dim, config.heads, **options)
        self.after_cross = Join(dim, sublayer)
        self.bidirectional = config.layer_type == "bidirectional"
        if self.bidirectional:
            self.first_cross_attention = CrossAttention(dim, config.heads, **options)
            self.after_first_cross = Join(dim, sublayer)

    def cross(
        self, first: Tensor, second: Tensor, first_mask: Tensor, second_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        if self.bidirectional:
            crossed = self.first_cross_attention(first, second, first_mask, second_mask)
            first = self.after_first_cross(first, crossed)
        first = self.first.feed(first)
        crossed = self.cross_attention(second, first, second_mask, first_mask)  # eq. 14
        second = self.second.feed(self.after_cross(second, crossed))
        return first, second


class SelfAttention(nn.Module):
    """Convolutional self-attention, whose weights both texts share (eqs. 12, 13)."""

    def __init__(self, dim: int, config: FabirConfig) -> None:
        super().__init__()
        self.weights = AttentionWeights(
            dim, config.heads, **config.attention, dropout=config.dropout_attention
        )
        self.words = Projection(dim, config.heads, bias=config.attention_bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.words(self.weights(x, mask), x)


class ProcessingLayer(Layer):
    """Self-attention on both texts, then cross-attention and feed-forward (III-E)."""

    def __init__(self, config: FabirConfig) -> None:
        dim, rates = config.model_dim, (config.dropout_sublayer, config.dropout_attention)
        super().__init__(dim, config.feed_forward, config, *rates)
        self.self_attention = SelfAttention(dim, config)

    def forward(
        self, first: Tensor, second: Tensor, first_mask: Tensor, second_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        first = self.attend(first, first_mask, "first")
        second = self.attend(second, second_mask, "second")
        return self.cross(first, second, first_mask, second_mask)

    def attend(self, x: Tensor, mask: Tensor, text: Text) -> Tensor:
        join = self.first.after_attention if text == "first" else self.second.after_attention
        return join(x, self.self_attention(x, mask))


class ReductionLayer(Layer):
    """Decoupled attention, a layer on words alone, then words reduced and positions added
    (III-F, thesis 5.4)."""

    def __init__(self, dim: int, config: FabirConfig) -> None:
        sublayer = config.amplified(config.dropout_sublayer)
        attention = config.amplified(config.dropout_attention)
        super().__init__(dim, _scaled_hidden(dim, config), config, sublayer, attention)
        self.config, self.dim = config, dim
        self.self_attention = DecoupledAttention(
            dim, config.model_dim, config.heads, dropout=attention, **config.attention
        )
        self.first_positions = Join(config.model_dim, sublayer)
        self.second_positions = Join(config.model_dim, sublayer)
        rate = config.amplified(config.dropout_input)
        self.wide, self.narrow = (Positions(size, config, rate) for size in (dim, config.model_dim))
        self.reduction = nn.Linear(dim, config.model_dim)
        self.reduction_dropout = Dropout(sublayer)

    def encode(self, words: Tensor, mask: Tensor, text: Text) -> Tensor:
        """Shape: [batch, length, dim] -> [batch, length, dim + model_dim], words and positions."""
        first = text == "first"
        join = self.first.after_attention if first else self.second.after_attention
        join_positions = self.first_positions if first else self.second_positions
        wide, narrow = self.wide(words), self.narrow(words)
        attended, moved = self.self_attention(words, words + wide, narrow, mask)
        return torch.cat([join(words, attended), join_positions(narrow, moved)], dim=2)

    def cross(
        self, first: Tensor, second: Tensor, first_mask: Tensor, second_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Shape: [batch, length, dim + model_dim] -> [batch, length, model_dim]"""
        first, first_at = first.split([self.dim, self.config.model_dim], dim=2)
        second, second_at = second.split([self.dim, self.config.model_dim], dim=2)
        first, second = super().cross(first, second, first_mask, second_mask)
        return self._reduce(first) + first_at, self._reduce(second) + second_at

    def _reduce(self, words: Tensor) -> Tensor:
        return self.reduction_dropout(self.reduction(words))


class FeedForwardReduction(nn.Module):
    """A feed-forward sublayer (eq. 15) that ends in fewer features, in the reduction layer's place
    (IV-A). Its methods are those of `ReductionLayer`."""

    def __init__(self, dim: int, config: FabirConfig) -> None:
        super().__init__()
        hidden = _scaled_hidden(dim, config)
        self.reduction = nn.Sequential(
            nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, config.model_dim)
        )
        self.positions = Positions(config.model_dim, config, config.dropout_input)

    def encode(self, words: Tensor, mask: Tensor, text: Text) -> Tensor:
        """Shape: [batch, length, dim] -> [batch, length, model_dim]"""
        return self.reduction(words) + self.positions(words)

    def cross(
        self, first: Tensor, second: Tensor, first_mask: Tensor, second_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        return first, second


class MatrixReduction(nn.Module):
    """The reduction matrix alone (eq. 17), then one more processing layer in the reduction layer's
    place (thesis 6.4.2). Its methods are those of `ReductionLayer`."""

    def __init__(self, dim: int, config: FabirConfig) -> None:
        super().__init__()
        self.reduction = nn.Linear(dim, config.model_dim)
        self.positions = Positions(config.model_dim, config, config.dropout_input)
        self.layer = ProcessingLayer(config)

    def encode(self, words: Tensor, mask: Tensor, text: Text) -> Tensor:
        """Shape: [batch, length, dim] -> [batch, length, model_dim]"""
        placed = self.reduction(words) + self.positions(words)
        return self.layer.attend(placed, mask, text)

    def cross(
        self, first: Tensor, second: Tensor, first_mask: Tensor, second_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        return self.layer.cross(first, second, first_mask, second_mask)


# By their names in the configuration.
REDUCTIONS = {
    "layer": ReductionLayer,
    "matrix": MatrixReduction,
    "feed-forward": FeedForwardReduction,
}


class Positions(nn.Module):
    """The position encoding of a text in the type of its words (eq. 9), with dropout.

    Shape:
        words: [batch, length, features]
        result: [1, length, dim]; [batch, length, dim] in training, where each text has its own
            dropout
    """

    def __init__(self, dim: int, config: FabirConfig, dropout: float) -> None:
        super().__init__()
        self.dim, self.config = dim, config
        rows = config.learned_positions
        self.learned = LearnedPositions(rows, dim) if rows else None
        self.dropout = Dropout(dropout)

    def forward(self, words: Tensor) -> Tensor:
        positions = self._encode(words.shape[1], words.device).to(words.dtype)
        return self.dropout(positions.expand(words.shape[0] if self.training else 1, -1, -1))

    def _encode(self, length: int, device: torch.device) -> Tensor:
        if self.learned is not None:
            return self.learned(length)
        return trigonometric_positions(
            length,
            self.dim,
            first=self.config.first_position,
            lowest=self.config.lowest_frequency,
            highest=self.config.highest_frequency,
            device=device,
        )


def _scaled_hidden(dim: int, config: FabirConfig) -> int:
    """The hidden size of a feed-forward sublayer of `dim` features, in proportion to them."""
    return max(1, config.feed_forward * dim // config.model_dim)
