"""Optimisers, their state by the names of parameters, and coupled L2 regularisation."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from fabir.training.muon import Muon
from fabir.training.settings import TrainingConfig


def make_optimisers(network: nn.Module, config: TrainingConfig) -> list[Optimizer]:
    """The optimiser that `config` names; with Muon, which is for matrices, also AdamW."""
    parameters, rate = network.parameters(), config.learning_rate
    match config.optimiser:
        case "adadelta":
            return [torch.optim.Adadelta(parameters, rate, rho=config.beta2, eps=config.epsilon)]
        case "sgd":
            return [torch.optim.SGD(parameters, rate, momentum=config.momentum)]
        case "adagrad":
            return [torch.optim.Adagrad(parameters, rate, eps=config.epsilon)]
        case "adamw" | "muon":
            return _with_weight_decay(network, config)


def _with_weight_decay(network: nn.Module, config: TrainingConfig) -> list[Optimizer]:
    """AdamW for all parameters, or Muon for matrices and AdamW for the others.

    Muon is for matrices: what maps features to features, those of a recurrent network's gates too,
    and what FABIR and A3 learn for each position or sentinel. It is not for tables of words or
    characters, biases, norms and filters over words. Its steps have the size of AdamW's, so both
    have one learning rate. Weight decay is apart from the gradient and spares
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


def add_l2(network: nn.Module, l2: float) -> None:
    """Add to the gradients that of `l2 / 2` times the squared norm of all trained weights."""
    for parameter in network.parameters():
        if parameter.grad is not None:
            parameter.grad.add_(parameter.detach(), alpha=l2)


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
                if state:
                    # Only fused optimisers count on the device: others would wait for it.
                    counted = device if group.get("fused") else "cpu"
                    state["step"] = torch.tensor(float(steps), device=counted)
                    optimiser.state[parameter] = state
