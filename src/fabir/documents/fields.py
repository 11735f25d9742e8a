"""The fields of a record as text: a line "name: value" each, whatever the value is."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from fabir.documents.base import MAX_BYTES
from fabir.documents.tables import MAX_NAME, row_text
from fabir.errors import InputError

_SHORT = 80  # characters; a list of longer texts becomes paragraphs
_MANY = 100  # numbers; a longer list, such as a vector or an outline, is no text
_DEPTH = 100

_SENTENCE = re.compile(r"\S+ +\S+ (?:.* )?[^\s.]{2,}[.!?][\"')\]”’»]*")  # of three words

Field = tuple[str, Any]
_Cell = tuple[str, str] | None  # a name and a text; None ends a paragraph
_Lost = Callable[[str], None]


class Number(str):
    """A number, as it is written in JSON."""


_NUMBERS = int, float, Decimal, Number


def fields_text(fields: Iterable[Field], lost: _Lost) -> str:
    """A line "name: value" for each field; a field of an object within has the name "outer.inner".

    A list is one line if its items are short, or a line for each if there are sentences; pieces of
    a text with its line ends are joined. Longer items, and objects in a list, are paragraphs.
    Null is no text. `lost` is told of bytes that are not UTF-8, of lists of more than 100 numbers,
    and of what is nested in more than 100 levels.

    Raises:
        InputError: the text is longer than `MAX_BYTES`.
    """
    paragraphs, names, cells, length = [], [], [], 0
    for cell in chain(_all_cells(fields, lost), [None]):
        if cell is not None:
            name, text = cell
            names.append(name)
            cells.append(text)
            length += len(name) + len(text)
        elif cells:
            paragraphs.append(row_text(names, cells))
            names, cells = [], []
        if length > MAX_BYTES:
            raise InputError(f"a record has more than {MAX_BYTES >> 20} million characters")
    return "\n\n".join(filter(None, paragraphs))


def _all_cells(fields: Iterable[Field], lost: _Lost) -> Iterator[_Cell]:
    for name, value in fields:
        if type(value) is str:
            yield _short_name(name, lost), value
        else:
            yield from _cells(_short_name(name, lost), value, lost)


def _short_name(name: str, lost: _Lost) -> str:
    if len(name) > MAX_NAME:
        lost(f'field "{name[:40]}" has a name of more than {MAX_NAME} characters')
    return name[:MAX_NAME]


def _cells(name: str, value: Any, lost: _Lost, depth: int = 0) -> Iterator[_Cell]:
    name = name[-MAX_NAME:]  # what is innermost tells most
    shown = name[:40]
    if depth > _DEPTH:
        lost(f'field "{shown}" is nested too deeply')
    elif isinstance(value, dict):
        for key, inner in value.items():
            key = _short_name(key, lost)
            yield from _cells(f"{name}.{key}" if name else key, inner, lost, depth + 1)
    elif isinstance(value, list):
        numbers = _count_numbers(value)
        if numbers > _MANY:
            lost(f'field "{shown}" is a list of {numbers:,} numbers')
        else:
            yield from _items(name, value, lost, depth)
    elif isinstance(value, bytes) and _as_text(value) is None:
        lost(f'field "{shown}" is not text')
    elif text := _as_text(value):
        yield name, text


def _items(name: str, values: list[Any], lost: _Lost, depth: int) -> Iterator[_Cell]:
    """The texts in a list."""
    if not any(isinstance(item, list | dict | tuple | bytes) for item in values):
        texts = [text for item in values if (text := _as_text(item))]
        if _are_lines(texts):
            yield name, "".join(texts)
            return
        texts = [text for each in texts if (text := each.strip())]
        if all(len(text) <= _SHORT and "\n" not in text for text in texts):
            sentences = sum(bool(_SENTENCE.fullmatch(text)) for text in texts)
            yield name, ("\n" if sentences * 2 > len(texts) else ", ").join(texts)
            return
    for item in values:
        if isinstance(item, list) and depth < _DEPTH:
            yield from _items(name, item, lost, depth + 1)
        elif isinstance(item, tuple):  # of a map in a Parquet file
            yield from _cells(f"{name}.{item[0]}", item[1], lost, depth + 1)
        else:
            yield None
            yield from _cells(name, item, lost, depth + 1)
            yield None


def _are_lines(texts: list[str]) -> bool:
    """Whether texts are the lines of one: each but the last ends with space, most with a line."""
    if len(texts) < 2:
        return False
    ends = sum(text.endswith("\n") for text in texts[:-1])
    whole = all(text[-1].isspace() and "\n" not in text[:-1] for text in texts[:-1])
    return whole and ends * 2 > len(texts) - 1 and "\n" not in texts[-1][:-1]


def _count_numbers(values: list[Any]) -> int:
    """How many numbers there are in a list and the lists in it; 0 if there is anything else."""
    count, lists = 0, [values]
    while lists:
        for item in lists.pop():
            if isinstance(item, list):
                lists.append(item)
            elif isinstance(item, _NUMBERS):
                count += 1
            else:
                return 0
    return count


def _as_text(value: Any) -> str | None:
    """A value as people write it; empty if it is null, None if it is bytes that are not text."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float() if value != value:
            return ""
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case Decimal():
            return f"{value:f}"
        case datetime():
            return str(value).removesuffix(" 00:00:00")
        case bytes():
            try:
                return value.decode().replace("\0", "")
            except UnicodeDecodeError:
                return None
    return str(value)
