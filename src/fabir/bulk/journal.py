"""Answers on their way to a file: what is done stays done, whenever the process dies."""

import json
import os
from pathlib import Path
from typing import Any

from fabir.bulk.engines import Answered
from fabir.errors import InputError


class Journal:
    """`OUTPUT.partial` has the answers so far as lines of JSON, `OUTPUT.journal` a line a chunk.

    The journal's first line says what is answered with what, the others how much is done: `chunks`,
    `rows`, `bad` rows, and `bytes` of the partial file. A line is written when its answers are on
    the disk; what comes after the last whole line never happened.
    """

    def __init__(self, output: Path, settings: dict[str, Any], *, resume: bool) -> None:
        """Begin, or go on where there is something to go on from.

        Raises:
            InputError: an unfinished run is there and is not to be resumed, or is another one.
        """
        self.partial = output.with_name(output.name + ".partial")
        self._journal = output.with_name(output.name + ".journal")
        self.done = {"chunks": 0, "rows": 0, "bad": 0, "bytes": 0}
        length = self._read(settings, resume) if self._journal.exists() else 0
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            self._lines = _open_at(self.partial, self.done["bytes"])
            self._records = _open_at(self._journal, length)
        except OSError as error:
            raise InputError(f"cannot write {output}: {error.strerror or error}") from error
        if not length:
            self._record(settings)

    def append(self, answered: Answered) -> None:
        """Keep a chunk for good."""
        _write(self._lines, answered.lines)
        self.done["chunks"] += 1
        self.done["rows"] += answered.rows
        self.done["bad"] += len(answered.bad)
        self.done["bytes"] += len(answered.lines)
        self._record(self.done)

    def close(self) -> None:
        self._lines.close()
        self._records.close()

    def remove(self) -> None:
        """Forget the run: the journal first, since without it the partial file means nothing."""
        self._journal.unlink(missing_ok=True)
        self.partial.unlink(missing_ok=True)

    def _read(self, settings: dict[str, Any], resume: bool) -> int:
        """Take over what is done; returns the length of the journal's whole lines."""
        lines = self._journal.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        if not whole:
            return 0
        if not resume:
            raise InputError(
                f"{self.partial} is an unfinished run: add --resume to go on, or remove "
                f"{self._journal}"
            )
        first, *records = map(json.loads, whole)
        changed = [name for name in settings if first.get(name) != settings[name]]
        if changed:
            raise InputError(
                f"{self.partial} was made with another {changed[0]}: resume with the same one, or "
                f"remove {self._journal}"
            )
        length = self.partial.stat().st_size if self.partial.exists() else 0
        while records and records[-1]["bytes"] > length:
            records.pop()
        if records:
            self.done = records[-1]
        return sum(map(len, whole[: 1 + len(records)]))

    def _record(self, record: dict[str, Any]) -> None:
        _write(self._records, json.dumps(record).encode() + b"\n")


def _open_at(path: Path, length: int) -> Any:
    """A file open for writing after its first `length` bytes, without those that followed."""
    file = open(path, "ab")  # noqa: SIM115, open until the run ends
    file.truncate(length)
    return file


def _write(file: Any, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
