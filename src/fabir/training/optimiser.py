"""Optimisers: AdamW, or Muon for matrices and AdamW for the rest; and their state, by name."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from fabir.training.muon import Muon
from fabir.training.settings import TrainingConfig


def make_optimisers(network: nn.Module, config: TrainingConfig) -> list[Optimizer]:
    """AdamW for all parameters, or Muon for matrices and AdamW for the others.

    Muon is for what maps features to features, those of a recurrent network's gates too: not for
    tables of words or characters, biases, norms and filters over words. Its steps have the size of
    AdamW's, so both have one learning rate. Weight decay is apart from the gradient and spares
    words, biases and norms.
    """
    matrices, decayed, spared = [], [], []
    for name, parameter in network.named_parameters():
        if name.startswith("embedding.words") or parameter.ndim <= 1:
            spared.append(parameter)
        elif config.optimiser == "muon" and parameter.ndim == 2 and "table" not in name:
            matrices.append(parameter)
        else:
            decayed.append(parameter)
    adamw = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": config.weight_decay},
            {"params": spared, "weight_decay": 0.0},
        ],
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=True,
    )
    if not matrices:
        return [adamw]
    return [Muon(matrices, config.learning_rate, config.weight_decay), adamw]


def state_dict(optimisers: Sequence[Optimizer], network: nn.Module) -> dict[str, dict[str, Tensor]]:
    """The state of the optimisers: moments of all parameters, each by the parameter's name.

    How many steps were made is left out: it is the same for all.
    """
    names: dict[Tensor, str] = {p: name for name, p in network.named_parameters()}
    moments: dict[str, dict[str, Tensor]] = {}
    for optimiser in optimisers:
        for parameter, state in optimiser.state.items():
            for moment in state.keys() - {"step"}:
                moments.setdefault(moment, {})[names[parameter]] = state[moment]
    return moments


def load_state_dict(
    optimisers: Sequence[Optimizer],
    network: nn.Module,
    moments: dict[str, dict[str, Tensor]],
    steps: int,
) -> None:
    """Give the optimisers back the state that `state_dict` took from them after `steps` steps."""
    names = {parameter: name for name, parameter in network.named_parameters()}
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            for parameter in group["params"]:
                name, device = names[parameter], parameter.device
                state = {
                    moment: values[name].to(device)
                    for moment, values in moments.items()
                    if name in values
                }
                if "exp_avg" in state:
                    state["step"] = torch.tensor(float(steps), device=device)
                if state:
                    optimiser.state[parameter] = state
