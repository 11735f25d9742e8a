"""The columns of a bulk run: those that are read, those that are kept, and those of the answers."""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fabir.bulk.inputs import InputFile
from fabir.data.addresses import STDIN
from fabir.data.csv_rows import not_utf8
from fabir.data.parquet import as_text, common_type, import_arrow, is_exact, kept_type
from fabir.data.tables import Row, check_id, check_text, read_header, read_table, table_kind
from fabir.errors import InputError, InputWarning
from fabir.terminal import printable

ANSWERS: dict[str, type] = {
    "answer": str,
    "start": int,
    "end": int,
    "score": float,
    "no_answer_score": float,
    "best_guess": str,
    "best_guess_score": float,
}
SQUAD: tuple[str, ...] = ("id", "title", "question", "context")  # columns of a SQuAD file
_ID_ADVICE = "cast it, or name another column with --id-column"
_MOST_NAMES = 20  # columns that an error lists


class Columns(NamedTuple):
    """The columns of the input. A row of the output has the id, the question and those of `keep`,
    under their names in the input, and then `answers`.

    context: None for "context", or "passage" where there is no "context"
    id: None for the row's number, under the name "id"; see `find_ids`
    keep: further columns of the output; "all" among them stands for all that have a name, in their
        order
    prefix: begins the names of `answers`
    """

    question: str = "question"
    context: str | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()
    prefix: str = ""

    @property
    def answers(self) -> dict[str, type]:
        """`ANSWERS` under their names in the output."""
        return {self.prefix + name: kind for name, kind in ANSWERS.items()}

    @property
    def id_name(self) -> str:
        return self.id or "id"

    @property
    def keeps_all(self) -> bool:
        return "all" in self.keep

    @property
    def named(self) -> list[str]:
        """The further columns that are named."""
        return [name for name in self.keep if name != "all"]

    @property
    def wanted(self) -> set[str] | None:
        """The columns that are read; None for all."""
        if self.keeps_all:
            return None
        contexts = ["context", "passage"] if self.context is None else [self.context]
        return {self.question, *contexts, self.id_name, *self.keep}

    def context_in(self, names: Collection[str]) -> str:
        other = "passage" if "passage" in names and "context" not in names else "context"
        return other if self.context is None else self.context

    def kept_of(self, names: Collection[str]) -> list[str]:
        """The columns of the output before the answers, given those of the input.

        Raises:
            InputError: one of them has the name of a column of the answers.
        """
        kept = [self.id_name, self.question]
        if self.keeps_all:
            kept = list(filter(None, names))
            kept = kept if self.id_name in kept else [self.id_name, *kept]
        kept += self.named
        self.refuse_answers(kept, "--prefix predicted_")
        return list(dict.fromkeys(kept))

    def refuse_answers(self, names: Iterable[str], option: str) -> None:
        """Raises an InputError if one of the names is that of a column of the answers, or if no
        file can have the names of these.

        Args:
            option: what gives these columns other names
        """
        if not_utf8(self.prefix):
            raise InputError(f"the prefix {printable(self.prefix)!r} is not UTF-8 text")
        for name in names:
            if name in self.answers:
                raise InputError(
                    f'field "{name}": a column of the answers has this name; give them others with '
                    f"{option}, or leave it out"
                )

    def kept_row(self, row: Row, number: int) -> Row:
        """The values of a row that are kept; `number` is its id if no row has one.

        Raises:
            InputError: a value cannot be written, or the row has an id where rows are numbered; or
                see `kept_of`.
        """
        kept = {name: row.get(name) for name in self.kept_of(row)}
        for name, value in kept.items():
            check_text(name, name, blank=True)
            if isinstance(value, str | list | dict):
                check_text(as_text(value), name, blank=True)
        id = check_id(row.get(self.id_name), self.id_name, _ID_ADVICE)
        if self.id is None and id is not None:
            raise InputError(
                'field "id": rows are numbered, since the first has none; add --id-column id'
            )
        return kept | {self.id_name: number if self.id is None else id}


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raises an InputError if the value of an argument is none of the choices."""
    if value not in choices:
        raise InputError(f"{name} is one of {', '.join(choices)}, not {value!r}")


def find_ids(files: Sequence[InputFile], columns: Columns) -> Columns:
    """The columns with the name of the ids, if a file has such a column.

    In a file of JSON the first row that can be read tells.
    """
    there = columns.id or any(columns.id_name in _names(file, columns) for file in files)
    return columns._replace(id=columns.id_name) if there else columns


def _names(file: InputFile, columns: Columns) -> Collection[str]:
    """The names of a file's columns. Standard input, which is read but once, has none here."""
    if file.name == STDIN:
        return ()
    own: Iterable[str] = SQUAD
    if table_kind(file.name) == ".jsonl":
        own = next((row.row for row in read_table(file.name) if not row.problem), ())
    elif table_kind(file.name):
        own = read_header(file.name, columns.wanted)
    return {*own, *file.partition}


def check_there(place: str, needed: Mapping[Any, str], names: Iterable[Any]) -> None:
    """Raises an InputError if a needed column is not among the names.

    Args:
        needed: the columns, each with the option that names it
    """
    there = list(names)
    for name, option in needed.items():
        if name not in there:
            shown = ", ".join(map(str, there[:_MOST_NAMES]))
            message = f'{place} has no column "{name}", only {shown}'
            raise InputError(f"{message}: name the right one with {option}")


def plan_output(files: Sequence[InputFile], columns: Columns) -> dict[str, Any]:
    """The columns of the output before the answers, as far as they do not depend on the rows. They
    have Arrow types if all files are .parquet, and else None. None is also the type of a column
    whose common type could change a value, such as a large id.

    Raises:
        InputError: a file lacks a column, or the types of a column cannot be kept.
    """
    columns.kept_of(())
    _warn_of_missing(files, columns)
    headers = {file.name: header for file in files if (header := _header(file, columns))}
    read = headers.values() if columns.keeps_all else [(), *headers.values()]
    names = dict.fromkeys(name for header in read for name in columns.kept_of(header))
    typed = all(table_kind(file.name) == ".parquet" for file in files)
    return {name: _common(name, headers, columns) if typed else None for name in names}


def _header(file: InputFile, columns: Columns) -> dict[str, Any]:
    """The header of a file, if it has one, checked. Its Arrow types are those of the output."""
    name, kind = file.name, table_kind(file.name)
    of_table = name == STDIN or kind
    header = read_header(name, columns.wanted) if of_table else dict.fromkeys(SQUAD, str)
    if not header:
        return {}
    text = import_arrow()[0].string() if kind == ".parquet" else str
    header = dict.fromkeys(file.partition, text) | header
    needed = {columns.question: "--question-column", columns.context_in(header): "--context-column"}
    needed |= {columns.id: "--id-column"} if columns.id else {}
    check_there(name, needed | dict.fromkeys(columns.named, "--keep"), header)
    try:
        kept = columns.kept_of(header)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    if kind == ".parquet":
        header |= {each: _kept_type(file, each, header, columns) for each in kept if each in header}
    return header


def _kept_type(file: InputFile, name: str, header: Mapping[str, Any], columns: Columns) -> Any:
    """The type that a column of a .parquet file gets in the output."""
    kind = kept_type(header[name])
    if kind is None:
        hint = ": name the others with --keep" if columns.keeps_all else ""
        for role, option in ((columns.question, "question"), (columns.id_name, "id")):
            if name == role:
                hint = f": cast it, or name another column with --{option}-column"
        raise InputError(
            f'{file.name}: column "{name}" cannot be kept, its type is {header[name]}{hint}'
        )
    return kind


def _warn_of_missing(files: Sequence[InputFile], columns: Columns) -> None:
    """Warn of named columns that the first line of JSON does not have: one may be misspelt."""
    of_json = next((file for file in files if table_kind(file.name) == ".jsonl"), None)
    named = [*filter(None, [columns.id]), *columns.named]
    first = next(read_table(of_json.name), None) if of_json and named else None
    for name in named:
        if of_json and first and not first.problem and name not in {*first.row, *of_json.partition}:
            message = f'{of_json.name}: the first row has no "{name}"; rows without it get none'
            warnings.warn(message, InputWarning, stacklevel=2)


def _common(name: str, headers: Mapping[str, Mapping[str, Any]], columns: Columns) -> Any:
    """The type that a column of several .parquet files gets; None if its values decide."""
    kinds = {file: header[name] for file, header in headers.items() if name in header}
    if not kinds:
        return int  # the numbers of rows, since there is no id
    common = common_type(list(kinds.values()))
    if common is None:
        first, kind = next(iter(kinds.items()))
        other = next(file for file in kinds if common_type([kind, kinds[file]]) is None)
        raise InputError(
            f'column "{name}" is {kind} in {first} and {kinds[other]} in {other}: leave it out, or '
            "answer them apart"
        )
    types = import_arrow()[0].types
    some_whole = types.is_floating(common) and any(map(types.is_integer, kinds.values()))
    if name == columns.id_name and some_whole:
        return None  # 7.0 is 7 in a row, see `check_id`
    return common if all(is_exact(kind, common) for kind in kinds.values()) else None
