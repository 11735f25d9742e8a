"""An index over the passages of documents: built, opened, updated and searched."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.search.building import build
from fabir.search.documents import printable
from fabir.search.ranking import Ranker
from fabir.search.storage import open_generation
from fabir.search.terms import can_stem

SIZE = 1000  # characters of a passage


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document, which has `text` at its characters `start` to `end`.

    document: the file, from the folder that all indexed files share; for one of a file's records
        with "#" and its id or number
    page: of a PDF, from 1
    line: of the file on which the passage begins, from 1; for text and records
    lines_run_on: whether lines of the text are lines of the file
    score: compares passages found by one question, and roughly those of several
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
    """Passages in a folder. They stay on the disk, mapped into memory; opening reads their words.

    Several threads and processes may search an index; one may update it meanwhile.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._reopen()

    @classmethod
    def open(cls, folder: str | Path) -> "Index":
        """The index in `folder` as it is now; later updates do not change what was opened.

        Raises:
            InputError: there is none, it is damaged, or PyStemmer is missing.
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
        """Index documents, files and folders, into `folder`, in place of the index there.

        Args:
            size: characters of a passage, roughly
            skip: is told in a line of each file and record that cannot be used; without it the
                first one is an error

        Raises:
            InputError: nothing to index, something in the way, or something to skip.
        """
        if size < 1:
            raise InputError(f"a passage has at least 1 character, not {size}")
        build(Path(folder), sources, size=size, stemmed=can_stem(), skip=skip or _refuse)
        return cls(folder)

    def update(
        self,
        sources: Iterable[str | Path] | None = None,
        *,
        skip: Callable[[str], None] | None = None,
    ) -> None:
        """Read what is new or has changed, forget what is gone; the index is then the new one.

        Args:
            sources: in place of those that the index was made of
            skip: as for `build`
        """
        old = open_generation(self.folder)
        known = old.manifest
        build(
            self.folder,
            known["sources"] if sources is None else sources,
            size=known["size"],
            stemmed=known["stemmed"],
            skip=skip or _refuse,
            old=old,
        )
        self._reopen()

    def _reopen(self) -> None:
        self._generation = open_generation(self.folder)
        self._ranker = Ranker(self._generation)

    def __len__(self) -> int:
        """Number of passages."""
        return len(self._generation.passages)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self._generation.documents)

    def search(self, question: str, k: int = 10) -> list[Passage]:
        """At most `k` passages that share a telling word with the question, best first."""
        if k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        ranking = self._ranker.rank(question, k)
        pairs = zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True)
        return [self._passage(number, score) for number, score in pairs]

    def _passage(self, number: int, score: float) -> Passage:
        of = self._generation
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


def _refuse(reason: str) -> None:
    raise InputError(reason)
