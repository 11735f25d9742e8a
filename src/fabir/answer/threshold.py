"""The threshold: how likely an answer that is given must be. `Predictor.given` applies it."""

from numbers import Real

from fabir.answer.merging import Answer, Reading
from fabir.errors import InputError


def check_threshold(threshold: float | None) -> float | None:
    """The threshold as a float; None stands for the model's own rule.

    Raises:
        InputError: it is not a number from 0 to 1.
    """
    if threshold is None:
        return None
    if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
        raise InputError(f"a threshold is a probability from 0 to 1, not {threshold!r}")
    return float(threshold)


def best_guess(reading: Reading, given: list[Answer]) -> Answer | None:
    """The best span if no answer is given, else None; also None if there is no span."""
    return None if given else next(iter(reading.answers), None)
