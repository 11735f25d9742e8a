"""HotpotQA (Yang et al. 2018): `hotpot_train_v1.1.json` and its like."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fabir.data.convert import find
from fabir.data.published.records import BLANK, KINDS, UNFOUND, Entry, Options, Read, cut, take
from fabir.data.tables import check_text
from fabir.errors import InputError
from fabir.text.units import is_blank

T = TypeVar("T")


def reader(path: Path, options: Options) -> Read:
    """A function that reads a record."""
    return partial(_read, options=options)


def _read(record: Any, options: Options) -> Iterator[Entry]:
    """A question and its paragraphs, as one text.

    Of several equal places of the answer, the first in a supporting fact is taken.
    """
    question, id = take(record, "question", str), check_text(record.get("_id"), "_id")
    answer = take(record, "answer", str).strip() if "answer" in record else None
    text, facts = _passage(record, options.supporting)
    entry = Entry(id, cut(text, options.max_words))
    if is_blank(question) or is_blank(entry.text) or answer == "":
        entry.left_out.append(BLANK)
    elif answer is None:
        entry.add(id, question, None)
    elif answer.lower() in ("yes", "no"):
        entry.left_out.append("with the answer yes or no")
    elif found := find(answer, entry.text):
        supported = (each for each in found if any(each.start in fact for fact in facts))
        entry.add(id, question, [next(supported, found[0])])
    else:
        entry.left_out.append(UNFOUND)
    yield entry


def _passage(record: Any, supporting: bool) -> tuple[str, list[range]]:
    """Each paragraph after its title, and where the supporting facts are.

    Args:
        supporting: only paragraphs that have such facts
    """
    given = take(record, "supporting_facts", list) if "supporting_facts" in record else []
    facts = {_pair("supporting_facts", fact, int) for fact in given}
    titles = {title for title, _ in facts}
    text, places = "", []
    for paragraph in take(record, "context", list):
        title, sentences = _pair("context", paragraph, list)
        if supporting and title not in titles:
            continue
        text += f"\n\n{title}\n" if text else f"{title}\n"
        for number, sentence in enumerate(sentences):
            check_text(sentence, "context", blank=True)
            if (title, number) in facts:
                places.append(range(len(text), len(text) + len(sentence)))
            text += sentence
    return text, places


def _pair(name: str, value: Any, kind: type[T]) -> tuple[str, T]:
    """A title, and the number of a sentence or a list of sentences."""
    if type(value) is not list or [type(each) for each in value] != [str, kind]:
        raise InputError(f'field "{name}": expected lists of a title and {KINDS[kind]}')
    return check_text(value[0], name), value[1]
