"""The command line: the parser and the error handling that all commands share.

The commands themselves are in `fabir.commands`.
"""

import argparse
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from fabir import __version__
from fabir.commands import (
    Once,
    answering,
    data,
    learning,
    searching,
    serving,
    shipping,
    split_keys,
)
from fabir.errors import InputError, InputWarning, reason_of
from fabir.process_settings import tune_for_training, tune_process
from fabir.terminal import drop_output, prepare_streams, printable

# Packages that only training needs.
_TRAINING = "accelerate", "docstring_parser", "jsonargparse", "torch"
_TRAINS = "train", "find-lr", "reproduce"


class _Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line.

    commands: of the program, the parser of each command
    """

    commands: Mapping[str, argparse.ArgumentParser] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.register("action", None, Once)
        self.register("type", int, _whole_number)
        self._given: list[str] = []

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride], it has overloads
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        self._given = args or []
        return super().parse_known_args(args, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        (file or sys.stderr).write(message)  # argparse passes over a full disk

    def error(self, message: str) -> NoReturn:
        if "are required" in message:  # perhaps they are there, misspelt
            known = _options(self)
            given = (each.partition("=")[0] for each in self._given if each.startswith("--"))
            hints = (_hint(each, known) for each in given if each not in known)
            message += next(filter(None, hints), "")
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _text(text: str) -> str:
    """The value of an argument without a type. It is empty where a variable of the shell is not
    set; `type=str` allows that."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return text


def main(arguments: list[str] | None = None) -> None:
    """Run a command. Exit code 0 is success, 2 a mistake of the user, 1 a bug in fabir."""
    prepare_streams()
    parser = build_parser()
    command = ""
    try:
        with _flushed():
            others, keys = split_keys(sys.argv[1:] if arguments is None else arguments)
            others = _check_command(parser, others)
            command = f" {others[0]}" if others[0] in parser.commands else ""
            options, rest = parser.parse_known_args(others)
            rest = keys + rest
            if rest and options.command_name not in ("train", "find-lr"):  # which take keys
                hint = _rest_hint(rest[0].partition("=")[0], options.parser)
                options.parser.error(f"unrecognised arguments: {' '.join(rest)}{hint}")
            if options.command_name in _TRAINS:
                tune_for_training()
            else:
                tune_process()
            with _brief_warnings(command):
                options.run(options, rest)
    except InputError as error:
        sys.exit(_report_error(command, str(error)))
    except ModuleNotFoundError as error:
        if error.name not in _TRAINING:
            raise
        extra = command.strip() if command in (" export", " augment") else "train"
        missing = f"this needs {error.name}, which is not installed: pip install 'fabir[{extra}]'"
        sys.exit(_report_error(command, missing))
    except BrokenPipeError:  # the program that reads our output has closed the pipe
        drop_output()
    except OSError as error:  # a full disk, a folder that vanished
        drop_output()
        sys.exit(_report_error(command, reason_of(error)))
    except KeyboardInterrupt:
        sys.exit(130)


@contextmanager
def _flushed() -> Iterator[None]:
    """After it, standard output is written, also where argparse ends the program after help."""
    try:
        yield
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def _check_command(parser: _Parser, arguments: list[str]) -> list[str]:
    """The arguments; `--help` in place of `help`. Without a command that exists the program ends:
    it prints the help or the nearest name."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if not arguments:
        parser.print_help(sys.stderr)
        parser.exit(2)
    name = arguments[0]
    if name not in parser.commands and not name.startswith("-"):
        parser.error(f"there is no command {name!r}{_hint(name, parser.commands)}")
    return arguments


def _hint(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return re.findall(r"--[\w-]+", parser.format_usage())


def _rest_hint(name: str, parser: argparse.ArgumentParser) -> str:
    """What may be meant by the first argument that a command does not take."""
    usage = parser.format_usage()
    if name == "--reader" and usage.split()[-1] == "DIR":
        return "; the model is named without it"
    if "--reader" in usage and (name in ("fast", "accurate") or Path(name).is_dir()):
        return f"; did you mean --reader {name}?"
    if "question" in usage and not name.startswith("-"):
        return "; put the question in quotes"
    return _hint(name, _options(parser))


@contextmanager
def _brief_warnings(command: str) -> Iterator[None]:
    """Within it a warning about input is one line, like an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", InputWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, InputWarning):
                print(f"fabir{command}: {printable(str(message))}", file=sys.stderr)
            else:
                usual(message, category, *place)

        warnings.showwarning = show
        yield


def _report_error(command: str, message: str) -> int:
    print(f"fabir{command}: {printable(message)}", file=sys.stderr)
    return 2


def build_parser() -> _Parser:
    """The parser of all commands. Its result has `command_name`, the command's `parser`, and `run`,
    which takes it."""
    parser = _Parser(
        prog="fabir",
        description="Finds the answer to a question in a text, and shows where it stands.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fabir {__version__}")
    # "command" is an option of augment.
    commands = parser.add_subparsers(dest="command_name", required=True, metavar="COMMAND")

    def add_command(name: str, run: Any, about: str, **options: Any) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=about, description=about, allow_abbrev=False, **options
        )
        added.register("type", None, _text)
        added.set_defaults(run=run, parser=added)
        return added

    for group in (answering, searching, learning, data, shipping, serving):
        group.add_commands(add_command)
    parser.commands = commands.choices
    return parser
