"""The whole of FABIR: embeddings, the reduction layer, processing layers, the answer selector.

Top to bottom like the paper's Figure 1. No strings, no loss, no decoding here.
"""

import torch
import torch.nn.functional as F
from torch import nn

from fabir.data.batches import Batch
from fabir.layers.attention import CrossAttention
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import CharacterConvolution, Embedding, VocabularySizes
from fabir.layers.pointer import ConvolutionSelector, LinearSelector, SpanLogits, mask_logits
from fabir.readers.fabir.config import FabirConfig
from fabir.readers.fabir.layers import MatrixReduction, ProcessingLayer, ReductionLayer

# The last map of each sublayer but cross-attention.
_ADDING = (
    "self_attention.words.output.weight",
    "local.convolution.1.weight",
    "feed_forward.2.weight",
)
_LITTLE = 0.01  # of what they would add at first; nothing would leave what is below no gradient
_LOW = 0.3  # positions, beside words of size 1
_RAISED = 10.0  # embedded words of size 0.25, to which a matrix adds positions of size 0.7


class Fabir(nn.Module):
    """The whole reader.

    Shape:
        batch: see `fabir.data.batches.Batch`
        result: SpanLogits of [batch, passage]
    """

    def __init__(self, config: FabirConfig, sizes: VocabularySizes) -> None:
        super().__init__()
        self.config = config
        dim = config.input_dim(sizes.word_dim)
        if dim % 2 or config.model_dim % 2:
            raise ValueError(f"positions need even sizes, got {dim} and {config.model_dim}")
        if config.heads < 1 or (config.reduction == "layer" and dim % config.heads):
            raise ValueError(
                f"{config.heads} heads do not divide the {dim} features of a word, "
                f"{sizes.word_dim} of them from its vector: change character_filters or heads"
            )
        if not 0 <= config.separate_layers <= config.layers:
            raise ValueError(
                f"of {config.layers + 1} layers, the reduction layer among them, one at least has "
                f"cross-attention: separate_layers cannot be {config.separate_layers}"
            )
        if not 0 <= config.convolved_layers <= config.layers:
            raise ValueError(
                f"there are {config.layers} layers after the reduction layer: convolved_layers "
                f"cannot be {config.convolved_layers}"
            )
        if config.selector_layers == "different" and config.layers < max(
            2, config.separate_layers + 1
        ):
            raise ValueError("selectors in different layers need at least 2 layers that cross")
        if config.layer_type == "switching" and config.layers % 2 == 0:
            raise ValueError("switching layers need an odd number: the last one reads the passage")
        self.embedding = Embedding(
            sizes,
            characters=CharacterConvolution(
                sizes.characters,
                config.character_dim,
                [config.character_filters],
                [config.character_width],
                dropout=config.dropout_characters,
            )
            if config.characters
            else None,
            word_dim=sizes.word_dim if config.word_projection else None,
            highway_layers=config.highway_layers,
        )
        amplified = config.amplified(config.dropout_input)
        self.input_dropout = Dropout(
            amplified if config.reduction == "layer" else config.dropout_input
        )
        reduction = ReductionLayer if config.reduction == "layer" else MatrixReduction
        self.reduction: ReductionLayer | MatrixReduction = reduction(dim, config)
        self.layers = nn.ModuleList(
            ProcessingLayer(number, config) for number in range(1, config.layers + 1)
        )
        self.last_norm = config.last_norm(config.model_dim)
        self.selectors = nn.ModuleList(
            self._selector(2 if config.selector_layers == "last" else 1)
            for _ in range(1 if config.selector_layers == "last" else 2)
        )
        self._initialise()

    def forward(self, batch: Batch) -> SpanLogits:
        forms = self.embedding(batch.words, batch.characters)
        if self.training:
            # The residual stream has the precision of the weights, also under autocast: bfloat16
            # swallows what sublayers add at first.
            forms = forms.to(self.embedding.words.trained.dtype)
        passage = self.input_dropout(F.embedding(batch.passage, forms))
        question = self.input_dropout(F.embedding(batch.question, forms))
        before = passage
        for layer in (self.reduction, *self.layers):
            before = passage
            question, passage = layer(question, passage, batch)
            if layer.begins:
                batch = batch.unshared()
        outputs = (passage,) if len(self.selectors) == 1 else (before, passage)
        outputs = map(self.last_norm, outputs)
        logits = torch.cat(
            [
                selector(x, batch.passage_mask)
                for selector, x in zip(self.selectors, outputs, strict=True)
            ],
            dim=2,
        )
        real = batch.passage > 0
        return SpanLogits(mask_logits(logits[..., 0], real), mask_logits(logits[..., 1], real))

    def _selector(self, outputs: int) -> nn.Module:
        config = self.config
        if config.selector == "linear":
            return LinearSelector(config.model_dim, outputs)
        return ConvolutionSelector(
            config.model_dim,
            config.selector_hidden,
            outputs,
            config.selector_width,
            config.dropout_selector,
        )

    def _initialise(self) -> None:
        """Glorot normal, uniform in attention outputs and characters, no biases (thesis 5.6.3)."""
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif name.endswith("output.weight") or name.endswith("characters.linears.0.weight"):
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("convolution.0.weight"):
                nn.init.normal_(parameter, std=parameter.shape[2] ** -0.5)
            elif name.endswith("kernel"):
                outputs, heads, width = parameter.shape
                inputs = heads if outputs == heads else 1
                nn.init.normal_(parameter, std=(1 / (inputs * width)) ** 0.5)
            elif name.endswith(".weight") and parameter.ndim > 1 and "table" not in name:
                nn.init.xavier_normal_(parameter)
        if self.config.cross_start == "alike":
            self._start_alike()

    @torch.no_grad()
    def _start_alike(self) -> None:
        """Until cross-attention a word is its embedding, and what is alike there meets."""
        for name, parameter in self.named_parameters():
            if name.endswith(_ADDING):
                parameter.mul_(_LITTLE)
            elif name.endswith("_positions.norm.weight"):
                nn.init.constant_(parameter, _LOW)
        gain = _RAISED if self.config.reduction == "matrix" else 1.0
        nn.init.orthogonal_(self.reduction.reduction.weight, gain)
        for module in self.modules():
            if isinstance(module, CrossAttention):
                module.start_alike()
