"""The command line: what every verb has in common. The verbs are in `fabir.verbs`."""

import argparse
import sys
from typing import Any, NoReturn

from fabir import __version__
from fabir.errors import InputError
from fabir.verbs import answering, data, learning, searching, serving, shipping

_TRAINING = "accelerate", "jsonargparse", "torch"  # packages that answering does without


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: list[str] | None = None) -> None:
    """Run a verb. Exit code 0 is done, 2 the user's mistake, 1 ours."""
    parser = _build_parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.verb not in ("train", "find-lr"):  # theirs override the configuration
        parser.error(f"unrecognised arguments: {' '.join(rest)}")
    try:
        options.run(options, rest)
        sys.stdout.flush()
    except InputError as error:
        sys.exit(_complain(options.verb, str(error)))
    except ModuleNotFoundError as error:
        if error.name not in _TRAINING:
            raise
        extra = options.verb if options.verb in ("export", "augment") else "train"
        missing = f"this needs {error.name}, which is not installed: pip install 'fabir[{extra}]'"
        sys.exit(_complain(options.verb, missing))
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
    except KeyboardInterrupt:
        sys.exit(130)


def _complain(verb: str, message: str) -> int:
    print(f"fabir {verb}: {message}", file=sys.stderr)
    return 2


def _build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="fabir",
        description="Finds the answer to a question in a text, and shows where it stands.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fabir {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")

    def verb(name: str, run: Any, about: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=about, description=about, allow_abbrev=False)
        added.set_defaults(run=run)
        return added

    for group in (answering, searching, learning, data, shipping, serving):
        group.add(verb)
    return parser
