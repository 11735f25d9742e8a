"""A bulk run: every kind of file, bad rows, and what a crash may leave."""

import csv
import json
import os
from pathlib import Path

import pytest

from bulk_rows import write_rows
from fabir.answer.predictor import Predictor
from fabir.bulk import rows as bulk
from fabir.bulk.rows import COLUMNS
from fabir.bulk.run import BulkResult, answer_rows
from fabir.data.tables import read_table
from fabir.errors import InputError
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
    assert sorted(path.name for path in source.parent.iterdir()) == ["answers.jsonl", "rows.jsonl"]


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
    with pytest.raises(InputError, match="what the questions are read from"):
        answer_rows(source, source, reader)
    assert source.read_bytes() == before


def test_kinds_of_files_hold_the_same(source: Path, reader: Path) -> None:
    pytest.importorskip("pyarrow")
    found = []
    for name in ("a.jsonl", "a.csv", "a.jsonl.gz", "a.csv.gz", "a.parquet"):
        output = source.with_name(name)
        answer_rows(source, output, reader)
        found.append([row.row for row in read_table(output)])
        assert list(found[-1][0]) == list(COLUMNS)
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
    done = answer_rows(files.dev, tmp_path / "answers.csv", reader)
    assert done.rows == len(list(read_table(tmp_path / "answers.csv"))) > 5


def test_bad_rows_end_a_run_or_are_skipped(
    source: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = source.read_text().splitlines()
    lines[20] = '{"question": "Who?"}'
    source.write_text("\n".join(lines))
    output = source.with_name("answers.csv")
    with pytest.raises(InputError, match=r'rows.jsonl: row 21, field "context": missing; .*skip'):
        answer_rows(source, output, reader)
    assert not output.exists()
    with pytest.raises(InputError, match="unfinished run: add --resume"):
        answer_rows(source, output, reader, on_bad_row="skip")
    capsys.readouterr()
    done = answer_rows(source, output, reader, on_bad_row="skip", resume=True)
    assert done == BulkResult(39, 1)
    assert "skipped: " in capsys.readouterr().err
    assert len(list(read_table(output))) == 39


def test_nothing_but_bad_rows_is_a_mistake(tmp_path: Path, reader: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(InputError, match="none of its 2 rows can be used"):
        answer_rows(source, tmp_path / "answers.csv", reader, on_bad_row="skip")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_mistake_leaves_nothing_behind(tmp_path: Path, reader: Path, source: Path) -> None:
    for given, output, message in (
        (tmp_path / "no.jsonl", "answers.jsonl", "cannot read"),
        (source, "answers.txt", "rows are written as"),
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
