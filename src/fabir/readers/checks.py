"""Checks of a network's configuration, made when it is built: the error names the field."""

import reprlib
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

LARGEST = 8192  # of any size; a larger one is a mistake and would fill the memory
DEEPEST = 100  # layers


def check_fields(
    config: Any,
    *,
    sizes: Sequence[str] = (),
    counts: Sequence[str] = (),
    odd: Sequence[str] = (),
    rates: Sequence[str] = (),
    positive: Sequence[str] = (),
) -> None:
    """Refuse fields of a wrong type, a choice that is not there, and numbers out of bounds.

    Args:
        config: a dataclass; booleans, integers, floats and choices are checked by annotation
        sizes: integers from 1 to 8192
        counts: integers from 0 to 100
        odd: integers from 1 to 8192 that are odd
        rates: numbers from 0 to below 1
        positive: numbers above 0

    Raises:
        ValueError: names the field, what it must be and what it is.
    """
    hints = get_type_hints(type(config))
    for field in fields(config):
        _check_type(field.name, getattr(config, field.name), hints[field.name])
    for name in sizes:
        _check(config, name, lambda x: 1 <= x <= LARGEST, f"from 1 to {LARGEST}")
    for name in counts:
        _check(config, name, lambda x: 0 <= x <= DEEPEST, f"from 0 to {DEEPEST}")
    for name in odd:
        _check(config, name, lambda x: 1 <= x <= LARGEST and x % 2, "an odd number of at least 1")
    for name in rates:
        _check(config, name, lambda x: 0 <= x < 1, "at least 0 and below 1")
    for name in positive:
        _check(config, name, lambda x: 0 < x < float("inf"), "above 0")


def check_even(name: str, value: int) -> None:
    """Refuse an odd number of features: positions are pairs of a sine and a cosine."""
    if value % 2:
        raise ValueError(f"{name} must be even for positions, got {value}")


def check_heads(name: str, dim: int, heads: int) -> None:
    """Refuse heads that do not divide the features called `name`."""
    if dim % heads:
        raise ValueError(f"heads must divide {name}: {heads} do not divide {dim}")


def _check_type(name: str, value: Any, hint: Any) -> None:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            choices = ", ".join(map(repr, get_args(hint)))
            raise ValueError(f"{name} must be one of {choices}, got {reprlib.repr(value)}")
    elif hint is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} must be a number, got {reprlib.repr(value)}")
        if abs(value) > sys.float_info.max and abs(value) != float("inf"):
            raise ValueError(f"{name} is too large a number: {reprlib.repr(value)}")
    elif hint in (bool, int) and type(value) is not hint:
        kind = "true or false" if hint is bool else "a whole number"
        raise ValueError(f"{name} must be {kind}, got {reprlib.repr(value)}")


def _check(config: Any, name: str, allowed: Any, what: str) -> None:
    value = getattr(config, name)
    if not allowed(value):
        raise ValueError(f"{name} must be {what}, got {value}")
