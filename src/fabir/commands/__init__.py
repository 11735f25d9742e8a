"""The commands of `fabir`: a file for each group has the arguments and the call of each command.

There is no logic here. A command imports what it needs when it runs, so that `--help` is fast.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from fabir.data.addresses import is_address, without_scheme
from fabir.errors import Terminated

Run = Callable[[argparse.Namespace, list[str]], None]  # with the options and remaining arguments


class AddCommand(Protocol):
    """Adds a command: its name, the function to run, the help text, and options of its parser."""

    def __call__(
        self, name: str, run: Run, about: str, **options: Any
    ) -> argparse.ArgumentParser: ...


def path(text: str) -> Path:
    """The path that an argument names; `~` at its beginning is the home folder.

    Raises:
        ArgumentTypeError: it is an address, or empty, as where a variable of the shell is not set.
    """
    name = file_or_address(text)
    if is_address(name):
        raise argparse.ArgumentTypeError(f"{text} is an address: name a file of this machine")
    return Path(name)


def file_or_address(text: str) -> str:
    """As `path`, but as text: addresses such as s3://bucket/rows.parquet stay as they are.

    Raises:
        ArgumentTypeError: it is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    text = without_scheme(text)
    return str(Path(text).expanduser()) if text == "~" or text.startswith("~/") else text


@contextmanager
def say_how_to_go_on(kept: Path, how: str) -> Iterator[None]:
    """When the user stops what is done within, say how it goes on, if the file `kept` is there."""
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        if kept.exists():
            print(f"\nstopped: {how} goes on", file=sys.stderr)
        raise


def split_keys(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Keys of a configuration, such as `--training.epochs 3`, apart from all other arguments.

    An option never has a point in its name.
    """
    others: list[str] = []
    keys: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            return [*others, argument, *rest], keys
        if not re.match(r"--[\w-]+\.", argument):
            others.append(argument)
            continue
        keys.append(argument)
        if "=" not in argument:
            keys += [value for value in [next(rest, None)] if value is not None]
    return others, keys


class Once(argparse.Action):
    """Stores a value; the option is refused when it is given again, or its first would be lost."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given = vars(namespace).setdefault("given_once", set())
        if option_string and self.dest in given:
            hint = "fabir index reads several files" if self.dest == "passage" else "name one"
            parser.error(f"{option_string} is given twice: {hint}")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


def add_passage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--passage",
        type=path,
        required=True,
        metavar="FILE",
        help="a text file, plain or .gz, - for stdin",
    )


def add_reader(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader",
        type=path,
        metavar="DIR",
        help="a model's folder, or the bundled fast or accurate (default: fast)",
    )


def add_readers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader",
        type=path,
        action="append",
        metavar="DIR",
        help="a model's folder, or the bundled fast or accurate (default: fast); repeat the "
        "option to answer with the mean of several models",
    )


def add_threshold(parser: argparse.ArgumentParser, rule: str = "") -> None:
    """Add `--threshold`. `rule` ends the sentence that says what is done without it."""
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="P",
        help="how likely a given answer must be, from 0 to 1; 0 always answers (default: the "
        f"model's own rule decides{rule})",
    )


def add_on_bad_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on-bad-answer",
        choices=["error", "skip", "repair"],
        default="error",
        help="if an answer differs from the passage's text at its offset (error)",
    )
