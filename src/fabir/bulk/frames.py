"""Answers every row of a DataFrame of pandas or polars, or of a `datasets.Dataset`."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from fabir.answer.pipeline import QuestionAnsweringPipeline
from fabir.answer.predictor import Predictor
from fabir.answer.threshold import check_threshold
from fabir.bulk.columns import ANSWERS, Columns, check_choice, check_there
from fabir.bulk.engines import answer_questions
from fabir.bulk.readers import as_predictor
from fabir.bulk.rows import CHUNK, QuestionRow
from fabir.data.parquet import check_names
from fabir.data.tables import batched, check_text
from fabir.errors import InputError
from fabir.progress import track

Frame = TypeVar("Frame")
Values = dict[str, list[Any]]  # of each column, in the order of `ANSWERS`
_MISSING = {"None", "nan", "<NA>", "NaT"}  # how pandas and polars print that there is no value


def answer_frame(
    frame: Frame,
    reader: Predictor | QuestionAnsweringPipeline | str | Path | Sequence[str | Path] | None = None,
    *,
    threshold: float | None = None,
    question_column: Hashable = "question",
    context_column: Hashable = None,
    on_bad_row: Literal["error", "empty"] = "error",
    prefix: str = "",
) -> Frame:
    """The frame with the columns `fabir.bulk.columns.ANSWERS` added; its rows and columns stay.

    Args:
        frame: a DataFrame of pandas or polars, or a `datasets.Dataset`
        reader: a model's folder or name, `fast` by default; several answer as an ensemble; or a
            `Predictor`, to load the model once for many frames; or a pipeline, of which the
            Predictor is taken, but not the pipeline's own options
        threshold: how likely an answer that is given must be, see `Predictor`; by default that of
            the predictor
        question_column: its name; of a DataFrame of pandas, also a number
        context_column: by default "context", or "passage" where there is none
        on_bad_row: what happens if a row has no question or no context; "error" refuses the frame,
            "empty" leaves all answers of the row empty
        prefix: begins the names of the added columns; "predicted_" makes "predicted_answer" of
            "answer"

    Raises:
        InputError: the frame is of another kind, lacks a column, or has a column with the name of
            an answer's; a row is bad; a model cannot be loaded; `threshold` is not from 0 to 1; or
            `on_bad_row` is something else.
    """
    check_threshold(threshold)
    check_choice("on_bad_row", on_bad_row, ("error", "empty"))
    add = _adder(frame)
    table: Any = frame
    if add is _add_to_dataset:
        table = table.with_format(None)
    names = list(table.column_names if add is _add_to_dataset else table.columns)
    columns = Columns(prefix=prefix)
    context = columns.context_in(names) if context_column is None else context_column
    pair: Any = question_column, context
    check_there("the frame", {pair[0]: "question_column", pair[1]: "context_column"}, names)
    check_names("the frame", names, pair)
    # Of a column of several levels the first one may be the name of an answer's.
    tops: list[Any] = [
        name[0] if type(name) is tuple and not any(name[1:]) else name for name in names
    ]
    columns.refuse_answers(tops, 'prefix="predicted_"')
    predictor = as_predictor(reader)
    texts = track(zip(*(table[name] for name in pair), strict=True), "answering", len(table))
    answers: Values = {name: [] for name in ANSWERS}
    for chunk in batched(_questions(texts, pair, on_bad_row), CHUNK):
        given = answer_questions(predictor, filter(None, chunk), threshold)
        for asked in chunk:
            row = next(given) if asked else {}
            for name, values in answers.items():
                values.append(row.get(name))
    return add(frame, dict(zip(columns.answers, answers.values(), strict=True)))


def _questions(
    texts: Iterable[tuple[Any, Any]], names: tuple[Any, Any], on_bad_row: str
) -> Iterator[QuestionRow | None]:
    """The questions of a frame; None for a bad row."""
    for number, pair in enumerate(texts, 1):
        try:
            yield QuestionRow(*map(_text, pair, names), kept={})
        except InputError as error:
            if on_bad_row == "error":
                hint = 'on_bad_row="empty" leaves the answers of such rows empty'
                raise InputError(f"row {number} of the frame, {error}; {hint}") from error
            yield None


def _text(value: Any, name: Any) -> str:
    if not isinstance(value, str) and str(value) in _MISSING:
        raise InputError(f'field "{name}": missing')
    return check_text(value, name)


def _adder(frame: Any) -> Callable[[Any, Values], Any]:
    """The function that adds columns to a frame of this kind."""
    for base in type(frame).__mro__:
        add = _ADDERS.get((base.__module__.partition(".")[0], base.__name__))
        if add:
            return add
    package, name = type(frame).__module__.partition(".")[0], type(frame).__name__
    hint = _HINTS.get((package, name))
    raise InputError(
        "answer_frame takes a DataFrame of pandas or polars, or a datasets.Dataset, not "
        f"{type(frame).__module__}.{name}" + (f": give it {hint}" if hint else "")
    )


def _add_to_pandas(frame: Any, values: Values) -> Any:
    import pandas

    kinds = {str: "string", int: "Int64", float: "float64"}
    added = frame.copy(deep=False)
    below = [""] * (frame.columns.nlevels - 1)
    for (name, column), kind in zip(values.items(), ANSWERS.values(), strict=True):
        added[(name, *below) if below else name] = pandas.array(column, kinds[kind])
    return added


def _add_to_polars(frame: Any, values: Values) -> Any:
    import polars

    return frame.with_columns(
        polars.Series(name, column, kind)
        for (name, column), kind in zip(values.items(), ANSWERS.values(), strict=True)
    )


def _add_to_dataset(frame: Any, values: Values) -> Any:
    import datasets

    kinds = {str: "string", int: "int64", float: "float64"}
    types = [datasets.Value(kinds[kind]) for kind in ANSWERS.values()]
    features = dict(zip(values, types, strict=True))
    if not len(frame):  # its columns would be lost
        both = datasets.Features(frame.features | features)
        whole = datasets.Dataset.from_dict({name: [] for name in both}, both)
    else:
        added = datasets.Dataset.from_dict(values, datasets.Features(features))
        whole = datasets.concatenate_datasets([frame.with_format(None), added], axis=1)
    form = dict(frame.format)
    return whole.with_format(
        form["type"],
        columns=[*form["columns"], *values],
        output_all_columns=form["output_all_columns"],
        **form["format_kwargs"],
    )


_ADDERS: dict[tuple[str, str], Callable[[Any, Values], Any]] = {
    ("pandas", "DataFrame"): _add_to_pandas,
    ("polars", "DataFrame"): _add_to_polars,
    ("datasets", "Dataset"): _add_to_dataset,
}

# What to give in place of other kinds.
_HINTS = {
    ("polars", "LazyFrame"): "frame.collect()",
    ("pyarrow", "Table"): "table.to_pandas()",
    ("datasets", "DatasetDict"): 'one of its data sets, such as data["train"]',
}
