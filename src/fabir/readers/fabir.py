"""FABIR: a Fully Attention-Based Information Retriever (Correia et al. 2018, arXiv 1810.09580).

The paper's network from top to bottom: Figure 1 is `Fabir.encode` and `Fabir.answer`, Figure 2 the
`DecoupledAttention` of its reduction layer. The thesis of the first author (2017) has the details.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from fabir.data.batches import Batch, SpanLogits
from fabir.layers.attention import AttentionWeights, CrossAttention, Projection
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import (
    CharacterConvolution,
    CharacterWindows,
    Embedding,
    VocabularySizes,
)
from fabir.layers.feedforward import FeedForward, Join
from fabir.layers.initialisation import glorot_
from fabir.layers.pointer import ConvolutionSelector, LinearSelector, mask_logits
from fabir.layers.position import LearnedPositions, trigonometric_positions
from fabir.readers.checks import check_even, check_fields, check_heads
from fabir.readers.network import Network

# The first text never sees the second, but in bidirectional layers. It is the question, except in
# every other layer of a network that switches.
Text = Literal["first", "second"]


@dataclass(frozen=True, kw_only=True)
class FabirConfig:
    """Table 5 of the thesis, and every variation of the paper's Table I and the thesis' Table 6.

    Args:
        characters: embed characters too ("without char embedding" when false)
        character_dim, character_filters, character_width: of the character convolution
        character_windows: the last filters overhang a word's end ("overhanging"), or lie within it
            ("valid", thesis eq. 5.5)
        word_projection: a trained linear map of the word vector before the highway
        highway_layers: highway layers after word and characters are joined
        model_dim: size of a word's vector in the processing layers, even
        heads: attention heads ("2 heads")
        feed_forward: hidden size in processing layers; that of the reduction layer is scaled with
            its features
        layers: processing layers after the reduction layer ("2 layers", "4 layers")
        reduction: the reduction layer; a reduction matrix and one more processing layer (thesis
            6.4.2); or a feed-forward sublayer alone (IV-A)
        attention_width: kernel size along the keys; 0 is "without convolutional attention"
        attention_height: kernel size along the queries (eq. 11)
        attention_scaled: divide logits by the root of a head's features, which eq. 12 does not
        attention_bias: biases of queries, keys, values and outputs, which eq. 12 does not have
        cross_attention: softmax over passage positions (column-wise) or question positions
        layer_type: repeated layers; switching the direction of cross-attention at each; or
            bidirectional, where the question attends to the passage too (III-D.2)
        selector: convolutions, or one linear map ("linear answer selector")
        selector_convolutions: how many (thesis eq. 5.20)
        selector_hidden: filters of all but the last
        selector_width: kernel size of all ("selector with kernel size 1")
        selector_layers: both ends from the last layer, or the start from the one before
        first_position: number of the first word's position
        lowest_frequency, highest_frequency: of the position encoding, radians a word
        learned_positions: rows of a learned position matrix in the place of that encoding (thesis
            5.2). Words beyond share the last row. 0 for none
        dropout_input: on embeddings and positions
        dropout_sublayer: on the output of every sublayer
        dropout_attention: on attention weights
        dropout_selector: before each selector convolution
        dropout_characters: on character embeddings
        dropout_amplification: power of the keep rates in the reduction layer (thesis eq. 5.26)

    Raises:
        ValueError: a field has a wrong value, or two do not go together.
    """

    characters: bool = True
    character_dim: int = 8
    character_filters: int = 100
    character_width: int = 5
    character_windows: CharacterWindows = "overhanging"
    word_projection: bool = True
    highway_layers: int = 2
    model_dim: int = 100
    heads: int = 4
    feed_forward: int = 200
    layers: int = 3
    reduction: Literal["layer", "matrix", "feed-forward"] = "layer"
    attention_width: int = 5
    attention_height: int = 1
    attention_scaled: bool = True
    attention_bias: bool = True
    cross_attention: Literal["column-wise", "row-wise"] = "column-wise"
    layer_type: Literal["repeated", "switching", "bidirectional"] = "repeated"
    selector: Literal["convolution", "linear"] = "convolution"
    selector_convolutions: int = 2
    selector_hidden: int = 32
    selector_width: int = 9
    selector_layers: Literal["last", "different"] = "last"
    first_position: int = 500
    lowest_frequency: float = 1e-4
    highest_frequency: float = 1.0
    learned_positions: int = 0
    dropout_input: float = 0.1
    dropout_sublayer: float = 0.1
    dropout_attention: float = 0.1
    dropout_selector: float = 0.2
    dropout_characters: float = 0.25
    dropout_amplification: float = 2.0

    def __post_init__(self) -> None:
        dropouts = "input", "sublayer", "attention", "selector", "characters"
        check_fields(
            self,
            sizes=(
                *("character_dim", "character_filters", "character_width", "selector_hidden"),
                *("model_dim", "heads", "feed_forward"),
                *(("learned_positions",) if self.learned_positions else ()),
            ),
            counts=("highway_layers", "layers", "selector_convolutions"),
            odd=(
                *("selector_width", "attention_height"),
                *(("attention_width",) if self.attention_width else ()),
            ),
            rates=[f"dropout_{place}" for place in dropouts],
            positive=("lowest_frequency", "highest_frequency", "dropout_amplification"),
        )
        check_even("model_dim", self.model_dim)
        check_heads("model_dim", self.model_dim, self.heads)
        if not self.selector_convolutions:
            raise ValueError("selector_convolutions must be at least 1: 'linear' is a selector")
        if self.attention_height > 1 and not self.attention_width:
            raise ValueError("attention_height above 1 needs an attention_width of at least 1")
        if self.reduction == "feed-forward" and not self.layers:
            raise ValueError("reduction: 'feed-forward' needs layers of at least 1")
        if self.selector_layers == "different" and self.layers < 2:
            raise ValueError("selector_layers: 'different' needs layers of at least 2")
        if self.layer_type == "switching" and self.layers % 2 == 0:
            raise ValueError(
                f"layer_type: 'switching' needs an odd number of layers, got {self.layers}: "
                "the last one reads the passage"
            )

    @property
    def attention(self) -> dict[str, Any]:
        """The options of every attention layer, by their names there."""
        return {
            "width": self.attention_width,
            "height": self.attention_height,
            "scaled": self.attention_scaled,
            "bias": self.attention_bias,
        }

    def amplified(self, rate: float) -> float:
        """A dropout rate as it is in the reduction layer."""
        return 1 - (1 - rate) ** self.dropout_amplification


class Fabir(Network):
    """The whole reader (Figure 1)."""

    def __init__(self, config: FabirConfig, sizes: VocabularySizes) -> None:
        super().__init__()
        self.config = config
        self.embedding = _embedding(config, sizes)
        layer = config.reduction == "layer"
        rate = config.amplified(config.dropout_input) if layer else config.dropout_input
        self.input_dropout = Dropout(rate)
        self.reduction = _REDUCTIONS[config.reduction](self.embedding.dim, config)
        self.layers = nn.ModuleList(ProcessingLayer(config) for _ in range(config.layers))
        apart = config.selector_layers == "different"
        self.selectors = nn.ModuleList(_selector(config, 2 - apart) for _ in range(1 + apart))
        glorot_(self)

    def embed(self, rows: Tensor, characters: Tensor) -> Tensor:
        vectors = self.embedding(rows, characters)
        # In training the residual stream has the precision of the weights, also under autocast.
        # bfloat16 would round away the small outputs that sublayers have at first.
        return vectors.to(self.embedding.words.trained.dtype) if self.training else vectors

    def encode(self, words: Tensor, mask: Tensor) -> Tensor:
        """See `Network.encode`: the reduction layer's self-attention."""
        return self.reduction.encode(self.input_dropout(words), mask, "second")

    def answer(self, encoded: Tensor, question: Tensor, batch: Batch) -> SpanLogits[Tensor]:
        asked, told = batch.question_mask, batch.for_questions(batch.passage_mask)
        question = self.reduction.encode(self.input_dropout(question), asked, "first")
        passage = batch.for_questions(encoded)  # [batch, passage, encoded features]
        question, passage = self.reduction.cross(question, passage, asked, told)
        outputs = [passage]  # [batch, passage, model_dim] each
        for number, layer in enumerate(self.layers):
            if self.config.layer_type == "switching" and number % 2:
                passage, question = layer(passage, question, told, asked)
            else:
                question, passage = layer(question, passage, asked, told)
            outputs.append(passage)
        last = outputs[-len(self.selectors) :]
        logits = [select(x, told) for select, x in zip(self.selectors, last, strict=True)]
        start, end = torch.cat(logits, dim=2).unbind(dim=2)  # [batch, passage] each
        real = told.squeeze(2)
        return SpanLogits(mask_logits(start, real), mask_logits(end, real))


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


_REDUCTIONS = {
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


def _embedding(config: FabirConfig, sizes: VocabularySizes) -> Embedding:
    """Words and characters side by side, then a highway (III-A, III-B, eqs. 7, 8)."""
    characters = None
    if config.characters:
        characters = CharacterConvolution(
            sizes.characters,
            config.character_dim,
            [config.character_filters],
            [config.character_width],
            windows=config.character_windows,
            dropout=config.dropout_characters,
        )
    embedding = Embedding(
        sizes,
        characters=characters,
        word_dim=sizes.word_dim if config.word_projection else None,
        highway_layers=config.highway_layers,
    )
    if config.reduction == "layer":
        what = f"the features of a word ({sizes.word_dim} of them from its vector)"
        check_even(what, embedding.dim)
        check_heads(what, embedding.dim, config.heads)
    return embedding


def _selector(config: FabirConfig, outputs: int) -> nn.Module:
    """The answer selector (III-G)."""
    if config.selector == "linear":
        return LinearSelector(config.model_dim, outputs)
    return ConvolutionSelector(
        config.model_dim,
        config.selector_hidden,
        outputs,
        config.selector_width,
        config.dropout_selector,
        config.selector_convolutions,
    )
