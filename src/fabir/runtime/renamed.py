"""Models saved in the first format: their network and weights under the present names.

That format has one class for FABIR as published and for the network called `crossconv`.
"""

import re
from typing import Any

from fabir.errors import InputError

_CROSSCONV = {  # fields of the first format that identify a CrossConv of any size
    "characters": True,
    "word_projection": True,
    "heads": 1,
    "separate_layers": 1,
    "reduction": "layer",
    "word_match": True,
    "attention_convolution": "full",
    "cross_attention": "column-wise",
    "cross_capped": True,
    "norm": "before",
    "layer_type": "repeated",
    "selector": "convolution",
    "selector_layers": "last",
    "first_position": 500,
    "lowest_frequency": 1e-4,
    "highest_frequency": 1.0,
    "dropout_amplification": 2.0,
}
_FABIR = {  # fields that FABIR as published does not have, with the values they must have
    "separate_layers": 0,
    "word_match": False,
    "local_width": 0,
    "convolved_layers": 0,
    "attention_convolution": "full",
    "cross_capped": False,
    "norm": "after",
}
_IGNORED = {"convolved_width", "cross_start"}  # without effect in a trained FABIR
_INIT_READERS = "bidaf", "rnet", "a3"  # their `cross_start: alike` is `init: matching`
_SIZES = {"local_width": "encoder_width", "convolved_width": "width"}


def _convolution(layer: re.Match[str]) -> str:
    """A layer's convolution precedes the layer; that of the first layer is in the encoder."""
    number = int(layer[1])
    return f"between.{number - 1}" if number else "encoder.last_convolution"


_WEIGHTS = [  # of a CrossConv, replaced in this order
    (r"^reduction\.local\.join\.norm", "encoder.convolution.norm"),
    (r"^reduction\.local\.convolution", "encoder.convolution.sublayer"),
    (r"^reduction\.self_attention", "encoder.attention"),
    (r"^reduction\.(first|second)_positions", r"encoder.\1.positions"),
    (r"^reduction\.(first|second)\.after_attention\.norm", r"encoder.\1.norm"),
    (r"^reduction\.(first|second)\.feed_forward", r"encoder.\1.feed.sublayer"),
    (r"^reduction\.(first|second)\.after_feed_forward", r"encoder.\1.feed"),
    (r"^reduction\.last_norm", "encoder.norm"),
    (r"^reduction\.reduction", "encoder.reduction"),
    (r"^layers\.0\.match", "match"),
    (r"^layers\.(\d+)\.local\.join\.norm", lambda m: f"{_convolution(m)}.norm"),
    (r"^layers\.(\d+)\.local\.convolution", lambda m: f"{_convolution(m)}.sublayer"),
    (r"^(layers\.\d+)\.(first|second)\.feed_forward", r"\1.\2.sublayer"),
    (r"^(layers\.\d+)\.(first|second)\.after_feed_forward", r"\1.\2"),
    (r"^(layers\.\d+)\.cross_attention", r"\1.cross.sublayer"),
    (r"^(layers\.\d+)\.after_cross", r"\1.cross"),
    (r"^last_norm", "norm"),
    (r"^selectors\.0", "selector"),
    (r"\.first\.", ".question."),
    (r"\.second\.", ".passage."),
]


# All fields of FABIR in that format, by their defaults.
_DEFAULTS = (_CROSSCONV | _FABIR) | {
    "character_dim": 8,
    "character_filters": 100,
    "character_width": 5,
    "highway_layers": 2,
    "model_dim": 100,
    "heads": 4,
    "feed_forward": 200,
    "layers": 3,
    "convolved_width": 15,
    "attention_width": 5,
    "selector_hidden": 32,
    "selector_width": 9,
    "dropout_input": 0.1,
    "dropout_sublayer": 0.1,
    "dropout_attention": 0.1,
    "dropout_selector": 0.2,
    "dropout_characters": 0.25,
}
OLD_FIELDS = frozenset(_FABIR) | {"convolved_width"}  # of reader fabir in that format alone


def renamed_network(reader: str, network: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The architecture and its configuration under their present names.

    Raises:
        InputError: this version has no such network.
    """
    if reader in _INIT_READERS and "cross_start" in network:
        old = network["cross_start"]
        others = {name: value for name, value in network.items() if name != "cross_start"}
        return reader, {**others, "init": "matching" if old == "alike" else old}
    if reader != "fabir":
        return reader, network
    if all(network.get(name, value) == value for name, value in _FABIR.items()):
        left_out = _FABIR.keys() | _IGNORED
        return "fabir", {name: value for name, value in network.items() if name not in left_out}
    filled = _DEFAULTS | network
    attends = filled["layers"] - filled["convolved_layers"]
    if attends or any(filled[name] != value for name, value in _CROSSCONV.items()):
        raise InputError(
            "this version has no FABIR with these options: train it again as fabir or crossconv"
        )
    left_out = _CROSSCONV.keys() | {"convolved_layers", "cross_start"}
    return "crossconv", {
        _SIZES.get(name, name): value for name, value in filled.items() if name not in left_out
    }


def renamed_weight(reader: str, name: str) -> str:
    """The present name of a weight. `reader` is the architecture's present name."""
    if reader == "crossconv":
        for pattern, now in _WEIGHTS:
            name = re.sub(pattern, now, name)
    return name
