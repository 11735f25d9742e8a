"""The configuration of FABIR's network."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from fabir.layers.embedding import CharacterWindows
from fabir.readers.checks import check_even, check_fields, check_heads

_LAST_POSITION = 1_000_000  # float32 tells positions behind it apart


@dataclass(frozen=True, kw_only=True)
class FabirConfig:
    """Table 5 of the thesis, and every variation of the paper's Table I and the thesis' Table 6.

    Args:
        characters: embed characters too ("without char embedding" when false)
        character_dim: features of a character
        character_filters: filters of the character convolution; each is a feature of a word
        character_width: characters that a filter sees
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
        selector_convolutions: convolutions of the selector (thesis eq. 5.20)
        selector_hidden: filters of all these convolutions but the last
        selector_width: their kernel size ("selector with kernel size 1")
        selector_layers: both ends from the last layer, or the start from the one before
        first_position: number of the first word's position, from 0 to 1,000,000
        lowest_frequency: the lowest frequency of the position encoding, radians a word
        highest_frequency: the highest one, at most pi
        learned_positions: rows of a learned position matrix in the place of that encoding (thesis
            5.2). Words beyond share the last row. 0 for none
        dropout_input: dropout rate on embeddings and positions
        dropout_sublayer: dropout rate on the output of every sublayer
        dropout_attention: dropout rate on attention weights
        dropout_selector: dropout rate before each selector convolution
        dropout_characters: dropout rate on character embeddings
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
        if not 0 <= self.first_position <= _LAST_POSITION:
            raise ValueError(
                f"first_position must be from 0 to {_LAST_POSITION}, got {self.first_position}"
            )
        fastest = max(self.lowest_frequency, self.highest_frequency)
        if fastest > math.pi:
            raise ValueError(f"frequencies are at most pi, half a turn a word, got {fastest}")
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
