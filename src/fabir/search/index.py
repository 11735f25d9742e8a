"""An index over the passages of documents: building, opening, updating and searching it."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabir.answer.checks import check_kind, check_whole
from fabir.documents.text import bare_heading
from fabir.errors import InputError
from fabir.search.building import build
from fabir.search.echo import blank_echoes
from fabir.search.passages import begins_with_row, column_names, last_gap
from fabir.search.ranking import Ranker
from fabir.search.storage import Generation, Settings, open_generation, pointer_state
from fabir.search.terms import ENGLISH, can_stem
from fabir.terminal import printable

SIZE = 1000  # characters of a passage
_GAP = b"\n\n"  # between paragraphs of formatted documents
AROUND = 100_000  # characters of an excerpt before and after its place


def _ignore(line: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Copy:
    """Where nearly the same passage stands. The fields are those of `Passage`."""

    document: str
    page: int | None
    line: int | None
    paragraph: int | None
    start: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage: the characters `start` to `end` of a document.

    document: path of the file, relative to the common folder of all indexed files; a record adds
        "#" and its id or number
    path: absolute path of the file
    page: page on which the passage begins, from 1; only for documents with pages
    pages: character offsets in the passage at which further pages begin
    headings: character offsets of the headings in the passage, and their texts; first the one
        before the passage, with a negative offset, if it does not begin with a heading
    copies: where nearly the same passage stands, if that was among the candidates
    line: line of the file on which the passage begins, from 1; only for text and records
    paragraph: paragraph of the document with which the passage begins, from 1; only for documents
        of several paragraphs that have neither pages nor lines
    columns: the names of the columns, if the passage begins with a later row of a table in a text
    lines_run_on: whether lines of the text are lines of the file
    score: retrieval score; comparable within a question, roughly comparable between questions
    lacks_name: whether the question has a name that the document lacks, such as "Napoleon"
    """

    text: str
    score: float
    document: str
    path: str
    title: str
    page: int | None
    line: int | None
    start: int
    end: int
    lines_run_on: bool = False
    pages: tuple[int, ...] = ()
    headings: tuple[tuple[int, str], ...] = ()
    copies: tuple[Copy, ...] = ()
    paragraph: int | None = None
    columns: str = ""
    lacks_name: bool = False

    @property
    def heading(self) -> str | None:
        """The heading that the passage's text stands under; None if there is none."""
        return self.headings[-1][1] if self.headings else None


class Excerpt(NamedTuple):
    """Successive passages of a document, with what stands between them.

    start: character of the document at which `text` begins
    whole: whether these are all passages of the document
    """

    text: str
    start: int
    whole: bool


class Index:
    """An index in a folder. Passages stay on disk, memory-mapped; opening reads the vocabulary.

    Several threads and processes may search an index while one process updates it.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.reopen()
        self.folder = self.folder.absolute()  # whatever folder the process goes to

    @classmethod
    def open(cls, folder: str | Path) -> "Index":
        """Open the index in `folder`. A search after an update sees the new state.

        Raises:
            InputError: there is no index, the index is damaged, or PyStemmer is missing.
        """
        return cls(folder)

    @classmethod
    def build(
        cls,
        sources: str | Path | Iterable[str | Path],
        folder: str | Path,
        *,
        size: int = SIZE,
        language: str = ENGLISH,
        skip: Callable[[str], None] | None = None,
        incomplete: Callable[[str], None] | None = None,
        notice: Callable[[str], None] = _ignore,
    ) -> "Index":
        """Index files and folders into `folder`, and replace the index there.

        Args:
            sources: one file or folder, or several
            size: approximate length of a passage in characters
            language: of the documents, for stems and stop words; one of `terms.LANGUAGES`
            skip: gets one line for each file that cannot be used; without it the first one is an
                error
            incomplete: gets one line for each file of which only a part cannot be used; by default
                the same as `skip`
            notice: gets one line about files of other kinds, if there are any, and one for each
                file of which something is left out because its author hid it

        Raises:
            InputError: there is no text to index, the language is unknown, `folder` cannot be used,
                or something of a file cannot be used and there is no `skip`.
        """
        size = check_whole("size", size)
        build(
            Path(folder),
            _several(sources),
            settings=Settings(size, language, can_stem()),
            skip=skip or _reject,
            incomplete=incomplete or skip or _reject,
            notice=notice,
        )
        return cls(folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle or copy holds the folder's path; the index is opened there again."""
        return Index, (self.folder.absolute(),)

    def update(
        self,
        sources: str | Path | Iterable[str | Path] | None = None,
        *,
        skip: Callable[[str], None] | None = None,
        incomplete: Callable[[str], None] | None = None,
        notice: Callable[[str], None] = _ignore,
    ) -> None:
        """Read new and changed files, remove deleted files, and open the updated index.

        Args:
            sources: files and folders to index; by default those of the last build
            skip, incomplete, notice: as for `build`

        Raises:
            InputError: as for `build`; or a source of the last build is not there.
        """
        old = open_generation(self.folder)
        previous: list[str] = old.manifest["sources"]
        if sources is None:
            _check_sources(previous, self.folder)
        build(
            self.folder,
            previous if sources is None else _several(sources),
            settings=old.settings,
            skip=skip or _reject,
            incomplete=incomplete or skip or _reject,
            notice=notice,
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
        """At most `k` passages that share a content word with the question, best first.

        Passages of nearly the same words take one place. An index that was updated is opened anew.

        Raises:
            InputError: `question` is no str, or `k` is below 1.
        """
        check_kind("the question", question, str)
        k = check_whole("k", k)
        generation, ranker = self._newest()
        names = ranker.names(question)
        found = ranker.rank(question, k)
        return [passage_at(generation, *each, ranker.lacks(names, each.passage)) for each in found]

    def excerpt(self, document: str, place: int = 0, around: int = AROUND) -> Excerpt | None:
        """The text of a document around a character of it; None if there is no such document.

        An index that was updated is opened anew.

        Args:
            document: its name, as in `Passage`
            place: a character of the document; beyond its end, the end
            around: characters wanted before and after; passages stay whole

        Raises:
            InputError: `document` is no text, or `place` or `around` is no whole number from 0.
        """
        check_kind("document", document, str)
        place, around = check_whole("place", place, 0), check_whole("around", around, 0)
        generation = self._newest()[0]
        number = next(_numbered(generation, document), None)
        if number is None:
            return None
        rows = generation.passages[generation.rows("passages", number, number + 1)]
        place = min(place, int(rows["end"][-1]) - 1)
        first = int((rows["end"] <= place - around).sum())
        last = max(first + 1, int((rows["start"] <= place + around).sum()))
        text = generation.text(rows["first"][first], rows["last"][last - 1])
        return Excerpt(text, int(rows["start"][first]), last - first == len(rows))

    def _newest(self) -> tuple[Generation, Ranker]:
        """The index as it is on disk now; the old one, which is still open, if that is damaged."""
        if not self.is_current():
            with suppress(InputError):
                self.reopen()
        return self._opened

    def blank_echoes(self, text: str, question: str) -> str:
        """A text in which sentences that only repeat the question are blank."""
        return blank_echoes(text, question, self._opened[1].language)


def _several(sources: str | Path | Iterable[str | Path]) -> Iterable[str | Path]:
    return [sources] if isinstance(sources, str | Path) else sources


def passage_at(
    of: Generation,
    number: int,
    score: float,
    copies: Iterable[int] = (),
    lacks_name: bool = False,
) -> Passage:
    """The passage with a number in a generation, with its place in its document."""
    row: Any = of.passages[number]
    place = _place(of, number)
    start, end = place.start, int(row["end"])
    document: Any = of.documents[row["document"]]
    begins = _begins(of, row["document"])
    page, after = np.searchsorted(begins, [start, end - 1], "right").tolist()
    text = of.text(row["first"], row["last"])
    return Passage(
        text=text,
        score=score,
        document=place.document,
        path=printable(of.manifest["files"][document["file"]]["path"]),
        title=of.text(document["title"], document["text"]),
        page=place.page,
        line=place.line,
        paragraph=place.paragraph,
        start=start,
        end=end,
        lines_run_on=bool(document["lines_run_on"]),
        pages=tuple((begins[page:after] - start).tolist()),
        headings=tuple(_headings(of, row["document"], start, text)),
        copies=tuple(_place(of, copy) for copy in copies),
        columns=_columns(of, document, row, text),
        lacks_name=lacks_name,
    )


def _place(of: Generation, number: int) -> Copy:
    row: Any = of.passages[number]
    document: Any = of.documents[row["document"]]
    start = int(row["start"])
    page = int(np.searchsorted(_begins(of, row["document"]), start, "right")) or None
    line = int(row["line"]) if row["line"] > 0 else None
    paragraph = None if page or line else _paragraph(of, document, row["first"])
    return Copy(_name(of, document), page, line, paragraph, start)


def _paragraph(of: Generation, document: Any, place: int) -> int | None:
    """The number of the paragraph that begins at a byte of a document, if it has several."""
    before = of.texts[document["text"] : place].count(_GAP)
    return before + 1 if before or _GAP in of.texts[place : document["end"]] else None


def _columns(of: Generation, document: Any, row: Any, text: str) -> str:
    if not (document["lines_run_on"] and begins_with_row(text)):
        return ""
    before = of.text(document["text"], row["first"])
    return column_names(before, max(0, last_gap(before, 0, len(before))), len(before))


def _begins(of: Generation, document: int) -> np.ndarray:
    """Where the pages of a document begin."""
    return of.pages[of.rows("pages", document, document + 1)]


def _name(of: Generation, document: Any) -> str:
    name = printable(of.manifest["names"][document["file"]])
    part = of.text(document["part"], document["title"])
    return f"{name}#{printable(part)}" if part else name


def _numbered(of: Generation, name: str) -> Iterator[int]:
    """The numbers of the documents of this name that have passages."""
    for file, path in enumerate(of.manifest["names"]):
        if not name.startswith(short := printable(path)):
            continue
        first, last = of.file_documents[[file, file + 1]]
        documents = of.documents[first:last]
        part = name[len(short) + 1 :]
        # Few of many records have a name this long; a control character is shorter than its sign.
        fits = np.less_equal if "\ufffd" in part else np.equal
        sizes = documents["title"] - documents["part"]
        for number in first + np.flatnonzero(fits(sizes, len(part.encode()))):
            passages = of.rows("passages", number, number + 1)
            if passages.start < passages.stop and _name(of, of.documents[number]) == name:
                yield int(number)


def _headings(of: Generation, document: int, start: int, text: str) -> Iterator[tuple[int, str]]:
    """The headings in a passage of a document, and the one before if it begins with none."""
    rows = of.headings[of.rows("headings", document, document + 1)]
    first, last = np.searchsorted(rows["start"], [start, start + len(text)]).tolist()
    begins_with_one = first < last and not re.search(r"\w", text[: rows["start"][first] - start])
    for row in rows[first if begins_with_one else max(first - 1, 0) : last]:
        heading = of.text(row["first"], row["last"])
        yield int(row["start"]) - start, bare_heading(heading) or heading


def _check_sources(sources: Iterable[str], folder: Path) -> None:
    for source in sources:
        if not Path(source).exists():
            update = f"fabir index FOLDER --output {printable(folder)} --update"
            raise InputError(
                f"cannot read {printable(source)}: no such file or folder; if it has moved, "
                f"name all sources as they are now: {update}"
            )


def _reject(reason: str) -> None:
    raise InputError(reason)
