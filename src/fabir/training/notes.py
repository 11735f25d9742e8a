"""Messages of a run besides its progress and its results."""

import os
import sys


def is_first_process() -> bool:
    """Whether this process is the first of those that train together, or trains alone."""
    return os.environ.get("RANK", "0") == "0"


def note(line: str) -> None:
    """Write a line to stderr, once however many processes train together."""
    if is_first_process():
        print(line, file=sys.stderr)
