"""The sweep finds where learning is fastest, and leaves the trainer as it found it."""

import copy
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fabir.errors import InputError
from fabir.training.finder import Sweep, find_learning_rate, plot_sweep
from fabir.training.loop import Trainer
from tiny import dataset, trainer_of


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return trainer_of(dataset(), tmp_path / "run", average=0.9, word_rows=0, clip=1.0)


def state(trainer: Trainer) -> Any:
    return copy.deepcopy(
        (
            trainer.reader.network.state_dict(),
            [optimiser.state_dict() for optimiser in trainer.optimisers],
            trainer.average,
            trainer.progress,
            trainer.network.training,
        )
    )


def assert_equal(mine: Any, theirs: Any) -> None:
    assert type(mine) is type(theirs)
    if isinstance(mine, torch.Tensor):
        assert torch.equal(mine, theirs)
    elif isinstance(mine, dict):
        assert mine.keys() == theirs.keys()
        for key in mine:
            assert_equal(mine[key], theirs[key])
    elif isinstance(mine, list | tuple):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert_equal(one, other)
    else:
        assert mine == theirs


@pytest.mark.parametrize("steps_before", [0, 3])
def test_a_sweep_leaves_no_trace(trainer: Trainer, steps_before: int) -> None:
    for _ in range(steps_before):
        trainer.step()
    before, random = state(trainer), torch.get_rng_state()
    find_learning_rate(trainer, 1e-4, 10.0, steps=9)
    assert_equal(state(trainer), before)
    assert torch.equal(torch.get_rng_state(), random)
    assert not trainer.output.exists()


def test_rates_rise_exponentially_and_a_tenth_of_the_best_is_suggested(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "step", lambda rate: 3 + abs(np.log10(rate)))  # best at 1
    sweep = find_learning_rate(trainer, 1e-4, 1e2, steps=600)
    ratios = [b / a for a, b in pairwise(sweep.rates)]
    assert ratios == pytest.approx([1e6 ** (1 / 599)] * len(ratios))
    assert len(sweep.rates) == len(sweep.losses) == len(sweep.smoothed)
    assert 1 <= sweep.lowest < 2  # the smoothed loss comes a little late
    assert sweep.suggestion == pytest.approx(sweep.lowest / 10)


def test_a_sweep_learns_on_the_way(trainer: Trainer) -> None:
    sweep = find_learning_rate(trainer, 1e-4, 1e-2, steps=60)
    assert sweep.smoothed[-1] < 0.95 * sweep.losses[0]


@pytest.mark.parametrize("end", [1000.0, float("nan"), float("inf")])
def test_a_sweep_ends_when_the_loss_has_blown_up(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch, end: float
) -> None:
    losses = iter([4.0, 2.0, 3.0, end])
    monkeypatch.setattr(trainer, "step", lambda rate: next(losses))
    sweep = find_learning_rate(trainer, 0.1, 10.0, steps=100)
    assert sweep.losses[:3] == [4, 2, 3]
    assert len(sweep.losses) == (4 if end == 1000 else 3)


def test_a_loss_that_is_no_number_at_first_is_refused(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "step", lambda rate: float("nan"))
    with pytest.raises(InputError, match=r"nan at the first rate, 0\.0001: begin lower"):
        find_learning_rate(trainer, 1e-4, 10.0, steps=9)


def test_the_smoothed_loss_is_a_mean_of_those_so_far(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([4.0, 2.0, 1.0])
    monkeypatch.setattr(trainer, "step", lambda rate: next(losses))
    sweep = find_learning_rate(trainer, 0.1, 10.0, steps=3)
    assert sweep.rates == pytest.approx([0.1, 1, 10])
    weights = [0.95**2, 0.95, 1]
    mean = sum(w * x for w, x in zip(weights, [4, 2, 1], strict=True)) / sum(weights)
    assert sweep.smoothed[0] == pytest.approx(4)
    assert sweep.smoothed[2] == pytest.approx(mean)
    assert sweep.lowest == pytest.approx(10)


def test_a_sweep_says_how_far_it_is(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]

    def step(rate: float) -> float:
        now[0] += 6
        return 2.0

    monkeypatch.setattr(trainer, "step", step)
    monkeypatch.setattr("fabir.training.finder.time.monotonic", lambda: now[0])
    find_learning_rate(trainer, 1e-3, 1.0, steps=4)
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.splitlines() == [
        "step 1/4  rate 1.0e-03  loss 2.000  at most 0.3 min left",
        "step 3/4  rate 1.0e-01  loss 2.000  at most 0.1 min left",
    ]


@pytest.mark.parametrize(
    ("lowest", "highest", "steps"), [(0, 1, 9), (1, 1, 9), (0.1, 1, 1), (0.1, math.inf, 9)]
)
def test_a_sweep_that_does_not_rise_is_refused(
    trainer: Trainer, lowest: float, highest: float, steps: int
) -> None:
    with pytest.raises(InputError, match="to a higher one in 2 steps or more"):
        find_learning_rate(trainer, lowest, highest, steps)


def test_a_seed_decides_a_sweep(trainer: Trainer) -> None:
    sweeps = [find_learning_rate(trainer, 1e-3, 1.0, steps=5) for _ in range(2)]
    assert sweeps[0] == sweeps[1]


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sweep = Sweep([0.1, 1.0], [4.0, 2.0], [4.0, 3.0])
    plot_sweep(sweep, tmp_path / "sweep.svg")
    assert "<svg" in (tmp_path / "sweep.svg").read_text()
