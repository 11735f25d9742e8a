"""An interactive prompt for questions, with a history as in a shell."""

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fabir.errors import InputError
from fabir.text.units import is_blank

_HISTORY_SIZE = 1000  # questions
_ENDS = "quit, an empty line or Ctrl+D ends it"
_QUITS = "quit", "exit"


def read_questions() -> Iterator[str]:
    """Yield typed questions until an empty line, "quit" or "exit"; "help" prints a line instead.

    From a pipe, yield every line that is not blank. A line that is a JSON object stands for its
    field "question".

    Raises:
        InputError: the input from the pipe is not UTF-8, or a JSON object has no question.
    """
    if not sys.stdin.isatty():
        for number, line in enumerate(_piped_lines(), 1):
            if not is_blank(line):
                yield _question(line.strip(), number)
        return
    print(f"Ask; {_ENDS}.", file=sys.stderr)
    with _history(_history_file()):
        while not is_blank(question := _read_line()) and question.lower() not in _QUITS:
            if question.lower() == "help":
                print(f"Type a question about the indexed documents; {_ENDS}.", file=sys.stderr)
            else:
                yield question


def _piped_lines() -> Iterator[str]:
    """The lines of standard input in UTF-8, whatever the system's encoding is."""
    if not isinstance(sys.stdin, io.TextIOWrapper):
        yield from sys.stdin
        return
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"line {number} of standard input is not UTF-8 text: convert it"
            raise InputError(problem) from error


def _question(line: str, number: int) -> str:
    try:
        record = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return line  # a question that begins with a brace
    question = line if record is None else record.get("question")
    if not isinstance(question, str) or is_blank(question):
        raise InputError(f'line {number} of standard input has no text in its field "question"')
    return question


def _read_line() -> str:
    try:
        return input("? " if sys.stdout.isatty() else "").strip()
    except EOFError:
        print(file=sys.stderr)
        return ""
    except UnicodeDecodeError:
        raise InputError("standard input is not UTF-8 text: convert it") from None


def _history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state, "fabir", "history")


@contextmanager
def _history(path: Path) -> Iterator[None]:
    """Let the arrow keys recall earlier questions, also of past runs, if readline is available."""
    try:
        import readline
    except ImportError:
        yield
        return
    with suppress(OSError):  # there is no history yet, or it is not readable
        readline.read_history_file(path)
    readline.set_history_length(_HISTORY_SIZE)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)
