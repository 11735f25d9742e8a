"""What is wrong with a request, in one line. pydantic's own sentences have another tone."""

from collections.abc import Mapping
from typing import Any

_SENTENCES = {
    "finite_number": "it must be a number",
    "float_type": "it must be a number",
    "greater_than_equal": "it must be at least {ge:g}",
    "int_type": "it must be a whole number",
    "less_than_equal": "it must be at most {le:g}",
    "list_type": "it must be a list",
    "missing": "it is missing",
    "model_attributes_type": "it must be an object",
    "model_type": "it must be an object",
    "string_too_long": "it has more than {max_length:,} characters",
    "string_type": "it must be a string",
    "string_unicode": "it has characters that are not valid Unicode",
    "too_long": "it has more than {max_length} items",
    "too_short": "it is empty",
}


def sentence(error: Mapping[str, Any], place: tuple[int | str, ...]) -> str:
    """One line about an error of pydantic: the field at `place`, and what is wrong with it."""
    known = _SENTENCES.get(error["type"])
    text = known.format(**error.get("ctx", {})) if known else error["msg"]
    where = ".".join(map(str, place))
    return f"{where}: {text}" if where else text
