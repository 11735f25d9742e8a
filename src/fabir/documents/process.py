"""Reads files in a process of its own, with limits of time and memory.

A file that hangs, fills memory or crashes its library is an error that names it; the next file is
read by a new process.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from fabir.documents.base import MAX_BYTES, Document
from fabir.documents.reading import Notice, Skip, check_kind
from fabir.errors import InputError
from fabir.terminal import printable

SECONDS = 10.0  # for a page, a record or another part that is read at once
SECONDS_PER_MIB = 1.0  # more for each MiB of the file
_AHEAD = 64  # messages to hold


class DocumentReader:
    """A process that reads one file after another. Use it in a `with` statement."""

    def __init__(self, seconds: float = SECONDS) -> None:
        """
        Args:
            seconds: limit for each part of a file that is read at once; large files have more
        """
        self.seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._messages: Queue[str] = Queue(_AHEAD)

    def __enter__(self) -> "DocumentReader":
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def read(
        self, path: Path, skip: Skip, notice: Notice = lambda line: None
    ) -> Iterator[Document]:
        """The documents of one file; see `reading.read_documents`.

        Raises:
            InputError: as `read_documents`, or the file needs too much time or memory.
        """
        check_kind(path)
        self._send(path)
        complete = False
        try:
            while True:
                kind, content = self._receive(path)
                if kind == "document":
                    yield _document(content)
                elif kind == "skip":
                    skip(content)
                elif kind == "notice":
                    notice(content)
                elif kind in ("error", "last error"):
                    complete = kind == "error"
                    raise InputError(content)
                elif kind == "end":
                    complete = True
                    return
        finally:
            if not complete:  # what the process still has to say belongs to this file
                self._stop()

    def _send(self, path: Path) -> None:
        process = self._process or self._start()
        assert process.stdin is not None
        with suppress(OSError):  # it has ended: `_receive` says so
            process.stdin.write(json.dumps(str(path)) + "\n")
            process.stdin.flush()

    def _receive(self, path: Path) -> tuple[str, Any]:
        seconds = self.seconds + SECONDS_PER_MIB * min(_size(path), MAX_BYTES) / (1 << 20)
        try:
            line = self._messages.get(timeout=seconds)
        except Empty:
            raise InputError(
                f"{printable(path)}: a part of it takes more than {seconds:.0f} seconds to read"
            ) from None
        if not line:
            raise InputError(f"{printable(path)} cannot be read: {self._end()}")
        return json.loads(line)

    def _start(self) -> subprocess.Popen[str]:
        paths = os.pathsep.join(path for path in sys.path if os.path.isabs(path))
        self._process = process = subprocess.Popen(
            [sys.executable, "-P", "-m", "fabir.documents.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="ascii",
            env={**os.environ, "PYTHONPATH": paths},
        )
        self._messages = Queue(_AHEAD)
        threading.Thread(target=_collect, args=[process, self._messages], daemon=True).start()
        return process

    def _stop(self) -> None:
        """Kill the process, so that the next file has a new one."""
        if process := self._process:
            self._process = None
            process.kill()
            while self._messages.get():  # until the thread has seen the end
                pass
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                _close(stream)

    def _end(self) -> str:
        """What ended the process."""
        assert self._process is not None
        code = self._process.wait()
        self._messages.put("")  # for `_stop`
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"the process that reads it ended ({name})"


def _collect(process: subprocess.Popen[str], messages: "Queue[str]") -> None:
    """Pass on every line of the process's output; the empty one is the end."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.endswith("\n"):  # else it was killed in the middle
            messages.put(line)
    messages.put("")


def _close(stream: Any) -> None:
    with suppress(OSError):  # what was not yet written is lost with the process
        stream.close()


def _document(content: dict[str, Any]) -> Document:
    content["pages"] = tuple(content["pages"])
    content["headings"] = tuple((start, end) for start, end in content["headings"])
    return Document(**content)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
