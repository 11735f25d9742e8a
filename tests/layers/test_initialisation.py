"""Weights as FABIR's thesis begins with them."""

import pytest
import torch
from torch import Tensor, nn

from fabir.layers.attention import CrossAttention
from fabir.layers.embedding import CharacterConvolution
from fabir.layers.initialisation import glorot_


def fans(weight: Tensor) -> int:
    """Inputs and outputs of a map, in the sense of Glorot and Bengio 2010."""
    return (weight.shape[0] + weight.shape[1]) * weight[0, 0].numel()


@pytest.mark.parametrize("layer", [nn.Linear(300, 200), nn.Conv1d(60, 80, 5)])
def test_maps_are_glorot_normal_without_biases(layer: nn.Linear | nn.Conv1d) -> None:
    torch.manual_seed(0)
    glorot_(layer)
    spread = (2 / fans(layer.weight)) ** 0.5
    assert layer.weight.std().item() == pytest.approx(spread, rel=0.02)
    assert layer.weight.abs().max() > 3.5 * spread  # which no uniform weight is
    assert layer.bias is not None
    assert not layer.bias.any()


def test_attention_outputs_and_characters_are_glorot_uniform() -> None:
    torch.manual_seed(0)
    attention = CrossAttention(120, 1, width=5, over="queries", capped=True, dropout=0.0)
    characters = CharacterConvolution(30, 40, [90], [5])
    glorot_(nn.ModuleList([attention, characters]))
    for weight in (attention.output.weight, characters.linears[0].get_parameter("weight")):
        assert weight.abs().max().item() == pytest.approx((6 / fans(weight)) ** 0.5, rel=0.01)
    query = attention.get_parameter("query.weight")
    assert query.abs().max() > (6 / fans(query)) ** 0.5
