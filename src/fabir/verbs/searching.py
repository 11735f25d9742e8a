"""Verbs: answers from a collection of documents."""

import argparse
import sys
from pathlib import Path

from fabir.errors import InputError
from fabir.verbs import AddVerb, add_reader


def add(verb: AddVerb) -> None:
    _add_index(verb("index", _index, "make documents ready to be asked"))
    _add_ask(verb("ask", _ask, "answer questions from indexed documents"))


def _add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        type=Path,
        nargs="*",
        metavar="FOLDER|FILE",
        help=".txt, .md, .html, .pdf, .docx, .jsonl, .csv, .parquet",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="INDEX")
    parser.add_argument(
        "--update", action="store_true", help="read only what has changed since the last time"
    )
    parser.add_argument("--strict", action="store_true", help="stop at a file that is broken")
    parser.add_argument(
        "--size", type=int, metavar="N", help="characters of a passage, roughly (default 1000)"
    )


def _index(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.search.index import SIZE, Index

    skipped = 0

    def skip(reason: str) -> None:
        nonlocal skipped
        skipped += 1
        print(f"skipped: {reason}", file=sys.stderr)

    how = None if options.strict else skip
    if options.update:
        if options.size is not None:
            raise InputError("--size is the index's own with --update: index anew to change it")
        index = Index.open(options.output)
        index.update(options.sources or None, skip=how)
    elif not options.sources:
        raise InputError("name the folders or files to index")
    else:
        size = SIZE if options.size is None else options.size
        index = Index.build(options.sources, options.output, size=size, skip=how)
    left_out = f"; {skipped} skipped" if skipped else ""
    print(f"{index.documents:,} documents, {len(index):,} passages{left_out}", file=sys.stderr)


def _add_ask(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="?", help="(default: asks for questions)")
    parser.add_argument("--index", type=Path, required=True, metavar="INDEX")
    parser.add_argument("--top-k", type=int, default=5, metavar="N", help="answers to give (5)")
    parser.add_argument("--passages", type=int, metavar="K", help="passages to read (default 5)")
    add_reader(parser)
    parser.add_argument("--format", choices=["text", "json"], default="text")


def _ask(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.predictor import Predictor
    from fabir.search.asker import PASSAGES, Asker
    from fabir.search.index import Index
    from fabir.search.show import show_json, show_text
    from fabir.search.talk import questions

    passages = PASSAGES if options.passages is None else options.passages
    index = Index.open(options.index)
    asker = Asker(index, Predictor.load(options.reader), passages=passages)
    show = show_json if options.format == "json" else show_text
    asked = questions() if options.question is None else [options.question]
    for question in asked:
        found = asker.ask(question, options.top_k)
        show(question, found)
        sys.stdout.flush()
        if not found:
            print("no passage answers that", file=sys.stderr)
