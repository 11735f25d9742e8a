"""Commands: asking a model, and measuring it."""

import argparse
import json
import sys
from pathlib import Path
from typing import NoReturn

from fabir.commands import (
    AddCommand,
    add_passage,
    add_reader,
    add_readers,
    add_threshold,
    file_or_address,
    path,
    say_how_to_go_on,
)
from fabir.errors import InputError
from fabir.progress import counted


def add_commands(add: AddCommand) -> None:
    _add_answer(add("answer", _answer, "answer a question about a passage"))
    _add_predict(add("predict", _predict, "answer every row of a table or SQuAD file"))
    _add_evaluate(add("evaluate", _evaluate, "the official SQuAD 1.1 and 2.0 metrics"))
    _add_analyse(add("analyse", _analyse, "strengths and weaknesses of models, with plots"))
    _add_explain(add("explain", _explain, "a model's attention, as an HTML page"))


def _add_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", type=str, help="a question about the passage")
    add_passage(parser)
    add_readers(parser)
    parser.add_argument("--top-k", type=int, default=1, metavar="N", help="answers to give")
    add_threshold(parser)
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="format of the output (text)"
    )


def _answer(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.answer.predictor import Predictor
    from fabir.answer.show import show_json, show_text, show_withheld
    from fabir.text.units import is_blank

    passage = _read_passage(options.passage)
    if is_blank(options.question):
        raise InputError("the question is empty: ask something")
    if is_blank(passage):
        raise InputError(f"the passage {options.passage} is empty: there is nothing to answer from")
    predictor = Predictor.load(options.reader, threshold=options.threshold)
    reading = next(predictor.read_all([(options.question, passage)], options.top_k))
    answers = predictor.given(reading)
    show = show_json if options.format == "json" else show_text
    show(options.question, passage, answers, reading)
    show_withheld(answers, reading)


def _read_passage(path: Path) -> str:
    """The text of a file; an InputError says what reads a document that is no plain text."""
    from fabir.documents.reading import is_document
    from fabir.files import read_text

    try:
        return read_text(path)
    except InputError as error:
        no_text = isinstance(error.__cause__, UnicodeDecodeError)
        if no_text and is_document(path) and path.suffix.lower() != ".txt":
            problem = "not UTF-8 text; fabir index reads it, and fabir ask answers from that"
            raise InputError(f"{path}: {problem}") from error
        raise


def _add_predict(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Answer every row of tables, or every question of SQuAD files, in order and in little "
        "memory. A row has a question, a context to answer from, and maybe an id. The output is a "
        "table of the same rows with their answers, or the official predictions of one SQuAD file."
    )
    parser.add_argument(
        "data",
        nargs="+",
        type=file_or_address,
        metavar="DATA",
        help="a .jsonl, .ndjson, .csv, .tsv (all also .gz) or .parquet file, a SQuAD file "
        "(.json or .json.gz), a folder of tables, a pattern such as 'parts/*.parquet', an address "
        "such as s3://bucket/rows.parquet, or - for lines of JSON on stdin",
    )
    add_readers(parser)
    parser.add_argument(
        "--output",
        type=file_or_address,
        required=True,
        metavar="FILE",
        help="a .jsonl, .ndjson, .csv, .tsv (all also .gz) or .parquet file gets one row per "
        "question, a .json file the official predictions",
    )
    add_threshold(parser)
    _add_rows(parser)
    official = parser.add_argument_group("official predictions")
    official.add_argument(
        "--nbest", type=path, metavar="FILE", help="the 20 best answers to each question"
    )
    official.add_argument("--na-prob", type=path, metavar="FILE", help="no-answer probabilities")
    _explain_keep(parser)


def _add_rows(parser: argparse.ArgumentParser) -> None:
    """The options of tables."""
    rows = parser.add_argument_group("rows")
    rows.add_argument(
        "--keep",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns of the input for the output, besides the id and the question; or all; takes "
        "all names that follow, so DATA stands before it",
    )
    rows.add_argument(
        "--prefix",
        type=str,
        default="",
        metavar="P",
        help="begins the names of the columns of the answers: predicted_ makes predicted_answer of "
        "answer (default: nothing)",
    )
    rows.add_argument(
        "--question-column",
        default="question",
        metavar="NAME",
        help="column of the questions (default: question)",
    )
    rows.add_argument(
        "--context-column",
        metavar="NAME",
        help="column of the texts (default: context, or passage)",
    )
    rows.add_argument(
        "--id-column",
        metavar="NAME",
        help="column of the ids (default: id, or the row's number if no row has one)",
    )
    rows.add_argument(
        "--resume",
        action="store_true",
        help="continue an unfinished file, and leave a complete one as it is",
    )
    rows.add_argument(
        "--on-bad-row",
        choices=["error", "skip"],
        default="error",
        help="what to do about a row that cannot be used: end, or leave it out and name it (error)",
    )
    rows.add_argument(
        "--engine", choices=["local", "ray"], default="local", help="ray: on a whole cluster"
    )


def _explain_keep(parser: argparse.ArgumentParser) -> None:
    """Let the error about a missing DATA say that --keep has taken it."""
    fail = parser.error

    def error(message: str) -> NoReturn:
        hint = "; --keep takes all names that follow it: name DATA first"
        fail(message + hint if "required: DATA" in message else message)

    parser.error = error


def _predict(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.addresses import is_address

    output = Path(options.output)
    if output.suffix.lower() != ".json" or is_address(options.output):
        _predict_rows(options)
        return
    _refuse_row_options(options)
    from fabir.answer.files import read_dataset, write_predictions
    from fabir.answer.predictor import Predictor
    from fabir.bulk.inputs import check_ending
    from fabir.data.checks import check_apart
    from fabir.data.squad import read_squad
    from fabir.files import writing_files

    check_ending(options.data[0])
    for written in (output, options.nbest, options.na_prob):
        if written:
            check_apart(written, options.data[0])
    with writing_files(output, options.nbest, options.na_prob):
        data = read_squad(options.data[0], "keep")
        top_k = 20 if options.nbest else 1
        predictor = Predictor.load(options.reader, threshold=options.threshold)
        found = dict(read_dataset(predictor, data, top_k))
        write_predictions(found, predictor.given, output, options.nbest, options.na_prob)


def _refuse_row_options(options: argparse.Namespace) -> None:
    columns = options.context_column or options.id_column or options.question_column != "question"
    run = options.resume or options.on_bad_row != "error" or options.engine != "local"
    if columns or run or options.keep or options.prefix or len(options.data) > 1:
        raise InputError(
            "several inputs, --keep, --prefix, --...-column, --resume, --on-bad-row and --engine "
            "are for rows: name an --output that ends in .jsonl, .ndjson, .csv, .tsv or .parquet"
        )


def _predict_rows(options: argparse.Namespace) -> None:
    from fabir.bulk.journal import journal_of
    from fabir.bulk.run import answer_rows

    if options.nbest or options.na_prob:
        raise InputError("--nbest and --na-prob go with official predictions: an --output of .json")
    with say_how_to_go_on(journal_of(options.output), "the same command with --resume"):
        done = answer_rows(
            options.data,
            options.output,
            options.reader,
            threshold=options.threshold,
            engine=options.engine,
            resume=options.resume,
            on_bad_row=options.on_bad_row,
            question_column=options.question_column,
            context_column=options.context_column,
            id_column=options.id_column,
            keep=options.keep,
            prefix=options.prefix,
        )
    if done.before:
        print(f"already complete: {counted(done.rows, 'row')}", file=sys.stderr)
        return
    skipped = f", {counted(done.bad, 'bad row')} skipped" if done.bad else ""
    print(f"{counted(done.rows, 'row')} answered{skipped}", file=sys.stderr)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=path, metavar="DATA.json", help="a SQuAD file with answers")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--predictions",
        type=path,
        metavar="FILE",
        help="official predictions to score, in place of a model's answers",
    )
    add_readers(source)  # pyright: ignore[reportArgumentType]
    parser.add_argument(
        "--na-prob",
        type=path,
        metavar="FILE",
        help="no-answer probabilities for --predictions",
    )
    rule = parser.add_mutually_exclusive_group()
    answers_all = "; it answers all, if all questions have answers"
    add_threshold(rule, answers_all)  # pyright: ignore[reportArgumentType]
    rule.add_argument(
        "--na-prob-thresh",
        type=float,
        metavar="P",
        help="above this no-answer probability a prediction counts as no answer (default: the "
        "model's threshold, or 1)",
    )


def _evaluate(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.squad import read_squad
    from fabir.evaluation.squad import evaluate, read_na_prob, read_predictions

    if options.na_prob and not options.predictions:
        raise InputError("--na-prob goes with --predictions")
    if options.predictions and options.threshold is not None:
        raise InputError("--threshold goes with a model: predictions have no scores")
    if options.predictions and options.na_prob_thresh is not None and not options.na_prob:
        raise InputError("--na-prob-thresh goes with a model, or with --predictions and --na-prob")
    data = read_squad(options.data, "keep")
    threshold = options.na_prob_thresh
    if threshold is not None and not 0 <= threshold <= 1:
        raise InputError(f"--na-prob-thresh is a probability from 0 to 1, not {threshold:g}")
    if options.predictions:
        predicted = read_predictions(options.predictions)
        na_prob = read_na_prob(options.na_prob) if options.na_prob else None
        scores = evaluate(data, predicted, na_prob, 1.0 if threshold is None else threshold)
    else:
        from fabir.answer.predictor import Predictor
        from fabir.evaluation.model import evaluate_model

        predictor = Predictor.load(options.reader, threshold=options.threshold)
        scores = evaluate_model(predictor, data, threshold)
    print(json.dumps(scores, indent=1))


def _add_analyse(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", type=path, nargs="?", metavar="DATA.json", help="a SQuAD file with answers"
    )
    parser.add_argument(
        "--reader",
        type=path,
        action="append",
        metavar="DIR",
        help="a model's folder or name; repeat the option to compare models (default: fast)",
    )
    parser.add_argument(
        "--ensemble", action="store_true", help="compare the mean of all models with them too"
    )
    parser.add_argument(
        "--output", type=path, required=True, metavar="DIR", help="the folder of the report"
    )
    parser.add_argument(
        "--report-only",
        action="store_true",
        help="write the report again from analysis.json, without answering",
    )


def _analyse(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.squad import read_squad
    from fabir.evaluation.analysis import check_answered
    from fabir.evaluation.model import analyse_models, model_names
    from fabir.evaluation.report import check_report, report_again, write_report
    from fabir.files import writing

    check_report(options.output, again=options.report_only)
    if bool(options.data) == options.report_only or (options.report_only and options.reader):
        raise InputError("name a SQuAD file to answer, or give --report-only without one")
    readers = options.reader or [None]
    if options.ensemble and len(readers) == 1:
        raise InputError("an ensemble has several readers: repeat --reader for each")
    with writing(options.output):
        if options.report_only:
            print(report_again(options.output))
            return
        data = read_squad(options.data, "keep")
        check_answered(data)
        names = model_names(readers)
        compared = {name: [reader] for name, reader in zip(names, readers, strict=True)}
        if options.ensemble:
            compared[" + ".join(names)] = readers
        analysis = {"data": options.data.name, **analyse_models(data, compared)}
        print(write_report(analysis, options.output))


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", type=str, help="a question about the passage")
    add_passage(parser)
    add_reader(parser)
    parser.add_argument("--top-k", type=int, default=5, metavar="N", help="answers to show (5)")
    parser.add_argument(
        "--output", type=path, required=True, metavar="PAGE.html", help="the page to write"
    )


def _explain(options: argparse.Namespace, rest: list[str]) -> None:
    from fabir.data.checks import check_apart
    from fabir.explain.page import explain, write_page
    from fabir.files import writing_files
    from fabir.runtime.locate import find_model
    from fabir.runtime.torch_model import TorchModel

    check_apart(options.output, options.passage)
    with writing_files(options.output):
        passage = _read_passage(options.passage)
        reader = TorchModel.load(find_model(options.reader))
        write_page(explain(reader, options.question, passage, options.top_k), options.output)
    print(options.output)
