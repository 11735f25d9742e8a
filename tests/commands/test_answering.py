"""What `fabir predict` refuses in one line, and what it says of a complete output."""

import json
from pathlib import Path
from typing import Any

import pytest

from bulk_rows import write_rows
from fabir.cli import main


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in the folder where the test runs."""
    monkeypatch.chdir(tmp_path)
    return write_rows(tmp_path / "rows.jsonl", 3)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["predict", *arguments])
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert error.count("\n") == 1
    return error


def test_a_complete_output_is_said(
    rows: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for said in ("3 rows answered\n", "already complete: 3 rows\n"):
        main(["predict", "rows.jsonl", "--reader", str(reader), "--output", "a.CSV", "--resume"])
        assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("z.xlsx", "rows are written as .jsonl, .ndjson, .csv, .tsv (all also .gz) or .parquet"),
        ("x.parquet.gz", "rows are written as"),
        ("answers", "official predictions as .json"),
        ("x.json.gz", "official predictions as .json"),
        ("-", "-: the output must be a file, since a run is resumed from it"),
        ("/dev/stdout", "/dev/stdout: the output must be a file"),
    ],
)
def test_other_outputs_are_refused(
    rows: Path, capsys: pytest.CaptureFixture[str], output: str, message: str
) -> None:
    assert message in refused(capsys, "rows.jsonl", "--output", output)


def test_predictions_are_made_of_known_kinds_and_of_ids(
    rows: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--reader", str(reader), "--output", "p.JSON")
    main(["predict", "rows.jsonl", *options])
    assert list(json.loads(Path("p.JSON").read_text())) == ["q0", "q1", "q2"]
    rows.write_text(rows.read_text().replace('"q1"', "null"))
    assert 'row 2, field "id": missing' in refused(capsys, "rows.jsonl", *options)
    rows.rename("rows.xlsx")
    assert "rows.xlsx: questions are read from" in refused(capsys, "rows.xlsx", *options)


def test_what_is_read_is_not_written_over(
    rows: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows.rename("data.json")
    Path("data.json").write_text("[" + ",".join(Path("data.json").read_text().splitlines()) + "]")
    before = Path("data.json").read_bytes()
    for outputs in (
        ("--output", "data.json"),
        ("--output", "p.json", "--nbest", "data.json"),
        ("--output", "p.json", "--na-prob", "./data.json"),
    ):
        line = refused(capsys, "data.json", "--reader", str(reader), *outputs)
        assert "data.json is read, and would be written over: name another file" in line
    assert Path("data.json").read_bytes() == before
    Path("passage.html").write_text("Rain falls.")
    with pytest.raises(SystemExit, match="2"):
        main(["explain", "What falls?", "--passage", "passage.html", "--output", "passage.html"])
    assert "passage.html is read, and would be" in capsys.readouterr().err
    assert Path("passage.html").read_text() == "Rain falls."


def test_an_empty_name_is_not_the_folder_of_the_shell(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for given in (["export", "--web", ""], ["index", "", "--output", "x"]):
        with pytest.raises(SystemExit, match="2"):
            main(given)
        assert "the name is empty" in capsys.readouterr().err
    assert list(Path().iterdir()) == [Path("rows.jsonl")]


def test_a_no_answer_threshold_is_a_probability(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data: list[dict[str, Any]] = [{"question": "What falls?", "context": "Rain falls.", "id": "1"}]
    data[0]["answers"] = {"text": ["Rain"], "answer_start": [0]}
    Path("d.json").write_text(json.dumps(data))
    for wrong in ("-1", "nan", "99"):
        with pytest.raises(SystemExit, match="2"):
            main(["evaluate", "d.json", f"--na-prob-thresh={wrong}"])
        assert "--na-prob-thresh is a probability from 0 to 1" in capsys.readouterr().err


def test_one_file_is_not_two_outputs(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "rows.jsonl", "--output", "p.json", "--nbest", "p.json")
    assert "two outputs are one file" in line


def test_control_characters_of_a_passage_are_not_printed(
    reader: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "passage.txt").write_text("\x1b[31m34\x1b")
    passage = str(tmp_path / "passage.txt")
    main(["answer", "How many?", "--passage", passage, "--reader", str(reader), "--threshold", "0"])
    printed = capsys.readouterr().out
    assert printed.strip()
    assert "\x1b" not in printed


def test_data_after_keep_is_told_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "--output", "a.csv", "--keep", "n", "parts/")
    assert "required: DATA; --keep takes all names that follow it: name DATA first" in line
    assert "--keep" not in refused(capsys, "rows.csv", "--keep", "n")


def test_a_name_beside_all_must_be_a_column(
    rows: Path, capsys: pytest.CaptureFixture[str], reader: Path
) -> None:
    Path("t.csv").write_text("question,context,price\nWho?,Ada did.,1\n")
    given = "t.csv", "--reader", str(reader), "--output", "a.csv", "--keep"
    assert 'has no column "prize"' in refused(capsys, *given, "all", "prize")
    main(["predict", *given, "price", "all"])
    assert Path("a.csv").read_text().startswith("id,question,context,price,answer,")


def test_invisible_texts_are_empty(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.txt").write_text("\u00ad\n")
    for question, message in (("\u200b", "the question is empty"), ("Who?", "text.txt is empty")):
        with pytest.raises(SystemExit):
            main(["answer", question, "--passage", "text.txt"])
        assert message in capsys.readouterr().err
