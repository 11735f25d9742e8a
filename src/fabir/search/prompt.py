"""Questions typed one after another, with the history that a shell has."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fabir.errors import InputError

_REMEMBERED = 1000  # questions


def questions() -> Iterator[str]:
    """What is typed until an empty line; from a pipe every line that is not blank.

    Raises:
        InputError: what comes from the pipe is not in the encoding that the system expects.
    """
    if not sys.stdin.isatty():
        try:
            yield from (line.strip() for line in sys.stdin if line.strip())
        except UnicodeDecodeError as error:
            raise InputError(f"standard input is not {error.encoding} text: convert it") from error
        return
    print("Ask; an empty line or Ctrl-D ends it.", file=sys.stderr)
    with _history(_file()):
        while question := _typed():
            yield question


def _typed() -> str:
    try:
        return input("? " if sys.stdout.isatty() else "").strip()
    except EOFError:
        print(file=sys.stderr)
        return ""


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state, "fabir", "history")


@contextmanager
def _history(path: Path) -> Iterator[None]:
    """The arrow keys bring back questions of this time and earlier ones, where the system can."""
    try:
        import readline
    except ImportError:
        yield
        return
    with suppress(OSError):  # none yet, or not readable
        readline.read_history_file(path)
    readline.set_history_length(_REMEMBERED)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)
