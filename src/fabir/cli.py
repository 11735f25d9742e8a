"""The command line: arguments to function calls. No logic; imports wait until a verb needs them."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NoReturn

from fabir import __version__
from fabir.errors import InputError


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

    _add_answer(verb("answer", _answer, "answer a question about a passage"))
    _add_predict(verb("predict", _predict, "answer every question of a SQuAD file"))
    _add_evaluate(verb("evaluate", _evaluate, "the official SQuAD 1.1 and 2.0 metrics"))
    _add_train(verb("train", _train, "train a reader; --KEY VALUE overrides the configuration"))
    _add_find_lr(verb("find-lr", _find_lr, "suggest a learning rate: one sweep from low to high"))
    _add_make_negatives(
        verb("make-negatives", _make_negatives, "SQuAD 2.0 data from answerable questions")
    )
    _add_augment(verb("augment", _augment, "more training data from paraphrased passages"))
    _add_reproduce(verb("reproduce", _reproduce, "a paper's table from runs of our own"))
    _add_analyse(verb("analyse", _analyse, "what readers are good and bad at, with plots"))
    _add_explain(verb("explain", _explain, "what a reader attended to, as a page"))
    _add_plot(verb("plot", _plot, "training curves of runs"))
    _add_readers(verb("readers", _readers, "the readers of the papers and their parameters"))
    _add_compact(verb("compact", _compact, "make a reader small: fewer words, fewer bits"))
    _add_export(verb("export", _export, "a reader that answers without torch, as an ONNX graph"))
    _add_download(verb("download", _download, "fetch SQuAD or GloVe, with checksums"))
    return parser


def _add_reader(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader", type=Path, metavar="DIR", help="a reader's folder (default: the bundled one)"
    )


def _add_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question")
    parser.add_argument("--passage", required=True, metavar="FILE", help="a text file, - for stdin")
    _add_reader(parser)
    parser.add_argument("--top-k", type=int, default=1, metavar="N", help="answers to give")
    parser.add_argument("--format", choices=["text", "json"], default="text")


def _answer(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.predictor import Predictor
    from fabir.answer.show import show_json, show_text
    from fabir.files import read_text

    passage = read_text(options.passage)
    if not options.question.strip():
        raise InputError("the question is empty: ask something")
    if not passage.strip():
        raise InputError(f"the passage {options.passage} is empty: there is nothing to answer from")
    predictor = Predictor.load(options.reader)
    answers = predictor.answer(options.question, passage, options.top_k)
    show = show_json if options.format == "json" else show_text
    show(options.question, passage, answers)
    if not answers:
        print("the reader finds no answer in the passage", file=sys.stderr)


def _add_predict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, metavar="DATA.json")
    _add_reader(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="predictions.json")
    parser.add_argument("--nbest", type=Path, metavar="FILE", help="the 20 best answers of each")
    parser.add_argument("--na-prob", type=Path, metavar="FILE", help="no-answer probabilities")


def _predict(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.files import read_dataset, write_predictions
    from fabir.answer.predictor import Predictor
    from fabir.data.squad import read_squad

    data = read_squad(options.data, "keep")
    top_k = 20 if options.nbest else 1
    predictor = Predictor.load(options.reader)
    found = dict(read_dataset(predictor, data, top_k))
    threshold = predictor.reader.no_answer_threshold
    write_predictions(found, threshold, options.output, options.nbest, options.na_prob)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, metavar="DATA.json")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--predictions", type=Path, metavar="FILE")
    _add_reader(what)  # pyright: ignore[reportArgumentType]
    parser.add_argument("--na-prob", type=Path, metavar="FILE", help="goes with --predictions")
    parser.add_argument(
        "--na-prob-thresh",
        type=float,
        metavar="P",
        help="above this no-answer probability a prediction counts as no answer (default: the "
        "reader's threshold, or 1)",
    )


def _evaluate(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.squad import read_squad
    from fabir.evaluation.squad import evaluate, read_na_prob, read_predictions

    if options.na_prob and not options.predictions:
        raise InputError("--na-prob goes with --predictions")
    data = read_squad(options.data, "keep")
    threshold = options.na_prob_thresh
    if options.predictions:
        predicted = read_predictions(options.predictions)
        na_prob = read_na_prob(options.na_prob) if options.na_prob else None
        scores = evaluate(data, predicted, na_prob, 1.0 if threshold is None else threshold)
    else:
        from fabir.answer.predictor import Predictor
        from fabir.evaluation.reader import evaluate_reader

        scores = evaluate_reader(Predictor.load(options.reader), data, threshold)
    print(json.dumps(scores, indent=1))


def _add_learning(parser: argparse.ArgumentParser) -> None:
    """What is trained, on what."""
    parser.add_argument("config", type=Path, metavar="CONFIG.yaml")
    parser.add_argument(
        "--train", type=Path, nargs="+", required=True, metavar="FILE", help="SQuAD files"
    )
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument("--vectors", metavar="FILE", help="GloVe: .txt, .txt.gz or .zip")
    start.add_argument("--from", type=Path, dest="start", metavar="DIR", help="go on from a reader")
    parser.add_argument("--on-bad-answer", choices=["error", "skip", "repair"], default="error")


def _add_train(parser: argparse.ArgumentParser) -> None:
    _add_learning(parser)
    parser.add_argument("--dev", type=Path, required=True, metavar="FILE", help="SQuAD file")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument(
        "--processes", type=int, metavar="N", help="that train together (default: the fastest)"
    )


def _train(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.training.configuration import load_config
    from fabir.training.run import train

    train(
        load_config(options.config, rest),
        options.train,
        options.dev,
        options.output,
        vectors_file=options.vectors,
        start=options.start,
        resume=options.resume,
        processes=options.processes,
        on_bad_answer=options.on_bad_answer,
    )


def _add_find_lr(parser: argparse.ArgumentParser) -> None:
    _add_learning(parser)
    parser.add_argument("--lowest", type=float, default=1e-6, metavar="RATE")
    parser.add_argument("--highest", type=float, default=1.0, metavar="RATE")
    parser.add_argument("--steps", type=int, default=200, metavar="N")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the loss at each rate")


def _find_lr(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.plots import check_plot
    from fabir.training.configuration import load_config
    from fabir.training.finder import plot_sweep, sweep_files

    if options.plot:
        check_plot(options.plot)
    sweep = sweep_files(
        load_config(options.config, rest),
        options.train,
        vectors_file=options.vectors,
        start=options.start,
        on_bad_answer=options.on_bad_answer,
        lowest=options.lowest,
        highest=options.highest,
        steps=options.steps,
    )
    if options.plot:
        plot_sweep(sweep, options.plot)
    print(f"a tenth of {sweep.lowest:.1e}, where the loss is lowest:", file=sys.stderr)
    print(f"{sweep.suggestion:.1e}")


def _add_make_negatives(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, metavar="DATA.json", help="a SQuAD file")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    parser.add_argument(
        "--ratio", type=float, default=0.5, metavar="R", help="to an answerable question (0.5)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")


def _make_negatives(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.negatives import make_negatives
    from fabir.data.squad import read_squad, write_squad

    data = read_squad(options.data)
    made = make_negatives(data, options.ratio, options.seed)
    write_squad(made, options.output)
    print(f"{len(made) - len(data)} unanswerable questions added to {len(data)}", file=sys.stderr)


def _add_augment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, metavar="DATA.json", help="a SQuAD file")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
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
        "--candidates", type=int, default=1, metavar="N", help="translations kept each way (1)"
    )
    parser.add_argument(
        "--threshold", type=float, default=0.5, metavar="P", help="least score of an answer (0.5)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")


def _augment(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.augmentation import augment
    from fabir.data.paraphrase import BackTranslation, Command
    from fabir.data.squad import read_squad, write_squad

    data = read_squad(options.data)
    if options.command:
        paraphraser = Command(options.command)
    else:
        paraphraser = BackTranslation(*options.models, candidates=options.candidates)
    made = augment(data, paraphraser, threshold=options.threshold, seed=options.seed)
    write_squad(made.data, options.output)
    kept = f"{len(made.data)} of {len(data)} questions kept"
    print(f"{kept}; {made.lost} answers were not found again", file=sys.stderr)


def _add_reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a shipped study's name, or a .yaml file")
    parser.add_argument("--budget", default="short", metavar="NAME", help="(default: short)")
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="only these rows")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="of each row (1)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="(default: runs/STUDY-BUDGET)")
    parser.add_argument(
        "--data", type=Path, default=Path("data"), metavar="DIR", help="the study's files (data)"
    )
    parser.add_argument("--train", type=Path, metavar="FILE", help="in place of the study's")
    parser.add_argument("--dev", type=Path, metavar="FILE", help="in place of the study's")
    parser.add_argument("--vectors", metavar="FILE", help="in place of the study's")


def _reproduce(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.studies.runner import Data, reproduce
    from fabir.studies.study import read_study

    study = read_study(options.study)
    data = Data(
        options.train or options.data / study.train,
        options.dev or options.data / study.dev,
        options.vectors or options.data / study.vectors,
    )
    if options.seeds < 1:
        raise InputError(f"--seeds must be at least 1, not {options.seeds}")
    output = options.output or Path("runs") / f"{Path(options.study).stem}-{options.budget}"
    print(reproduce(study, options.budget, data, output, options.rows, options.seeds))


def _add_analyse(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, metavar="DATA.json")
    parser.add_argument(
        "--reader",
        type=Path,
        action="append",
        metavar="DIR",
        help="a reader's folder, may be given several times (default: the bundled one)",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")


def _analyse(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.files import read_dataset
    from fabir.answer.predictor import Predictor
    from fabir.data.squad import read_squad
    from fabir.evaluation.analysis import analyse
    from fabir.evaluation.report import PAGE, write_report
    from fabir.plots import check_plot

    check_plot((options.output / PAGE).with_suffix(".png"))
    data = read_squad(options.data, "keep")
    found, thresholds = {}, {}
    for folder in options.reader or [None]:
        name = "bundled" if folder is None else folder.resolve().name
        name = str(folder) if name in found else name
        predictor = Predictor.load(folder)
        found[name] = dict(read_dataset(predictor, data))
        thresholds[name] = predictor.reader.no_answer_threshold
    print(write_report(analyse(data, found, thresholds), options.output))


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question")
    parser.add_argument("--passage", required=True, metavar="FILE", help="a text file, - for stdin")
    _add_reader(parser)
    parser.add_argument("--top-k", type=int, default=5, metavar="N", help="answers to show (5)")
    parser.add_argument("--output", type=Path, required=True, metavar="PAGE.html")


def _explain(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.predictor import BUNDLED
    from fabir.explain.page import explain, write_page
    from fabir.files import read_text
    from fabir.reader import Reader

    passage = read_text(options.passage)
    reader = Reader.load(options.reader or BUNDLED)
    write_page(explain(reader, options.question, passage, options.top_k), options.output)
    print(options.output)


def _add_plot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.png")


def _plot(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.training.curves import plot_runs

    plot_runs(options.runs, options.output)
    print(options.output)


def _add_readers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detail", metavar="NAME", help="this one, component by component")


def _readers(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.training.rows import describe, describe_all

    for part in describe(options.detail) if options.detail else describe_all():
        print(f"{'  ' * part.depth + part.name:<40}{part.parameters:>12,}")


def _add_compact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reader", type=Path, metavar="DIR", help="a reader's folder")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--words", type=int, default=150_000, metavar="N", help="words to keep (default 150000)"
    )


def _compact(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.export.compact import compact

    size = compact(options.reader, options.output, options.words)
    print(f"{options.output}: {size / 2**20:.1f} MiB")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_reader(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--format", choices=["onnx"], default="onnx")
    parser.add_argument("--quantise", choices=["int8"], help="weights of linear maps in 8 bits")
    parser.add_argument(
        "--data", type=Path, metavar="DATA.json", help="measure EM and F1 before and after"
    )


def _export(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.predictor import BUNDLED
    from fabir.data.squad import read_squad
    from fabir.export.onnx import export

    data = read_squad(options.data, "keep") if options.data else None
    quantise = options.quantise == "int8"
    report = export(options.reader or BUNDLED, options.output, quantise=quantise, data=data)
    print(json.dumps(report, indent=1))


def _add_download(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", choices=["squad", "glove"])
    parser.add_argument("--to", type=Path, default=Path("data"), metavar="DIR")


def _download(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.download import download

    for path in download(options.name, options.to):
        print(path)
