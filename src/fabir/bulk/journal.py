"""The journal of a bulk run: finished chunks survive a crash of the process."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from fabir.bulk.engines import AnsweredChunk
from fabir.errors import InputError
from fabir.files import followed, permissions, remove_partial, write_json


class Journal:
    """Keeps the answers so far in `OUTPUT.partial` and the progress in `OUTPUT.journal`.

    The partial file has lines of JSON. The journal's first line has the settings of the run. Each
    further line has the progress after a chunk: `chunks`, `rows`, `bad` rows, and `bytes` of the
    partial file. A journal line is written after its answers are on disk. A resumed run ignores
    everything after the last complete line. The journal of a run that cannot be resumed stays
    empty, so the next run starts over it. `.OUTPUT.done` has the settings, the progress and a
    checksum of a complete output.

    Attributes:
        done: the progress
        complete: whether the run that is resumed was complete: there is nothing to do
    """

    def __init__(
        self,
        output: Path,
        settings: dict[str, Any],
        *,
        resume: bool,
        resumable: bool = True,
        strict: bool = False,
    ) -> None:
        """Start a run, or continue an unfinished one.

        Args:
            resumable: whether the run can be resumed later
            strict: whether bad rows are errors

        Raises:
            InputError: there is an unfinished run and `resume` is false, or its settings differ, or
                `strict` and the run that is resumed skipped bad rows.
        """
        self.partial = output.with_name(output.name + ".partial")
        self._journal = journal_of(output)
        self.done = {"chunks": 0, "rows": 0, "bad": 0, "bytes": 0}
        self._settings = settings
        self._resumable = resumable
        self._end = output.with_name(f".{output.name}.done")
        remove_partial(self._end)
        length = self._read(settings, resume) if self._journal.exists() else 0
        self.complete = resume and self._is_complete(output)
        if strict and self.done["bad"]:
            raise InputError(
                f"{output}: the run that is resumed skipped {self.done['bad']:,} bad rows: add "
                f"--on-bad-row skip, or remove {self._end if self.complete else self._journal}"
            )
        if self.complete:
            self.remove()
            return
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            self._lines = _open_at(self.partial, self.done["bytes"])
            self._records = _open_at(self._journal, length)
            os.chmod(self.partial, permissions(output) | 0o600)  # as private as the output will be
        except OSError as error:
            raise InputError(f"cannot write {output}: {error.strerror or error}") from error
        if not length:
            self._record(settings)

    def append(self, answered: AnsweredChunk) -> None:
        """Save a chunk's answers."""
        self._write(self._lines, answered.lines)
        self.done["chunks"] += 1
        self.done["rows"] += answered.rows
        self.done["bad"] += len(answered.bad)
        self.done["bytes"] += len(answered.lines)
        self._record(self.done)

    def leave(self) -> None:
        """Close the journal of a run that failed, and remove it if there is nothing to resume."""
        self.close()
        if not (self._resumable and self.done["rows"]):
            self.remove()

    def close(self) -> None:
        for file in (self._lines, self._records):
            with suppress(OSError):  # it was said when it was written
                file.close()

    def note_end(self, made: Path) -> None:
        """Note that the file `made` is the complete output."""
        write_json(self._end, self._state(made, self.done))

    def remove(self) -> None:
        """Remove the journal, then the partial file, which is invalid without a journal."""
        self._journal.unlink(missing_ok=True)
        self.partial.unlink(missing_ok=True)

    def _state(self, made: Path, done: dict[str, int]) -> dict[str, Any]:
        with open(made, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"settings": self._settings, "done": done, "output": digest}

    def _is_complete(self, output: Path) -> bool:
        """Whether the output is what an earlier run with these settings made."""
        try:
            noted = json.loads(self._end.read_bytes())
            complete = noted == self._state(output, noted["done"])
        except (OSError, ValueError, KeyError, TypeError):
            return False
        self.done = noted["done"] if complete else self.done
        return complete

    def _read(self, settings: dict[str, Any], resume: bool) -> int:
        """Read the progress; returns the length of the journal's complete lines in bytes."""
        lines = self._journal.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        if not whole:
            return 0
        if not resume:
            advice = "add --resume to go on" if self._resumable else "complete it first"
            raise InputError(
                f"{self.partial} is an unfinished run: {advice}, or remove {self._journal}"
            )
        try:
            first, *records = map(json.loads, whole)
            changed = [name for name in settings if first.get(name) != settings[name]]
            if not all(record.keys() == self.done.keys() for record in records):
                raise ValueError
        except (ValueError, AttributeError) as error:
            raise InputError(
                f"{self._journal} is damaged: remove it and {self.partial}, and start again"
            ) from error
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
        if self._resumable:
            self._write(self._records, json.dumps(record).encode() + b"\n")

    def _write(self, file: Any, content: bytes) -> None:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            then = "go on with --resume" if self._resumable else "start again"
            raise InputError(
                f"cannot write {file.name}: {error.strerror or error}; make room, then {then}"
            ) from error


def journal_of(output: str | Path) -> Path:
    """The journal of an unfinished run, beside its output."""
    return Path(f"{followed(output)}.journal")


def _open_at(path: Path, length: int) -> Any:
    """Truncate a file to `length` bytes, and open it for appending."""
    file = open(path, "ab")  # noqa: SIM115, it stays open until the run ends
    file.truncate(length)
    return file
