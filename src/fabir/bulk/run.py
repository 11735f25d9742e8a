"""A bulk run: answers every row of its inputs, and writes the answers in the same order."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fabir import __version__
from fabir.answer.pipeline import QuestionAnsweringPipeline
from fabir.answer.predictor import Predictor
from fabir.answer.threshold import check_threshold
from fabir.bulk.columns import Columns, check_choice, find_ids, plan_output
from fabir.bulk.engines import ENGINES, AnsweredChunk, Job
from fabir.bulk.inputs import InputFile, check_ending, check_outside, find_inputs
from fabir.bulk.journal import Journal
from fabir.bulk.readers import digest_of, find_reader
from fabir.bulk.rows import CHUNK
from fabir.data.addresses import STDIN, is_address
from fabir.data.checks import check_apart
from fabir.data.tables import (
    ENDINGS,
    check_table,
    column_types,
    table_kind,
    write_table,
)
from fabir.errors import InputError
from fabir.files import followed, is_gzipped, permissions, writing
from fabir.progress import clock, counted, live_line, track

_MAX_WARNINGS = 100  # bad rows that are reported one by one; more are only counted
_QUIET = 2  # seconds before the first line of progress
Names = str | Path | Sequence[str | Path]


class BulkResult(NamedTuple):
    """The number of answered rows and of bad rows; `before`: a resumed run was complete already."""

    rows: int
    bad: int
    before: bool = False


def answer_rows(
    source: Names,
    output: str | Path,
    reader: Predictor | QuestionAnsweringPipeline | Names | None = None,
    *,
    threshold: float | None = None,
    engine: str = "local",
    resume: bool = False,
    on_bad_row: Literal["error", "skip"] = "error",
    question_column: str = "question",
    context_column: str | None = None,
    id_column: str | None = None,
    keep: Sequence[str] | Literal["all"] = (),
    prefix: str = "",
) -> BulkResult:
    """Answer every row of `source`, and write one row each to `output`, in order.

    The run needs little memory. `OUTPUT.partial` has the answers of an unfinished run. With
    `resume` such a run continues, and its output is byte for byte that of an uninterrupted run.
    With `resume` nothing is done if the output is complete, and made of the same input with the
    same settings and version of fabir: `.OUTPUT.done` tells. Any other output that is there is
    replaced at the end. A run of standard input cannot be resumed, and leaves nothing if it fails.

    Args:
        source: one or several files, folders, patterns or addresses, see
            `fabir.bulk.inputs.find_inputs`: `fabir.data.tables.ENDINGS`; SQuAD files; or "-" for
            lines of JSON on standard input
        output: a file with one of these `ENDINGS`; its columns are the id, the question, those of
            `keep`, and `fabir.bulk.columns.ANSWERS`
        reader: a model's folder or name, `fast` by default; several answer as an ensemble; or a
            `Predictor`, or a pipeline, of which the Predictor is taken, but not the pipeline's own
            options
        threshold: how likely an answer that is given must be, see `Predictor`; by default that of
            the predictor
        engine: "local", or "ray" for a Ray cluster
        on_bad_row: "error" stops at the first bad row, "skip" leaves bad rows out
        context_column: by default "context", or "passage" where there is none
        id_column: by default "id", or the row's number if no row has one; a row without an id has
            none in the output
        keep: further columns of the input for the output; "all" stands for all
        prefix: begins the names of the columns of the answers; "predicted_" makes
            "predicted_answer" of "answer"

    Raises:
        InputError: a file cannot be read or written, a column is missing or has the name of a
            column of the answers, `output` is in a folder or of a pattern that is read, another
            process is writing it, a row is bad, all rows are bad, the unfinished run has other
            settings or skipped bad rows that are errors now, or `threshold` is not from 0 to 1.
    """
    threshold = check_threshold(threshold)
    check_choice("on_bad_row", on_bad_row, ("error", "skip"))
    check_choice("engine", engine, ENGINES)
    if id_column == "":
        raise InputError("--id-column is empty: name a column, or leave it out")
    output = _checked_output(output)
    sources = _listed(source, "source")
    check_outside(sources, output)
    files = find_inputs(sources)
    _check_inputs(files, output, engine, resume)
    kept = tuple(_listed(keep, "keep"))
    columns = Columns(question_column, context_column, id_column, kept, prefix)
    planned = plan_output(files, columns)
    job = Job(
        files=files,
        columns=find_ids(files, columns),
        readers=find_reader(reader),
        threshold=threshold,
        strict=on_bad_row == "error",
        exact=table_kind(output) == ".parquet",
    )
    with writing(output):
        journal = Journal(
            followed(output),
            _settings(job),
            resume=resume,
            resumable=files[0].name != STDIN,
            strict=job.strict,
        )
        if journal.complete:
            return BulkResult(journal.done["rows"], journal.done["bad"], before=True)
        chunks = ENGINES[engine](job, journal.done["chunks"])
        return _write_all(chunks, journal, job, output, planned)


def _listed(names: Any, argument: str) -> list[Any]:
    """One name or several as a list."""
    if isinstance(names, str | Path):
        return [names]
    is_frame = hasattr(names, "columns") or hasattr(names, "column_names")
    if is_frame or not isinstance(names, Iterable):
        hint = "; fabir.answer_frame answers a DataFrame" if is_frame else ""
        kind = type(names).__name__
        raise InputError(f"{argument} is a name or a list of names, not of type {kind}{hint}")
    return list(names)


def _checked_output(output: str | Path) -> Path:
    if is_address(output):
        raise InputError(
            f"{output}: answers are written to a file of this machine, so that a run can be "
            "resumed; name one, and copy it when it is complete"
        )
    if str(output) == STDIN or str(output).startswith("/dev/"):
        raise InputError(
            f"{output}: the output must be a file, since a run is resumed from it; name one that "
            f"ends in {ENDINGS}"
        )
    if not table_kind(output):
        raise InputError(
            f"{output}: rows are written as {ENDINGS}; `fabir predict` writes official predictions "
            "as .json"
        )
    check_table(output)
    return Path(output)


def _check_inputs(files: Sequence[InputFile], output: Path, engine: str, resume: bool) -> None:
    for file in files:
        if file.name != STDIN:
            check_ending(file.name)
        if not is_address(file.name):
            check_apart(output, file.name)
    if files[0].name == STDIN and resume:
        raise InputError(
            "standard input cannot be read again: start again without --resume; a run that reads a "
            "file can be resumed"
        )
    if files[0].name == STDIN and engine != "local":
        raise InputError(f"--engine {engine} reads files only: save standard input to a file")


def _write_all(
    chunks: Iterable[AnsweredChunk],
    journal: Journal,
    job: Job,
    output: Path,
    planned: dict[str, Any],
) -> BulkResult:
    """Write all chunks to the journal, and then to the output."""
    try:
        with _progress(journal) as show:
            for answered in chunks:
                if job.strict and answered.bad:
                    raise InputError(f"{answered.bad[0]}; correct it, or choose --on-bad-row skip")
                _warn(answered.bad, journal.done["bad"])
                journal.append(answered)
                show(answered.share)
        done = BulkResult(journal.done["rows"], journal.done["bad"])
        if done.bad and not done.rows:
            names = ", ".join(file.name for file in job.files[:3])
            raise InputError(f"{names}: none of its rows can be used, {done.bad:,} in all")
        journal.close()
        _finish(journal, output, planned, job.columns.answers)
    except BaseException:
        journal.leave()
        raise
    return done


def _finish(
    journal: Journal, output: Path, columns: dict[str, Any], answers: dict[str, type]
) -> None:
    """Convert the answers to the output file, and remove the journal.

    Args:
        columns: see `plan_output`
        answers: see `Columns`
    """
    if table_kind(output) == ".jsonl" and not is_gzipped(output):
        journal.note_end(journal.partial)
        os.chmod(journal.partial, permissions(output))
        os.replace(journal.partial, followed(output))
    else:
        if not columns or None in columns.values():
            with _rows(journal, "finding columns") as rows:
                found = column_types(rows, columns)
            columns = found | {name: kind for name, kind in columns.items() if kind is not None}
        own = {name: kind for name, kind in columns.items() if name not in answers}
        with _rows(journal, "writing") as rows:
            write_table(output, rows, own | answers)
        journal.note_end(output)
    journal.remove()


@contextmanager
def _rows(journal: Journal, doing: str) -> Iterator[Iterable[dict[str, Any]]]:
    """All answered rows."""
    with open(journal.partial, encoding="utf-8") as lines:
        yield track(map(json.loads, lines), doing, total=journal.done["rows"])


def _settings(job: Job) -> dict[str, Any]:
    """The settings that must be the same when a run is resumed."""
    return {
        "version of fabir": __version__,
        "input file": [file.state for file in job.files],
        "choice of columns": json.loads(json.dumps(job.columns)),
        "reader": digest_of(job.readers),
        "threshold": job.threshold,
        "size of chunks": CHUNK,
    }


def _warn(bad: list[str], before: int) -> None:
    for number, line in enumerate(bad, before + 1):
        if number <= _MAX_WARNINGS:
            print(f"skipped: {line}", file=sys.stderr)
        elif number == _MAX_WARNINGS + 1:
            print("skipped: more bad rows, which are only counted", file=sys.stderr)


@contextmanager
def _progress(journal: Journal) -> Iterator[Callable[[float], None]]:
    """Yield a function that shows rows, rate and time left, given the share done (0: unknown)."""
    done = journal.done
    began, before = time.monotonic(), done["rows"] + done["bad"]
    with live_line() as live:

        def show(share: float) -> None:
            seconds = time.monotonic() - began
            if seconds < _QUIET:
                return
            rows = done["rows"] + done["bad"]
            rate = (rows - before) / seconds
            line = f"{counted(rows, 'row')}, {rate:,.{int(rate < 10)}f} a second"
            if share:
                line += f", {share:.0%}, {clock(rows * (1 - share) / share / rate)} left"
            live(line)

        yield show
