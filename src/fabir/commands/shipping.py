"""Commands: calibrating readers, making them smaller, and exporting them."""

import argparse
import json
from pathlib import Path

from fabir.commands import AddCommand, add_reader


def add_commands(add: AddCommand) -> None:
    _add_calibrate(
        add("calibrate", _calibrate, "fit a reader's probabilities, on data it was not trained on")
    )
    _add_compact(add("compact", _compact, "make a reader small: fewer words, fewer bits"))
    _add_export(add("export", _export, "write a reader as ONNX graphs, to answer without torch"))


def _add_calibrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reader", type=Path, metavar="DIR", help="a reader's folder, is changed")
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        nargs="+",
        metavar="DATA.json",
        help="SQuAD files; with unanswerable questions the no-answer probability is fitted too",
    )


def _calibrate(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.predictor import Predictor
    from fabir.data.squad import joined, read_squad
    from fabir.evaluation.calibration import calibrate
    from fabir.files import writing
    from fabir.runtime.store import change_settings

    with writing(options.reader):
        data = joined([read_squad(path, "keep") for path in options.data])
        found = calibrate(Predictor.load(options.reader), data)
        threshold = found.no_answer_threshold
        change_settings(options.reader, confidence=found.confidence, no_answer_threshold=threshold)
    report = {**found.report, "no_answer_threshold": threshold}
    print(json.dumps(report, indent=1))


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
    add_reader(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--format", choices=["onnx"], default="onnx")
    parser.add_argument("--quantise", choices=["int8"], help="quantise linear layers to 8 bits")
    parser.add_argument(
        "--calibrate",
        type=Path,
        metavar="DATA.json",
        help="calibration data: questions that give the activation ranges (default: random words)",
    )
    parser.add_argument(
        "--data", type=Path, metavar="DATA.json", help="measure EM and F1 before and after"
    )


def _export(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.squad import read_squad
    from fabir.errors import InputError
    from fabir.export.onnx import export
    from fabir.runtime.locate import find_model

    quantise = options.quantise == "int8"
    if options.calibrate and not quantise:
        raise InputError(
            "--calibrate gives the activation ranges of quantisation: add --quantise int8"
        )
    calibrate, data = (
        read_squad(path, "keep") if path else None for path in (options.calibrate, options.data)
    )
    source = find_model(options.reader)
    report = export(source, options.output, quantise=quantise, calibrate=calibrate, data=data)
    print(json.dumps(report, indent=1))
