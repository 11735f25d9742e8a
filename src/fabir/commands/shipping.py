"""Commands: calibrating models, making them smaller, and exporting them."""

import argparse
import json
from pathlib import Path

from fabir.commands import AddCommand, add_reader, path
from fabir.errors import InputError


def add_commands(add: AddCommand) -> None:
    _add_calibrate(
        add("calibrate", _calibrate, "fit a model's probabilities, on data it was not trained on")
    )
    _add_compact(add("compact", _compact, "make a model small: fewer words, fewer bits"))
    _add_export(
        add("export", _export, "write a model as ONNX graphs, or as a page that needs no server")
    )


def _add_calibrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reader", type=path, metavar="DIR", help="the model's folder, which is changed"
    )
    parser.add_argument(
        "--data",
        type=path,
        required=True,
        nargs="+",
        action="extend",
        metavar="DATA.json",
        help="SQuAD files; with unanswerable questions the no-answer probability is fitted too",
    )


def _calibrate(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.predictor import Predictor
    from fabir.data.dataset import joined
    from fabir.data.squad import read_squad
    from fabir.evaluation.calibration import calibrate
    from fabir.files import writing
    from fabir.runtime.settings import read_states
    from fabir.runtime.store import change_settings

    _refuse_bundled(options.reader)
    read_states(options.reader)
    with writing(options.reader):
        data = joined([read_squad(path, "keep") for path in options.data])
        found = calibrate(Predictor.load(options.reader), data)
        threshold = found.no_answer_threshold
        change_settings(options.reader, confidence=found.confidence, no_answer_threshold=threshold)
    report = {**found.report, "no_answer_threshold": threshold}
    print(json.dumps(report, indent=1))


def _refuse_bundled(reader: Path) -> None:
    from fabir.runtime.store import BUNDLED_MODELS

    folder = (reader if reader.exists() else BUNDLED_MODELS / reader).resolve()
    if folder.is_dir() and folder.is_relative_to(BUNDLED_MODELS.resolve()):
        raise InputError(
            f"the bundled model {reader} is not changed: name the folder of another model"
        )


def _add_compact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reader", type=path, metavar="DIR", help="the model's folder")
    parser.add_argument(
        "--output", type=path, required=True, metavar="DIR", help="the small model's folder"
    )
    parser.add_argument(
        "--words", type=int, default=150_000, metavar="N", help="words to keep (default 150000)"
    )


def _compact(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.export.compact import compact

    size = compact(_find(options.reader), options.output, options.words)
    print(f"{options.output}: {size / 2**20:.1f} MiB")


def _find(reader: Path | None) -> Path:
    """The folder of a model, found before any other folder is made."""
    from fabir.runtime.locate import find_model
    from fabir.runtime.settings import read_states

    folder = find_model(reader)
    read_states(folder)
    return folder


def _add_export(parser: argparse.ArgumentParser) -> None:
    add_reader(parser)
    parser.add_argument(
        "--output", type=path, metavar="DIR", help="write ONNX graphs, to answer without torch"
    )
    parser.add_argument(
        "--web",
        type=path,
        metavar="DIR",
        help="write a page that answers in the browser, with the graphs of --output, or with those "
        "that the model has",
    )
    parser.add_argument(
        "--runtime",
        type=path,
        metavar="DIR",
        help="for --web: where the npm package onnxruntime-web is, which is fetched if it is not "
        "there (default: the cache)",
    )
    parser.add_argument("--quantise", choices=["int8"], help="quantise linear layers to 8 bits")
    parser.add_argument(
        "--calibrate",
        type=path,
        metavar="DATA.json",
        help="calibration data: questions that give the activation ranges (default: random words)",
    )
    parser.add_argument(
        "--data", type=path, metavar="DATA.json", help="measure EM and F1 before and after"
    )


def _export(options: argparse.Namespace, rest: list[str]) -> None:
    if not (options.output or options.web):
        raise InputError("say what to write: --output DIR for graphs, --web DIR for a page")
    if options.runtime and not options.web:
        raise InputError("--runtime is for a page: add --web DIR")
    made = [name for name in ("quantise", "calibrate", "data") if getattr(options, name)]
    if made and not options.output:
        raise InputError(f"--{made[0]} is for new graphs: add --output DIR")
    if options.output and options.web:
        _check_apart(options.output, options.web)
    source = _find(options.reader)
    if options.output:
        _export_graphs(source, options)
    if options.web:
        _export_page(options.output or source, options)


def _check_apart(graphs: Path, page: Path) -> None:
    inner, outer = graphs.resolve(), page.resolve()
    if inner.is_relative_to(outer):
        raise InputError(f"--output {graphs} lies in the page's folder {page}: name another folder")


def _export_graphs(source: Path, options: argparse.Namespace) -> None:
    from fabir.data.squad import read_squad
    from fabir.export.onnx import export
    from fabir.export.web import check_page

    quantise = options.quantise == "int8"
    if options.calibrate and not quantise:
        raise InputError(
            "--calibrate gives the activation ranges of quantisation: add --quantise int8"
        )
    calibrate, data = (
        read_squad(path, "keep") if path else None for path in (options.calibrate, options.data)
    )
    if options.web:
        check_page(source, options.web, options.runtime)
    report = export(source, options.output, quantise=quantise, calibrate=calibrate, data=data)
    print(json.dumps(report, indent=1))


def _export_page(source: Path, options: argparse.Namespace) -> None:
    from fabir.export.web import write_page

    size = write_page(source, options.web, options.runtime)
    print(f"{options.web}: {size / 2**20:.1f} MiB")
