"""Files of records: .csv, .tsv, .json and .jsonl. Each record is a document.

A record's text is a line "name: value" for each of its fields. A field `text`, `content`,
`contents` or `body` comes first and has no name; then `id` and `title` are not in the text, only
the document's part and title.
"""

import codecs
import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from io import StringIO, TextIOBase
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from fabir.documents.base import MAX_BYTES, Document, Report, telling_title, text_of, title_of
from fabir.documents.csv_quotes import count_errors, csv_reader, doubled, has_backslashes, lone_row
from fabir.documents.encodings import marked
from fabir.documents.fields import Field, Number, fields_text
from fabir.documents.sheet_headers import (
    Cell,
    Cells,
    are_labelled,
    begins_count,
    find_header,
    label_of,
)
from fabir.documents.tables import MAX_NAME, delimiter_of, find_names, is_number
from fabir.documents.text import decoded
from fabir.errors import InputError

MAX_LINE = 16 << 20  # characters of a line, of a record of .csv, and of a value of .parquet
_TEXT = "text", "content", "contents", "body"
_OWN = "id", "title"
_SPECIAL = {*_TEXT, *_OWN}
_ID = 200  # characters of a record's id at most, as the document's part
_COLUMNS = "columns", "fields", "header", "headers"  # of rows that are lists
_PART = 1 << 20  # bytes to decode at a time
_SAMPLE = 1 << 16  # characters of a table from which its form is found
_FORM = 40  # the most rows of labels and values


def read_csv(path: Path, report: Report) -> Iterator[Document]:
    """A document for each row; commas, semicolons, tabs or vertical bars separate the cells.

    Lines above the names of the columns are one document. A cell without a name stands alone, so
    rows may be shorter or longer than the names. In a `.tsv` file tabs separate the cells. Two
    columns of labels and values of several kinds have no names: each row is "label: value".
    """
    csv.field_size_limit(MAX_LINE + 2 * _SAMPLE)  # `_Lines` refuses longer records before
    with _open(path, report, newline="") as file:
        lines = _Lines(file)
        sample = list(lines.sample())
        delimiter = "\t" if path.suffix.lower() == ".tsv" else delimiter_of(sample)
        if has_backslashes(sample, delimiter):
            lines.change, sample = doubled, list(map(doubled, sample))
        head = list(filter(_filled, csv_reader(sample, delimiter)))
        above, names = _find_names(head)
        lines.again(sample)
        rows = _Table(lines, delimiter, head, report).rows()
        remarks = list(islice(rows, above))
        is_form = not above and _is_form(head)
        first = list(islice(rows, bool(names and not is_form)))  # the names
        long = any(len(name) == MAX_NAME for name in names)  # the rows have only a part of it
        yield from _above(path, remarks + (first if long else []))
        if names and remarks and all(row[0].startswith("#") for _, row in remarks):
            names[0] = names[0].lstrip("# ") or names[0]  # a remark too, as in a VCF file
        for number, (line, row) in enumerate(rows, 1):
            if is_form:
                names, row = [row[0].rstrip(" :")], [", ".join(row[1:])]
            fields = zip_longest(names, row, fillvalue="")
            filled = (field for field in fields if field[1])
            yield record_document(path, filled, str(number), report, line=line)


def _filled(row: list[str]) -> bool:
    return any(map(str.strip, row))


def _find_names(rows: list[list[str]]) -> tuple[int, list[str]]:
    """As `find_names` does; the names may have a 0 with which the numbers of the rows begin."""
    above, names = find_names(rows)
    cells = map(_cells, rows[above:])
    body = [{n: cell for n, cell in row.items() if cell.text.strip()} for row in cells]
    if not names and body and begins_count(body):
        header = find_header(body, needs_evidence=True)
        names = [cell[:MAX_NAME] for cell in rows[above]] if header and not header.start else []
    return above, names


def _cells(row: list[str]) -> Cells:
    return {n: Cell(text, not is_number(text)) for n, text in enumerate(row)}


def _is_form(rows: list[list[str]]) -> bool:
    """Whether a short table is labels with their values."""
    if len(rows) > _FORM or any(len(row) != 2 for row in rows):
        return False
    cells = list(map(_cells, rows))
    labels = [row[0] for row in cells]
    is_distinct = len(set(labels)) == len(labels)
    return is_distinct and all(map(label_of, labels)) and are_labelled(cells)


class _Table:
    """The rows of a table whose quotes may be wrong.

    Args:
        head: the first rows
    """

    def __init__(
        self, lines: "_Lines", delimiter: str, head: list[list[str]], report: Report
    ) -> None:
        self._lines, self._delimiter, self._report = lines, delimiter, report
        self._width = max(Counter(map(len, head)).most_common(1), default=(0, 0))[0]
        self._room = 4 * MAX_LINE  # characters to be read again

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows that are not blank, each with the line on which it begins."""
        reader = csv_reader(self._lines, self._delimiter)
        while True:
            self._lines.end_record()
            row = next(reader, None)
            if row is None:
                return
            record, line = self._lines.record, self._lines.first
            if len(record) > 1 or self._lines.at_end:
                row = self._mended(row, record, line)
            if _filled(row):
                yield line, row

    def _mended(self, row: list[str], record: list[str], line: int) -> list[str]:
        """The row on the first line alone if a quote there is open and the next line is a row."""
        if not count_errors(record, self._delimiter):
            return row
        alone = [lone_row(each, self._delimiter, self._width) for each in record[:2]]
        self._room -= sum(map(len, record))
        if all(len(each) == self._width > 1 for each in alone) and self._room > 0:
            self._lines.again(record[1:])
            return alone[0]
        if self._lines.at_end and len(record) > 1:
            self._report.lost(f"line {line}: a quote is not closed, so the rest is one cell")
        return row


def _above(path: Path, rows: list[tuple[int, list[str]]]) -> Iterator[Document]:
    if rows:
        text = "\n".join(", ".join(filter(str.strip, row)) for _, row in rows)
        yield Document(text_of(text), title_of(path), line=rows[0][0])


def read_jsonl(path: Path, report: Report) -> Iterator[Document]:
    """A document for each line that is a JSON object. Other lines are lost."""
    with _open(path, report, newline="\n") as file:
        lines = _Lines(file)
        for number, line in enumerate(lines, 1):
            lines.end_record()
            record = _object(line, number, report) if line.strip() else None
            if record:
                yield record_document(path, record.items(), str(number), report, line=number)


def _object(line: str, number: int, report: Report) -> dict[str, Any] | None:
    try:
        record = _parse(line)
        if isinstance(record, dict):
            return record
        problem = "not an object"
    except json.JSONDecodeError as error:
        problem = str(error)
    except RecursionError:
        problem = "nested too deeply"
    report.lost(f"line {number} is not a JSON object: {problem}")
    return None


def read_json(path: Path, report: Report) -> Iterator[Document]:
    """A document for each item of a list of objects, or else one for the file.

    The list is the file, or the only list of objects among an object's fields. Then the other
    fields are a document too, and the list's name is in the titles. Lists as long as a field
    `columns` or `fields`, which names their items, are such objects, too.
    """
    try:
        content = _parse(decoded(path, report))
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise InputError(f"not valid JSON: {error}") from error
        yield from read_jsonl(path, report)  # an object on each line
        return
    except RecursionError as error:
        raise InputError("nested too deeply") from error
    fields = _with_names(content) if isinstance(content, dict) else {"": content}
    lists = [name for name, value in fields.items() if _has_objects(value)]
    if len(lists) != 1:
        yield record_document(path, fields.items(), "", report)
        return
    items = fields.pop(lists[0])
    if fields:
        yield record_document(path, fields.items(), "", report)
    for number, item in enumerate(items, 1):
        record = item.items() if isinstance(item, dict) else [("", item)]
        yield record_document(path, record, str(number), report, title=f"{path.stem} {lists[0]}")


def _with_names(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields; rows of cells are objects if a field such as `columns` has their names."""
    key = next((key for key in _COLUMNS if key in fields), "")
    names = fields.get(key)
    if not isinstance(names, list) or len(set(map(str, names))) < max(2, len(names)):
        return fields
    objects = {
        name: [dict(zip(map(str, names), row, strict=True)) for row in rows]
        for name, rows in fields.items()
        if isinstance(rows, list) and rows and all(_is_row(row, len(names)) for row in rows)
    }
    others = {name: value for name, value in fields.items() if name != key or not objects}
    return others | objects


def _is_row(row: Any, length: int) -> bool:
    return isinstance(row, list) and len(row) == length


def _has_objects(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _parse(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_merged,
        parse_int=Number,
        parse_float=Number,
        parse_constant=lambda name: None if name == "NaN" else name,
    )


def _merged(pairs: list[Field]) -> dict[str, Any]:
    """An object; a name that stands in it several times has the list of its values."""
    merged = dict(pairs)
    if len(merged) < len(pairs):
        values: dict[str, list[Any]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        return {name: found if len(found) > 1 else found[0] for name, found in values.items()}
    return merged


class _Lines:
    """The lines of a file. A line, and a record of several lines, are no longer than `MAX_LINE`.

    change: what is done to each line
    record: the lines of the present record, and the number of the `first`
    at_end: whether a line was wanted after the last one
    """

    def __init__(self, file: TextIOBase) -> None:
        self._file, self._room = file, MAX_LINE
        self._again: list[str] = []  # the next ones last
        self.change: Callable[[str], str] = str
        self.record: list[str] = []
        self.first, self.at_end = 1, False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._again.pop() if self._again else self.change(self._file.readline(self._room))
        if not line:
            self.at_end = True
            raise StopIteration
        self._room -= len(line)
        if self._room <= 0:
            raise InputError(f"a record has more than {MAX_LINE >> 20} million characters")
        self.record.append(line)
        return line

    def end_record(self) -> None:
        self._room = MAX_LINE
        self.first += len(self.record)
        self.record = []

    def again(self, lines: list[str]) -> None:
        """Give these lines again, the last ones that were read."""
        self._again += reversed(lines)
        del self.record[len(self.record) - len(lines) :]
        self.at_end = False

    def sample(self) -> Iterator[str]:
        """The first lines of the file, three at least if it has them."""
        length = number = 0
        while (length < _SAMPLE or number < 3) and (line := next(self, "")):
            length, number = length + len(line), number + 1
            self._room = MAX_LINE
            yield line


def record_document(
    path: Path,
    fields: Iterable[Field],
    part: str,
    report: Report,
    *,
    line: int | None = None,
    title: str = "",
) -> Document:
    """A record as a document; `part` and `title` are for a record without `id` or `title`."""
    fields = list(fields)
    first: dict[str, int] = {}
    for number, (name, _) in enumerate(fields):
        if (key := name.strip().lower()) in _SPECIAL:
            first.setdefault(key, number)
    special = {name: fields[number][1] for name, number in first.items()}
    main = next((name for name in _TEXT if _main_text(special.get(name)).strip()), None)
    own = [name for name in _OWN if name in special and _is_whole(name, special[name])]
    if main:
        left_out = {first[name] for name in (main, *own)}
        fields = [field for number, field in enumerate(fields) if number not in left_out]
    where = f"record {part}: " if part else ""
    lines = fields_text(fields, lambda what: report.lost(where + what))
    report.alive()
    text = _main_text(special[main]) if main else ""
    id = str(special["id"]) if "id" in own else ""
    return Document(
        text_of("\n\n".join(filter(None, (text, lines)))),
        title_of(path, special.get("title") or title),
        text_of(id or part),
        line=line,
    )


def _is_whole(name: str, value: object) -> bool:
    """Whether a record's part or title is all that its field says."""
    if name == "title":
        return isinstance(value, str) and telling_title(value) == " ".join(value.split())
    return isinstance(value, int | str) and len(str(value)) <= _ID


def _main_text(value: object) -> str:
    """A text, or a list of texts as paragraphs; empty for other values."""
    texts: list[Any] = value if isinstance(value, list) else [value]
    return "\n\n".join(texts) if all(isinstance(text, str) for text in texts) else ""


def _open(path: Path, report: Report, newline: str) -> TextIOBase:
    """A text file to be read line by line; whole if its encoding has to be guessed.

    Raises:
        InputError: its encoding is not certain, or it is no text.
    """
    encoding = _unicode(path, report)
    if encoding:
        return open(path, encoding=encoding, newline=newline)
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"not UTF-8, and larger than {MAX_BYTES >> 20} MiB: convert it")
    return StringIO(decoded(path, report), newline)


def _unicode(path: Path, report: Report) -> str | None:
    """The encoding that a byte order mark says, or UTF-8; None if the file is not in that."""
    with open(path, "rb") as file:
        part = file.read(4)
        name = marked(part) or "utf-8"
        decoder = codecs.getincrementaldecoder(name)()
        while True:
            try:
                text = decoder.decode(part, final=not part)
            except UnicodeDecodeError:
                return None
            if "\0" in text:
                raise InputError("not text: it has zero bytes")
            if not part:
                return name
            part = file.read(_PART)
            report.alive()
