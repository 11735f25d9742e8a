"""Commands that answer and measure: what is printed where, and what is refused in one line."""

import gzip
import io
import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bulk_rows import write_rows
from calling import PASSAGE, refused, run, stopped
from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.bulk.journal import Journal
from fabir.cli import main
from fabir.data.squad import read_squad
from fabir.runtime.torch_model import TorchModel
from tiny import Files


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in the folder where the test runs."""
    monkeypatch.chdir(tmp_path)
    return write_rows(tmp_path / "rows.jsonl", 3)


def test_a_stopped_run_says_how_it_goes_on(
    rows: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a chunk of its rows is answered."""
    command = ("predict", "rows.jsonl", "--reader", reader, "--output", "a.jsonl")
    for place, said in ((Journal, "append"), False), ((Journal, "close"), True):
        assert (
            "stopped: the same command with --resume" in stopped(capsys, place, *command)
        ) == said
    run(capsys, *command, "--resume")


def test_a_complete_output_is_said(
    rows: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for said in ("3 rows answered", "already complete: 3 rows"):
        main(["predict", "rows.jsonl", "--reader", str(reader), "--output", "a.CSV", "--resume"])
        assert capsys.readouterr().err.splitlines()[-1] == said


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("z.xlsx", "rows are written as .jsonl, .ndjson, .csv, .tsv (all also .gz) or .parquet"),
        ("x.parquet.gz", "rows are written as"),
        ("answers", "official predictions as .json"),
        ("x.json.gz", "official predictions as .json"),
        ("-", "-: the output must be a file, since a run is resumed from it"),
        (".", ".: rows are written as .jsonl"),
        ("", "argument --output: the name is empty"),
        ("/dev/stdout", "/dev/stdout: the output must be a file"),
    ],
)
def test_other_outputs_are_refused(
    rows: Path, capsys: pytest.CaptureFixture[str], output: str, message: str
) -> None:
    assert message in refused(capsys, "predict", "rows.jsonl", "--output", output)


def test_predictions_are_made_of_known_kinds_and_of_ids(
    rows: Path, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--reader", str(reader), "--output", "p.JSON")
    main(["predict", "rows.jsonl", *options])
    assert list(json.loads(Path("p.JSON").read_text())) == ["q0", "q1", "q2"]
    rows.write_text(rows.read_text().replace('"q1"', "null"))
    assert 'row 2, field "id": missing' in refused(capsys, "predict", "rows.jsonl", *options)
    rows.rename("rows.xlsx")
    assert "rows.xlsx: questions are read from" in refused(capsys, "predict", "rows.xlsx", *options)


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
        line = refused(capsys, "predict", "data.json", "--reader", str(reader), *outputs)
        assert "data.json is read, and would be written over: name another file" in line
    assert Path("data.json").read_bytes() == before
    Path("passage.html").write_text("Rain falls.")
    with pytest.raises(SystemExit, match="2"):
        main(["explain", "What falls?", "--passage", "passage.html", "--output", "passage.html"])
    assert "passage.html is read, and would be" in capsys.readouterr().err
    assert Path("passage.html").read_text() == "Rain falls."


def test_an_empty_name_is_not_the_folder_of_the_shell_and_an_address_none_of_this_machine(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for given in (["export", "--web", ""], ["index", "", "--output", "x"]):
        assert "the name is empty" in refused(capsys, *given)
    for given in (["evaluate", "s3://b/d.json"], ["export", "--web", "s3://b/d.json"]):
        assert "s3://b/d.json is an address: name a file of this" in refused(capsys, *given)
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
    line = refused(capsys, "predict", "rows.jsonl", "--output", "p.json", "--nbest", "p.json")
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
    line = refused(capsys, "predict", "--output", "a.csv", "--keep", "n", "parts/")
    assert "required: DATA; --keep takes all names that follow it: name DATA first" in line
    assert "--keep" not in refused(capsys, "predict", "rows.csv", "--keep", "n")


def test_a_name_beside_all_must_be_a_column(
    rows: Path, capsys: pytest.CaptureFixture[str], reader: Path
) -> None:
    Path("t.csv").write_text("question,context,price\nWho?,Ada did.,1\n")
    given = "t.csv", "--reader", str(reader), "--output", "a.csv", "--keep"
    assert 'has no column "prize"' in refused(capsys, "predict", *given, "all", "prize")
    main(["predict", *given, "price", "all"])
    assert Path("a.csv").read_text().startswith("id,question,context,price,answer,")


def test_invisible_texts_are_empty(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.txt").write_text("\u00ad\n")
    for question, message in (("\u200b", "the question is empty"), ("Who?", "text.txt is empty")):
        with pytest.raises(SystemExit):
            main(["answer", question, "--passage", "text.txt"])
        assert message in capsys.readouterr().err


def test_answer_json_has_offsets_into_the_passage_as_given(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path
) -> None:
    options = ("--passage", passage, "--reader", reader, "--top-k", 3, "--format", "json")
    record = json.loads(run(capsys, "answer", "What pulls?", *options))
    assert record["question"] == "What pulls?"
    assert 1 <= len(record["answers"]) <= 3
    for answer in record["answers"]:
        assert set(answer) == {"text", "start", "end", "score"}
        assert PASSAGE[answer["start"] : answer["end"]] == answer["text"]
    assert 0 <= record["no_answer"] <= 1
    assert record["best_guess"] is None
    strict = json.loads(run(capsys, "answer", "What pulls?", *options, "--threshold", 1))
    changed = {"answers": [], "best_guess": record["answers"][0]}
    assert strict == record | changed


def test_a_long_question_is_cut_with_one_line(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path
) -> None:
    main(
        ["answer", "What pulls " + "down " * 70, "--passage", str(passage), "--reader", str(reader)]
    )
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err == (
        "fabir answer: a question is longer than 64 words: the rest is not read (max_question)\n"
    )


def test_answer_says_what_is_withheld(
    capsys: pytest.CaptureFixture[str], passage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Reading([Answer("the drops\ndown", 14, 28, 0.12)], 0.84)
    monkeypatch.setattr(Predictor, "read_all", lambda *_: iter([found]))
    options = ("answer", "What pulls?", "--passage", str(passage), "--threshold")
    main([*options, "0.5"])
    likely = 'probably not in the text (84 %); best guess: "the drops down"\n'
    assert capsys.readouterr() == ("", likely)
    found = replace(found, no_answer=0.49)
    main([*options, "0.5"])
    unsure = 'no answer is sure enough (best: "the drops down", score 0.12)\n'
    assert capsys.readouterr() == ("", unsure)
    main([*options, "0.12"])
    assert capsys.readouterr() == ("the drops down\n", "")
    for outside in ("1.5", "-1", "nan"):
        assert "from 0 to 1" in refused(capsys, *options, outside)
    assert "--threshold" in refused(capsys, *options, "much")


def test_answer_text_is_a_line_an_answer(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path
) -> None:
    out = run(capsys, "answer", "What?", "--passage", passage, "--reader", reader, "--top-k", 2)
    assert len(out.splitlines()) == 2


def test_answer_reads_standard_input(
    capsys: pytest.CaptureFixture[str], reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PASSAGE.encode())))
    out = run(capsys, "answer", "What pulls?", "--passage", "-", "--reader", reader)
    assert out.strip() in " ".join(PASSAGE.split())


def test_answer_on_a_terminal_shows_where_it_stands(
    capsys: pytest.CaptureFixture[str],
    reader: Path,
    passage: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fabir.answer.show.on_terminal", lambda: True)
    out = run(capsys, "answer", "What pulls?", "--passage", passage, "--reader", reader)
    assert "from" in out
    assert "%" in out


@pytest.mark.parametrize("question", ["", " \n"])
def test_answer_refuses_an_empty_question(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path, question: str
) -> None:
    line = refused(capsys, "answer", question, "--passage", passage, "--reader", reader)
    assert "question is empty" in line


def test_answer_refuses_a_passage_it_cannot_use(
    capsys: pytest.CaptureFixture[str], reader: Path, tmp_path: Path
) -> None:
    blank, binary = tmp_path / "blank.txt", tmp_path / "binary.txt"
    blank.write_text("  \n")
    binary.write_bytes(b"\xff\xfe\x00")
    options = ("--reader", reader, "--passage")
    assert "blank.txt is empty" in refused(capsys, "answer", "What?", *options, blank)
    assert "convert it" in refused(capsys, "answer", "What?", *options, binary)
    document = binary.rename(tmp_path / "report.pdf")
    assert "fabir index reads it" in refused(capsys, "answer", "What?", *options, document)
    assert "no-file" in refused(capsys, "answer", "What?", *options, tmp_path / "no-file")
    twice = refused(capsys, "answer", "What?", *options, blank, "--passage", blank)
    assert "--passage is given twice: fabir index reads several files" in twice
    twice = refused(capsys, "answer", "What?", *options, blank, "--top-k", "1", "--top-k", "3")
    assert "--top-k is given twice: name one" in twice
    twice = refused(capsys, "ask", "What?", "--index", "a", "--index", "b")
    assert "--index is given twice: name one" in twice


def test_answer_refuses_a_bad_reader_and_top_k(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path, tmp_path: Path
) -> None:
    line = refused(capsys, "answer", "What?", "--passage", passage, "--reader", tmp_path)
    assert "config.json" in line
    options = ("--passage", passage, "--reader", reader, "--top-k")
    assert "top_k" in refused(capsys, "answer", "What?", *options, 0)
    assert "--top-k" in refused(capsys, "answer", "What?", *options, "two")


def test_predict_then_evaluate(
    capsys: pytest.CaptureFixture[str], reader: Path, files: Files, tmp_path: Path
) -> None:
    written = [tmp_path / name for name in ("predictions.json", "nbest.json", "na.json")]
    options = ("--output", written[0], "--nbest", written[1], "--na-prob", written[2])
    assert run(capsys, "predict", files.dev, "--reader", reader, *options) == ""
    predictions, nbest, na_prob = (json.loads(path.read_text()) for path in written)
    ids = [question.id for _, question in read_squad(files.dev).questions]
    assert list(predictions) == list(nbest) == list(na_prob) == ids
    for name in ids:
        assert predictions[name] == nbest[name][0]["text"]
        assert na_prob[name] == pytest.approx(1 - nbest[name][0]["probability"])
        chances = [answer["probability"] for answer in nbest[name]]
        assert chances == sorted(chances, reverse=True)
    run(capsys, "predict", files.dev, "--reader", reader, "--threshold", 0, *options[:2])
    from_file = json.loads(run(capsys, "evaluate", files.dev, "--predictions", written[0]))
    assert from_file == json.loads(run(capsys, "evaluate", files.dev, "--reader", reader))
    assert list(from_file) == ["exact", "f1", "total"]
    assert from_file["total"] == len(ids)


def test_official_predictions_do_not_depend_on_labels(
    capsys: pytest.CaptureFixture[str], reader: Path, files: Files, tmp_path: Path
) -> None:
    model = TorchModel.load(reader)
    model.no_answer_threshold = 0.0  # every answer is withheld
    model.save(tmp_path / "withholds")
    labelled = gzip.decompress(files.dev.read_bytes()).decode()
    unlabelled = tmp_path / "unlabelled.json"
    unlabelled.write_text(re.sub(r'"answers": \[[^]]*\]', '"answers": []', labelled))
    for data in (files.dev, unlabelled):
        output = tmp_path / "predictions.json"
        run(capsys, "predict", data, "--reader", tmp_path / "withholds", "--output", output)
        assert set(json.loads(output.read_text()).values()) == {""}


def test_predict_and_evaluate_with_a_threshold(
    capsys: pytest.CaptureFixture[str], reader: Path, files: Files, tmp_path: Path
) -> None:
    written = [tmp_path / name for name in ("predictions.json", "nbest.json")]
    predict = ("predict", files.dev, "--reader", reader, "--output", written[0])
    evaluate = ("evaluate", files.dev, "--reader", reader)
    run(capsys, *predict, "--nbest", written[1])
    nbest = json.loads(written[1].read_text())
    best = {name: answers[0] for name, answers in nbest.items()}
    threshold = sorted(answer["probability"] for answer in best.values())[len(best) // 2]
    run(capsys, *predict, "--threshold", threshold * 1.001)
    predictions = json.loads(written[0].read_text())
    for name, answer in best.items():
        withheld = answer["probability"] < threshold * 1.001
        assert predictions[name] == ("" if withheld else answer["text"])
    assert {bool(text) for text in predictions.values()} == {True, False}
    from_file = json.loads(run(capsys, "evaluate", files.dev, "--predictions", written[0]))
    scores = json.loads(run(capsys, *evaluate, "--threshold", threshold * 1.001))
    assert scores == from_file
    always = json.loads(run(capsys, *evaluate, "--threshold", 0))
    assert always == json.loads(run(capsys, *evaluate))
    line = refused(capsys, "evaluate", files.dev, "--predictions", written[0], "--threshold", 0)
    assert "--threshold goes with a model" in line
    assert "not allowed" in refused(capsys, *evaluate, "--threshold", 0, "--na-prob-thresh", 1)


def test_predict_refuses_data_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], reader: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"data": [{"paragraphs": [{"qas": []}]}]}')
    output = tmp_path / "predictions.json"
    line = refused(capsys, "predict", bad, "--reader", reader, "--output", output)
    assert "bad.json" in line
    assert "context" in line
    assert not output.exists()


def test_predict_rows(
    capsys: pytest.CaptureFixture[str], reader: Path, files: Files, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    asked = {"question": "What pulls?", "context": PASSAGE}
    rows.write_text("".join(json.dumps(row) + "\n" for row in (asked, {}, asked)))
    output = tmp_path / "answers.jsonl"
    options = ("predict", rows, "--reader", reader, "--output")
    line = refused(capsys, *options, output)
    assert 'row 2, field "question": missing' in line
    assert "--on-bad-row skip" in line
    main([str(word) for word in (*options, output, "--on-bad-row", "skip", "--resume")])
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 rows answered, 1 bad row skipped" in err
    answers = [json.loads(line) for line in output.read_text().splitlines()]
    assert [answer["id"] for answer in answers] == [1, 3]
    strict = ("--threshold", 1, "--on-bad-row", "skip")
    main([str(word) for word in (*options, tmp_path / "none.jsonl", *strict)])
    withheld = [json.loads(line) for line in (tmp_path / "none.jsonl").read_text().splitlines()]
    assert [row["answer"] for row in withheld] == ["", ""]
    assert [row["best_guess"] for row in withheld] == [row["answer"] for row in answers]
    capsys.readouterr()
    assert "official predictions" in refused(capsys, *options, output, "--nbest", tmp_path / "x")
    assert "are for rows" in refused(capsys, *options, tmp_path / "x.json", "--resume")
    assert "are for rows" in refused(capsys, *options, tmp_path / "x.json", "--prefix", "own_")


def test_evaluate_wants_na_prob_with_predictions(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    assert "--predictions" in refused(capsys, "evaluate", files.dev, "--na-prob", tmp_path)
    given = ("--predictions", tmp_path / "answers.json", "--na-prob-thresh", 0.5)
    assert "--predictions and --na-prob" in refused(capsys, "evaluate", files.dev, *given)


def test_analyse_writes_a_page_with_all_that_it_shows(
    capsys: pytest.CaptureFixture[str], files: Files, reader: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    other = tmp_path / "other" / reader.name
    shutil.copytree(reader, other)
    readers = ("--reader", reader, "--reader", other)  # of one name
    page = Path(run(capsys, "analyse", files.dev, *readers, "--output", tmp_path / "out").strip())
    assert f"questions of {files.dev.name}." in page.read_text()
    text = page.read_text(encoding="utf-8")
    assert text.count("data:image/png;base64,") == 7
    assert "http:" not in text  # pictures in base64 may have the letters, but no colon
    assert "https:" not in text
    names = (f"{each.parent.name}/{each.name}" for each in (reader, other))
    assert f"<h1>{', '.join(names)} on {files.dev.name}</h1>" in text
    (tmp_path / "out" / "groups.csv").unlink()
    assert run(capsys, "analyse", "--report-only", "--output", tmp_path / "out").strip() == str(
        page
    )
    assert (tmp_path / "out" / "groups.csv").exists()
    assert "name a SQuAD file" in refused(capsys, "analyse", "--output", tmp_path)
    assert "cannot read" in refused(capsys, "analyse", tmp_path / "no", "--output", tmp_path)


def test_several_readers_answer_as_one(
    capsys: pytest.CaptureFixture[str],
    files: Files,
    reader: Path,
    passage: Path,
    tmp_path: Path,
) -> None:
    pytest.importorskip("matplotlib")
    two = ("--reader", reader, "--reader", "fast")
    asked = ("What pulls?", "--passage", passage, "--format", "json")
    record = json.loads(run(capsys, "answer", *asked, *two, "--threshold", 0))
    assert record["answers"][0] != json.loads(run(capsys, "answer", *asked))["answers"][0]
    run(capsys, "predict", files.dev, *two, "--output", tmp_path / "both.json")
    scores = json.loads(run(capsys, "evaluate", files.dev, *two))
    given = ("--predictions", tmp_path / "both.json")
    assert json.loads(run(capsys, "evaluate", files.dev, *given)) == scores
    analysis = ("analyse", files.dev, "--ensemble", "--output", tmp_path / "out")
    run(capsys, *analysis, *two)
    measured = json.loads((tmp_path / "out" / "analysis.json").read_text())["readers"]
    assert list(measured) == [reader.name, "fast", f"{reader.name} + fast"]
    exact = measured[f"{reader.name} + fast"]["all"]["exact"][0]
    assert exact == pytest.approx(scores["exact"], abs=0.01)
    assert "repeat --reader for each" in refused(capsys, *analysis, "--reader", reader)
    run(capsys, "predict", files.dev, *two, "--output", tmp_path / "rows.jsonl")
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    rows = {each["id"]: each["answer"] for each in map(json.loads, lines)}
    assert rows == json.loads((tmp_path / "both.json").read_text())


def test_explain_writes_a_page(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    arguments = ("explain", "What pulls?", "--passage", passage, "--reader", reader)
    assert run(capsys, *arguments, "--output", page).strip() == str(page)
    assert "cross_attention" in page.read_text(encoding="utf-8")
    assert "it is a folder" in refused(capsys, *arguments, "--output", tmp_path)
    assert "cannot write -: name a file" in refused(capsys, *arguments, "--output", "-")


@pytest.mark.slow
def test_a_run_is_not_resumed_while_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    asked = {"question": "What pulls?", "context": PASSAGE * 40}
    rows.write_text("".join(json.dumps(asked | {"id": n}) + "\n" for n in range(400)))
    predict = ["predict", str(rows), "--output", str(tmp_path / "answers.jsonl")]
    command = [sys.executable, "-m", "fabir", *predict]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as first:
        while not (tmp_path / "answers.jsonl.journal").exists():
            assert first.poll() is None
            time.sleep(0.01)
        said = refused(capsys, *predict, "--resume")
        first.communicate()
    assert "another process is writing" in said
    assert first.returncode == 0
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(400))
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [".answers.jsonl.done", "answers.jsonl", "rows.jsonl"]
