"""Verbs: answering over the network."""

import argparse
from pathlib import Path

from fabir.verbs import AddVerb, add_reader


def add(verb: AddVerb) -> None:
    _add_serve(verb("serve", _serve, "answer over HTTP, with a page to ask from"))


def _add_serve(parser: argparse.ArgumentParser) -> None:
    add_reader(parser)
    parser.add_argument("--index", type=Path, metavar="INDEX", help="documents to ask, as indexed")
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
        help="hosts that requests may be for beside localhost and addresses, a proxy's for example "
        "(default: none while only this computer is listened to, else any)",
    )


def _serve(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.serve.run import serve

    serve(options.host, options.port, options.reader, options.index, options.allow_host)
