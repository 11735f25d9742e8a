"""A bulk run: every row of a file answered into another file, in order."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fabir.bulk.engines import ENGINES
from fabir.bulk.journal import Journal
from fabir.bulk.rows import CHUNK, COLUMNS
from fabir.data.tables import KINDS, check_table, table_kind, write_table
from fabir.errors import InputError
from fabir.progress import live_line, track
from fabir.runtime.locate import find_model
from fabir.runtime.store import FILES

_SHOWN = 100  # bad rows that get a line; more are counted


class Done(NamedTuple):
    """What became of the rows."""

    rows: int
    bad: int


def answer_rows(
    source: str | Path,
    output: str | Path,
    reader: str | Path | None = None,
    *,
    engine: str = "local",
    resume: bool = False,
    on_bad_row: Literal["error", "skip"] = "error",
) -> Done:
    """Answer every row of `source` into `output`, a row each, in order and in little memory.

    Until all is done, what is done stands in `OUTPUT.partial`; a run that died goes on from there
    with `resume`, and ends with the file it would have written undisturbed, byte for byte.

    Args:
        source: .jsonl or .csv, plain or .gz, or .parquet, with columns `question`, `context` (or
            `passage`) and, if wanted, `id`; or a SQuAD file
        output: of one of those kinds; its columns are `fabir.bulk.rows.COLUMNS`
        reader: a reader's folder or name; the bundled one if not given
        engine: "local", or "ray" for a Ray cluster
        on_bad_row: "error" ends at the first row that cannot be used, "skip" leaves it out

    Raises:
        InputError: a file cannot be read or written, a bad row, nothing but bad rows, an
            unfinished run that is another one.
    """
    source, output = Path(source), Path(output)
    if not table_kind(output):
        raise InputError(f"{output}: rows are written as {', '.join(KINDS)}")
    check_table(output)
    if output.resolve() == source.resolve():
        raise InputError(f"{output} is what the questions are read from: name another file")
    folder = find_model(reader)
    journal = Journal(output, _settings(source, folder, output), resume=resume)
    try:
        with _showing(journal) as show:
            strict = on_bad_row == "error"
            for answered in ENGINES[engine](source, folder, journal.done["chunks"], strict):
                if strict and answered.bad:
                    raise InputError(f"{answered.bad[0]}; correct it, or choose --on-bad-row skip")
                _complain(answered.bad, journal.done["bad"])
                journal.append(answered)
                show(answered.share)
        done = Done(journal.done["rows"], journal.done["bad"])
        if done.bad and not done.rows:
            raise InputError(f"{source}: none of its {done.bad} rows can be used")
        _finish(journal, output)
    except BaseException:
        if not journal.done["rows"]:  # there is nothing to go on with
            journal.remove()
        raise
    finally:
        journal.close()
    return done


def _finish(journal: Journal, output: Path) -> None:
    """The answers become the file that was asked for; the run is forgotten."""
    if output.suffix == ".jsonl":
        os.replace(journal.partial, output)
    else:
        with open(journal.partial, encoding="utf-8") as lines:
            rows = track(map(json.loads, lines), "writing", total=journal.done["rows"])
            write_table(output, rows, COLUMNS)
    journal.remove()


def _settings(source: Path, reader: Path, output: Path) -> dict[str, Any]:
    """What a run may not change when it resumes."""
    try:
        state = source.stat()
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror or error}") from error
    digest = hashlib.sha256()
    for path in (reader / name for name in FILES):
        if path.exists():
            digest.update(path.read_bytes())
    return {
        "input file": [str(source.resolve()), state.st_size, state.st_mtime_ns],
        "reader": digest.hexdigest(),
        "size of chunks": CHUNK,
    }


def _complain(bad: list[str], before: int) -> None:
    for number, line in enumerate(bad, before + 1):
        if number <= _SHOWN:
            print(f"skipped: {line}", file=sys.stderr)
        elif number == _SHOWN + 1:
            print("skipped: more bad rows, which are only counted", file=sys.stderr)


@contextmanager
def _showing(journal: Journal) -> Iterator[Callable[[float], None]]:
    """A function that shows rows done, rows a second and the time left, given the share done."""
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
