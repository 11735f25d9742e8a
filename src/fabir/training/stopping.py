"""Ctrl+C ends a training between two steps, so that nothing that was learnt is lost."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stop:
    """Whether this process was asked to stop. Who asks again does not wait for a step's end."""

    def __init__(self) -> None:
        self.asked = False
        self._at_once = False

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within it Ctrl+C stops at once: an evaluation may take minutes."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def hear(self, *_: Any) -> None:
        """The handler of the signal."""
        if self.asked or self._at_once:
            raise KeyboardInterrupt
        self.asked = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within it this handles Ctrl+C where Python would: in the main thread of a program that
        neither ignores it nor handles it by itself."""
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if not usual or threading.current_thread() is not threading.main_thread():
            yield
            return
        signal.signal(signal.SIGINT, self.hear)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
