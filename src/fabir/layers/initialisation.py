"""Initialisation of weights, for the readers that follow FABIR."""

from torch import nn

from fabir.layers.attention import CrossAttention, Projection
from fabir.layers.embedding import CharacterConvolution


def glorot_(network: nn.Module) -> None:
    """Glorot normal, uniform in attention outputs and characters, no biases (thesis 5.6.3)."""
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.Conv1d):
            nn.init.xavier_normal_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for module in network.modules():
        if isinstance(module, Projection | CrossAttention):
            nn.init.xavier_uniform_(module.output.weight)
        if isinstance(module, CharacterConvolution):
            for linear in module.linears:
                nn.init.xavier_uniform_(linear.get_parameter("weight"))
