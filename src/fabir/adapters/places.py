"""The place of a passage, as the adapters state it."""

from typing import Any

from fabir.search.index import Passage


def place_of(passage: Passage) -> dict[str, Any]:
    """Fields of a passage: `document`, `title`, `page`, `line`, `start`, `end` and `heading`.

    The heading is the one under which the passage begins, or None.
    """
    names = "document", "title", "page", "line", "start", "end"
    heading = passage.headings[0][1] if passage.headings else None
    return {**{name: getattr(passage, name) for name in names}, "heading": heading}
