import math
from typing import Any

import pytest

from fabir.training.settings import TrainingConfig, learning_rate


@pytest.mark.parametrize("step", [1, 2, 1000, 3999, 4000, 4001, 16000, 63072])
def test_the_default_schedule_is_eq_5_24_of_the_thesis(step: int) -> None:
    expected = 0.5 * 100**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert learning_rate(TrainingConfig(), step, 63072) == pytest.approx(expected, rel=1e-3)


def test_the_default_rate_is_highest_at_the_end_of_the_warm_up() -> None:
    config = TrainingConfig()
    peak = learning_rate(config, 4000, 63072)
    assert peak == pytest.approx(0.5 * 100**-0.5 * 4000**-0.5, rel=1e-3)
    assert peak == max(learning_rate(config, step, 63072) for step in range(1, 63073, 31))
    assert learning_rate(config, 4000, 63072) == learning_rate(config, 4000, 10**6)


def test_the_linear_schedule_stays_level_and_falls_to_nothing() -> None:
    config = TrainingConfig(schedule="linear", learning_rate=1.0, warmup_steps=10, decay=0.4)
    rates = [learning_rate(config, step, 100) for step in range(1, 101)]
    assert rates[:10] == pytest.approx([0.1 * step for step in range(1, 11)])
    assert rates[9:61] == pytest.approx([1.0] * 52)
    assert rates[61:] == pytest.approx([(100 - step + 1) / 40 for step in range(62, 101)])
    assert rates[-1] == pytest.approx(1 / 40)  # the last step is not wasted on a rate of zero


def rates(steps: int, **settings: Any) -> list[float]:
    """The rates of a run in which the highest is 1."""
    config = TrainingConfig(learning_rate=1.0, **settings)
    return [learning_rate(config, step, steps) for step in range(1, steps + 1)]


def test_the_constant_schedule_stays_level_after_any_warm_up() -> None:
    assert rates(5, schedule="constant", warmup_steps=0) == [1.0] * 5
    warmed = rates(9, schedule="constant", warmup_steps=4)
    assert warmed == pytest.approx([0.25, 0.5, 0.75, *[1.0] * 6])


def test_steps_multiply_the_rate_after_each_milestone() -> None:
    settings = {"schedule": "steps", "warmup_steps": 0, "epochs": 4, "factor": 0.5}
    found = rates(40, milestones=(1, 2.5, 3), **settings)  # ten steps an epoch
    assert found == [1.0] * 10 + [0.5] * 15 + [0.25] * 5 + [0.125] * 10
    warmed = rates(40, milestones=(2,), **(settings | {"warmup_steps": 2}))
    assert warmed == [0.5, *[1.0] * 19, *[0.5] * 20]


def test_the_annealed_schedule_is_eq_3_11_of_the_thesis() -> None:
    """Each rate is the one before, divided by 1 + rho * t."""
    expected, rate = [], 1.0
    for time in range(1, 51):
        rate /= 1 + 0.003 * time
        expected.append(rate)
    settings = {"schedule": "annealed", "annealing": 0.003}
    assert rates(50, warmup_steps=0, **settings) == pytest.approx(expected)
    assert rates(60, warmup_steps=10, **settings)[9:] == pytest.approx([1.0, *expected])


def test_the_rate_may_rise_with_the_logarithm_of_the_step() -> None:
    """As in QANet's paper: fast at first, and the highest at the end of the warm-up."""
    found = rates(1001, schedule="constant", warmup_steps=1000, warmup="logarithmic")
    expected = [math.log(step + 1) / math.log(1001) for step in range(1, 1001)]
    assert found == pytest.approx([*expected, 1.0])


def test_schedules_work_however_short_the_run() -> None:
    for schedule in ("inverse-root", "linear"):
        config = TrainingConfig(schedule=schedule, warmup_steps=1, decay=0.0, learning_rate=1.0)
        assert learning_rate(config, 1, 1) == 1.0
        assert learning_rate(config, 2, 2) > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"length_groups": -1},
        {"evaluations": -1},
        {"warmup_steps": 0},
        {"average": 1.0},
        {"average": -0.1},
        {"label_smoothing": 1.5},
        {"beta1": 1.0},
        {"beta2": -1.0},
        {"seed": -1},
        {"learning_rate": -1e-3},
        {"clip": -1.0},
        {"word_rows": -5},
        {"momentum": 1.0},
        {"l2": -1e-7},
        {"factor": -0.5},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"^{name} must be at least"):
        TrainingConfig(**wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"schedule": "steps"}, "schedule steps needs milestones"),
        ({"schedule": "annealed"}, "schedule annealed needs annealing above 0, got 0"),
        ({"schedule": "annealed", "annealing": math.nan}, "annealing must be at least 0, got nan"),
        ({"schedule": "steps", "milestones": (1, math.nan)}, "milestones must be at least 0, got"),
        (
            {"no_answer_alone": True, "patience": 1},
            "no_answer_alone changes no F1 .*: set patience",
        ),
        ({"batch_size": 10**20}, r"batch_size must be below 2\^31, got 1000"),
        ({"schedule": "constant", "warmup_steps": -1}, "warmup_steps must be at least 0, got -1"),
        ({"optimiser": "sgd", "weight_decay": 0.1}, "sgd has no weight_decay: set it to 0, l2 is"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        TrainingConfig(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"learning_rate": float("nan")},
        {"checkpoint_minutes": -5.0},
        {"decay": 2.0},
        {"patience": -1},
        {"dropout_after": -0.5},
    ],
)
def test_numbers_out_of_their_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        TrainingConfig(**wrong)
