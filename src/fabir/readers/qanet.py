"""QANet: convolution and self-attention (Yu et al. 2018, arXiv 1804.09541).

Blocks of separable convolutions, self-attention and feed-forward; attention both ways between
passage and question; the same seven blocks passed through three times; start and end.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from fabir.data.batches import Batch, SpanLogits
from fabir.layers.attention import AttentionWeights, Projection, dot_product_attention
from fabir.layers.convolution import Convolution, SeparableConvolution
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import CharacterConvolution, Embedding, VocabularySizes
from fabir.layers.feedforward import FeedForward
from fabir.layers.fusion import AttentionFlow, Init, initialise_
from fabir.layers.pointer import mask_logits
from fabir.layers.position import trigonometric_positions
from fabir.layers.recurrent import Bidirectional
from fabir.readers.checks import check_even, check_fields, check_heads
from fabir.readers.network import Network


@dataclass(frozen=True, kw_only=True)
class QanetConfig:
    """The published sizes.

    Args:
        character_dim: features of a character
        character_filters: size of a word's character-level vector
        character_width: characters a filter sees
        highway_layers: highway layers after word and characters are joined
        model_dim: features of a word in all blocks, even
        heads: heads of self-attention
        convolutions: convolutions of the encoder block; 0 together with `model_convolutions` is
            "- convolution in encoders"
        width: words that these convolutions see
        model_convolutions: convolutions of a model block
        model_width: words that the convolutions of a model block see
        model_blocks: blocks that the three passes share
        encoder: "blocks", or bidirectional LSTMs in the place of each stack of blocks, as in the
            paper's speed table (RNN-1-128 to RNN-3-128); then the fields of blocks have no effect
        recurrent_layers: LSTMs in the place of a stack; each direction has model_dim features
        self_attention: self-attention in blocks; "- self-attention in encoders" when false
        separable: separable convolutions; "replace sep convolution with normal convolution" when
            false
        init: attention between the texts starts "matching", so that like words attend to each other
            (docs/results/matching-initialisation.md), or "random" as in the paper
        scale_embedding: multiply embedded words by the root of their size (Vaswani et al. 2017),
            of which the paper does not speak
        dropout: dropout rate between layers and on word rows
        dropout_characters: dropout rate on character embeddings
        layer_dropout: share of sublayers left out in training, rising to this at a stack's end
    """

    character_dim: int = 200
    character_filters: int = 200
    character_width: int = 5
    highway_layers: int = 2
    model_dim: int = 128
    heads: int = 8
    convolutions: int = 4
    width: int = 7
    model_convolutions: int = 2
    model_width: int = 5
    model_blocks: int = 7
    encoder: Literal["blocks", "recurrent"] = "blocks"
    recurrent_layers: int = 1
    self_attention: bool = True
    separable: bool = True
    init: Init = "matching"
    scale_embedding: bool = True
    dropout: float = 0.1
    dropout_characters: float = 0.05
    layer_dropout: float = 0.1

    def __post_init__(self) -> None:
        check_fields(
            self,
            sizes=("character_dim", "character_filters", "character_width", "model_dim", "heads"),
            counts=(
                *("highway_layers", "convolutions", "model_convolutions", "model_blocks"),
                "recurrent_layers",
            ),
            odd=("width", "model_width"),
            rates=("dropout", "dropout_characters", "layer_dropout"),
        )
        check_even("model_dim", self.model_dim)
        if self.encoder == "blocks" and self.self_attention:
            check_heads("model_dim", self.model_dim, self.heads)
        if not self.recurrent_layers:
            raise ValueError("recurrent_layers must be at least 1: encoder 'blocks' has none")


class Qanet(Network):
    """The whole reader."""

    def __init__(self, config: QanetConfig, sizes: VocabularySizes) -> None:
        super().__init__()
        dim, self.scale_embedding = config.model_dim, config.scale_embedding
        self.embedding = Embedding(
            sizes,
            characters=CharacterConvolution(
                sizes.characters,
                config.character_dim,
                [config.character_filters],
                [config.character_width],
                activation="relu",
                dropout=config.dropout_characters,
            ),
            highway_layers=config.highway_layers,
            dropout=config.dropout,
        )
        self.narrow = nn.Linear(self.embedding.dim, dim)
        self.dropout = Dropout(config.dropout)
        self.encoder = _stack(1, config.convolutions, config.width, config)
        self.attention = AttentionFlow(dim, "through", config.dropout, start=dim**-0.5)
        self.fuse = nn.Linear(self.attention.size, dim)
        self.model = _stack(
            config.model_blocks, config.model_convolutions, config.model_width, config
        )
        self.start = nn.Linear(2 * dim, 1)
        self.end = nn.Linear(2 * dim, 1)
        initialise_(self, config.init)

    def embed(self, rows: Tensor, characters: Tensor) -> Tensor:
        words = self.narrow(self.embedding(rows, characters))
        if self.scale_embedding:  # positions have size 1 and would drown smaller words
            words = words * words.shape[1] ** 0.5
        return self.dropout(words)

    def encode(self, words: Tensor, mask: Tensor) -> Tensor:
        return self.encoder(words, mask)  # [passages, passage, model_dim]

    def answer(self, encoded: Tensor, question: Tensor, batch: Batch) -> SpanLogits[Tensor]:
        passage, passage_mask = map(batch.for_questions, (encoded, batch.passage_mask))
        question = self.encoder(question, batch.question_mask)
        attended = self.attention(passage, question, passage_mask, batch.question_mask)
        model = self.fuse(self.dropout(attended))  # [batch, passage, model_dim]
        passes = []
        for _ in range(3):
            model = self.model(self.dropout(model), passage_mask)
            passes.append(model)
        start = self.start(torch.cat([passes[0], passes[1]], dim=2)).squeeze(2)
        end = self.end(torch.cat([passes[0], passes[2]], dim=2)).squeeze(2)
        real = passage_mask.squeeze(2)
        return SpanLogits(mask_logits(start, real), mask_logits(end, real))


class Stack(nn.Module):
    """Encoder blocks one after another.

    Shape:
        x: [batch, length, model_dim], its mask [batch, length, 1]
        result: [batch, length, model_dim]
    """

    def __init__(self, blocks: int, convolutions: int, width: int, config: QanetConfig) -> None:
        super().__init__()
        made = [Block(convolutions, width, config) for _ in range(blocks)]
        self.blocks = nn.ModuleList(made)
        self.norm = nn.LayerNorm(config.model_dim)
        sublayers = [layer for block in made for layer in block.layers()]
        for number, sublayer in enumerate(sublayers, 1):
            sublayer.skipped = config.layer_dropout * number / len(sublayers)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)


class RecurrentStack(nn.Module):
    """Bidirectional LSTMs one after another, each direction with `model_dim` features, and a linear
    map of the last one's features to as many. It stands in the place of a `Stack`.

    Shape: as `Stack`; the result is the map's bias at padding.
    """

    def __init__(self, config: QanetConfig) -> None:
        super().__init__()
        dim = config.model_dim
        inputs = [dim] + [2 * dim] * (config.recurrent_layers - 1)
        self.layers = nn.ModuleList(Bidirectional(size, dim) for size in inputs)
        self.narrow = nn.Linear(2 * dim, dim)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(self.dropout(x), mask)
        return self.narrow(x)


def _stack(blocks: int, convolutions: int, width: int, config: QanetConfig) -> nn.Module:
    if config.encoder == "recurrent":
        return RecurrentStack(config)
    return Stack(blocks, convolutions, width, config)


class Block(nn.Module):
    """Positions, convolutions, self-attention, feed-forward (Figure 1)."""

    def __init__(self, convolutions: int, width: int, config: QanetConfig) -> None:
        super().__init__()
        dim = config.model_dim
        make = SeparableConvolution if config.separable else partial(Convolution, dim)
        layers: list[nn.Module] = [_Convolved(make(dim, width)) for _ in range(convolutions)]
        if config.self_attention:
            layers.append(_SelfAttention(dim, config.heads))
        layers.append(_FedForward(FeedForward(dim, dim)))
        self.sublayers = nn.ModuleList(Sublayer(layer, dim, config.dropout) for layer in layers)

    def layers(self) -> list["Sublayer"]:
        return [layer for layer in self.sublayers if isinstance(layer, Sublayer)]

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + trigonometric_positions(x.shape[1], x.shape[2], first=0, device=x.device)
        for sublayer in self.sublayers:
            x = sublayer(x, mask)
        return x


class Sublayer(nn.Module):
    """`x + dropout(layer(norm(x)))`, left out for some texts in training (stochastic depth)."""

    def __init__(self, layer: nn.Module, dim: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.layer = layer
        self.dropout = Dropout(dropout)
        self.skipped = 0.0

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        change = self.dropout(self.layer(self.norm(x), mask))
        if self.training and self.dropout.enabled and self.skipped:
            # Texts are skipped one by one, so that every process has a gradient of every weight.
            kept = torch.rand(len(x), 1, 1, device=x.device) >= self.skipped
            change = change * (kept / (1 - self.skipped))
        return x + change


class _Convolved(nn.Module):
    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.convolution(x * mask).relu()


class _SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.weights = AttentionWeights(dim, heads, width=0)
        self.words = Projection(dim, heads)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        if torch.compiler.is_compiling():  # a graph for ONNX Runtime is faster head by head
            return self.words(self.weights(x, mask), x)
        maps = self.weights.query, self.weights.key, self.words.value
        sizes = self.words.heads, -1
        query, key, value = (each(x).unflatten(2, sizes).transpose(1, 2) for each in maps)
        return self.words.output(dot_product_attention(query, key, value, mask))


class _FedForward(nn.Module):
    def __init__(self, layer: FeedForward) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.layer(x)
