"""Converts a published file of TriviaQA, NewsQA or HotpotQA: one record at a time is read, and its
questions are written."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fabir.data.checks import check_apart
from fabir.data.json_items import read_items
from fabir.data.published import hotpotqa, newsqa, triviaqa
from fabir.data.published.records import Entry, Options, Read
from fabir.data.tables import open_output
from fabir.errors import InputError
from fabir.files import is_gzipped, replacing
from fabir.progress import live_line

_SHOWN = 1000  # records between two lines of progress


class Format(NamedTuple):
    """A format of files.

    key: a key of its records, by which the format is known
    reader: makes a function that reads a record
    option: the one that other formats do not have
    v2: whether questions may have no answer
    """

    name: str
    key: str
    reader: Callable[[Path, Options], Read]
    option: str
    v2: bool = False


FORMATS = (
    Format("TriviaQA", "QuestionId", triviaqa.reader, "evidence"),
    Format("NewsQA", "storyId", newsqa.reader, "split", v2=True),
    Format("HotpotQA", "_id", hotpotqa.reader, "supporting"),
)


@dataclass
class Conversion:
    """The result of a conversion.

    left_out: the number of questions that were left out, for each reason
    ids: of the questions that were written
    notes: one line for each bad record that was skipped
    """

    format: str
    questions: int = 0
    impossible: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """One line of counts."""
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
        return (
            f"{self.questions:,} questions of {self.format}, {self.impossible:,} of them "
            f"unanswerable; left out: {left_out or 'none'}; {len(self.notes):,} bad records"
        )


def convert_published(
    path: Path,
    output: Path,
    options: Options,
    on_bad_row: Literal["error", "skip"] = "error",
) -> Conversion:
    """Convert a file of TriviaQA, NewsQA or HotpotQA, plain or `.gz`, to a SQuAD file.

    Memory does not depend on the size of the file.

    Raises:
        InputError: the file cannot be read or is of none of these formats, an option is not for
            its format, a record is bad, or no question can be converted.
    """
    check_apart(output, path)
    items = read_items(path, ("Data", "data"))
    first = list(islice(items, 1))
    format = _format(path, first[0][0] if first else None, options)
    read = format.reader(path, options)
    made = Conversion(format.name)
    with _writing_squad(output, "v2.0" if format.v2 else "1.1") as write, live_line() as show:
        for number, (record, share) in enumerate(chain(first, items), 1):
            try:
                entries = list(read(record))  # all of a record or nothing
                _take_ids(entries, made.ids)
            except InputError as error:
                if on_bad_row == "error":
                    raise InputError(
                        f"{path}: record {number}, {error}; correct it, or choose --on-bad-row skip"
                    ) from error
                made.notes.append(f"record {number}, {error}; skipped")
            else:
                for entry in entries:
                    _write(entry, write, made, format.v2)
            if number % _SHOWN == 0:
                show(f"{made.questions:,} questions, {share:.0%}")
        if not made.questions:
            raise InputError(f"{path}: none of its questions can be converted ({made.summary})")
    return made


def _format(path: Path, record: Any, options: Options) -> Format:
    """The format of a file by its first record.

    Raises:
        InputError: it is of none, or an option is for another format.
    """
    keys = record.keys() if type(record) is dict else set()
    found = next((each for each in FORMATS if each.key in keys), None)
    if not found:
        known = ", ".join(f"{each.name} ({each.key!r})" for each in FORMATS)
        raise InputError(
            f"{path}: its records are of none of these: {known}; a table is a .csv, .tsv, .jsonl "
            "or .parquet file"
        )
    for other in FORMATS:
        if other is not found and getattr(options, other.option):
            raise InputError(f"--{other.option} is for {other.name}, and {path} is {found.name}")
    return found


def _take_ids(entries: list[Entry], taken: set[str]) -> None:
    """Add the ids of a record's questions to those that are taken.

    Raises:
        InputError: another question has one of them; then none is added.
    """
    ids = [question["id"] for entry in entries for question in entry.questions]
    for id, times in Counter(ids).items():
        if times > 1 or id in taken:
            raise InputError(f"another question of this file has the id {id!r}")
    taken.update(ids)


def _write(entry: Entry, write: Callable[[str], None], made: Conversion, v2: bool) -> None:
    """Write an entry as an article of one paragraph, and count what is in it."""
    made.left_out.update(entry.left_out)
    made.questions += len(entry.questions)
    for question in entry.questions:
        impossible = question.get("answers") == []
        made.impossible += impossible
        if v2:
            question["is_impossible"] = impossible
    if entry.questions:
        paragraph = {"context": entry.text, "qas": entry.questions}
        write(json.dumps({"title": entry.title, "paragraphs": [paragraph]}))


@contextmanager
def _writing_squad(path: Path, version: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes an article, in JSON, to a SQuAD file."""
    with replacing(path) as temporary, open_output(temporary, gzipped=is_gzipped(path)) as file:
        before = f'{{"version": {json.dumps(version)}, "data": ['

        def write(article: str) -> None:
            nonlocal before
            file.write(before + article)
            before = ", "

        yield write
        file.write("]}")
