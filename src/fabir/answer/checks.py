"""Checks of what callers give."""

import operator
from typing import Any

from fabir.errors import InputError


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


def check_text(name: str, value: Any) -> str:
    """The value of the argument `name`, which is a text.

    Raises:
        InputError: it is no str.
    """
    if not isinstance(value, str):
        raise InputError(f"{name} is {type(value).__name__}, not str")
    return value
