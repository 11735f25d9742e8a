"""What the columns of the output are, and which cannot be, is known before anything is answered."""

from pathlib import Path
from typing import Any

import pytest

from fabir.bulk.columns import Columns, plan_output
from fabir.bulk.inputs import find_inputs
from fabir.errors import InputError


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "t.csv").write_text("order,q,text,price,price\n")
    return str(tmp_path / "t.csv")


def plan(*files: str, **columns: Any) -> dict[str, Any]:
    return plan_output(find_inputs(files), Columns(**columns))


def write_parquet(path: Path, **columns: Any) -> str:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    fixed = {"question": arrow.string(), "context": arrow.string()}
    parquet.write_table(arrow.schema(fixed | columns).empty_table(), path)
    return str(path)


def test_columns_have_their_names_in_the_input(table: str) -> None:
    named = {"question": "q", "context": "text", "id": "order"}
    assert list(plan(table, **named)) == ["order", "q"]
    assert list(plan(table, question="q", context="text", keep=("text", "q"))) == [
        "id",
        "q",
        "text",
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, r't\.csv has no column "question", only order, q, text, price'),
        ({"question": "q"}, 'has no column "context"'),
        ({"question": "q", "context": "text", "id": "key"}, 'has no column "key"'),
        ({"question": "q", "context": "text", "keep": ("by",)}, 'has no column "by"'),
        (
            {"question": "q", "context": "text", "keep": ("price",)},
            'two columns are called "price"',
        ),
        ({"question": "q", "context": "text", "keep": ("all",)}, 'two columns are called "price"'),
        (
            {"question": "q", "context": "text", "keep": ("by", "all")},
            'two columns are called "price"',
        ),
        ({"keep": ("score",)}, 'field "score": a column of the answers has this name'),
        ({"question": "answer"}, 'field "answer": a column of the answers has this name'),
    ],
)
def test_a_wrong_column_is_named(table: str, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(table, **columns)


def test_a_name_beside_all_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("question,context,price\n")
    table = str(tmp_path / "t.csv")
    kept = ["id", "question", "context", "price"]
    assert list(plan(table, keep=("all", "price"))) == kept
    with pytest.raises(InputError, match='has no column "prize", only question, context, price'):
        plan(table, keep=("all", "prize"))


def test_folders_have_columns(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    (tmp_path / "n=1" / "year=2024").mkdir(parents=True)
    one = write_parquet(tmp_path / "n=1" / "year=2024" / "a.parquet", n=arrow.int8())
    found = plan(one, keep=("year", "n"))
    assert found["year"] == arrow.string()
    assert found["n"] == arrow.int8()
    with pytest.raises(InputError, match='has no column "month"'):
        plan(one, keep=("month",))


def test_all_columns_must_not_be_those_of_the_answers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("question,context,answer\n")
    with pytest.raises(InputError, match=r't\.csv: field "answer": a column of the answers'):
        plan(str(tmp_path / "t.csv"), keep=("all",))


def test_types_of_several_files_are_joined(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    one = write_parquet(tmp_path / "a.parquet", n=arrow.int32(), by=arrow.null())
    two = write_parquet(tmp_path / "b.parquet", n=arrow.float64(), at=arrow.date32())
    assert plan(one, two, keep=("all",)) == {
        "id": int,
        "question": arrow.string(),
        "context": arrow.string(),
        "n": arrow.float64(),
        "by": arrow.string(),
        "at": arrow.date32(),
    }


def test_ids_that_are_whole_in_a_file_are_whole(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    whole = write_parquet(tmp_path / "a.parquet", id=arrow.int32(), n=arrow.int32())
    small = write_parquet(tmp_path / "b.parquet", id=arrow.float32(), n=arrow.float32())
    large = write_parquet(tmp_path / "c.parquet", id=arrow.float64(), n=arrow.float64())
    planned = plan(whole, large, keep=("n",))
    assert (planned["id"], planned["n"]) == (None, arrow.float64())  # None: the values decide
    assert plan(small, large)["id"] == arrow.float64()


def test_categories_and_views_are_texts_beside_texts(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    kinds = arrow.string(), arrow.dictionary(arrow.int8(), arrow.string()), arrow.string_view()
    files = [
        write_parquet(tmp_path / f"{n}.parquet", id=kind, by=kind) for n, kind in enumerate(kinds)
    ]
    assert plan(*files, keep=("by",)) == dict.fromkeys(("id", "question", "by"), arrow.string())
    assert plan(files[1])["id"] == arrow.dictionary(arrow.int32(), arrow.string())
    assert plan(files[2])["id"] == arrow.string()


def test_values_decide_where_a_common_type_could_change_them(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    one = write_parquet(tmp_path / "a.parquet", id=arrow.int64(), n=arrow.uint64())
    two = write_parquet(tmp_path / "b.parquet", id=arrow.float64(), n=arrow.int64())
    assert plan(one, keep=("all",)) | {"id": None, "n": None} == plan(one, two, keep=("all",))


def test_types_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    one = write_parquet(tmp_path / "a.parquet", n=arrow.int32(), image=arrow.binary())
    two = write_parquet(tmp_path / "b.parquet", n=arrow.string())
    with pytest.raises(InputError, match=r'"n" is int32 in .*a\.parquet and string in .*b\.parq'):
        plan(one, two, keep=("n",))
    for name, option in (("id", "id"), ("question", "question")):
        wrong = {name: arrow.binary(16)}
        three = write_parquet(tmp_path / "c.parquet", **wrong)
        message = f"its type is .*: cast it, or name another column with --{option}-column"
        with pytest.raises(InputError, match=message):
            plan(three)
    with pytest.raises(
        InputError, match='"image" cannot be kept, its type is binary: name the others with --keep'
    ):
        plan(one, keep=("all",))
