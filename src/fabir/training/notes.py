"""Messages of a run besides its progress and its results."""

import os
import sys


def note(line: str) -> None:
    """Write a line to stderr, once however many processes train together."""
    if os.environ.get("RANK", "0") == "0":
        print(line, file=sys.stderr)
