"""Checks of what callers give."""

import operator
from typing import Any, TypeVar

from fabir.errors import InputError

T = TypeVar("T")


def check_whole(name: str, value: Any, least: int | None = 1) -> int:
    """The value of the argument `name`, which is a whole number, also one of numpy.

    Raises:
        InputError: it is no whole number, or less than `least`.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or (least is not None and number < least):
        bound = "" if least is None else f", at least {least}"
        raise InputError(f"{name} must be a whole number{bound}, not {value!r}")
    return number


def check_kind(name: str, value: Any, kind: type[T]) -> T:
    """The value of the argument `name`, which is of a kind such as str.

    Raises:
        InputError: it is of another.
    """
    if not isinstance(value, kind):
        raise InputError(f"{name} is {type(value).__name__}, not {kind.__name__}")
    return value
