"""Commands: training readers, and comparing them."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabir.commands import AddCommand, add_on_bad_answer, path, say_how_to_go_on
from fabir.errors import InputError

if TYPE_CHECKING:
    from fabir.training.inputs import RunFiles
    from fabir.training.settings import RunConfig


def add_commands(add: AddCommand) -> None:
    about = "train a reader; --KEY VALUE changes the configuration"
    _add_train(add("train", _train, about, add_help=False))
    about = "suggest a learning rate: one sweep from low to high"
    _add_find_lr(add("find-lr", _find_lr, about, add_help=False))
    _add_plot(add("plot", _plot, "training curves of runs, or the attention of positions"))
    _add_reproduce(add("reproduce", _reproduce, "reproduce a paper's table by training its rows"))
    _add_readers(add("readers", _readers, "the trained models, and the papers' rows to train"))


class _KeysHelp(argparse.Action):
    """Shows the options, then the keys of the configuration that is named before it, or of fast."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, *_: Any) -> None:
        try:
            keys = _keys(namespace.config, namespace.start)
        except ModuleNotFoundError:
            keys = "the keys of a configuration are listed here after pip install 'fabir[train]'\n"
        parser.print_help()
        print(f"\n{keys}", end="")
        parser.exit()


def _keys(config: str | None, start: Path | None) -> str:
    from fabir.training.config_files import help_of

    if config or start:
        return help_of(config, start)
    about = "A CONFIG before --help shows its own keys, such as: fabir train qanet --help"
    return f"{about}\n\n{help_of('fast', None)}"


def _add_learning(parser: argparse.ArgumentParser) -> None:
    """The configuration, the training data and the starting point."""
    parser.add_argument(
        "-h",
        "--help",
        action=_KeysHelp,
        nargs=0,
        help="show this, and the keys of CONFIG (default: of fast)",
    )
    parser.add_argument(
        "config",
        nargs="?",
        metavar="CONFIG",
        help="a name that `fabir readers` lists, a .yaml file, or FILE.yaml:ROW; may be left out "
        "with --from",
    )
    parser.add_argument(
        "--train",
        type=path,
        nargs="+",
        action="extend",
        required=True,
        metavar="FILE",
        help="SQuAD files",
    )
    words = parser.add_mutually_exclusive_group()
    words.add_argument(
        "--vectors",
        metavar="FILE",
        help="GloVe, word2vec or fastText as text: .txt, .txt.gz or .zip",
    )
    words.add_argument(
        "--words",
        type=path,
        metavar="DIR",
        help="a model whose word rows the new one shares; they are not trained",
    )
    parser.add_argument(
        "--from",
        type=path,
        dest="start",
        metavar="MODEL",
        help="continue from a trained model (fast, accurate or a folder), with its network unless "
        "CONFIG names a reader; --words gives it the word rows of another",
    )
    add_on_bad_answer(parser)
    parser.add_argument(
        "--on-unaligned",
        choices=["skip", "widen"],
        default="skip",
        help="if an answer begins or ends inside a word: leave it out, or take the whole words "
        "(skip)",
    )


def _run_files(options: argparse.Namespace, **others: Any) -> "RunFiles":
    from fabir.training.inputs import RunFiles

    if options.start and options.vectors:
        raise InputError("--from names a reader that has word vectors: leave --vectors out")
    return RunFiles(
        train=tuple(options.train),
        vectors=options.vectors,
        words=options.words,
        start=options.start,
        on_bad_answer=options.on_bad_answer,
        on_unaligned=options.on_unaligned,
        **others,
    )


def _load_config(options: argparse.Namespace, rest: list[str]) -> "RunConfig":
    from fabir.training.config_files import load_config
    from fabir.training.parsing import check_options

    check_options(rest)
    return load_config(options.config, rest, options.start)


def _add_train(parser: argparse.ArgumentParser) -> None:
    _add_learning(parser)
    parser.add_argument(
        "--dev",
        type=path,
        metavar="FILE",
        help="SQuAD file to evaluate with (default: every tenth passage of the first training "
        "file, which is then not trained on)",
    )
    parser.add_argument(
        "--output", type=path, required=True, metavar="DIR", help="the folder of the new model"
    )
    parser.add_argument(
        "--teacher",
        nargs="+",
        action="extend",
        default=[],
        metavar="DIR",
        help="distil the probabilities of these models, averaged, in addition to the answers",
    )
    parser.add_argument("--resume", action="store_true", help="continue from the last checkpoint")
    parser.add_argument(
        "--log-with",
        nargs="+",
        action="extend",
        default=[],
        metavar="TRACKER",
        help="write the metrics to tensorboard, trackio or wandb too",
    )
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="processes that train together (default: the fastest number)",
    )


def _train(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.training.checkpoint import FILE
    from fabir.training.launch import end_process, in_launcher
    from fabir.training.run import train

    files = _run_files(options, dev=options.dev, teachers=tuple(options.teacher))
    with say_how_to_go_on(options.output / FILE, "the same command with --resume"):
        train(
            _load_config(options, rest),
            files,
            options.output,
            resume=options.resume,
            processes=options.processes,
            log_with=options.log_with,
        )
    if in_launcher():
        end_process(0)


def _add_find_lr(parser: argparse.ArgumentParser) -> None:
    _add_learning(parser)
    parser.add_argument(
        "--lowest", type=float, default=1e-6, metavar="RATE", help="first rate (1e-06)"
    )
    parser.add_argument(
        "--highest", type=float, default=1.0, metavar="RATE", help="last rate (1.0)"
    )
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="steps at most (200)")
    parser.add_argument("--plot", type=path, metavar="FILE.png", help="draw the loss at each rate")


def _find_lr(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.files import writing_files
    from fabir.plots import check_plot
    from fabir.training.finder import plot_sweep, sweep_files

    if options.plot:
        check_plot(options.plot)
    files = _run_files(options)
    with writing_files(options.plot):
        sweep = sweep_files(
            _load_config(options, rest),
            files,
            lowest=options.lowest,
            highest=options.highest,
            steps=options.steps,
        )
        if options.plot:
            plot_sweep(sweep, options.plot)
    print(f"a tenth of {sweep.lowest:.1e}, where the loss is lowest:", file=sys.stderr)
    if sweep.lowest == sweep.rates[-1]:
        print(
            "the loss was still falling there: name a higher rate with --highest", file=sys.stderr
        )
    print(f"{sweep.suggestion:.1e}")


def _add_plot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        type=path,
        nargs="*",
        metavar="RUN_DIR",
        help="folders that `fabir train` wrote",
    )
    parser.add_argument(
        "--positions", action="store_true", help="plot the position encoding's attention instead"
    )
    parser.add_argument(
        "--output", type=path, required=True, metavar="FILE.png", help="the picture to write"
    )


def _plot(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.files import writing_files

    if bool(options.runs) == options.positions:
        raise InputError("name the folders of runs, or give --positions")
    with writing_files(options.output):
        if options.positions:
            from fabir.explain.positions import plot_positions

            plot_positions(options.output)
        else:
            from fabir.training.curves import plot_runs

            plot_runs(options.runs, options.output)
    print(options.output)


def _add_reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a shipped study's name, or a .yaml file")
    parser.add_argument(
        "--budget", default="short", metavar="NAME", help="how long each row trains (short)"
    )
    parser.add_argument(
        "--rows",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="only these rows",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=1,
        metavar="N",
        help="runs of each row, each with its own seed (1)",
    )
    parser.add_argument(
        "--output",
        type=path,
        metavar="DIR",
        help="folder of the results (default: runs/STUDY-BUDGET)",
    )
    parser.add_argument(
        "--data",
        type=path,
        default=Path("data"),
        metavar="DIR",
        help="folder of the study's files (data)",
    )
    parser.add_argument("--train", type=path, metavar="FILE", help="replaces the study's file")
    parser.add_argument("--dev", type=path, metavar="FILE", help="replaces the study's file")
    parser.add_argument("--vectors", metavar="FILE", help="replaces the study's file")
    parser.add_argument(
        "--report-only", action="store_true", help="write the report again, without training"
    )


def _reproduce(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.studies.results import RESULTS, find_files, report
    from fabir.studies.study import read_study

    study = read_study(options.study)
    output = options.output or Path("runs") / f"{Path(options.study).stem}-{options.budget}"
    if options.report_only:
        print(report(study, output))
        return
    if options.seeds < 1:
        raise InputError(f"--seeds must be at least 1, not {options.seeds}")
    study.chosen(options.rows)  # a wrong name is said before long work
    files = find_files(
        study,
        options.budget,
        options.data,
        train=options.train,
        dev=options.dev,
        vectors=options.vectors,
    )
    from fabir.studies.runner import reproduce  # takes seconds

    with say_how_to_go_on(output / RESULTS, "the same command"):
        print(reproduce(study, options.budget, files, output, options.rows, options.seeds))


def _add_readers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detail", metavar="NAME", help="show this row, component by component")
    parser.add_argument(
        "--trained",
        type=path,
        default=Path("trained"),
        metavar="DIR",
        help="list the trained models in this folder too (default: trained)",
    )


def _readers(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.runtime.cards import find_trained
    from fabir.runtime.store import BUNDLED_MODELS

    if not options.detail:
        print(f"{'trained':<40}{'MB':>6}{'F1':>8}{'EM':>8}")
        for each in find_trained(BUNDLED_MODELS, options.trained):
            bundled = each.folder.parent == BUNDLED_MODELS
            name = each.folder.name if bundled else str(each.folder)
            scores = (each.scores.get(metric) for metric in ("f1", "exact_match"))
            columns = "".join(" " * 8 if it is None else f"{it:8.2f}" for it in scores)
            print(f"{name:<40}{each.size / 1e6:6.1f}{columns}".rstrip())
        print(f"\n{'to train':<40}{'parameters':>12}")
    from fabir.training.config_files import card_text  # these need torch, what is above does not
    from fabir.training.rows import describe, describe_all

    for part in describe(options.detail) if options.detail else describe_all():
        print(f"{'  ' * part.depth + part.name:<40}{part.parameters:>12,}")
    if options.detail and (card := card_text(options.detail)):
        print(f"\n{card}", end="")
