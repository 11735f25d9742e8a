"""TriviaQA (Joshi et al. 2017): the files of its folder `qa`, with the documents in `evidence`."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from fabir.data.convert import find
from fabir.data.dataset import Answer
from fabir.data.json_items import read_end
from fabir.data.published.records import BLANK, UNFOUND, Entry, Options, Read, cut, take
from fabir.data.tables import check_text
from fabir.errors import InputError
from fabir.files import read_text
from fabir.text.units import is_blank

_PAGES = {"EntityPages": "wikipedia", "SearchResults": "web"}  # with the folders of their documents
_ALIASES = "Aliases", "HumanAnswers", "NormalizedAliases"
_TAIL = 1000  # characters at the end of a file, in which the fields after `Data` are


def reader(path: Path, options: Options) -> Read:
    """A function that reads a record.

    In a file of verified questions, only those are taken that people found answerable, and of
    Wikipedia only the documents in which they found the answer, as TriviaQA's own programs do.

    Raises:
        InputError: there is no folder of documents.
    """
    return _Reader(path, options).read


class _Reader:
    """Reads the records of one file."""

    def __init__(self, path: Path, options: Options) -> None:
        self._max_words = options.max_words
        self._documents = _Documents(options.evidence)
        tail = read_end(path, _TAIL)
        self._verified = bool(re.search(r'"VerifiedEval"\s*:\s*true', tail))
        self._of_wikipedia = bool(re.search(r'"Domain"\s*:\s*"Wikipedia"', tail))

    def read(self, record: Any) -> Iterator[Entry]:
        """Each document of a question as a text of its own."""
        question, id = (
            take(record, "Question", str),
            check_text(record.get("QuestionId"), "QuestionId"),
        )
        answers = _answers(take(record, "Answer", dict)) if "Answer" in record else None
        if self._verified and not record.get("QuestionPartOfVerifiedEval"):
            yield Entry(id, "", left_out=["that people rejected"])
            return
        names = list(dict.fromkeys(self._names(record)))
        if not names:
            yield Entry(id, "", left_out=["without a document"])
        for folder, name in names:
            path = self._documents.find(folder, name)
            entry = Entry(name, cut(read_text(path), self._max_words) if path else "")
            if not path:
                entry.left_out.append("whose document is missing")
            elif is_blank(question) or is_blank(entry.text):
                entry.left_out.append(BLANK)
            elif answers is None:
                entry.add(f"{id}--{name}", question, None)
            elif found := _find(answers, entry.text):
                entry.add(f"{id}--{name}", question, found)
            else:
                entry.left_out.append(UNFOUND)
            yield entry

    def _names(self, record: Any) -> Iterator[tuple[str, str]]:
        """The folder and the name of each document of a question."""
        verified = self._verified and self._of_wikipedia
        for kind, folder in _PAGES.items():
            for page in take(record, kind, list) if kind in record else []:
                if type(page) is not dict:
                    raise InputError(f'field "{kind}": expected a list of objects')
                rejected = verified and not page.get("DocPartOfVerifiedEval")
                if "Filename" in page and not rejected:
                    yield folder, take(page, "Filename", str)


class _Documents:
    """The folder `evidence`. Documents are found whatever case and Unicode form their names have:
    some names of Wikipedia's differ in them from the names in the questions' files."""

    def __init__(self, folder: Path | None) -> None:
        if folder is None:
            raise InputError(
                "TriviaQA's questions are about documents: name its folder `evidence`, in which "
                "`web` and `wikipedia` are, with --evidence"
            )
        if not any((folder / each).is_dir() for each in _PAGES.values()):
            raise InputError(f"{folder} has neither a folder `web` nor one `wikipedia`")
        self._folder = folder

    def find(self, folder: str, name: str) -> Path | None:
        path = self._folder / folder / name
        return path if path.is_file() else self._wikipedia.get(_plain(name))

    @cached_property
    def _wikipedia(self) -> dict[str, Path]:
        folder = self._folder / "wikipedia"
        return {_plain(each.name): each for each in folder.iterdir()} if folder.is_dir() else {}


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _answers(answer: Any) -> list[str]:
    """All texts that are right, the best known first."""
    listed = (take(answer, name, list) for name in _ALIASES if name in answer)
    texts = [take(answer, "Value", str), *(text for texts in listed for text in texts)]
    texts = [check_text(text, "Answer", blank=True).strip() for text in texts]
    return list(dict.fromkeys(filter(None, texts)))


def _find(answers: Iterable[str], text: str) -> list[Answer]:
    """Of each answer in a text its first place, as whole words."""
    flat = _flat(text)  # there are many aliases, and most of them are in no text
    places = [find(answer, text, whole=True) for answer in answers if _flat(answer) in flat]
    return list(dict.fromkeys(found[0] for found in places if found))


def _flat(text: str) -> str:
    return " ".join(text.lower().split())
