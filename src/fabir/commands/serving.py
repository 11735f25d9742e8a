"""Commands: answering over the network."""

import argparse
import os
from dataclasses import dataclass
from typing import Any

from fabir.commands import AddCommand, add_reader, add_threshold, path
from fabir.errors import InputError


def add_commands(add: AddCommand) -> None:
    _add_serve(add("serve", _serve, "answer over HTTP, with a web page for questions"))


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A variable of the environment, whose name is in brackets, stands for an option that the "
        "command line does not have. An empty variable counts as none. Several names or origins "
        "are separated by spaces."
    )
    add_reader(parser)
    parser.add_argument(
        "--index", type=path, metavar="INDEX", help="an index of documents to answer from"
    )
    add_threshold(parser)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (127.0.0.1: this computer only)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8000,
        metavar="N",
        help="port to listen on (8000); 0 for a free one",
    )
    _add_access(parser)
    parser.add_argument(
        "--access-log",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="a line on stdout for every request (yes)",
    )
    parser.add_argument(
        "--log-format",
        type=str.lower,
        choices=["text", "json"],
        default="text",
        help="format of all logs (text)",
    )
    _read_environment(parser)


def _add_access(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-host",
        nargs="+",
        action=_Extend,
        default=[],
        metavar="NAME",
        help="host names to accept in requests besides localhost and IP addresses, for example a "
        "proxy's (default: none if the service listens on this computer only, else any)",
    )
    parser.add_argument(
        "--cors",
        nargs="+",
        action=_Extend,
        default=[],
        metavar="ORIGIN",
        help="origins whose pages may ask, such as https://a.example; * for any (none)",
    )
    parser.add_argument(
        "--root-path",
        type=str,
        default="",
        metavar="PATH",
        help="the path that a proxy takes off the requests' paths, such as /qa",
    )
    parser.add_argument(
        "--token-file",
        type=path,
        metavar="FILE",
        help="requests must have one of the tokens in FILE, one a line; FABIR_TOKEN in the "
        "environment can have a token itself",
    )


class _Extend(argparse.Action):
    """Adds to the values given before. The first replace the default, which may be a variable's."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        before = [] if before is self.default else before
        setattr(namespace, self.dest, [*before, *values])


_SWITCH = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True)
class _Variable:
    """A variable of the environment, as the default of an option."""

    name: str
    text: str
    action: argparse.Action

    def value(self) -> Any:
        """The option's value."""
        if self.action.nargs == "+":
            return self.text.split()
        allowed = self.action.choices
        convert: Any = self.action.type or str
        if isinstance(self.action, argparse.BooleanOptionalAction):
            allowed, convert = _SWITCH, _SWITCH.get
        text = self.text.lower() if allowed else self.text
        try:
            if allowed and text not in allowed:
                raise ValueError
            return convert(text)
        except (ValueError, argparse.ArgumentTypeError):
            one_of = f": choose {' or '.join(allowed)}" if allowed else ""
            flag = self.action.option_strings[0]
            message = f"{self.name} is {self.text!r}, which is no value of {flag}{one_of}"
            raise InputError(message) from None


def _read_environment(parser: argparse.ArgumentParser) -> None:
    """Let FABIR_NAME in the environment stand for the option --name, and the help say so.

    Other names with FABIR_ are the default of `unknown`: they may be mistyped.
    """
    known = {"FABIR_TOKEN"}
    for action in parser._actions:
        if action.dest == "help":
            continue
        name = f"FABIR_{action.dest.upper()}"
        known.add(name)
        action.help = f"{action.help} [{name}]"
        if text := os.environ.get(name):
            action.default = _Variable(name, text, action)
    given = {name for name in os.environ if name.startswith("FABIR_")}
    parser.set_defaults(unknown=sorted(given - known))


def _serve(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.serve.run import Sources, serve

    for name, value in vars(options).items():
        if isinstance(value, _Variable):
            setattr(options, name, value.value())
    serve(
        Sources(options.reader, options.index, options.threshold, options.token_file),
        host=options.host,
        port=options.port,
        names=options.allow_host,
        cors=options.cors,
        root_path=options.root_path,
        access_log=options.access_log,
        log_format=options.log_format,
        unknown=options.unknown,
    )
