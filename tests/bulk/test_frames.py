"""A frame comes back as what it was, with the answers of the bulk run beside its columns."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabir import answer_frame, pipeline
from fabir.answer.predictor import Predictor
from fabir.bulk.columns import ANSWERS
from fabir.bulk.run import answer_rows
from fabir.data.tables import read_table, write_table
from fabir.errors import InputError
from factories import EXAMPLES

VALUES: dict[str, list[Any]] = {
    "n": [3, 1, 2, 0],
    "question": [question for question, *_ in EXAMPLES[:4]],
    "context": [context for _, context, *_ in EXAMPLES[:4]],
}


def make(kind: str, values: dict[str, list[Any]]) -> Any:
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(values, index=[7, 7, 5, 6][: len(values["n"])])
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(values)
    return pytest.importorskip("datasets").Dataset.from_dict(values)


def values_of(frame: Any) -> dict[str, list[Any]]:
    names = list(frame.columns if hasattr(frame, "columns") else frame.column_names)
    values = {name: list(frame[name]) for name in names}
    return {name: [_plain(each) for each in column] for name, column in values.items()}


def _plain(value: Any) -> Any:
    """None for every way to say that there is no value."""
    return None if str(value) in ("nan", "<NA>", "None") else value


KINDS = pytest.mark.parametrize("kind", ["pandas", "polars", "datasets"])


@KINDS
def test_a_frame_has_the_answers_of_a_file(kind: str, reader: Path, tmp_path: Path) -> None:
    rows = [dict(zip(VALUES, row, strict=True)) for row in zip(*VALUES.values(), strict=True)]
    write_table(tmp_path / "rows.jsonl", rows, {})
    answer_rows(tmp_path / "rows.jsonl", tmp_path / "answers.jsonl", reader, threshold=0.01)
    expected = [row.row for row in read_table(tmp_path / "answers.jsonl")]
    frame = make(kind, VALUES)
    answered = answer_frame(frame, reader, threshold=0.01)
    assert type(answered) is type(frame)
    found = values_of(answered)
    assert list(found) == [*VALUES, *ANSWERS]
    assert values_of(frame) == VALUES
    assert {name: found[name] for name in VALUES} == VALUES
    assert {name: found[name] for name in ANSWERS} == {
        name: [row[name] for row in expected] for name in ANSWERS
    }
    if kind == "pandas":
        assert list(answered.index) == list(frame.index)


@KINDS
def test_types_do_not_depend_on_the_rows(kind: str, reader: Path) -> None:
    predictor = Predictor.load(reader)

    def types(values: dict[str, list[Any]], on_bad_row: Any = "error") -> Any:
        answered = answer_frame(make(kind, values), predictor, on_bad_row=on_bad_row)
        kinds = getattr(answered, "dtypes", None)
        kinds = (
            answered.features if kinds is None else dict(zip(answered.columns, kinds, strict=True))
        )
        return {name: kinds[name] for name in ANSWERS}

    usual = types(VALUES)
    assert types({name: values[:0] for name, values in VALUES.items()}) == usual
    assert types(VALUES | {"question": [None] * 4}, "empty") == usual


@KINDS
def test_a_bad_row_is_named_or_empty(kind: str, reader: Path) -> None:
    predictor = Predictor.load(reader)
    bad = make(kind, VALUES | {"context": [*VALUES["context"][:2], None, " "]})
    message = 'row 3 of the frame, field "context": missing; on_bad_row="empty"'
    with pytest.raises(InputError, match=message):
        answer_frame(bad, predictor)
    with pytest.raises(InputError, match="on_bad_row is one of error, empty, not 'skip'"):
        answer_frame(bad, predictor, on_bad_row="skip")  # pyright: ignore[reportArgumentType]
    found = values_of(answer_frame(bad, predictor, on_bad_row="empty"))
    whole = values_of(answer_frame(make(kind, VALUES), predictor))
    for name in ANSWERS:
        assert found[name][2:] == [None, None]
        assert (found[name][:2] == whole[name][:2]) or name.endswith("score")


@KINDS
def test_columns_may_have_other_names(kind: str, reader: Path) -> None:
    values = {"n": VALUES["n"], "q": VALUES["question"], "text": VALUES["context"]}
    predictor = Predictor.load(reader)
    found = answer_frame(make(kind, values), predictor, question_column="q", context_column="text")
    whole = answer_frame(make(kind, VALUES), predictor)
    assert [values_of(each)["start"] for each in (found, whole)] == [values_of(whole)["start"]] * 2
    for wrong, message in (
        (values, 'the frame has no column "question", only n, q, text'),
        (VALUES | {"score": [0] * 4}, 'field "score": a column of the answers has this name'),
    ):
        with pytest.raises(InputError, match=message):
            answer_frame(make(kind, wrong), predictor)


@KINDS
def test_a_prefix_keeps_columns_with_names_of_answers(kind: str, reader: Path) -> None:
    own = VALUES | {"answer": ["true"] * 4, "score": [0.5] * 4}
    found = values_of(answer_frame(make(kind, own), reader, prefix="own_"))
    plain = values_of(answer_frame(make(kind, VALUES), reader))
    assert {name: found[name] for name in own} == own
    assert {name: found[f"own_{name}"] for name in ANSWERS} == {
        name: plain[name] for name in ANSWERS
    }
    with pytest.raises(InputError, match=r'field "own_end": a column .* with prefix="predicted_"'):
        answer_frame(make(kind, VALUES | {"own_end": [0] * 4}), reader, prefix="own_")
    with pytest.raises(InputError, match=r"the prefix '.' is not UTF-8 text"):
        answer_frame(make(kind, VALUES), reader, prefix="\udce9")


@KINDS
def test_a_question_of_invisible_characters_is_a_bad_row(kind: str, reader: Path) -> None:
    bad = make(kind, VALUES | {"question": ["\u200b", *VALUES["question"][1:]]})
    with pytest.raises(InputError, match='row 1 of the frame, field "question": blank'):
        answer_frame(bad, reader)
    found = values_of(answer_frame(bad, reader, on_bad_row="empty"))
    assert found["answer"][0] is None
    assert all(found["answer"][1:])


@pytest.mark.parametrize(
    "form", ["numpy", "arrow", "pandas", {"type": "numpy", "columns": ["context"]}]
)
def test_a_dataset_keeps_its_format(reader: Path, form: Any) -> None:
    predictor = Predictor.load(reader)
    plain = make("datasets", VALUES)
    expected = values_of(answer_frame(plain, predictor, threshold=0))
    options = form if isinstance(form, dict) else {"type": form}
    for rows in (4, 0):
        frame = plain.select(range(rows)).with_format(**options)
        answered = answer_frame(frame, predictor, threshold=0)
        columns = [*frame.format["columns"], *ANSWERS]
        assert answered.format == frame.format | {"columns": columns}
        found = values_of(answered.with_format(None))
        assert found == {name: values[:rows] for name, values in expected.items()}


def test_texts_of_numpy_are_texts(reader: Path) -> None:
    pandas, predictor = pytest.importorskip("pandas"), Predictor.load(reader)
    texts = {name: list(map(np.str_, VALUES[name])) for name in ("question", "context")}
    frame = pandas.DataFrame(texts, dtype=object)
    assert type(frame["question"][0]) is np.str_
    found, whole = answer_frame(frame, predictor), answer_frame(make("pandas", VALUES), predictor)
    assert list(found["start"]) == list(whole["start"])
    frame = pandas.DataFrame({"question": [np.str_("None")], "context": ["Ada."]}, dtype=object)
    assert answer_frame(frame, predictor, threshold=0)["answer"][0]


def test_columns_of_pandas_may_have_numbers_for_names(reader: Path) -> None:
    pandas, predictor = pytest.importorskip("pandas"), Predictor.load(reader)
    named: Any = {"question_column": 1, "context_column": 0}
    rows = list(zip(VALUES["context"], VALUES["question"], strict=True))
    found = answer_frame(pandas.DataFrame(rows), predictor, **named)
    assert list(found.columns) == [0, 1, *ANSWERS]
    assert (
        list(found["start"]) == values_of(answer_frame(make("pandas", VALUES), predictor))["start"]
    )
    with pytest.raises(InputError, match='the frame has no column "2", only 0, 1: name the right'):
        answer_frame(pandas.DataFrame(rows), predictor, **named | {"question_column": 2})
    with pytest.raises(InputError, match='no column "0", only 0, 1'):
        answer_frame(pandas.DataFrame(rows), predictor, **named | {"context_column": "0"})
    twice = pandas.DataFrame(rows).set_axis([0, 0], axis=1)
    with pytest.raises(InputError, match='two columns are called "0"'):
        answer_frame(twice, predictor, question_column=0, context_column=0)


def test_columns_of_pandas_may_have_several_levels(reader: Path) -> None:
    pandas, predictor = pytest.importorskip("pandas"), Predictor.load(reader)
    names = pandas.MultiIndex.from_tuples([("asked", "question"), ("asked", "context")])
    frame = pandas.DataFrame([("What?", "Rain falls.")], columns=names)
    found = answer_frame(
        frame, predictor, question_column=names[0], context_column=names[1], threshold=0
    )
    assert list(found.columns) == [*names, *((name, "") for name in ANSWERS)]
    assert list(frame.columns) == list(names)
    assert found["answer"][0]
    with pytest.raises(InputError, match='field "answer": a column of the answers has this name'):
        answer_frame(found, predictor, question_column=names[0], context_column=names[1])


def test_a_column_may_be_called_as_what_a_data_set_has(reader: Path) -> None:
    for kind in ("pandas", "polars"):
        frame = make(kind, VALUES | {"column_names": VALUES["n"]})
        answered = values_of(answer_frame(frame, reader))
        assert list(answered) == [*VALUES, "column_names", *ANSWERS]


def test_a_pipeline_is_a_predictor_and_other_objects_are_refused(reader: Path) -> None:
    frame = make("polars", VALUES)
    expected = answer_frame(frame, Predictor.load(reader))
    assert answer_frame(frame, pipeline(model=Predictor.load(reader))).equals(expected)
    wrong: Any = 3
    with pytest.raises(InputError, match=r"named by a folder or a name, not .* int"):
        answer_frame(frame, wrong)
    wrong = "0.5"
    with pytest.raises(InputError, match=r"a probability from 0 to 1, not '0\.5'"):
        answer_frame(frame, reader, threshold=wrong)


def test_a_predictor_has_its_own_threshold(reader: Path) -> None:
    predictor = Predictor.load(reader, threshold=1.0)
    frame = make("polars", VALUES)
    assert set(values_of(answer_frame(frame, predictor))["answer"]) == {""}
    assert "" not in values_of(answer_frame(frame, predictor, threshold=0))["answer"]
    with pytest.raises(InputError, match="from 0 to 1"):
        answer_frame(frame, predictor, threshold=2)


def test_other_kinds_are_refused(reader: Path) -> None:
    for frame in (VALUES, [1]):
        with pytest.raises(InputError, match="takes a DataFrame of pandas or polars, or a"):
            answer_frame(frame, reader)


def test_a_kind_that_is_near_is_told_the_way(reader: Path) -> None:
    lazy = make("polars", VALUES).lazy()
    named = pytest.importorskip("datasets").DatasetDict(train=make("datasets", VALUES))
    table = pytest.importorskip("pyarrow").table(VALUES)
    for frame, hint in (
        (lazy, "LazyFrame: give it frame.collect()"),
        (named, 'DatasetDict: give it one of its data sets, such as data["train"]'),
        (table, "Table: give it table.to_pandas()"),
    ):
        with pytest.raises(InputError, match=re.escape(hint)):
            answer_frame(frame, reader)


def test_two_columns_of_one_name_are_refused(reader: Path) -> None:
    frame = make("pandas", VALUES)
    frame.columns = ["question", "question", "context"]
    with pytest.raises(InputError, match='the frame: two columns are called "question"'):
        answer_frame(frame, reader)
