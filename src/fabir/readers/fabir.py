"""FABIR: a Fully Attention-Based Information Retriever (Correia et al. 2018, arXiv 1810.09580).

The paper's network from top to bottom: Figure 1 is `Fabir.encode` and `Fabir.answer`, Figure 2 the
`DecoupledAttention` of its reduction layer, in `fabir.layers.decoupled`. The thesis of the
first author (2017) has the details.
"""

import torch
from torch import Tensor, nn

from fabir.data.batches import Batch, SpanLogits
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import CharacterConvolution, Embedding, VocabularySizes
from fabir.layers.initialisation import glorot_
from fabir.layers.pointer import ConvolutionSelector, LinearSelector, mask_logits
from fabir.readers.checks import check_even, check_heads
from fabir.readers.fabir_config import FabirConfig
from fabir.readers.fabir_layers import REDUCTIONS, ProcessingLayer
from fabir.readers.network import Network

_WAY_OUT = (
    "take vectors of 100 dimensions, or --network.character_filters 150 with vectors of 50, or "
    "other --network.heads"
)


class Fabir(Network):
    """The whole reader (Figure 1)."""

    def __init__(self, config: FabirConfig, sizes: VocabularySizes) -> None:
        super().__init__()
        self.config = config
        self.embedding = _embedding(config, sizes)
        layer = config.reduction == "layer"
        rate = config.amplified(config.dropout_input) if layer else config.dropout_input
        self.input_dropout = Dropout(rate)
        self.reduction = REDUCTIONS[config.reduction](self.embedding.dim, config)
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
        try:
            check_heads(what, embedding.dim, config.heads)
        except ValueError as error:
            raise ValueError(f"{error}; {_WAY_OUT}") from error
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
