"""Reads a large JSON file one item of its list at a time, so that it never is in memory as a whole.

The list is the whole document, or the value of a key of it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from fabir.errors import InputError
from fabir.files import DAMAGED_GZIP, damaged_gzip, is_gzipped, open_text

_AT_ONCE = 1 << 20  # characters that are read at a time
_LONGEST = 64 << 20  # characters of an item at most
_SPACE = " \t\r\n"
_OF_NUMBERS = "0123456789.eE+-"
_decode = json.JSONDecoder().raw_decode


def read_items(path: str | Path, keys: tuple[str, ...]) -> Iterator[tuple[Any, float]]:
    """Yield each item of a list, with the share of the file that is read so far, from 0 to 1.

    Args:
        path: a file, plain or `.gz`
        keys: if the document is an object, the list is the value of the first of these keys

    Raises:
        InputError: the file cannot be read, is not JSON as far as it is read, or has no such list.
    """
    with _reading(path) as file:
        buffer = cast(Any, file).buffer
        raw = buffer.fileobj if is_gzipped(path) else buffer.raw
        size = max(1, Path(path).stat().st_size)
        text = _Text(path, file)
        text.enter_list(keys)
        for item in text.items():
            yield item, raw.tell() / size


def read_end(path: str | Path, characters: int) -> str:
    """The last characters of a file, plain or `.gz`.

    Raises:
        InputError: the file cannot be read.
    """
    end = ""
    with _reading(path) as file:
        while piece := file.read(max(_AT_ONCE, characters)):
            end = (end + piece)[-characters:]
    return end


@contextmanager
def _reading(path: str | Path) -> Iterator[IO[str]]:
    """Open a text file; errors of reading it become an InputError."""
    try:
        with open_text(path) as file:
            yield file
    except DAMAGED_GZIP as error:
        raise damaged_gzip(path, error) from error
    except UnicodeDecodeError as error:  # its place is that in the piece that was read
        problem = f"not UTF-8 text ({error.reason}); convert it, for example with iconv"
        raise InputError(f"{path}: {problem}") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


class _Text:
    """The text of a file from a place on. Only a piece of it is in memory."""

    def __init__(self, path: str | Path, file: IO[str]) -> None:
        self._path, self._file = path, file
        self._piece = ""
        self._at = 0
        self._number = 0  # of items that were read
        self._more()
        self._piece = self._piece.removeprefix("\ufeff")

    def enter_list(self, keys: tuple[str, ...]) -> None:
        """Go to the first item of the list."""
        if self._next() == "[":
            self._at += 1
            return
        self._expect("{")
        while self._next() != "}":
            key = self._value()
            self._expect(":")
            if key in keys:
                self._expect("[")
                return
            self._value()
            if self._next() != "}":
                self._expect(",")
        raise InputError(f"{self._path}: no list {' or '.join(map(repr, keys))}")

    def items(self) -> Iterator[Any]:
        """The items up to the end of the list; what follows it is not read."""
        while self._next() != "]":
            if self._number:
                self._expect(",")
            yield self._value()
            self._number += 1

    def _next(self) -> str:
        """The next character that is not white space, or "" at the end."""
        while True:
            while self._at < len(self._piece):
                if self._piece[self._at] not in _SPACE:
                    return self._piece[self._at]
                self._at += 1
            if not self._more():
                return ""

    def _expect(self, mark: str) -> None:
        if self._next() != mark:
            raise self._invalid(f"expected {mark!r}, got {self._next() or 'the end of the file'!r}")
        self._at += 1

    def _value(self) -> Any:
        """The value that begins here."""
        self._next()
        while True:
            problem = "it is cut off"
            try:
                value, end = _decode(self._piece, self._at)
                if self._piece[end : end + 1] not in _OF_NUMBERS:  # else a number may go on
                    self._at = end
                    return value
            except (ValueError, RecursionError) as error:
                problem = getattr(error, "msg", str(error))
            if len(self._piece) - self._at > _LONGEST or not self._more():
                raise self._invalid(problem)

    def _more(self) -> bool:
        """Read on, as much again as is waiting; False at the end of the file."""
        waiting = self._piece[self._at :]
        new = self._file.read(max(_AT_ONCE, len(waiting)))
        self._piece, self._at = waiting + new, 0
        return bool(new)

    def _invalid(self, problem: str) -> InputError:
        place = f"after record {self._number}" if self._number else "at its beginning"
        return InputError(f"{self._path}: not valid JSON {place}: {problem}")
