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
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"^{name} must be at least"):
        TrainingConfig(**wrong)
