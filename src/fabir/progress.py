"""Progress bars with the time left, on stderr, so that results on stdout can be piped."""

from collections.abc import Iterable, Iterator
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
