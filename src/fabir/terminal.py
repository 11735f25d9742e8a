"""Standard input, output and error: closed, full, or in an encoding that lacks characters."""

import io
import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from fabir.errors import InputError

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates that stand for no byte


class _Closed(io.TextIOBase):
    """In place of a stream that was closed before the program started: whatever uses it fails."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def buffer(self) -> NoReturn:
        self._fail()

    def readline(self, size: int = -1, /) -> NoReturn:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._fail()

    def write(self, text: str, /) -> NoReturn:
        self._fail()

    def _fail(self) -> NoReturn:
        raise InputError(f"{self._name} is closed")


class _Messages(io.TextIOWrapper):
    """Standard error: what nobody reads any more disappears, and the work goes on."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        super().__init__(stream.buffer, stream.encoding, stream.errors, line_buffering=True)
        self._stream = stream  # which closes the buffer when it is no longer used

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def prepare_streams() -> None:
    """Make the streams safe to use. A character that their encoding lacks is written as an escape.

    A file that is opened later must not get the number of a closed stream: libraries write to it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or _Closed("standard input")
    sys.stdout = sys.stdout or _Closed("standard output")
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, it stays open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if type(sys.stderr) is io.TextIOWrapper:
        sys.stderr = _Messages(sys.stderr)


def drop_output() -> None:
    """Let what cannot be written to standard output disappear: its reader has gone, or the disk is
    full. Python would fail again at its end."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError):  # it is no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """One line of JSON on standard output. Characters are escaped if its encoding lacks some."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = json.dumps(value)
    print(text)


def printable(text: str | Path) -> str:
    """Replace control characters, which a terminal would interpret, and what is not text: bytes of
    a file's name, and halves of surrogate pairs."""
    whole = _NO_BYTE.sub("\N{REPLACEMENT CHARACTER}", str(text))
    decoded = whole.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", decoded)


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()
