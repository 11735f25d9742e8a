"""What `fabir` can be told to do: a file a group of verbs, each its arguments and a call.

No logic; imports wait until a verb needs them.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

# Adds a verb: its name, what it runs with the options and the arguments left over, and its help.
AddVerb = Callable[
    [str, Callable[[argparse.Namespace, list[str]], None], str], argparse.ArgumentParser
]


def add_reader(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader", type=Path, metavar="DIR", help="a reader's folder (default: the bundled one)"
    )


def add_on_bad_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on-bad-answer",
        choices=["error", "skip", "repair"],
        default="error",
        help="where an answer is not what the passage has at its offset (error)",
    )
