"""Commands: making and fetching training data."""

import argparse
import sys
from pathlib import Path

from fabir.commands import AddCommand, add_on_bad_answer, file_or_address, path
from fabir.errors import InputError


def add_commands(add: AddCommand) -> None:
    _add_convert(add("convert", _convert, "SQuAD data from a table, TriviaQA, NewsQA or HotpotQA"))
    _add_make_negatives(
        add("make-negatives", _make_negatives, "SQuAD 2.0 data from answerable questions")
    )
    _add_augment(add("augment", _augment, "more training data from paraphrased passages"))
    _add_vary(add("vary", _vary, "variants of training questions, for a teacher to label"))
    _add_download(add("download", _download, "fetch SQuAD or GloVe, with checksums"))


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", type=path, required=True, metavar="FILE", help="the SQuAD file to write"
    )


def _check_output(output: Path, *inputs: str | Path | None) -> None:
    """
    Raises:
        InputError: SQuAD data would be written over an input, or under the name of a table.
    """
    from fabir.data.checks import check_apart
    from fabir.data.tables import table_kind

    check_apart(output, *inputs)
    if table_kind(output):
        raise InputError(f"{output}: SQuAD data is written: name a .json or .json.gz file")


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the same seed makes the same file (0)"
    )


def _add_convert(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        type=path,
        metavar="DATA",
        help="a .csv, .tsv, .jsonl or .parquet table with question, passage and answer; or a .json "
        "file of TriviaQA, NewsQA or HotpotQA",
    )
    _add_output(parser)
    parser.add_argument(
        "--on-bad-row",
        choices=["error", "skip"],
        default="error",
        help="what to do about a row that cannot be used: end, or leave it out and name it (error)",
    )
    table = parser.add_argument_group("tables")
    table.add_argument(
        "--separator",
        type=str,
        default="|",
        metavar="TEXT",
        help="separates the answers of a question (|)",
    )
    published = parser.add_argument_group("TriviaQA, NewsQA, HotpotQA")
    published.add_argument(
        "--max-words", type=int, default=0, metavar="N", help="cut each text after N words (0: no)"
    )
    published.add_argument(
        "--evidence", type=path, metavar="DIR", help="TriviaQA's documents: web and wikipedia"
    )
    published.add_argument("--split", choices=["train", "dev", "test"], help="NewsQA's part (all)")
    published.add_argument(
        "--supporting",
        action="store_true",
        help="of HotpotQA's paragraphs only those with supporting facts",
    )


def _convert(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.convert import convert
    from fabir.data.published.converting import convert_published
    from fabir.data.published.records import Options
    from fabir.data.squad import write_squad
    from fabir.data.tables import table_kind
    from fabir.files import writing_files

    how = Options(options.evidence, options.split, options.supporting, options.max_words)
    is_table = bool(table_kind(options.data))
    if is_table and how != Options():
        raise InputError("only --separator and --on-bad-row go with a table")
    if not is_table and options.separator != "|":
        raise InputError("--separator goes with a table: a .csv, .tsv, .jsonl or .parquet file")
    _check_output(options.output, options.data)
    with writing_files(options.output):
        if is_table:
            made = convert(options.data, separator=options.separator, on_bad_row=options.on_bad_row)
            write_squad(made.data, options.output)
        else:
            made = convert_published(options.data, options.output, how, options.on_bad_row)
    for line in made.notes:
        print(line, file=sys.stderr)
    print(made.summary, file=sys.stderr)


def _add_make_negatives(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=path, metavar="DATA.json", help="a SQuAD file")
    add_on_bad_answer(parser)
    _add_output(parser)
    parser.add_argument(
        "--ratio",
        type=float,
        default=0.5,
        metavar="R",
        help="unanswerable questions per answerable question (0.5)",
    )
    _add_seed(parser)


def _make_negatives(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.negatives import make_negatives
    from fabir.data.squad import read_squad, write_squad
    from fabir.files import writing_files

    _check_output(options.output, options.data)
    with writing_files(options.output):
        data = read_squad(options.data, options.on_bad_answer)
        made = make_negatives(data, options.ratio, options.seed)
        write_squad(made, options.output)
    print(f"{len(made) - len(data)} unanswerable questions added to {len(data)}", file=sys.stderr)


def _add_augment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=path, metavar="DATA.json", help="a SQuAD file")
    add_on_bad_answer(parser)
    _add_output(parser)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument(
        "--models",
        nargs=2,
        metavar=("THERE", "BACK"),
        help="translation models: folders or names on the Hugging Face hub",
    )
    how.add_argument(
        "--command", metavar="CMD", help="a program that paraphrases stdin to stdout line by line"
    )
    parser.add_argument(
        "--candidates",
        type=int,
        default=1,
        metavar="N",
        help="translations that --models keep each way (1)",
    )
    parser.add_argument(
        "--threshold", type=float, default=0.5, metavar="P", help="minimum score of an answer (0.5)"
    )
    _add_seed(parser)


def _augment(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.augmentation import augment
    from fabir.data.paraphrase import BackTranslation, Command
    from fabir.data.squad import read_squad, write_squad
    from fabir.files import writing_files

    if options.command and options.candidates != 1:
        raise InputError("--candidates goes with --models: a command gives one paraphrase")
    _check_output(options.output, options.data)
    with writing_files(options.output):
        data = read_squad(options.data, options.on_bad_answer)
        if options.command:
            paraphraser = Command(options.command)
        else:
            paraphraser = BackTranslation(*options.models, candidates=options.candidates)
        made = augment(data, paraphraser, threshold=options.threshold, seed=options.seed)
        write_squad(made.data, options.output)
    kept = f"{len(made.data)} of {len(data)} questions kept"
    print(f"{kept}; {made.lost} answers were not found again", file=sys.stderr)


def _add_vary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=path, metavar="DATA.json", help="a SQuAD file")
    add_on_bad_answer(parser)
    _add_output(parser)
    parser.add_argument(
        "--kinds",
        nargs="+",
        action="extend",
        metavar="KIND",
        help="among other, dropped, moved, joined, lure, question and entity (all)",
    )
    parser.add_argument(
        "--copies", type=int, default=1, metavar="N", help="variants of each question (1)"
    )
    parser.add_argument(
        "--vectors",
        type=file_or_address,
        metavar="FILE",
        help="word vectors, to replace words of questions; without, words are only dropped",
    )
    _add_seed(parser)


def _vary(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.squad import read_squad, write_squad
    from fabir.data.variants.making import KINDS, vary
    from fabir.files import writing_files
    from fabir.text.vectors import read_vectors

    _check_output(options.output, options.data, options.vectors)
    with writing_files(options.output):
        data = read_squad(options.data, options.on_bad_answer)
        vectors = read_vectors(options.vectors) if options.vectors else None
        made = vary(
            data,
            kinds=options.kinds or KINDS,
            copies=options.copies,
            vectors=vectors,
            seed=options.seed,
        )
        write_squad(made.data, options.output)
    counts = ", ".join(f"{count} {kind}" for kind, count in made.counts.items())
    print(f"{len(made.data)} variants: {counts}", file=sys.stderr)
    print(f"{made.without} of {len(data)} questions have none", file=sys.stderr)


def _add_download(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", choices=["squad", "glove"], help="what to fetch")
    parser.add_argument(
        "--to",
        type=path,
        default=Path("data"),
        metavar="DIR",
        help="folder of the files (data)",
    )


def _download(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.download import download

    for file in download(options.name, options.to):
        print(file)
