"""FABIR's sizes, variations and additions."""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from fabir.layers.attention import AttentionWeights
from fabir.layers.feedforward import Join


@dataclass(frozen=True, kw_only=True)
class FabirConfig:
    """Table 5 of the thesis and every variation of its Table 6.

    Args:
        characters: embed characters too ("without char embedding" when false)
        character_dim: features of a character
        character_filters: size of a word's character-level vector
        character_width: characters a filter sees
        word_projection: a trained linear map of the word vector before the highway
        highway_layers: highway layers after word and characters are joined
        model_dim: size of a word's vector in the processing layers, even
        heads: attention heads ("2 heads")
        feed_forward: hidden size in processing layers; the reduction layer has it scaled alike
        layers: processing layers after the reduction layer ("2 layers", "4 layers")
        separate_layers: how many layers, the reduction layer first, read both texts without
            cross-attention: these read a passage once for all its questions. Not in the papers
        reduction: the reduction layer, or a reduction matrix and one more processing layer
        word_match: mark passage words that are in the question too, before the first
            cross-attention; not in the papers, it is the exact match of Chen et al. 2017 (DrQA)
        local_width: words that a separable convolution of each layer sees, a sublayer before
            self-attention as in QANet (Yu et al. 2018); 0 for none, as in FABIR's papers
        convolved_layers: how many of the last layers have a convolution in place of self-attention,
            which takes half as long; not in the papers
        convolved_width: words that it sees
        attention_width: kernel size along the keys; 0 is "without convolutional attention"
        attention_convolution: over the logits of all heads (eq. 12b), or "depthwise", of each head
            alone; the latter is faster and not in the papers
        cross_attention: softmax over passage positions (column-wise) or question positions
        cross_capped: bound what a passage word gathers from all question words together; not in
            the papers
        cross_start: all begins "random" (the thesis: Glorot normal), or so that cross-attention's
            queries meet the keys that are "alike": other sublayers then begin with little to add,
            positions low, and the maps in between keep angles; not in the papers
        norm: layer norm "after" each sublayer, or "before" it, which bears higher rates; the latter
            is not in the papers
        layer_type: repeated layers, or switching the direction of cross-attention at each
        selector: two convolutions, or one linear map ("linear answer selector")
        selector_hidden: filters of the first selector convolution
        selector_width: kernel size of both ("selector with kernel size 1")
        selector_layers: both ends from the last layer, or the start from the one before
        first_position: number of the first word's position
        lowest_frequency: of the position encoding, radians a word
        highest_frequency: of the position encoding, radians a word
        dropout_input: on embeddings and positions
        dropout_sublayer: on the output of every sublayer
        dropout_attention: on attention weights
        dropout_selector: before each selector convolution
        dropout_characters: on character embeddings
        dropout_amplification: power of the keep rates in the reduction layer (thesis eq. 5.26)
    """

    characters: bool = True
    character_dim: int = 8
    character_filters: int = 100
    character_width: int = 5
    word_projection: bool = True
    highway_layers: int = 2
    model_dim: int = 100
    heads: int = 4
    feed_forward: int = 200
    layers: int = 3
    separate_layers: int = 0
    reduction: Literal["layer", "matrix"] = "layer"
    word_match: bool = False
    local_width: int = 0
    convolved_layers: int = 0
    convolved_width: int = 15
    attention_width: int = 5
    attention_convolution: Literal["full", "depthwise"] = "full"
    cross_attention: Literal["column-wise", "row-wise"] = "column-wise"
    cross_capped: bool = False
    cross_start: Literal["random", "alike"] = "random"
    norm: Literal["after", "before"] = "after"
    layer_type: Literal["repeated", "switching"] = "repeated"
    selector: Literal["convolution", "linear"] = "convolution"
    selector_hidden: int = 32
    selector_width: int = 9
    selector_layers: Literal["last", "different"] = "last"
    first_position: int = 500
    lowest_frequency: float = 1e-4
    highest_frequency: float = 1.0
    dropout_input: float = 0.1
    dropout_sublayer: float = 0.1
    dropout_attention: float = 0.1
    dropout_selector: float = 0.2
    dropout_characters: float = 0.25
    dropout_amplification: float = 2.0

    def attends(self, number: int) -> bool:
        """Whether this layer, 0 the reduction layer, has self-attention."""
        return number <= self.layers - self.convolved_layers

    def attention_weights(self, dim: int, dropout: float) -> AttentionWeights:
        return AttentionWeights(
            dim,
            self.heads,
            width=self.attention_width,
            depthwise=self.depthwise,
            dropout=dropout,
        )

    def join(self, dim: int, dropout: float) -> Join:
        return Join(dim, dropout, before=self.norm == "before")

    def last_norm(self, dim: int) -> nn.Module:
        """What a stream passes that no later sublayer's norm does."""
        return nn.LayerNorm(dim) if self.norm == "before" else nn.Identity()

    def input_dim(self, word_dim: int) -> int:
        """Size of a word's vector before the reduction: word and character features."""
        return word_dim + self.character_filters * self.characters

    @property
    def depthwise(self) -> bool:
        return self.attention_convolution == "depthwise"

    def amplified(self, rate: float) -> float:
        """A dropout rate as it is in the reduction layer."""
        if not 0 <= rate < 1:  # an even power would hide it
            raise ValueError(f"a dropout rate must be at least 0 and below 1, got {rate}")
        return 1 - (1 - rate) ** self.dropout_amplification
