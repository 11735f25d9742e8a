"""A bulk run: every kind of file, bad rows, and what a crash may leave."""

import csv
import io
import json
import os
import re
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bulk_rows import write_rows
from fabir import pipeline
from fabir.answer.predictor import Predictor
from fabir.bulk import rows as bulk
from fabir.bulk import run
from fabir.bulk.columns import ANSWERS
from fabir.bulk.journal import Journal
from fabir.bulk.run import BulkResult, answer_rows
from fabir.data.tables import read_table
from fabir.errors import InputError, InputWarning
from factories import small_reader
from tiny import Files


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bulk, "CHUNK", 16)
    return write_rows(tmp_path / "rows.jsonl", 40)


def test_rows_get_the_predictors_answers_in_order(source: Path, reader: Path) -> None:
    output = source.with_name("answers.jsonl")
    assert answer_rows(source, output, reader) == BulkResult(40, 0)
    asked = [row.row for row in read_table(source)]
    answered = [row.row for row in read_table(output)]
    assert [row["id"] for row in answered] == [row["id"] for row in asked]
    predictor = Predictor.load(reader)
    for row, given in zip(answered, asked, strict=True):
        assert row["answer"] == given["context"][row["start"] : row["end"]]
    (best,) = predictor.answer(asked[0]["question"], asked[0]["context"])
    assert (answered[0]["start"], answered[0]["end"]) == (best.start, best.end)
    assert answered[0]["score"] == pytest.approx(best.score, rel=1e-3)
    left = sorted(path.name for path in source.parent.iterdir())
    assert left == [".answers.jsonl.done", "answers.jsonl", "rows.jsonl"]


def test_below_the_threshold_a_row_has_the_guess_in_place_of_the_answer(
    source: Path, reader: Path
) -> None:
    outputs = [source.with_name(f"{name}.jsonl") for name in ("all", "some")]
    answer_rows(source, outputs[0], reader)
    all_rows = [row.row for row in read_table(outputs[0])]
    threshold = sorted(row["score"] for row in all_rows)[20]
    answer_rows(source, outputs[1], reader, threshold=threshold)
    some = [row.row for row in read_table(outputs[1])]
    for row, full in zip(some, all_rows, strict=True):
        if full["score"] >= threshold:
            assert row == full
        else:
            withheld = dict.fromkeys(("start", "end", "score"))
            guess = {"best_guess": full["answer"], "best_guess_score": full["score"]}
            assert row == full | {"answer": ""} | withheld | guess
    assert 0 < sum(not row["answer"] for row in some) < 40


def test_a_run_is_not_resumed_with_another_threshold(source: Path, reader: Path) -> None:
    output = source.with_name("answers.jsonl")
    with source.open("a") as file:
        file.write("{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, reader, threshold=0.25)
    with pytest.raises(InputError, match="another threshold: resume with the same one"):
        answer_rows(source, output, reader, resume=True)
    with pytest.raises(InputError, match="from 0 to 1, not 25"):
        answer_rows(source, output, reader, threshold=25, resume=True)


@pytest.mark.parametrize("line", ["null", "[]", '{"chunks": 1}', "\udcff"])
def test_a_damaged_journal_is_named(source: Path, reader: Path, line: str) -> None:
    output, journal = (source.with_name(name) for name in ("a.jsonl", "a.jsonl.journal"))
    with source.open("a") as file:
        file.write("{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, reader)
    with journal.open("a", errors="surrogateescape") as file:
        file.write(f"{line}\n")
    with pytest.raises(InputError, match=r"a\.jsonl\.journal is damaged: remove it"):
        answer_rows(source, output, reader, resume=True)


def test_questions_are_not_written_over(source: Path, reader: Path) -> None:
    before = source.read_bytes()
    with pytest.raises(InputError, match="is read, and would be written over"):
        answer_rows(source, source, reader)
    assert source.read_bytes() == before


def test_kinds_of_files_hold_the_same(source: Path, reader: Path) -> None:
    pytest.importorskip("pyarrow")
    found = []
    for name in ("a.jsonl", "a.csv", "a.jsonl.gz", "a.csv.gz", "a.parquet"):
        output = source.with_name(name)
        answer_rows(source, output, reader)
        found.append([row.row for row in read_table(output)])
        assert list(found[-1][0]) == ["id", "question", *ANSWERS]
    as_text = [{k: "" if v is None else str(v) for k, v in row.items()} for row in found[0]]
    assert found == [found[0], as_text, found[0], as_text, found[0]]


def test_input_of_every_kind_gives_the_same(source: Path, reader: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    given = [row.row for row in read_table(source)]
    with open(source.with_suffix(".csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(given[0]))
        writer.writeheader()
        writer.writerows(given)
    parquet.write_table(pyarrow.Table.from_pylist(given), source.with_suffix(".parquet"))
    written = []
    for kind in (".jsonl", ".csv", ".parquet"):
        output = source.with_name(f"from{kind}.jsonl")
        answer_rows(source.with_suffix(kind), output, reader)
        written.append(output.read_bytes())
    assert written[0] == written[1] == written[2]


def test_a_squad_file_gets_a_row_a_question(files: Files, reader: Path, tmp_path: Path) -> None:
    done = answer_rows(files.dev, tmp_path / "answers.csv", reader, keep=["title"])
    rows = [row.row for row in read_table(tmp_path / "answers.csv")]
    assert done.rows == len(rows) > 5
    assert all(row["title"] for row in rows)
    with pytest.raises(InputError, match='has no column "place", only id, title, question'):
        answer_rows(files.dev, tmp_path / "more.csv", reader, keep=["place"])


def test_parquet_keeps_the_types_of_columns(tmp_path: Path, reader: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    kinds = {
        "key": arrow.int64(),
        "q": arrow.large_string(),
        "day": arrow.date32(),
        "answers": arrow.struct({"text": arrow.list_(arrow.string())}),
        "rate": arrow.float32(),
    }
    rows = [
        {"key": 2**40, "q": "Who?", "day": None, "answers": {"text": ["Ada"]}, "rate": 0.5},
        {"key": None, "q": "When?", "day": None, "answers": None, "rate": float("nan")},
    ]
    table = arrow.Table.from_pylist(rows, arrow.schema(kinds))
    table = table.append_column("text", arrow.array(["Ada did in 1843."] * 2))
    (tmp_path / "parts").mkdir()
    parquet.write_table(table, tmp_path / "parts" / "a.parquet")
    parquet.write_table(table.drop(["rate"]), tmp_path / "parts" / "b.parquet")
    named: dict[str, Any] = {
        "question_column": "q",
        "context_column": "text",
        "id_column": "key",
        "keep": "all",
    }
    output = tmp_path / "answers.parquet"
    assert answer_rows(tmp_path / "parts", output, reader, **named) == BulkResult(4, 0)
    written = parquet.read_table(output)
    assert written.schema.names == [*kinds, "text", *ANSWERS]
    assert [written.schema.field(name).type for name in kinds] == list(kinds.values())
    assert written["key"].to_pylist() == [2**40, None, 2**40, None]
    kept = written.select(["q", "day", "answers", "rate"]).to_pylist()
    assert str(kept[1]["rate"]) == "nan"
    assert [row["rate"] for row in kept] == [0.5, kept[1]["rate"], None, None]
    assert [row["answers"] for row in kept] == [{"text": ["Ada"]}, None] * 2
    lines = tmp_path / "answers.jsonl"
    answer_rows(tmp_path / "parts", lines, reader, **named)
    assert json.loads(lines.read_text().splitlines()[1], parse_constant=pytest.fail)["rate"] is None


@pytest.mark.parametrize("kind", ["int8", "uint64", "float64", "date32", "string"])
def test_a_row_without_an_id_keeps_none(tmp_path: Path, reader: Path, kind: str) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids = arrow.array([5, None, 7], "int32").cast(kind)
    asked = {"question": ["Who?"] * 3, "context": ["Ada did."] * 3}
    source = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"id": ids, **asked}), source)
    answer_rows(source, tmp_path / "out.parquet", reader)
    assert parquet.read_table(tmp_path / "out.parquet")["id"].combine_chunks().equals(ids)
    for name in ("out.jsonl", "out.csv"):
        answer_rows(source, tmp_path / name, reader)
    whole = kind in ("int8", "uint64", "float64")
    found = [
        [row.row["id"] for row in read_table(tmp_path / f"out{k}")] for k in (".jsonl", ".csv")
    ]
    if whole:
        assert found == [[5, None, 7], ["5", "", "7"]]
    else:
        assert [found[0][1], found[1][1]] == [None, ""]
    assert "5.0" not in (tmp_path / "out.jsonl").read_text()


def test_large_numbers_stay_the_same_beside_files_with_floats(tmp_path: Path, reader: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    large, real, day = 2**53 + 1, arrow.array([7.0, None]), arrow.array([1, 2], arrow.date32())
    whole = arrow.array([large, 5])
    for name, ids in (("a", whole), ("b", real)):
        asked = {"question": ["Who?"] * 2, "context": ["Ada did."] * 2, "day": day}
        table = arrow.table({"id": ids, "n": ids.fill_null(0.5) if name == "b" else ids, **asked})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    names = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    answer_rows(names, tmp_path / "out.parquet", reader, keep=["n", "day"])
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found.schema.field("id").type == arrow.int64()
    assert found["id"].to_pylist() == [large, 5, 7, None]
    assert found["n"].to_pylist() == [str(large), "5", "7.0", "0.5"]
    assert found.schema.field("day").type == arrow.date32()


def test_ids_are_whole_numbers_in_parquet_of_several_types(tmp_path: Path, reader: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name, kind in (("a", "float64"), ("b", "int32")):
        asked = {"question": ["Who?"] * 2, "context": ["Ada did."] * 2}
        table = arrow.table({"id": arrow.array([7, None], kind), **asked})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    answer_rows([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "o.parquet", reader)
    ids = parquet.read_table(tmp_path / "o.parquet")["id"]
    assert (ids.type, ids.to_pylist()) == (arrow.int64(), [7, None, 7, None])


def test_rows_are_numbered_only_if_no_file_has_ids(
    tmp_path: Path, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"question": "Who?", "context": "Ada did."}
    output = tmp_path / "out.jsonl"

    def ids(*files: Any) -> list[Any]:
        answer_rows(files, output, reader)
        return [row.row["id"] for row in read_table(output)]

    def write(name: str, *ids: dict[str, Any]) -> Path:
        (tmp_path / name).write_text("".join(json.dumps(asked | id) + "\n" for id in ids))
        return tmp_path / name

    without, with_ids = write("a.jsonl", {}, {}), write("b.jsonl", {"id": 2.0}, {}, {"id": None})
    (tmp_path / "c.csv").write_text("question,context\nWho?,Ada did.\n")
    assert ids(without, tmp_path / "c.csv") == [1, 2, 3]
    assert ids(without, with_ids) == [None, None, 2, None, None]
    assert ids(tmp_path / "c.csv", with_ids) == [None, 2, None, None]
    for path, expected in ((without, [1, 2]), (with_ids, [2, None, None])):
        given = SimpleNamespace(buffer=io.BytesIO(path.read_bytes()))
        monkeypatch.setattr(sys, "stdin", given)
        assert ids("-") == expected
    later = write("d.jsonl", {}, {"id": 2})
    with pytest.raises(InputError, match=r"row 2, .*rows are numbered.* add --id-column id"):
        ids(later)
    with pytest.warns(InputWarning, match='the first row has no "id"'):
        answer_rows(later, output, reader, id_column="id", resume=True)
    assert [row.row["id"] for row in read_table(output)] == [None, 2]


def test_a_complete_output_is_not_made_again(source: Path, reader: Path) -> None:
    for second, name in enumerate(("answers.ndjson", "answers.csv", "ANSWERS.CSV.GZ")):
        output = source.with_name(name)
        whole = answer_rows(source, output, reader)
        before = output.read_bytes(), output.stat().st_mtime_ns
        assert answer_rows(source, output, reader, resume=True) == BulkResult(40, 0, before=True)
        assert (output.read_bytes(), output.stat().st_mtime_ns) == before
        assert answer_rows(source, output, reader, resume=True, threshold=1) == whole
        again: Any = {"reader": reader, "threshold": 1, "resume": True}
        output.write_bytes(output.read_bytes()[:-1])
        assert not answer_rows(source, output, **again).before
        os.utime(source, (second, second))
        assert not answer_rows(source, output, **again).before
        output.unlink()
        assert not answer_rows(source, output, **again).before
        assert answer_rows(source, output, **again).before


def test_unknown_choices_and_endings_are_refused(source: Path, reader: Path) -> None:
    output = source.with_name("answers.csv")
    wrong: Any
    for wrong, message in (
        ({"on_bad_row": "empty"}, "on_bad_row is one of error, skip, not 'empty'"),
        ({"engine": "dask"}, "engine is one of local, ray, not 'dask'"),
    ):
        with pytest.raises(InputError, match=message):
            answer_rows(source, output, reader, **wrong)
    other = source.rename(source.with_name("rows.xlsx"))
    with pytest.raises(InputError, match=r"rows\.xlsx: questions are read from .* SQuAD's \.json"):
        answer_rows(other, output, reader)
    upper = other.rename(source.with_name("ROWS.NDJSON"))
    assert answer_rows(upper, output, reader) == BulkResult(40, 0)


def test_columns_of_lines_of_json_come_from_all_rows(tmp_path: Path, reader: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    asked = {"question": "Who?", "context": "Ada did."}
    more = [{"id": 7, "n": 1}, {"id": 8, "n": 0.5, "by": "x"}, {"id": 9, "by": ["y"], "ok": True}]
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(asked | row) + "\n" for row in more))
    answer_rows(source, tmp_path / "a.parquet", reader, keep="all")
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.schema.names == ["question", "context", "id", "n", "by", "ok", *ANSWERS]
    assert table.select(["id", "n", "by", "ok"]).to_pylist() == [
        {"id": 7, "n": 1.0, "by": None, "ok": None},
        {"id": 8, "n": 0.5, "by": "x", "ok": None},
        {"id": 9, "n": None, "by": '["y"]', "ok": True},
    ]
    with pytest.warns(InputWarning):  # that the first row has neither
        answer_rows(source, tmp_path / "a.csv", reader, keep=["by", "ok"])
    (_, second, third) = (row.row for row in read_table(tmp_path / "a.csv"))
    assert (second["by"], second["ok"]) == ("x", "")
    assert (third["by"], third["ok"]) == ('["y"]', "true")


def test_a_name_that_the_first_row_lacks_is_said(source: Path, reader: Path) -> None:
    output = source.with_name("answers.jsonl")
    with pytest.warns(InputWarning, match=r'rows\.jsonl: the first row has no "pirce"'):
        answer_rows(source, output, reader, keep=["context", "pirce"])
    first = next(read_table(output)).row
    assert first["context"]
    assert first["pirce"] is None


def test_files_without_rows_give_the_columns(tmp_path: Path, reader: Path) -> None:
    (tmp_path / "rows.csv").write_text("question,context,by\n")
    (tmp_path / "rows.jsonl").write_text("")
    for name in ("rows.csv", "rows.jsonl"):
        output = tmp_path / "answers.csv"
        assert answer_rows(tmp_path / name, output, reader) == BulkResult(0, 0)
        assert output.read_text().strip() == ",".join(["id", "question", *ANSWERS])
    answer_rows(tmp_path / "rows.csv", output, reader, keep="all")
    assert output.read_text().startswith("id,question,context,by,answer,")


def test_several_readers_answer_as_an_ensemble(
    source: Path, reader: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    model = small_reader()
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.mul_(1.5)
    model.save(other)
    output = source.with_name("answers.jsonl")
    answer_rows(source, output, [reader, other])
    asked = [row.row for row in read_table(source)][:16]
    readings = Predictor.load([reader, other]).read_all(
        [(row["question"], row["context"]) for row in asked]
    )
    for row, reading in zip(read_table(output), readings, strict=False):
        assert row.row["score"] == pytest.approx(reading.answers[0].score)
    source.write_text(source.read_text() + "{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, [reader, other])
    with pytest.raises(InputError, match="another reader"):
        answer_rows(source, output, reader, resume=True)


def test_several_inputs_are_one(source: Path, reader: Path, tmp_path: Path) -> None:
    lines = source.read_text().splitlines(keepends=True)
    for name, part in (("a", lines[:25]), ("b", lines[25:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(part))
    parts = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    answer_rows(source, tmp_path / "one.csv", reader, keep="all")
    answer_rows(parts, tmp_path / "two.csv", reader, keep="all")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_an_address_is_read_and_resumed(source: Path, reader: Path, tmp_path: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    whole, output = tmp_path / "whole.jsonl", tmp_path / "answers.jsonl"
    answer_rows(source, whole, reader)
    memory.pipe("/rows.jsonl", source.read_bytes() + b"{}\n")
    with pytest.raises(InputError, match=r"memory://rows\.jsonl: row 41"):
        answer_rows("memory://rows.jsonl", output, reader)
    answer_rows("memory://rows.jsonl", output, reader, resume=True, on_bad_row="skip")
    assert output.read_bytes() == whole.read_bytes()
    memory.store.clear()
    with pytest.raises(InputError, match="written to a file of this machine"):
        answer_rows(source, "memory://answers.jsonl", reader)


def test_standard_input_is_answered_but_not_resumed(
    source: Path, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = source.with_name("answers.jsonl")
    given = SimpleNamespace(buffer=io.BytesIO(source.read_bytes()))
    monkeypatch.setattr(sys, "stdin", given)
    assert answer_rows("-", output, reader) == BulkResult(40, 0)
    with pytest.raises(InputError, match="standard input cannot be read again"):
        answer_rows("-", output, reader, resume=True)
    with pytest.raises(InputError, match="--engine ray reads files only"):
        answer_rows("-", output, reader, engine="ray")


def test_a_failed_run_of_standard_input_is_not_in_the_way(
    source: Path, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = source.with_name("answers.jsonl")

    def give(more: bytes = b"") -> None:
        given = SimpleNamespace(buffer=io.BytesIO(source.read_bytes() + more))
        monkeypatch.setattr(sys, "stdin", given)

    give(b"{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows("-", output, reader)
    assert [path.name for path in source.parent.iterdir()] == ["rows.jsonl"]
    with monkeypatch.context() as killed:
        killed.setattr(Journal, "leave", Journal.close)
        give(b"{}\n")
        with pytest.raises(InputError, match="row 41"):
            answer_rows("-", output, reader)
    assert output.with_name("answers.jsonl.partial").stat().st_size
    give()
    assert answer_rows("-", output, reader) == BulkResult(40, 0)
    assert not output.with_name("answers.jsonl.journal").exists()


def test_a_table_on_standard_input_is_told_from_lines_of_json(
    source: Path, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = SimpleNamespace(buffer=io.BytesIO(b"question,context\nWho?,Ada did.\n"))
    monkeypatch.setattr(sys, "stdin", given)
    with pytest.raises(InputError, match=r"row 1.*standard input each line is JSON"):
        answer_rows("-", source.with_name("answers.jsonl"), reader)


def test_standard_input_does_not_write_over_an_unfinished_run(
    source: Path, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = source.with_name("answers.jsonl")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(source.read_bytes())))
    with source.open("a") as file:
        file.write("{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, reader)
    with pytest.raises(InputError, match=r"complete it first, or remove .*\.jsonl\.journal"):
        answer_rows("-", output, reader)


def test_an_unfinished_run_of_another_version_is_not_gone_on_with(
    source: Path, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = source.with_name("answers.jsonl")
    answer_rows(source, output, reader)
    version = run.__version__
    monkeypatch.setattr(run, "__version__", "0.0.9")
    assert not answer_rows(source, output, reader, resume=True).before
    assert answer_rows(source, output, reader, resume=True).before
    with source.open("a") as file:
        file.write("{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, reader)
    monkeypatch.setattr(run, "__version__", version)
    with pytest.raises(InputError, match="another version of fabir: resume with the same one"):
        answer_rows(source, output, reader, resume=True)


def test_a_complete_run_leaves_an_unfinished_one_of_other_settings(
    source: Path, reader: Path
) -> None:
    output, all_rows = source.with_name("answers.jsonl"), source.read_text()
    answer_rows(source, output, reader)
    source.write_text(all_rows + "{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, reader, keep=["context"])
    source.write_text(all_rows)
    with pytest.raises(InputError, match=r"was made with another .*: resume with the same one, or"):
        answer_rows(source, output, reader, resume=True)
    assert output.with_name("answers.jsonl.partial").stat().st_size


def test_a_column_of_ids_without_a_name_is_refused(source: Path, reader: Path) -> None:
    with pytest.raises(InputError, match="--id-column is empty: name a column, or leave it out"):
        answer_rows(source, source.with_name("a.jsonl"), reader, id_column="")


def test_skipped_rows_are_no_complete_run_where_they_are_errors(source: Path, reader: Path) -> None:
    output = source.with_name("answers.jsonl")
    lines = source.read_text().splitlines(keepends=True)
    source.write_text("".join([lines[0], "{}\n", *lines[1:]]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_finish", lambda *_: os.read(-1, 1))
        with pytest.raises(OSError, match="Bad file descriptor"):
            answer_rows(source, output, reader, on_bad_row="skip")
    message = r"resumed skipped 1 bad rows: add --on-bad-row skip, or remove .*answers\.jsonl\."
    with pytest.raises(InputError, match=f"{message}journal"):
        answer_rows(source, output, reader, resume=True)
    assert answer_rows(source, output, reader, resume=True, on_bad_row="skip") == BulkResult(40, 1)
    with pytest.raises(InputError, match=f"{message}done"):
        answer_rows(source, output, reader, resume=True)
    output.with_name(".answers.jsonl.done").unlink()
    with pytest.raises(InputError, match="row 2, field"):
        answer_rows(source, output, reader, resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_what_a_killed_run_left_of_its_end_goes(source: Path, reader: Path, resume: bool) -> None:
    output = source.with_name("answers.jsonl")
    answer_rows(source, output, reader)
    left = source.with_name("..answers.jsonl.done.abcd_123.partial")
    left.write_text("{")
    assert answer_rows(source, output, reader, resume=resume).before == resume
    assert not left.exists()


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_a_prefix_keeps_columns_with_names_of_answers(
    source: Path, reader: Path, ending: str
) -> None:
    rows = [row.row for row in read_table(source)]
    labelled = source.with_name("labelled.jsonl")
    labelled.write_text("".join(json.dumps(row | {"answer": "true"}) + "\n" for row in rows))
    plain, output = source.with_name("plain.jsonl"), source.with_name("answers" + ending)
    answer_rows(source, plain, reader)
    answer_rows(labelled, output, reader, keep="all", prefix="own_")
    found = [row.row for row in read_table(output)]
    assert [row["answer"] for row in found] == ["true"] * 40
    expected = [row.row["answer"] for row in read_table(plain)]
    assert [row["own_answer"] or "" for row in found] == expected
    assert list(found[0])[-len(ANSWERS) :] == [f"own_{name}" for name in ANSWERS]


def test_another_choice_of_columns_is_not_gone_on_with(source: Path, reader: Path) -> None:
    output = source.with_name("answers.jsonl")
    with source.open("a") as file:
        file.write("{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, reader, keep=["context"])
    with pytest.raises(InputError, match="another choice of columns: resume with the same one"):
        answer_rows(source, output, reader, resume=True)
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, reader, resume=True, keep=["context"])


def test_progress_has_the_rate_and_the_time_left(
    source: Path, reader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "_QUIET", 0)
    answer_rows(source, source.with_name("answers.jsonl"), reader)
    assert re.match(
        r"16 rows, [\d,]+(\.\d)? a second, \d\d%, 0:\d\d:\d\d left\n", capsys.readouterr().err
    )


def test_bad_rows_end_a_run_or_are_skipped(
    source: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = source.read_text().splitlines()
    lines[20] = '{"question": "Who?"}'
    source.write_text("\n".join(lines))
    output = source.with_name("answers.csv")
    with pytest.raises(InputError, match=r'rows.jsonl: row 21, field "context": missing .*skip'):
        answer_rows(source, output, reader)
    assert not output.exists()
    with pytest.raises(InputError, match="unfinished run: add --resume"):
        answer_rows(source, output, reader, on_bad_row="skip")
    capsys.readouterr()
    done = answer_rows(source, output, reader, on_bad_row="skip", resume=True)
    assert done == BulkResult(39, 1)
    assert "skipped: " in capsys.readouterr().err
    assert len(list(read_table(output))) == 39


def test_an_invisible_question_costs_no_other_its_answer(
    source: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = source.read_text().splitlines()
    for number, blank in ((3, "\u200b"), (20, "\ufeff"), (30, "\u00ad \u200b")):
        lines[number] = json.dumps(json.loads(lines[number]) | {"question": blank})
    source.write_text("\n".join(lines))
    output = source.with_name("answers.jsonl")
    with pytest.raises(InputError, match=r'rows\.jsonl: row 4, field "question": blank'):
        answer_rows(source, output, reader)
    assert answer_rows(source, output, reader, on_bad_row="skip") == BulkResult(37, 3)
    assert f'skipped: {source}: row 21, field "question": blank' in capsys.readouterr().err


def test_an_open_quote_ends_a_run_whatever_is_done_about_bad_rows(
    tmp_path: Path, reader: Path
) -> None:
    source = tmp_path / "rows.csv"
    source.write_text('question,context\nWho?,Ada.\nWho?,"Ada did\nWho?,Ada.\n')
    for given in ("error", "skip"):
        with pytest.raises(InputError, match=r"rows\.csv: row 2: a cell begins with a quote"):
            answer_rows(source, tmp_path / "answers.csv", reader, on_bad_row=given)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("kind", [".jsonl", ".csv"])
def test_an_output_keeps_its_permissions_and_its_place(
    source: Path, reader: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = source.with_name("vault")
    vault.mkdir()
    target, link = vault / f"private{kind}", source.with_name(f"link{kind}")
    link.symlink_to(target)
    target.touch(0o600)
    lines = source.read_text()
    source.write_text(lines + "{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, link, reader)
    partial = vault / f"private{kind}.partial"
    assert stat.S_IMODE(partial.stat().st_mode) == 0o600
    answer_rows(source, link, reader, resume=True, on_bad_row="skip")
    assert link.is_symlink()
    assert len(list(read_table(target))) == 40
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert answer_rows(source, link, reader, resume=True, on_bad_row="skip").before
    left = {path.name for path in vault.iterdir()}
    assert left == {f"private{kind}", f".private{kind}.done"}


def test_a_predictor_is_a_reader(source: Path, reader: Path) -> None:
    named, given = source.with_name("named.jsonl"), source.with_name("given.jsonl")
    answer_rows(source, named, reader, threshold=0.01)
    predictor: Any = Predictor.load(reader, threshold=0.01)
    for each in (predictor, pipeline(model=predictor)):
        answer_rows(source, given, each)
        assert given.read_bytes() == named.read_bytes()
    assert answer_rows(source, given, Predictor.load(reader, threshold=0.01), resume=True).before
    assert not answer_rows(source, given, Predictor.load(reader, threshold=1), resume=True).before
    rows = [row.row for row in read_table(given)]
    assert not any(row["answer"] for row in rows)
    answer_rows(source, given, predictor, threshold=0)
    assert all(row.row["answer"] for row in read_table(given))


def test_what_is_no_file_is_refused_in_one_line(source: Path, reader: Path) -> None:
    pandas = pytest.importorskip("pandas")
    output = source.with_name("answers.jsonl")
    wrong: Any
    for wrong, message in (
        ((pandas.DataFrame({"question": []}), output), "answer_frame answers a DataFrame"),
        ((3, output), "source is a name or a list of names, not of type int"),
        ((source, output, 3), "a model is named by a folder or a name"),
    ):
        with pytest.raises(InputError, match=message):
            answer_rows(*wrong)
    wrong = {"threshold": "x"}
    with pytest.raises(InputError, match="a probability from 0 to 1, not 'x'"):
        answer_rows(source, output, reader, **wrong)
    answer_rows(source, output, reader, threshold=np.float32(0.5))  # pyright: ignore[reportArgumentType]
    assert len(list(read_table(output))) == 40


def test_a_number_that_is_not_finite_is_missing_in_every_kind(tmp_path: Path, reader: Path) -> None:
    asked = '"question": "Who?", "context": "Ada did."'
    source = tmp_path / "rows.jsonl"
    values = ["1", '"1"', "NaN", "Infinity", "[NaN]"]
    source.write_text("".join(f'{{{asked}, "v": {value}, "n": 1}}\n' for value in values))
    found = []
    for kind in (".jsonl", ".csv", ".parquet"):
        answer_rows(source, tmp_path / f"out{kind}", reader, keep="all")
        found.append([row.row["v"] for row in read_table(tmp_path / f"out{kind}")])
    assert found[0] == [1, "1", None, None, [None]]
    assert found[1] == ["1", "1", "", "", "[null]"]
    assert found[2] == ["1", "1", None, None, "[null]"]


@pytest.mark.parametrize(("kind", "kept"), [(".jsonl", 0.5), (".csv", "0.5"), (".parquet", 0.5)])
def test_a_number_that_no_float_holds_is_missing(
    tmp_path: Path, reader: Path, kind: str, kept: Any
) -> None:
    asked = '"question": "Who?", "context": "Ada did."'
    source, output = tmp_path / "rows.jsonl", tmp_path / f"out{kind}"
    source.write_text(f'{{{asked}, "v": 0.5}}\n{{{asked}, "v": 1e999}}\n')
    answer_rows(source, output, reader, keep=["v"])
    assert [row.row["v"] or None for row in read_table(output)] == [kept, None]


def test_folders_are_columns_of_the_output(tmp_path: Path, reader: Path) -> None:
    for year in ("2023", "2024"):
        (tmp_path / "hive" / f"year={year}").mkdir(parents=True)
        (tmp_path / "hive" / f"year={year}" / "a.csv").write_text(
            "question,context\nWho?,Ada did.\n"
        )
    answer_rows(tmp_path / "hive", tmp_path / "out.csv", reader, keep=["year"])
    assert [row.row["year"] for row in read_table(tmp_path / "out.csv")] == ["2023", "2024"]


def test_nothing_but_bad_rows_is_a_mistake(tmp_path: Path, reader: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("question,context\n,2\n3,\n")
    with pytest.raises(InputError, match="none of its rows can be used, 2 in all"):
        answer_rows(source, tmp_path / "answers.csv", reader, on_bad_row="skip")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_mistake_leaves_nothing_behind(tmp_path: Path, reader: Path, source: Path) -> None:
    for given, output, message in (
        (tmp_path / "no.jsonl", "answers.jsonl", "cannot read"),
        (source, "answers.xlsx", "rows are written as .jsonl, .ndjson, .csv"),
        (source, "answers.parquet.gz", "rows are written as"),
        (source, "/dev/stdout", "the output must be a file, since a run is resumed from it"),
        (source, "", "it is a folder|rows are written as"),
    ):
        with pytest.raises(InputError, match=message):
            answer_rows(given, tmp_path / output, reader)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_another_input_is_not_gone_on_with(source: Path, reader: Path) -> None:
    output = source.with_name("answers.jsonl")
    with source.open("a") as file:
        file.write("{}\n")
    with pytest.raises(InputError, match="row 41"):
        answer_rows(source, output, reader)
    os.truncate(source, 1000)
    with pytest.raises(InputError, match="another input file: resume with the same one"):
        answer_rows(source, output, reader, resume=True)


def test_what_was_half_written_never_happened(source: Path, reader: Path) -> None:
    """Every state that a crash can leave: each file cut anywhere after what is done."""
    whole, broken = source.with_name("whole.jsonl"), source.with_name("broken.jsonl")
    answer_rows(source, whole, reader)
    lines = source.read_text().splitlines()
    source.write_text("\n".join([*lines[:-1], "{}"]))
    os.utime(source, ns=(0, 0))
    with pytest.raises(InputError):
        answer_rows(source, broken, reader)
    source.write_text("\n".join([*lines[:-1], "{}"]))
    partial, journal = (source.with_name(f"broken.jsonl.{name}") for name in ("partial", "journal"))
    records = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert [record["rows"] for record in records] == [16, 32]
    answers, states = partial.read_bytes(), journal.read_bytes()
    for extra, cut in ((b'{"id', 0), (b"", 3), (b"", len(states) - 4)):
        partial.write_bytes(answers + extra)
        journal.write_bytes(states[: len(states) - cut])
        os.utime(source, ns=(0, 0))
        answer_rows(source, broken, reader, resume=True, on_bad_row="skip")
        assert broken.read_bytes() == b"".join(whole.read_bytes().splitlines(True)[:-1])
