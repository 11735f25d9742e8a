"""Files of SQuAD 1.1 and 2.0: read, checked field by field, and written."""

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from fabir.data.dataset import Answer, Dataset, Passage, Question, is_version_2
from fabir.data.download import how_to_fetch
from fabir.data.hugging_face import read_as_squad, rows_as_squad
from fabir.data.tables import Numbered, table_kind
from fabir.errors import InputError
from fabir.files import is_gzipped, read_json, replacing
from fabir.text.units import is_blank

OnBadAnswer = Literal["error", "skip", "repair", "keep"]

T = TypeVar("T")

_KINDS = {list: "a list", str: "a string", int: "an integer", bool: "true or false"}


def read_squad(
    path: str | Path,
    on_bad_answer: OnBadAnswer = "error",
    *,
    allow_blank: bool = False,
    quiet: bool = False,
) -> Dataset:
    """Read a SQuAD 1.1 or 2.0 file, plain or `.gz`; or rows in Hugging Face's schema, as .jsonl,
    .csv, .parquet or a list in JSON.

    A question may lack `answers` (data to predict on). With an empty list of answers it has no
    answer, whatever `is_impossible` says; then, or if a question has that field, the data counts as
    version 2.0, whatever version it states. In that list, a blank answer at -1 and a blank answer
    of a question with `is_impossible` count for nothing. How many questions contradict themselves
    is said on stderr, unless `quiet` is set.

    A bad answer is blank or not found at its offset. `on_bad_answer` says what happens to it.
    `error` refuses the file. `skip` drops the answer, and the question if it has no other. `repair`
    takes the nearest place in the passage where the answer's text occurs, or skips the answer.
    `keep` leaves the answer as it is, for the official metrics, which read texts only.
    `bad_answers` lists each bad answer.

    A blank question or passage, such as one of invisible characters, refuses the file, unless
    `allow_blank` is set.

    Raises:
        InputError: the file cannot be read, is not JSON, or is malformed.
    """
    if on_bad_answer not in get_args(OnBadAnswer):
        choices = ", ".join(get_args(OnBadAnswer))
        raise InputError(f"--on-bad-answer is one of {choices}, not {on_bad_answer!r}")
    if (how := how_to_fetch(path)) and not Path(path).exists():
        raise InputError(f"there is no {path}: {how}")
    if table_kind(path):
        document = read_as_squad(path, blank=allow_blank)
    else:
        document = _wrapped(path, read_json(path), blank=allow_blank)
    return _Parser(path, on_bad_answer, allow_blank, quiet).dataset(document)


def write_squad(dataset: Dataset, path: str | Path) -> None:
    """Write `dataset` in SQuAD's format, gzipped if `path` ends in `.gz`.

    Neighbouring passages of the same title become one article. `bad_answers` is not written.

    Raises:
        InputError: the file cannot be written.
    """
    v2 = dataset.has_unanswerable
    articles = [
        {"title": title, "paragraphs": [_paragraph(passage, v2) for passage in passages]}
        for title, passages in groupby(dataset.passages, key=lambda passage: passage.title)
    ]
    content = json.dumps({"version": dataset.version, "data": articles}).encode()
    if is_gzipped(path):
        content = gzip.compress(content, mtime=0)  # no date, so that equal data makes equal files
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _wrapped(path: str | Path, document: Any, *, blank: bool) -> Any:
    """A SQuAD file's object, also of what other tools write: rows in Hugging Face's schema,
    paragraphs or articles, in a list or as its `data`."""
    whole = document if type(document) is dict else {"data": document}
    listed = whole.get("data")
    first = listed[0] if type(listed) is list and listed else None
    if type(listed) is not list or type(first) is not dict:
        return document
    if "question" in first:
        rows = (
            Numbered(number, row, "", 0)
            if type(row) is dict
            else Numbered(number, {}, f"expected an object, got {_kind(row)}", 0)
            for number, row in enumerate(listed, 1)
        )
        return rows_as_squad(path, rows, blank=blank)
    return whole | {"data": [{"paragraphs": listed}]} if "qas" in first else whole


def _paragraph(passage: Passage, v2: bool) -> dict[str, Any]:
    return {"context": passage.text, "qas": [_qa(question, v2) for question in passage.questions]}


def _qa(question: Question, v2: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"id": question.id, "question": question.text}
    if question.labelled:
        record["answers"] = _records(question.answers)
    if v2:
        record["is_impossible"] = question.impossible
    if question.plausible:
        record["plausible_answers"] = _records(question.plausible)
    return record


def _records(answers: tuple[Answer, ...]) -> list[dict[str, Any]]:
    return [{"text": answer.text, "answer_start": answer.start} for answer in answers]


@dataclass(slots=True)
class _Parser:
    """Turns parsed JSON into a Dataset, and keeps the current place in the file for errors."""

    path: str | Path
    on_bad_answer: OnBadAnswer
    blank: bool = False  # whether a question or a passage may be blank
    quiet: bool = False  # whether contradictions are not mentioned
    place: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    numbers: dict[str, "count[int]"] = field(default_factory=lambda: defaultdict(lambda: count(2)))
    bad: list[str] = field(default_factory=list)
    version_2: bool = False  # whether a question is said to have an answer, or not to have one
    disagreements: int = 0

    def dataset(self, document: Any) -> Dataset:
        articles = self.take(document, "data", list)
        version = document.get("version")
        version = "" if version is None else version
        if not isinstance(version, str | int | float):
            raise self.malformed(f'field "version": expected a string, got {_kind(version)}')
        passages: list[Passage] = []
        for number, article in enumerate(articles, 1):
            self.enter(0, f"article {number}")
            passages += self.article(number, article)
        if self.bad and self.on_bad_answer == "error":
            raise self.refusal()
        if self.disagreements and not self.quiet:
            contradicts = "questions whose is_impossible contradicts their answers, which count"
            print(f"{self.path}: {self.disagreements} {contradicts}", file=sys.stderr)
        if self.version_2 and not is_version_2(str(version)):
            version = "v2.0"
        return Dataset(tuple(passages), str(version), tuple(self.bad))

    def article(self, number: int, record: Any) -> Iterator[Passage]:
        paragraphs = self.take(record, "paragraphs", list)
        title = self.text(record, "title", blank=True) if record.get("title") is not None else ""
        if title:
            self.enter(0, f"article {number} {_short(title)}")
        for number, paragraph in enumerate(paragraphs, 1):
            self.enter(1, f"paragraph {number}")
            text = self.text(paragraph, "context", blank=self.blank)
            questions: list[Question] = []
            for number, qa in enumerate(self.take(paragraph, "qas", list), 1):
                self.enter(2, f"question {number}")
                question = self.question(qa, text)
                if question is not None:
                    questions.append(question)
            yield Passage(text, title, tuple(questions))

    def question(self, record: Any, passage: str) -> Question | None:
        """The question, or None if all its answers were bad."""
        id = self.id(record)
        self.enter(2, f"question {_short(id)}")
        if id in self.ids:
            told = "another question of this file has the same id"
            if self.on_bad_answer == "skip":
                self.bad.append(f"{id}: {told}; question removed")
                return None
            if self.on_bad_answer != "repair":
                hint = "; --on-bad-answer skip or repair goes on"
                shown = hint if self.on_bad_answer == "error" else ""
                raise self.malformed(f'field "id": {told}{shown}')
            new = next(each for n in self.numbers[id] if (each := f"{id}-{n}") not in self.ids)
            self.bad.append(f"{id}: {told}; it is {new} now")
            id = new
        self.ids.add(id)
        text = self.text(record, "question", blank=self.blank)
        said = self.take(record, "is_impossible", bool) if "is_impossible" in record else None
        given, impossible = [], bool(said)
        if "answers" in record:
            listed = self.take(record, "answers", list)
            given = [each for each in listed if not _is_placeholder(each, impossible)]
            impossible = not given
            self.disagreements += said not in (None, impossible)
        self.version_2 |= impossible or said is not None
        answers = self.answers(given, passage, id, "answer")
        plausible: tuple[Answer, ...] = ()
        if "plausible_answers" in record:
            listed = self.take(record, "plausible_answers", list)
            items = [each for each in listed if not _is_placeholder(each, impossible)]
            plausible = self.answers(items, passage, id, "plausible answer")
        if given and not answers and self.on_bad_answer != "error":
            self.bad.append(f"{id}: no answer is left; question removed")
            self.ids.discard(id)
            return None
        return Question(id, text, answers, impossible, plausible)

    def answers(self, items: list[Any], passage: str, id: str, noun: str) -> tuple[Answer, ...]:
        answers: list[Answer] = []
        for number, item in enumerate(items, 1):
            self.enter(3, f"{noun} {number}")
            text = self.text(item, "text", blank=True)
            start = self.whole(item, "answer_start")
            if start >= 0 and passage.startswith(text, start) and text.strip():
                answers.append(Answer(text, start))
            else:
                answers += self.bad_answer(Answer(text, start), passage, f"{id}: {noun} {number}")
        del self.place[3:]
        return tuple(answers)

    def bad_answer(self, answer: Answer, passage: str, label: str) -> list[Answer]:
        """Note the bad answer; returns its replacement, if there is one."""
        blank = not answer.text.strip()
        place = _nearest(passage, answer) if self.on_bad_answer == "repair" and not blank else None
        if place is not None:
            done, kept = f"moved to {place}", [Answer(answer.text, place)]
        elif self.on_bad_answer == "keep":
            done, kept = "kept", [answer]
        else:
            done, kept = "dropped", []
        wrong = "is blank" if blank else f"{_short(answer.text)} is not at offset {answer.start}"
        self.bad.append(f"{label} {wrong}" + ("" if self.on_bad_answer == "error" else f"; {done}"))
        return kept

    def enter(self, level: int, label: str) -> None:
        self.place[level:] = [label]

    def take(self, record: Any, name: str, kind: type[T]) -> T:
        """The field `name` of `record`; exactly of type `kind`, so that true is not an integer."""
        if type(record) is not dict:
            raise self.malformed(f"expected an object, got {_kind(record)}")
        if name not in record:
            raise self.malformed(f'field "{name}": missing')
        value = record[name]
        if type(value) is not kind:
            raise self.malformed(f'field "{name}": expected {_KINDS[kind]}, got {_kind(value)}')
        return value

    def whole(self, record: Any, name: str) -> int:
        """An integer, which other tools may write as 39.0."""
        value = record.get(name) if type(record) is dict else None
        if type(value) is float and value.is_integer():
            return int(value)
        return self.take(record, name, int)

    def id(self, record: Any) -> str:
        """A text, which other tools may write as an integer."""
        value = record.get("id") if type(record) is dict else None
        return str(value) if type(value) is int else self.text(record, "id")

    def text(self, record: Any, name: str, *, blank: bool = False) -> str:
        value = self.take(record, name, str)
        if not blank and is_blank(value):
            raise self.malformed(f'field "{name}": blank')
        try:
            value.encode()
        except UnicodeEncodeError as error:  # "\ud83d" alone: JSON allows it, no file can hold it
            message = f'field "{name}": half a surrogate pair at character {error.start}'
            raise self.malformed(message) from error
        return value

    def malformed(self, problem: str) -> InputError:
        return InputError(f"{self.path}: {', '.join([*self.place, problem])}")

    def refusal(self) -> InputError:
        more = f" and {len(self.bad) - 3} more" if len(self.bad) > 3 else ""
        return InputError(
            f"{self.path}: answers that do not match their passage: {len(self.bad)} "
            f"({'; '.join(self.bad[:3])}{more}); choose --on-bad-answer skip or repair"
        )


def _nearest(passage: str, answer: Answer) -> int | None:
    """Where `answer.text` occurs nearest to `answer.start`, the earlier of two equally near."""
    start = max(answer.start, 0)
    before = passage.rfind(answer.text, 0, start + len(answer.text))
    places = [place for place in (before, passage.find(answer.text, start)) if place >= 0]
    return min(places, key=lambda place: abs(place - start), default=None)


def _is_placeholder(answer: Any, impossible: bool) -> bool:
    """Whether an answer only stands for there being none."""
    if type(answer) is not dict or type(answer.get("text")) is not str or answer["text"].strip():
        return False
    return impossible or answer.get("answer_start") == -1


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
