"""Makes training data from the documents and schemas of tables in `documents/`.

    pip install faker==40.63.0
    python dev/make_documents.py --output FOLDER

It writes SQuAD 2.0 files: `documents.json`, documents written by hand, without every fifth one;
`documents-held.json`, these; `tables.json`, tables filled at random from four fifths of the
schemas; and `tables-held.json`, fewer tables from the other schemas.
Passages are as a reader reads them in a search: the heading before them, marks of items blank.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from faker import Faker

from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.data.squad import write_squad
from fabir.search.echo import blank_marks

HERE = Path(__file__).parent / "documents"
_HELD = 5  # every so many documents and schemas are held back
T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes training data of documents and tables.")
    parser.add_argument("--output", type=Path, required=True, help="folder")
    parser.add_argument("--passages", type=int, default=20000, help="of tables")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    written = list(read_documents(sorted(HERE.glob("*.txt"), key=_place)))
    schemas = json.loads((HERE / "schemas.json").read_text())
    documents, documents_held = hold_back(written)
    filled, filled_held = hold_back(schemas)
    made = {
        "documents": documents,
        "documents-held": documents_held,
        "tables": make_tables(filled, args.passages, args.seed),
        "tables-held": make_tables(filled_held, args.passages // 50, args.seed),
    }
    for name, passages in made.items():
        data = Dataset(tuple(passages), "v2.0")
        write_squad(data, args.output / f"{name}.json")
        answered = sum(bool(question.answers) for _, question in data.questions)
        print(
            f"{name}: {len(data.passages)} passages, {len(data)} questions, {answered} with an "
            "answer"
        )


def _place(path: Path) -> tuple[int, str]:
    """Later rounds stand behind the first seven, so that these keep what is held back of them."""
    round_number = int(re.findall(r"\d*$", path.stem)[0] or 1)
    return max(round_number, 7), path.name


def hold_back(items: list[T]) -> tuple[list[T], list[T]]:
    """All but every fifth, and every fifth."""
    kept = [item for number, item in enumerate(items, 1) if number % _HELD]
    return kept, items[_HELD - 1 :: _HELD]


def read_documents(paths: Iterable[Path]) -> Iterator[Passage]:
    """The documents of some files, in the format of `documents/README.md`."""
    for path in paths:
        blocks = re.split(r"^====\s*$", path.read_text(), flags=re.MULTILINE)
        for number, block in enumerate(filter(str.strip, blocks), 1):
            head, _, rest = block.strip("\n").partition("\n")
            text, _, asked = rest.partition("\n----\n")
            heading = head.partition("|")[2].strip()
            before = f"{heading}\n\n" if heading else ""
            questions = []
            for place, (question, answer) in enumerate(
                re.findall(r"^Q: (.+)\nA: (.+)$", asked, flags=re.MULTILINE)
            ):
                id = f"{path.stem}-{number}-{place}"
                found = () if answer == "-" else (_located(answer, text, len(before)),)
                questions.append(Question(id, question, found, impossible=not found))
            shown = before + blank_marks(text)
            yield Passage(shown, path.stem, tuple(_shown(each, shown) for each in questions))


def _shown(question: Question, text: str) -> Question:
    """The question, with its answer as it stands in a text whose marks are blank."""
    answers = [
        Answer(text[each.start : each.start + len(each.text)], each.start)
        for each in question.answers
    ]
    return replace(question, answers=tuple(answers))


def _located(answer: str, text: str, before: int) -> Answer:
    """An answer at its place: words around it, with [[ ]] about it, tell several places apart."""
    around, mark, rest = answer.partition("[[")
    inner = rest.partition("]]")[0] if mark else answer
    place = text.index(answer.replace("[[", "").replace("]]", ""))
    start = place + (len(around) if mark else 0)
    return Answer(inner, before + start)


class Draw:
    """Draws at random. The names of `fake` are those of one country."""

    def __init__(self, *seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.english, self.fake = _FAKES["en_US"], _FAKES[self.pick(_LANGUAGES)]
        for fake in (self.english, self.fake):
            fake.seed_instance(self.count(0, 2**31))

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.generator.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        return self.generator.random() < probability

    def count(self, low: int, high: int) -> int:
        """From `low` to `high`, inclusive."""
        return int(self.generator.integers(low, high + 1))


_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LANGUAGES = ["en_US"] * 4 + ["en_GB"] * 3
_LANGUAGES += ["en_IN", "de_DE", "fr_FR", "da_DK", "es_ES", "nl_NL", "sv_SE", "pl_PL"]
_LANGUAGES += ["pt_BR", "tr_TR", "cs_CZ", "fi_FI"]
_FAKES = {language: Faker(language) for language in _LANGUAGES}
_MONTHS = [date(2000, month, 1).strftime("%B") for month in range(1, 13)]
_WEEKDAYS = [date(2001, 1, day).strftime("%A") for day in range(1, 8)]
_TITLES = json.loads((HERE / "titles.json").read_text())


def value_maker(column: dict[str, Any], draw: Draw) -> Callable[[], str]:
    """Makes values of a column. Formats of dates and numbers are the same in all its rows."""
    pick, fake = draw.pick, draw.fake
    low, high = column.get("range", (1, 1000))
    pattern = column.get("pattern", "").replace("A", "?").replace("9", "#")
    style = draw.count(0, 5)

    def amount(decimals: int) -> str:
        value = draw.generator.uniform(low, high)
        if low > 0 and high / low > 1000:  # small values are as frequent as large ones
            value = np.exp(draw.generator.uniform(np.log(low), np.log(high)))
        return f"{value:,.{decimals}f}" if style < 3 else f"{value:.{decimals}f}"

    def day() -> str:
        drawn = fake.date_between(date(1850, 1, 1), date(2027, 1, 1))
        forms = "%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d/%m/%Y", "%d.%m.%Y", "%b %d %Y"
        return re.sub(r"\b0(?=\d [A-Z]|\d,)", "", drawn.strftime(forms[style]))

    def time() -> str:
        hour, minute = draw.count(0, 23), 5 * draw.count(0, 11)
        if style < 4:
            return f"{hour:02}:{minute:02}"
        return f"{hour % 12 or 12}:{minute:02} {'a.m.' if hour < 12 else 'p.m.'}"

    def money() -> str:
        currency = column.get("currency", "EUR")
        value = amount(2 if style % 2 else 0)
        return f"{currency}{value}" if len(currency) == 1 else f"{currency} {value}"

    def title() -> str:
        return f"{pick(_TITLES['adjectives'])} {pick(_TITLES['nouns'])}"

    def product() -> str:
        name = pick((title, fake.last_name))()
        return f"{name} {draw.count(2, 900)}" if style < 3 else name

    makers: dict[str, Callable[[], str]] = {
        "person": lambda: f"{fake.first_name()} {fake.last_name()}",
        "first_name": fake.first_name,
        "city": fake.city,
        "country": draw.english.country,
        "county": lambda: f"{fake.last_name()} County" if style < 2 else fake.city(),
        "organisation": fake.company,
        "title": title,
        "product": product,
        "date": day,
        "time": time,
        "code": lambda: fake.bothify(pattern, _CAPITALS),
        "money": money,
        "email": fake.ascii_safe_email,
        "phone": fake.phone_number,
        "url": fake.url,
        "filename": fake.file_name,
        "year": lambda: str(draw.count(1750, 2026)),
        "month": lambda: pick(_MONTHS),
        "weekday": lambda: pick(_WEEKDAYS),
        "integer": lambda: amount(0),
        "number": lambda: amount(column.get("decimals", 1)),
        "percent": lambda: amount(column.get("decimals", 1)) + ("%", " %", " percent")[style % 3],
        "quantity": lambda: f"{amount(column.get('decimals', 0))} {column.get('unit', 'kg')}",
        "choice": lambda: pick(column["values"]),
        "phrase": lambda: pick(column["values"]),
    }
    return makers[column["type"]]


@dataclass
class Text:
    """A text that is being written, and where each cell of a table stands in it."""

    text: str = ""
    places: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, text: str, cell: tuple[int, int] | None = None) -> None:
        if cell is not None:
            self.places.setdefault(cell, len(self.text))
        self.text += text


@dataclass(frozen=True)
class Table:
    """names: of the columns, the key first; rows: their values, "" for none"""

    names: list[str]
    rows: list[list[str]]


def make_tables(schemas: list[dict[str, Any]], number: int, seed: int) -> Iterator[Passage]:
    """Passages of tables with their questions."""
    for place in range(number):
        draw = Draw(seed, place)
        passage = _make_passage(draw.pick(schemas), draw, place)
        if passage:
            yield passage


def _make_passage(schema: dict[str, Any], draw: Draw, number: int) -> Passage | None:
    columns = list(schema["columns"])
    if draw.chance(0.3):
        columns = [columns[i] for i in draw.generator.permutation(len(columns))]
    most = len(columns)
    columns = columns[: draw.count(min(3, most), most)]
    style = draw.pick(_STYLES)
    all_columns = [schema["key"], *columns]
    table_names = [style(draw.pick(column["names"])) for column in all_columns]
    single = schema.get("single", False)
    count_rows = 1 if single or draw.chance(0.4) else draw.count(2, 5)
    makers = [value_maker(column, draw) for column in all_columns]
    rows, keys = [], set()
    for _ in range(count_rows + 1):  # the last one is not shown
        row = [make() for make in makers]
        row[1:] = ["" if draw.chance(0.04) else value for value in row[1:]]
        if row[0] not in keys:
            keys.add(row[0])
            rows.append(row)
    if len(rows) < 2:
        return None
    table, hidden = Table(table_names, rows[:-1]), rows[-1]
    written = Text()
    titled = draw.chance(0.5)
    if titled:
        written.add(draw.pick(schema["titles"]) + "\n\n")
    layouts = [_records] * 5 + [_aligned] * 2
    if len(table.rows) == 1:
        layouts += [_labels_above, _labels_beside, _records]
    draw.pick(layouts)(table, written, draw)
    asked = _questions(schema, columns, table, hidden, written, draw)
    questions = tuple(
        Question(f"table-{number}-{place}", text, answers, impossible=not answers)
        for place, (text, answers) in enumerate(dict(asked).items())
    )
    return Passage(written.text, f"table-{schema['domain']}", questions) if questions else None


_STYLES: tuple[Callable[[str], str], ...] = (
    *(lambda name: name,) * 6,
    str.lower,
    str.upper,
    lambda name: re.sub(r"\W+", "_", name.lower()).strip("_"),
)


def _records(table: Table, written: Text, draw: Draw) -> None:
    """A line for each cell, a blank one between rows."""
    for number, row in enumerate(table.rows):
        lines = 0
        for place, (name, value) in enumerate(zip(table.names, row, strict=True)):
            if value:
                written.add("\n" if lines else "\n\n" if number else "")
                written.add(f"{name}: ")
                written.add(value, (number, place))
                lines += 1


def _aligned(table: Table, written: Text, draw: Draw) -> None:
    """Rows of cells below the draw, as on a page."""
    written.add("   ".join(table.names))
    for number, row in enumerate(table.rows):
        written.add("\n")
        for place, value in enumerate(row):
            written.add("   " if place else "")
            written.add(value or "-", (number, place))


def _labels_above(table: Table, written: Text, draw: Draw) -> None:
    """A row of some draw, their values below, as in forms."""
    (row,) = table.rows
    at = 0
    while at < len(row):
        some = range(at, min(len(row), at + draw.count(2, 4)))
        written.add("\n\n" if at else "")
        written.add("   ".join(table.names[place] for place in some))
        written.add(draw.pick(("\n", "\n\n")))
        for place in some:
            written.add("   " if place > at else "")
            written.add(row[place] or "-", (0, place))
        at = some.stop


def _labels_beside(table: Table, written: Text, draw: Draw) -> None:
    """Names and values in lines, several on some lines."""
    (row,) = table.rows
    mark = draw.pick((": ", ":   ", "   ", " - ", "\n"))
    for place, (name, value) in enumerate(zip(table.names, row, strict=True)):
        if place:
            several = mark != "\n" and draw.chance(0.3)
            written.add("   " if several else draw.pick(("\n", "\n", "\n\n")))
        written.add(name + mark)
        written.add(value, (0, place))


def _questions(
    schema: dict[str, Any],
    columns: list[dict[str, Any]],
    table: Table,
    hidden: list[str],
    written: Text,
    draw: Draw,
) -> Iterator[tuple[str, tuple[Answer, ...]]]:
    """Questions with their answers: on shown cells, on a row or a column that is not shown."""
    shown = {column["names"][0] for column in columns}
    absent = [each for each in schema["columns"] if each["names"][0] not in shown]
    for _ in range(draw.count(3, 6)):
        row = draw.count(0, len(table.rows) - 1)
        key = table.rows[row][0]
        kind = draw.generator.random()
        if kind < 0.14 and absent:
            yield _asked(draw.pick(absent), key, draw), ()
            continue
        place = draw.count(1, len(columns))
        column, value = columns[place - 1], table.rows[row][place]
        if kind < 0.26:
            if hidden[0].lower() not in written.text.lower():
                yield _asked(column, hidden[0], draw), ()
            continue
        alike = [each[place] for each in table.rows].count(value)
        if kind < 0.42 and value and alike == 1 and column.get("reverse"):
            text = draw.pick(column["reverse"]).replace("{value}", value)
            yield text, (Answer(key, written.places[row, 0]),)
        elif value:
            answer = Answer(value, written.places[row, place])
            yield _asked(column, key, draw), (answer,)
        else:
            yield _asked(column, key, draw), ()


def _asked(column: dict[str, Any], key: str, draw: Draw) -> str:
    if draw.chance(0.2):
        name = re.sub(r"[_\s]+", " ", draw.pick(column["names"]))
        form = draw.pick(_GENERIC)
        return form.format(name=name if name.isupper() else name.lower(), key=key)
    return draw.pick(column["questions"]).replace("{key}", key)


_GENERIC = (
    "What is the {name} of {key}?",
    "{name} of {key}?",
    "Which {name} has {key}?",
    "What is {key}'s {name}?",
    "What {name} does {key} have?",
    "What is given as {name} for {key}?",
)


if __name__ == "__main__":
    main()
