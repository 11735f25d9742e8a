"""The commands of `fabir`: a file for each group has the arguments and the call of each command.

There is no logic here. A command imports what it needs when it runs, so that `--help` is fast.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

# Adds a command: its name, the function to run and the help text. The function gets the parsed
# options and the remaining arguments.
AddCommand = Callable[
    [str, Callable[[argparse.Namespace, list[str]], None], str], argparse.ArgumentParser
]


def add_reader(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader",
        type=Path,
        metavar="DIR",
        help="a reader's folder, or the bundled fast or accurate (default: fast)",
    )


def add_readers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader",
        type=Path,
        action="append",
        metavar="DIR",
        help="a reader's folder, or the bundled fast or accurate (default: fast); repeat the "
        "option to answer with the mean of several readers",
    )


def add_threshold(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="P",
        help="how likely a given answer must be, from 0 to 1; 0 always answers (default: the "
        "model's own rule decides)",
    )


def add_on_bad_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on-bad-answer",
        choices=["error", "skip", "repair"],
        default="error",
        help="if an answer differs from the passage's text at its offset (error)",
    )
