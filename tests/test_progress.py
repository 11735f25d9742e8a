import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from fabir import progress
from fabir.progress import live_line, track


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Make stderr a terminal; call what is given to read what was drawn since the last call."""
    outside, inside = os.openpty()
    os.set_blocking(outside, False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def drawn() -> str:
        chunks = []
        while True:
            try:
                chunks.append(os.read(outside, 65536))
            except BlockingIOError:
                return b"".join(chunks).decode()

    with open(inside, "w", encoding="utf-8") as stderr, monkeypatch.context() as patch:
        patch.setattr("sys.stderr", stderr)
        yield drawn
    os.close(outside)


@contextmanager
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Time that passes when the test says so."""
    now = [1000.0]
    with monkeypatch.context() as patch:
        patch.setattr("fabir.progress.time.monotonic", lambda: now[0])
        yield now


@pytest.mark.parametrize("total", [None, 5])
def test_everything_passes_through_and_nothing_is_printed_elsewhere(
    capsys: pytest.CaptureFixture[str], total: int | None
) -> None:
    assert list(track(iter(range(5)), "counting", total)) == list(range(5))
    assert list(track([], "nothing")) == []
    output, errors = capsys.readouterr()
    assert output == errors == ""


def test_items_are_taken_one_by_one() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(3):
            taken.append(number)
            yield number

    tracked = track(items(), "counting", 3)
    assert taken == []
    assert next(tracked) == 0
    assert taken == [0]


def test_a_terminal_sees_a_bar_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal(monkeypatch) as drawn:
        tracked = track(range(3), "counting sheep")
        next(tracked)
        time.sleep(0.3)
        assert "counting sheep" in drawn()
        assert list(tracked) == [1, 2]
        assert drawn().endswith("\x1b[2K")  # the last thing drawn is nothing
    assert capsys.readouterr().out == ""


def test_a_line_elsewhere_comes_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "loss [bold]1.5[/bold] " + "x" * 200
    with clock(monkeypatch) as now, live_line() as show:
        show("first")
        now[0] += 59.9
        show("too early")
        now[0] += 0.1
        show(long)
        show("too early")
        now[0] += 600
        show("last")
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.splitlines() == ["first", long, "last"]


def test_a_line_on_a_terminal_is_drawn_over_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as drawn:
        with live_line() as show:
            show("step 1 [b]")
            time.sleep(0.4)
            first = drawn()
            show("step 2 " + "x" * 200)
        last = drawn()
    assert "step 1 [b]" in first
    assert "\n" not in first
    assert last.startswith("\r\x1b[2K")  # back to the beginning, and the line is cleared
    assert "step 2" in last
    assert "x" * 60 not in last  # one line, however narrow the terminal


def test_a_time_has_hours_minutes_and_seconds() -> None:
    assert [progress.clock(each) for each in (0.4, 59.6, 3909)] == ["0:00:00", "0:01:00", "1:05:09"]
