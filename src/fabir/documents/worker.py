"""The process that reads files for `fabir.documents.process`: JSON lines in, JSON lines out.

A line in is a path. The lines out are pairs of a kind and its content: documents, losses,
notices, signs of life, and at last the end of the file or the error that ended it.
"""

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from fabir.errors import InputError

MAX_MEMORY = 1 << 30  # bytes of data that the process may hold
_PAUSE = 0.5  # seconds between signs of life
_FIELDS = [field.name for field in fields(Document)]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process decides what is stopped
    _limit_memory()
    output = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints is no message
    paths: SimpleQueue[Path] = SimpleQueue()
    threading.Thread(target=_take_paths, args=[paths], daemon=True).start()
    while True:
        _read(paths.get(), _Messages(output))


def _limit_memory() -> None:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # the others reserve gigabytes
    with suppress(ImportError, ValueError, OSError):  # Windows has no limits, macOS refuses this
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))


def _take_paths(paths: SimpleQueue[Path]) -> None:
    """Pass on each path; end the process when the other one has ended."""
    for line in sys.stdin:
        paths.put(Path(json.loads(line)))
    os._exit(0)


def _read(path: Path, messages: "_Messages") -> None:
    try:
        for document in read_documents(path, messages.lost, messages.alive, messages.notice):
            messages.send("document", {name: getattr(document, name) for name in _FIELDS})
        messages.send("end", None)
    except InputError as error:
        full = isinstance(error.__cause__, MemoryError)  # what is in the way may stay there
        messages.send("last error" if full else "error", str(error))


class _Messages:
    """Writes messages, and signs of life now and then."""

    def __init__(self, output: Any) -> None:
        self._output, self._sent = output, time.monotonic()

    def send(self, kind: str, content: object) -> None:
        try:
            self._output.write(json.dumps([kind, content]) + "\n")
            self._output.flush()
        except BrokenPipeError:
            os._exit(0)
        self._sent = time.monotonic()

    def lost(self, reason: str) -> None:
        self.send("skip", reason)

    def notice(self, line: str) -> None:
        self.send("notice", line)

    def alive(self) -> None:
        if time.monotonic() - self._sent > _PAUSE:
            self.send("alive", None)


if __name__ == "__main__":
    main()
