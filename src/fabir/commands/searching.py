"""Commands: answers from a collection of documents."""

import argparse
import sys
from collections import Counter
from functools import partial

from fabir.commands import AddCommand, add_reader, add_threshold, path
from fabir.errors import InputError
from fabir.progress import counted


def add_commands(add: AddCommand) -> None:
    _add_index(add("index", _index, "index documents, so that questions can be answered from them"))
    _add_ask(add("ask", _ask, "answer questions from indexed documents"))
    _add_asker(add("mcp", _mcp, "let assistants ask indexed documents, over the protocol MCP"))


def _add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        type=path,
        nargs="*",
        metavar="FOLDER|FILE",
        help="documents of any kind that is read",
    )
    parser.add_argument(
        "--output", type=path, required=True, metavar="INDEX", help="the folder of the index"
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="read only files that changed since the index was built",
    )
    parser.add_argument("--strict", action="store_true", help="stop at the first broken file")
    parser.add_argument(
        "--size",
        type=int,
        metavar="N",
        help="approximate length of a passage in characters (default 1000)",
    )
    parser.add_argument(
        "--language",
        metavar="NAME",
        help="language of the documents, for stems and stop words (default english)",
    )


def _index(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.search.index import SIZE, Index
    from fabir.search.terms import ENGLISH

    counts = Counter[str]()

    def say(kind: str, reason: str) -> None:
        counts[kind] += 1
        print(f"{kind}: {reason}", file=sys.stderr)

    def notice(line: str) -> None:
        print(line, file=sys.stderr)

    skip, incomplete = (
        None if options.strict else partial(say, kind) for kind in ("skipped", "incomplete")
    )
    if options.update:
        for name in ("size", "language"):
            if getattr(options, name) is not None:
                raise InputError(
                    f"--{name} is the index's own with --update: build the index again to change it"
                )
        index = Index.open(options.output)
        index.update(options.sources or None, skip=skip, incomplete=incomplete, notice=notice)
    elif not options.sources:
        raise InputError("name the folders or files to index")
    else:
        index = Index.build(
            options.sources,
            options.output,
            size=SIZE if options.size is None else options.size,
            language=options.language or ENGLISH,
            skip=skip,
            incomplete=incomplete,
            notice=notice,
        )
    said = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items(), reverse=True))
    left_out = f"; {said}" if said else ""
    held = f"{counted(index.documents, 'document')}, {counted(len(index), 'passage')}"
    print(f"{held}{left_out}", file=sys.stderr)


def _add_ask(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "question",
        type=str,
        nargs="?",
        help="one question (default: questions from a prompt or a pipe)",
    )
    _add_asker(parser)
    parser.add_argument("--top-k", type=int, default=5, metavar="N", help="answers to give (5)")
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="form of the answers (text)"
    )


def _add_asker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--index", type=path, required=True, metavar="INDEX", help="the folder of an index"
    )
    parser.add_argument("--passages", type=int, metavar="K", help="passages to read (default 5)")
    add_reader(parser)
    add_threshold(parser)


def _ask(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.predictor import Predictor
    from fabir.search.asker import PASSAGES, Asker
    from fabir.search.index import Index
    from fabir.search.prompt import read_questions
    from fabir.search.show import show_doubt, show_json, show_row, show_text

    passages = PASSAGES if options.passages is None else options.passages
    index = Index.open(options.index)
    predictor = Predictor.load(options.reader, threshold=options.threshold)
    asker = Asker(index, predictor, passages=passages)
    if options.question is not None:
        results = iter([(options.question, asker.read(options.question, options.top_k))])
    elif sys.stdin.isatty():
        results = ((each, asker.read(each, options.top_k)) for each in read_questions())
    else:
        results = asker.read_many(read_questions(), options.top_k)
    as_rows = options.question is None and not sys.stdin.isatty()
    show = show_json if options.format == "json" else show_row if as_rows else show_text
    for question, result in results:
        show(question, result)
        sys.stdout.flush()
        if not as_rows:
            show_doubt(result)


def _mcp(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.adapters.mcp import serve

    serve(options.index, options.reader, options.passages, options.threshold)
