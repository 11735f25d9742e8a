"""The networks of models that were saved in the first format, under their present names."""

from typing import Any

from fabir.errors import InputError

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
OLD_FIELDS = frozenset(_FABIR) | {"convolved_width"}  # of reader fabir in that format alone


def renamed_network(reader: str, network: dict[str, Any]) -> dict[str, Any]:
    """The configuration of a reader's network under its present names.

    Raises:
        InputError: this version has no such network.
    """
    if reader in _INIT_READERS and "cross_start" in network:
        old = network["cross_start"]
        others = {name: value for name, value in network.items() if name != "cross_start"}
        return {**others, "init": "matching" if old == "alike" else old}
    if reader != "fabir":
        return network
    if any(network.get(name, value) != value for name, value in _FABIR.items()):
        raise InputError(
            "this version has no FABIR with these options: train it again as fabir or crossconv"
        )
    left_out = _FABIR.keys() | _IGNORED
    return {name: value for name, value in network.items() if name not in left_out}
