"""Ctrl+C or SIGTERM ends a training between two steps, so that nothing that was learnt is lost."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fabir.errors import Terminated

_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Stop:
    """Whether this process was asked to stop. Who presses Ctrl+C again does not wait for a step's
    end."""

    def __init__(self) -> None:
        self.asked: int | None = None  # the signal
        self._at_once = False

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within it a signal stops at once: an evaluation may take minutes."""
        if self.asked is not None:
            self.end()
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def hear(self, number: int, *_: Any) -> None:
        """The handler of the signals."""
        # SIGTERM may come to all processes and be passed on to them by the one that started them.
        again = self.asked is not None and number == signal.SIGINT
        self.asked = number
        if again or self._at_once:
            self.end()

    def end(self) -> None:
        """Raise what the signal asks for.

        Raises:
            Terminated: it was SIGTERM.
            KeyboardInterrupt: it was Ctrl+C, or another process was asked.
        """
        raise Terminated if self.asked == signal.SIGTERM else KeyboardInterrupt

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within it this handles Ctrl+C and SIGTERM where Python would."""
        with handling(self.hear, *_USUAL):
            yield


@contextmanager
def handling(handler: Callable[..., None], *signals: signal.Signals) -> Iterator[None]:
    """Within it `handler` handles those of the signals that Python handles as usual: the program
    neither ignores them nor handles them by itself. Only the main thread can."""
    heard = [each for each in signals if signal.getsignal(each) is _USUAL[each]]
    if threading.current_thread() is not threading.main_thread():
        heard = []
    for each in heard:
        signal.signal(each, handler)
    try:
        yield
    finally:
        for each in heard:
            signal.signal(each, _USUAL[each])
