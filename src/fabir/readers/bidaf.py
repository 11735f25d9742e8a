"""BiDAF: Bidirectional Attention Flow (Seo et al. 2017, arXiv 1611.01603).

The baseline of Stanford's CS224N has the same name: row `bidaf-cs224n` has its differences. The
ladder to R-Net and A3 replace attention and output layers of this network.
"""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import torch
from torch import Tensor, nn

from fabir.data.batches import Batch, SpanLogits
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import (
    Activation,
    CharacterConvolution,
    CharacterWindows,
    Embedding,
    VocabularySizes,
)
from fabir.layers.fusion import AttentionFlow, Fusion, Init, initialise_
from fabir.layers.masking import masked_softmax
from fabir.layers.pointer import mask_logits
from fabir.layers.recurrent import Bidirectional, Cell
from fabir.readers.checks import LARGEST, check_fields
from fabir.readers.network import Network


@dataclass(frozen=True, kw_only=True)
class BidafConfig:
    """The published sizes.

    Args:
        characters: embed characters too
        character_dim: features of a character
        character_filters: size of a word's character-level vector
        character_widths: characters that filters see; filters are divided among the widths
        character_margin: padding before a word, at which filters may start
        character_windows: the last filters overhang a word's end ("overhanging"), or end within it
            and as much padding after it ("valid")
        character_activation: activation after the maximum over a word's characters
        character_spread: standard deviation of the character embeddings at initialisation
        word_dim: size of a linear map of word rows; 0 for the rows themselves
        word_activation: activation after that map
        joined_dim: size of a linear map of word and characters together; 0 for side by side
        highway: a highway of both together ("joined"), or of "characters" alone before they are
            joined to the word, as in the ladder to R-Net
        highway_layers: layers of the highway
        hidden: features of each direction of every recurrent layer
        cell: kind of the recurrent layers
        backwards: attention from question to passage: the words with the "strongest" match, or
            for each word through the question ("through", CS224N)
        modelling_layers: recurrent layers after attention
        end: input of the last recurrent layer: the "modelled" passage (the paper), or also the
            attended passage and the position of the "start" (the authors' program)
        init: attention between the texts and pointers start "matching", so that like words attend
            to each other (docs/results/matching-initialisation.md), or "random" as in the papers
        dropout: dropout rate on the input of every layer
    """

    characters: bool = True
    character_dim: int = 8
    character_filters: int = 100
    character_widths: tuple[int, ...] = (5,)
    character_margin: int = 0
    character_windows: CharacterWindows = "overhanging"
    character_activation: Activation = "relu"
    character_spread: float = 1.0
    word_dim: int = 0
    word_activation: Activation = "none"
    joined_dim: int = 0
    highway: Literal["joined", "characters"] = "joined"
    highway_layers: int = 2
    hidden: int = 100
    cell: Cell = "lstm"
    backwards: Literal["strongest", "through"] = "strongest"
    modelling_layers: int = 2
    end: Literal["modelled", "start"] = "start"
    init: Init = "matching"
    dropout: float = 0.2

    def __post_init__(self) -> None:
        check_fields(
            self,
            sizes=("character_dim", "character_filters", "hidden"),
            counts=("character_margin", "highway_layers", "modelling_layers"),
            rates=("dropout",),
            positive=("character_spread",),
        )
        for name in ("word_dim", "joined_dim"):
            if getattr(self, name):  # 0 is for none
                check_fields(self, sizes=(name,))
        widths, filters = self.character_widths, self.character_filters
        if not widths or min(widths) < 1 or max(widths) > LARGEST or filters < len(widths):
            raise ValueError(
                f"character_widths must be from 1 to {LARGEST}, and no more widths than "
                f"character_filters: got {widths} and {filters}"
            )
        if self.highway == "characters" and self.highway_layers and not self.characters:
            raise ValueError(
                'highway "characters" needs characters: set it to joined, or highway_layers to 0'
            )


_Config = TypeVar("_Config", bound=BidafConfig)


class Bidaf(Network, Generic[_Config]):
    """The whole reader; `make_attention` and `make_output` are what its descendants replace."""

    def __init__(self, config: _Config, sizes: VocabularySizes) -> None:
        super().__init__()
        two = 2 * config.hidden
        self.embedding = _embedding(config, sizes)
        self.dropout = Dropout(config.dropout)
        self.context = Bidirectional(self.embedding.dim, config.hidden, config.cell)
        self.attention = self.make_attention(config)
        sizes_in = [self.attention.size, *[two] * config.modelling_layers]
        self.modelling = nn.ModuleList(
            Bidirectional(size, config.hidden, config.cell) for size in sizes_in[:-1]
        )
        self.output = self.make_output(config, self.attention.size, sizes_in[-1])
        initialise_(self, config.init)

    def make_attention(self, config: _Config) -> Fusion:
        """The layer that combines passage and question [batch, length, 2 * hidden]."""
        return AttentionFlow(2 * config.hidden, config.backwards)

    def make_output(self, config: _Config, attended: int, modelled: int) -> nn.Module:
        """The layer that turns the attended and the modelled passage into logits."""
        return RecurrentOutput(attended, modelled, config)

    def encode(self, words: Tensor, mask: Tensor) -> Tensor:
        return self.context(self.dropout(words), mask)  # [passages, passage, 2 * hidden]

    def answer(self, encoded: Tensor, question: Tensor, batch: Batch) -> SpanLogits[Tensor]:
        masks = batch.for_questions(batch.passage_mask), batch.question_mask
        passage = self.dropout(batch.for_questions(encoded))
        question = self.dropout(self.encode(question, batch.question_mask))
        attended = self.attention(passage, question, *masks)  # [batch, passage, attention.size]
        modelled = attended
        for layer in self.modelling:
            modelled = layer(self.dropout(modelled), masks[0])  # [batch, passage, 2 * hidden]
        start, end = self.output(attended, modelled, question, *masks)  # [batch, passage] each
        real = masks[0].squeeze(2)
        return SpanLogits(mask_logits(start, real), mask_logits(end, real))


class RecurrentOutput(nn.Module):
    """The start from attended and modelled words, the end after one more recurrent layer
    (Seo et al. 2017, output layer)."""

    def __init__(self, attended: int, modelled: int, config: BidafConfig) -> None:
        super().__init__()
        self.reads_start = config.end == "start"
        inputs = attended + 3 * modelled if self.reads_start else modelled
        self.layer = Bidirectional(inputs, config.hidden, config.cell)
        self.start = nn.Linear(attended + modelled, 1)
        self.end = nn.Linear(attended + 2 * config.hidden, 1)
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        attended: Tensor,
        modelled: Tensor,
        question: Tensor,
        passage_mask: Tensor,
        question_mask: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Shape:
        attended, modelled: [batch, passage, features]
        question: [batch, question, features], not used
        result: start and end logits [batch, passage]
        """
        start = self.start(self.dropout(torch.cat([attended, modelled], dim=2)))
        last = modelled
        if self.reads_start:
            weights = masked_softmax(start.float().transpose(1, 2), passage_mask).transpose(1, 2)
            chosen = (weights * modelled).sum(dim=1, keepdim=True).to(modelled.dtype)
            last = [attended, modelled, chosen.expand_as(modelled), modelled * chosen]
            last = torch.cat(last, dim=2)
        last = self.layer(self.dropout(last), passage_mask)
        end = self.end(self.dropout(torch.cat([attended, last], dim=2)))
        return start.squeeze(2), end.squeeze(2)


def _embedding(config: BidafConfig, sizes: VocabularySizes) -> Embedding:
    characters = None
    of_characters = config.highway_layers if config.highway == "characters" else 0
    if config.characters:
        widths = config.character_widths
        each = config.character_filters // len(widths)
        filters = [each] * (len(widths) - 1)
        characters = CharacterConvolution(
            sizes.characters,
            config.character_dim,
            [*filters, config.character_filters - sum(filters)],
            widths,
            activation=config.character_activation,
            margin=config.character_margin,
            windows=config.character_windows,
            highway_layers=of_characters,
            spread=config.character_spread,
            dropout=config.dropout,
        )
    return Embedding(
        sizes,
        characters=characters,
        word_dim=config.word_dim or None,
        word_bias=False,
        word_activation=config.word_activation,
        joined_dim=config.joined_dim or None,
        highway_layers=config.highway_layers - of_characters,
    )
