"""Progress, counts and the time left. They go to stderr, so that results on stdout can be piped."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield `items`, drawing a bar with rate and time left on stderr while they are consumed."""
    from rich.console import Console
    from rich.progress import track as rich_track

    console = Console(stderr=True)
    yield from rich_track(
        items,
        description,
        total=total,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def counted(number: int, noun: str) -> str:
    """A number and what it counts: "1 row", "2,000 rows"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


@contextmanager
def live_line(seconds: float = 60) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a line on stderr: in place, or every `seconds` if piped."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    if console.is_terminal:
        with Live(console=console, refresh_per_second=4) as live:
            yield lambda line: live.update(Text(line, overflow="ellipsis", no_wrap=True))
        return
    shown = -math.inf

    def show(line: str) -> None:
        nonlocal shown
        if time.monotonic() - shown >= seconds:
            shown = time.monotonic()
            console.print(line, soft_wrap=True, highlight=False, markup=False)

    yield show


def clock(seconds: float) -> str:
    """A time in hours, minutes and seconds, such as 1:05:09."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
