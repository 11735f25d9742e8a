"""A bulk run: answers every row of a file, and writes the answers in the same order."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fabir.answer.threshold import check_threshold
from fabir.bulk.engines import ENGINES, AnsweredChunk
from fabir.bulk.journal import Journal
from fabir.bulk.rows import CHUNK, COLUMNS
from fabir.data.tables import KINDS, check_table, table_kind, write_table
from fabir.errors import InputError
from fabir.files import writing
from fabir.progress import live_line, track
from fabir.runtime.locate import find_model
from fabir.runtime.store import model_files

_MAX_WARNINGS = 100  # bad rows that are reported one by one; more are only counted


class BulkResult(NamedTuple):
    """The number of answered rows and of bad rows."""

    rows: int
    bad: int


def answer_rows(
    source: str | Path,
    output: str | Path,
    reader: str | Path | None = None,
    *,
    threshold: float | None = None,
    engine: str = "local",
    resume: bool = False,
    on_bad_row: Literal["error", "skip"] = "error",
) -> BulkResult:
    """Answer every row of `source`, and write one row each to `output`, in order.

    The run needs little memory. `OUTPUT.partial` has the answers of an unfinished run. With
    `resume` such a run continues, and its output is byte for byte that of an uninterrupted run.

    Args:
        source: .jsonl, .csv or .tsv, plain or .gz, or .parquet, with columns `question`, `context`
            (or `passage`) and optionally `id`; or a SQuAD file
        output: a file of the same kinds of table; its columns are `fabir.bulk.rows.COLUMNS`
        reader: a reader's folder or name; `fast` by default
        threshold: how likely an answer that is given must be, see `Predictor`
        engine: "local", or "ray" for a Ray cluster
        on_bad_row: "error" stops at the first bad row, "skip" leaves bad rows out

    Raises:
        InputError: a file cannot be read or written, another process is writing `output`, a row is
            bad, all rows are bad, the unfinished run has other settings, or `threshold` is not from
            0 to 1.
    """
    check_threshold(threshold)
    source, output = Path(source), Path(output)
    if not table_kind(output):
        raise InputError(f"{output}: rows are written as {', '.join(KINDS)}")
    check_table(output)
    if output.resolve() == source.resolve():
        raise InputError(f"{output} is what the questions are read from: name another file")
    folder = find_model(reader)
    settings = _settings(source, folder) | {"threshold": threshold}
    strict = on_bad_row == "error"
    with writing(output):
        journal = Journal(output, settings, resume=resume)
        chunks = ENGINES[engine](source, folder, threshold, journal.done["chunks"], strict)
        return _write_all(chunks, journal, source, output, strict)


def _write_all(
    chunks: Iterable[AnsweredChunk], journal: Journal, source: Path, output: Path, strict: bool
) -> BulkResult:
    """Write all chunks to the journal, and then to the output."""
    try:
        with _progress(journal) as show:
            for answered in chunks:
                if strict and answered.bad:
                    raise InputError(f"{answered.bad[0]}; correct it, or choose --on-bad-row skip")
                _warn(answered.bad, journal.done["bad"])
                journal.append(answered)
                show(answered.share)
        done = BulkResult(journal.done["rows"], journal.done["bad"])
        if done.bad and not done.rows:
            raise InputError(f"{source}: none of its {done.bad} rows can be used")
        _finish(journal, output)
    except BaseException:
        if not journal.done["rows"]:  # there is nothing to resume
            journal.remove()
        raise
    finally:
        journal.close()
    return done


def _finish(journal: Journal, output: Path) -> None:
    """Convert the answers to the output file, and remove the journal."""
    if output.suffix == ".jsonl":
        os.replace(journal.partial, output)
    else:
        with open(journal.partial, encoding="utf-8") as lines:
            rows = track(map(json.loads, lines), "writing", total=journal.done["rows"])
            write_table(output, rows, COLUMNS)
    journal.remove()


def _settings(source: Path, reader: Path) -> dict[str, Any]:
    """The settings that must be the same when a run is resumed."""
    try:
        state = source.stat()
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror or error}") from error
    digest = hashlib.sha256()
    for path in model_files(reader).values():
        digest.update(path.read_bytes())
    return {
        "input file": [str(source.resolve()), state.st_size, state.st_mtime_ns],
        "reader": digest.hexdigest(),
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
    """Yield a function that shows rows, rows per second and time left, given the share done."""
    first: tuple[float, int, float] | None = None  # time, rows and share after the first chunk
    with live_line() as live:

        def show(share: float) -> None:
            nonlocal first
            now = time.monotonic(), journal.done["rows"], share
            first = first or now
            seconds, rows, gained = (a - b for a, b in zip(now, first, strict=True))
            line = f"{journal.done['rows']:,} rows, {share:.0%}"
            if seconds and gained:
                left = _clock(seconds * (1 - share) / gained)
                line += f", {rows / seconds:,.0f} a second, {left} left"
            live(line)

        yield show


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
