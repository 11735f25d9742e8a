"""Commands: answering over the network."""

import argparse
from pathlib import Path

from fabir.commands import AddCommand, add_reader, add_threshold


def add_commands(add: AddCommand) -> None:
    _add_serve(add("serve", _serve, "answer over HTTP, with a web page for questions"))


def _add_serve(parser: argparse.ArgumentParser) -> None:
    add_reader(parser)
    parser.add_argument(
        "--index", type=Path, metavar="INDEX", help="an index of documents to answer from"
    )
    add_threshold(parser)
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="(default: this computer only)"
    )
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="(8000; 0 for a free one)"
    )
    parser.add_argument(
        "--allow-host",
        nargs="+",
        default=[],
        metavar="NAME",
        help="host names to accept in requests besides localhost and IP addresses, for example a "
        "proxy's (default: none if the service listens on this computer only, else any)",
    )


def _serve(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.serve.run import serve

    serve(
        options.host,
        options.port,
        options.reader,
        options.index,
        options.allow_host,
        options.threshold,
    )
