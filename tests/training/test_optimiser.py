"""Each optimiser's weights and steps, and that their state comes back."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from fabir.runtime.torch_model import TorchModel
from fabir.training.optimiser import add_l2, load_state_dict, make_optimisers, state_dict
from fabir.training.settings import TrainingConfig
from factories import small_reader


@pytest.fixture
def reader() -> TorchModel:
    return small_reader("fabir")


def names(reader: TorchModel, group: dict[str, list[torch.Tensor]]) -> set[str]:
    known = {parameter: name for name, parameter in reader.network.named_parameters()}
    return {known[parameter] for parameter in group["params"]}  # pyright: ignore[reportArgumentType]


def test_decay_spares_words_biases_and_norms(reader: TorchModel) -> None:
    (adamw,) = make_optimisers(reader.network, TrainingConfig(weight_decay=0.5))
    decayed, spared = (names(reader, group) for group in adamw.param_groups)
    assert [group["weight_decay"] for group in adamw.param_groups] == [0.5, 0.0]
    assert decayed | spared == {name for name, _ in reader.network.named_parameters()}
    assert not any("bias" in name or "embedding.words" in name for name in decayed)
    assert "reduction.reduction.weight" in decayed


def test_muon_has_the_matrices_and_adamw_the_rest(reader: TorchModel) -> None:
    config = TrainingConfig(optimiser="muon", weight_decay=0.5)
    muon, adamw = make_optimisers(reader.network, config)
    (matrices,) = (names(reader, group) for group in muon.param_groups)
    decayed, spared = (names(reader, group) for group in adamw.param_groups)
    assert matrices | decayed | spared == {name for name, _ in reader.network.named_parameters()}
    assert "reduction.reduction.weight" in matrices
    assert "layers.0.self_attention.weights.query.weight" in matrices
    assert {"embedding.characters.table.weight", "selectors.0.inner.weight"} <= decayed
    assert "embedding.words.trained" in spared


@pytest.mark.parametrize(("name", "part"), [("bidaf", "context.forwards"), ("rnet", "cell")])
def test_gates_of_recurrent_networks_are_matrices_too(name: str, part: str) -> None:
    reader = small_reader(name)
    muon, adamw = make_optimisers(reader.network, TrainingConfig(optimiser="muon"))
    matrices = names(reader, muon.param_groups[0])
    _, spared = (names(reader, group) for group in adamw.param_groups)
    for side in "ih", "hh":
        assert any(f"{part}.weight_{side}" in name for name in matrices)
        assert any(f"{part}.bias_{side}" in name for name in spared)


def test_muon_makes_steps_of_the_size_of_adams(reader: TorchModel) -> None:
    """0.2 times the rate in the mean, whatever the size of the gradient (Liu et al. 2025)."""
    config = TrainingConfig(optimiser="muon", learning_rate=0.01)
    muon, _ = make_optimisers(reader.network, config)
    weight = reader.network.get_parameter("reduction.reduction.weight")
    before = weight.detach().clone()
    weight.grad = 1000 * torch.randn_like(weight)
    muon.step()
    assert float((weight.detach() - before).square().mean().sqrt()) == pytest.approx(0.002, rel=0.3)


_Made = Callable[[Any], torch.optim.Optimizer]


@pytest.mark.parametrize(
    ("config", "make"),
    [
        (
            TrainingConfig(learning_rate=0.1, beta1=0.7, beta2=0.8, epsilon=0.01),
            lambda weights: torch.optim.Adam(weights, 0.1, (0.7, 0.8), 0.01),
        ),
        (
            TrainingConfig(optimiser="adadelta", learning_rate=0.5, beta2=0.9, epsilon=1e-6),
            lambda weights: torch.optim.Adadelta(weights, 0.5, rho=0.9, eps=1e-6),
        ),
        (
            TrainingConfig(optimiser="sgd", learning_rate=0.1, momentum=0.9),
            lambda weights: torch.optim.SGD(weights, 0.1, momentum=0.9),
        ),
        (
            TrainingConfig(optimiser="adagrad", learning_rate=0.1, epsilon=0.01),
            lambda weights: torch.optim.Adagrad(weights, 0.1, eps=0.01),
        ),
    ],
    ids=lambda value: value.optimiser if isinstance(value, TrainingConfig) else "",
)
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_steps_are_those_of_pytorch(config: TrainingConfig, make: _Made, l2: float) -> None:
    """With L2 too, which PyTorch adds to the gradient in all but AdamW: biases are not spared."""
    ours, theirs = nn.Linear(3, 4), nn.Linear(3, 4)
    theirs.load_state_dict(ours.state_dict())
    mine, other = make_optimisers(ours, config), make(theirs.parameters())
    for group in other.param_groups:
        group["weight_decay"] = l2
    for _ in range(4):
        x = torch.randn(5, 3)
        for network, optimisers in (ours, mine), (theirs, [other]):
            network(x).square().sum().backward()
            if network is ours:
                add_l2(network, l2)
            for optimiser in optimisers:
                optimiser.step()
                optimiser.zero_grad()
    for weight, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(weight, expected)


@pytest.mark.parametrize(
    ("optimiser", "moments"),
    [
        ("adamw", {"exp_avg", "exp_avg_sq"}),
        ("muon", {"exp_avg", "exp_avg_sq", "momentum_buffer"}),
        ("adadelta", {"square_avg", "acc_delta"}),
        ("sgd", {"momentum_buffer"}),
        ("adagrad", {"sum"}),
    ],
)
def test_the_state_comes_back(optimiser: Any, moments: set[str]) -> None:
    config = TrainingConfig(optimiser=optimiser, momentum=0.9)
    gradients = torch.Generator().manual_seed(3)
    first, second = small_reader("fabir").network, small_reader("fabir").network
    whole = make_optimisers(first, config)

    def step(network: nn.Module, optimisers: list[torch.optim.Optimizer]) -> None:
        for parameter in network.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=gradients)
        for each in optimisers:
            each.step()

    step(first, whole)
    kept = {
        moment: {name: value.clone() for name, value in values.items()}
        for moment, values in state_dict(whole, first).items()
    }
    assert set(kept) == moments
    second.load_state_dict(first.state_dict())
    broken = make_optimisers(second, config)
    load_state_dict(broken, second, kept, steps=1)
    state = gradients.get_state()
    step(first, whole)
    gradients.set_state(state)
    step(second, broken)
    for mine, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(mine, theirs)
