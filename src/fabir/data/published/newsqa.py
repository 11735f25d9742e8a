"""NewsQA (Trischler et al. 2017): `combined-newsqa-data-v1.json`, which its own tool makes."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fabir.data.dataset import Answer
from fabir.data.published.records import BLANK, UNFOUND, Entry, Options, Read, cut, take
from fabir.data.tables import check_text
from fabir.errors import InputError
from fabir.text.units import is_blank


def reader(path: Path, options: Options) -> Read:
    """A function that reads a record."""
    return partial(_read, options=options)


def _read(record: Any, options: Options) -> Iterator[Entry]:
    """A story with its questions. The answer is the consensus; a question has none if people did
    not agree on one, or agreed that there is none."""
    if options.split and take(record, "type", str) != options.split:
        return
    text, title = take(record, "text", str), check_text(record.get("storyId"), "storyId")
    entry = Entry(title, cut(text, options.max_words))
    for number, asked in enumerate(take(record, "questions", list)):
        question = take(asked, "q", str)
        consensus = take(asked, "consensus", dict)
        if is_blank(question) or is_blank(entry.text):
            entry.left_out.append(BLANK)
        elif consensus.get("badQuestion") is True:
            entry.left_out.append("that make no sense")
        elif consensus.get("noAnswer") is True:
            entry.add(f"{title}#{number}", question, [])
        elif answer := _answer(entry.text, take(consensus, "s", int), take(consensus, "e", int)):
            entry.add(f"{title}#{number}", question, [answer])
        else:
            entry.left_out.append(UNFOUND)
    yield entry


def _answer(text: str, start: int, end: int) -> Answer | None:
    """The answer without white space around it, if the text has it."""
    for name, place in (("s", start), ("e", end)):
        if place < 0:
            raise InputError(f'field "{name}": {place} is no place in a text')
    found = text[start:end]
    start += len(found) - len(found.lstrip())
    return Answer(found.strip(), start) if found.strip() and end <= len(text) else None
