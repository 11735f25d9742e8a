"""An index over the passages of documents: building, opening, updating and searching it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.search.building import build
from fabir.search.documents import printable
from fabir.search.ranking import Ranker
from fabir.search.storage import Generation, open_generation, pointer_state
from fabir.search.terms import can_stem

SIZE = 1000  # characters of a passage


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage: the characters `start` to `end` of a document.

    document: path of the file, relative to the common folder of all indexed files; a record adds
        "#" and its id or number
    page: page of a PDF, from 1
    line: line of the file on which the passage begins, from 1; only for text and records
    lines_run_on: whether lines of the text are lines of the file
    score: retrieval score; comparable within a question, roughly comparable between questions
    """

    text: str
    score: float
    document: str
    title: str
    page: int | None
    line: int | None
    start: int
    end: int
    lines_run_on: bool = False


class Index:
    """An index in a folder. Passages stay on disk, memory-mapped; opening reads the vocabulary.

    Several threads and processes may search an index while one process updates it.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.reopen()

    @classmethod
    def open(cls, folder: str | Path) -> "Index":
        """Open the index in `folder`. Later updates do not change the opened index, see `reopen`.

        Raises:
            InputError: there is no index, the index is damaged, or PyStemmer is missing.
        """
        return cls(folder)

    @classmethod
    def build(
        cls,
        sources: Iterable[str | Path],
        folder: str | Path,
        *,
        size: int = SIZE,
        skip: Callable[[str], None] | None = None,
    ) -> "Index":
        """Index files and folders into `folder`, and replace the index there.

        Args:
            size: approximate length of a passage in characters
            skip: gets one line for each file or record that cannot be used; without it the first
                such file or record is an error

        Raises:
            InputError: there is no text to index, `folder` cannot be used, or a file or record
                cannot be used and there is no `skip`.
        """
        if size < 1:
            raise InputError(f"a passage has at least 1 character, not {size}")
        build(Path(folder), sources, size=size, stemmed=can_stem(), skip=skip or _reject)
        return cls(folder)

    def update(
        self,
        sources: Iterable[str | Path] | None = None,
        *,
        skip: Callable[[str], None] | None = None,
    ) -> None:
        """Read new and changed files, remove deleted files, and open the updated index.

        Args:
            sources: files and folders to index; by default those of the last build
            skip: as for `build`
        """
        old = open_generation(self.folder)
        manifest = old.manifest
        build(
            self.folder,
            manifest["sources"] if sources is None else sources,
            size=manifest["size"],
            stemmed=manifest["stemmed"],
            skip=skip or _reject,
            old=old,
        )
        self.reopen()

    def reopen(self) -> None:
        """Open the index as it is on disk now.

        Raises:
            InputError: as for `open`; the index stays open as it was.
        """
        self._state = pointer_state(self.folder)
        generation = open_generation(self.folder)
        self._opened = generation, Ranker(generation)  # at once: other threads may be searching

    def is_current(self) -> bool:
        """Whether the index on disk has not changed since it was opened, or tried to be."""
        return pointer_state(self.folder) in (None, self._state)

    def __len__(self) -> int:
        """Number of passages."""
        return len(self._opened[0].passages)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self._opened[0].documents)

    def search(self, question: str, k: int = 10) -> list[Passage]:
        """At most `k` passages that share a content word with the question, best first."""
        if k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        generation, ranker = self._opened
        ranking = ranker.rank(question, k)
        pairs = zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True)
        return [_passage(generation, number, score) for number, score in pairs]

    def unknown_names(self, question: str) -> list[str]:
        """The names in a question that no passage has, such as "Napoleon"."""
        return self._opened[1].unknown_names(question)


def _passage(of: Generation, number: int, score: float) -> Passage:
    row: Any = of.passages[number]
    document: Any = of.documents[row["document"]]
    name = printable(of.manifest["names"][document["file"]])
    part = of.text(document["part"], document["title"])
    return Passage(
        text=of.text(row["first"], row["last"]),
        score=score,
        document=f"{name}#{printable(part)}" if part else name,
        title=of.text(document["title"], document["text"]),
        page=int(row["page"]) if row["page"] > 0 else None,
        line=int(row["line"]) if row["line"] > 0 else None,
        start=int(row["start"]),
        end=int(row["end"]),
        lines_run_on=bool(document["lines_run_on"]),
    )


def _reject(reason: str) -> None:
    raise InputError(reason)
