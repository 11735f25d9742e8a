"""The place of a passage, as the adapters state it."""

from typing import Any

from fabir.search.index import Passage


def place_of(passage: Passage) -> dict[str, Any]:
    """Fields of a passage: `document`, `title`, `page`, `line`, `start`, `end` and `heading`."""
    names = "document", "title", "page", "line", "start", "end", "heading"
    return {name: getattr(passage, name) for name in names}
