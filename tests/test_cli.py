"""Every command as a user calls it: what is printed where, and the exit code."""

import io
import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.cli import build_parser, main
from fabir.data.dataset import Dataset
from fabir.data.squad import read_squad, write_squad
from fabir.files import writing
from fabir.runtime.store import read_settings
from fabir.training import finder
from fabir.training.finder import Sweep
from factories import CONFIGS
from tiny import NETWORK, TRAINING, Files, dataset

PASSAGE = "Gravity pulls the drops down, so rain falls from the clouds to the ground. ☔ Ende.\r\n"


@pytest.fixture
def passage(tmp_path: Path) -> Path:
    path = tmp_path / "passage.txt"
    path.write_bytes(PASSAGE.encode())
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must fail as the user's mistake; returns its one line."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert stopped.value.code == 2
    assert out == ""
    assert err.count("\n") == 1
    return err


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main([str(argument) for argument in arguments])
    return capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve", "--token", "abc"], "--token abc; did you mean --token-file?"),
        (["serve", "--tokenfile=abc"], "--tokenfile=abc; did you mean --token-file?"),
        (["readers", "--zzz"], "--zzz"),
        (["readers", "more", "words"], "more words"),
    ],
)
def test_what_a_command_does_not_take_is_said_with_its_name(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    command = f"fabir {arguments[0]}"
    line = f"{command}: unrecognised arguments: {said} (see {command} --help)\n"
    assert refused(capsys, *arguments) == line


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
    from_file = json.loads(run(capsys, "evaluate", files.dev, "--predictions", written[0]))
    assert from_file == json.loads(run(capsys, "evaluate", files.dev, "--reader", reader))
    assert list(from_file) == ["exact", "f1", "total"]
    assert from_file["total"] == len(ids)


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


def test_convert_then_evaluate(
    capsys: pytest.CaptureFixture[str], reader: Path, tmp_path: Path
) -> None:
    table, output = tmp_path / "table.csv", tmp_path / "squad.json"
    table.write_text('question,passage,answer\nWhat falls?,"Rain, rain.",RAIN\nWho?,Rain.,\n')
    main(["convert", str(table), "--output", str(output)])
    out, err = capsys.readouterr()
    assert out == ""
    assert "row 1: 'RAIN' is 'Rain' in the passage" in err
    assert "2 questions about 2 passages, 1 of them unanswerable" in err
    assert json.loads(run(capsys, "evaluate", output, "--reader", reader))["total"] == 2
    table.write_text("question,passage\nWhat?,Rain.\n")
    assert 'field "answer": missing' in refused(capsys, "convert", table, "--output", output)
    line = refused(capsys, "convert", table, "--output", output, "--supporting")
    assert "only --separator and --on-bad-row go with a table" in line


def test_convert_a_published_file_then_evaluate(
    capsys: pytest.CaptureFixture[str], reader: Path, tmp_path: Path
) -> None:
    published, output = tmp_path / "hotpot.json", tmp_path / "squad.json.gz"
    paragraphs = [["Rain", ["Rain falls from clouds.", " It is wet."]], ["Snow", ["It is white."]]]
    known = {"question": "Where from?", "supporting_facts": [["Rain", 0]], "context": paragraphs}
    answers = "clouds", "yes", "hail"
    records = [{"_id": each, "answer": each, **known} for each in answers]
    published.write_text(json.dumps(records))
    convert = ("convert", published, "--output", output)
    main([str(word) for word in (*convert, "--supporting", "--max-words", 100)])
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "1 questions of HotpotQA, 0 of them unanswerable; left out: 1 with the answer yes or no, "
        "1 with no answer in the text; 0 bad records\n"
    )
    assert json.loads(run(capsys, "evaluate", output, "--reader", reader))["total"] == 1
    assert "--split is for NewsQA" in refused(capsys, *convert, "--split", "dev")
    assert "--separator goes with a table" in refused(capsys, *convert, "--separator", ";")
    assert "--max-words must be at least 0" in refused(capsys, *convert, "--max-words", -1)


def test_evaluate_wants_na_prob_with_predictions(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    assert "--predictions" in refused(capsys, "evaluate", files.dev, "--na-prob", tmp_path)


def write_config(path: Path, **training: object) -> Path:
    vocabulary = {"word_count": 1, "character_count": 2}
    content = {"reader": "fabir", "network": NETWORK, "vocabulary": vocabulary}
    path.write_text(json.dumps({**content, "training": TRAINING | training}))  # JSON is YAML
    return path


def test_train_resume_and_go_on_from_a_reader(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    config, output = write_config(tmp_path / "config.yaml"), tmp_path / "run"
    data = ("--train", files.train, "--dev", files.dev)
    start = (*data, "--vectors", files.vectors, "--output", output)
    run(capsys, "train", config, *start, "--training.epochs", "1")
    assert "--resume" in refused(capsys, "train", config, *start)
    run(capsys, "train", config, *start, "--resume", "--training.epochs", "2")
    lines = (output / "metrics.jsonl").read_text().splitlines()
    evaluated = [line for line in map(json.loads, lines) if "f1" in line]
    assert [line["epoch"] for line in evaluated] == [1, 2]
    further = tmp_path / "further"
    options = ("--from", output, "--output", further, "--training.word_rows", "9")
    both = refused(capsys, "train", config, *data, *options, "--vectors", files.vectors)
    assert "leave --vectors out" in both
    run(capsys, "train", config, *data, *options)
    run(capsys, "evaluate", files.dev, "--reader", further)
    taught = (*data, "--vectors", files.vectors, "--output", tmp_path / "taught", "--teacher")
    run(capsys, "train", config, *taught, output, "--training.epochs", "1")
    assert "there is no folder" in refused(
        capsys, "train", config, *taught, tmp_path / "nobody", "--resume"
    )


def test_train_takes_a_row_of_a_table(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    base = json.loads(write_config(tmp_path / "config.yaml", epochs=3).read_text())
    table, output = tmp_path / "table.yaml", tmp_path / "run"
    table.write_text(json.dumps({"base": base, "rows": {"short": {"training": {"epochs": 1}}}}))
    data = ("--train", files.train, "--dev", files.dev, "--vectors", files.vectors)
    run(capsys, "train", f"{table}:short", *data, "--output", output)
    lines = (output / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["epoch"] == 1
    line = refused(capsys, "train", f"{table}:long", *data, "--output", tmp_path / "other")
    assert "no row 'long', but short" in line


def test_a_run_under_an_old_key_is_resumed_under_the_new_one(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    config, output = write_config(tmp_path / "config.yaml"), tmp_path / "run"
    data = ("--train", files.train, "--dev", files.dev, "--vectors", files.vectors)
    command = ("train", config, *data, "--output", output, "--training.epochs")
    run(capsys, *command, "1", "--training.questions_together", "2")
    run(capsys, *command, "2", "--training.questions_per_passage", "2", "--resume")
    lines = (output / "metrics.jsonl").read_text().splitlines()
    evaluated = [line for line in map(json.loads, lines) if "f1" in line]
    assert [line["epoch"] for line in evaluated] == [1, 2]


def test_train_refuses_a_misspelt_key(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    config = write_config(tmp_path / "config.yaml", epoch=3)
    data = ("--train", files.train, "--dev", files.dev, "--vectors", files.vectors)
    line = refused(capsys, "train", config, *data, "--output", tmp_path / "run")
    assert "config.yaml: there is no key training.epoch: did you mean training.epochs?" in line
    plain = write_config(tmp_path / "plain.yaml")
    for mistake in ("--training.epoch", 3), ("--epochs", 3), ("--training.epoch=3",):
        for order in (plain, *mistake), (*mistake, plain):
            line = refused(capsys, "train", *order, *data, "--output", tmp_path / "run")
            assert "did you mean --training.epochs?" in line
    line = refused(capsys, "train", "--from", "fast", *mistake, *data[:4], "--output", tmp_path)
    assert "the recipe of fine-tuning: there is no option --training.epoch" in line
    assert "name a configuration" in refused(capsys, "train", *data, "--output", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_keys_stand_anywhere_on_the_command_line(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    config, output = write_config(tmp_path / "config.yaml"), tmp_path / "run"
    data = ("--train", files.train, "--training.epochs", 1, "--dev", files.dev)
    start = ("--training.seed=3", *data, config, "--vectors", files.vectors, "--output", output)
    run(capsys, "train", *start)
    further = tmp_path / "further"
    keys = ("--training.batch_size", 6, "--training.epochs", 1, "--network.dropout_input", 0)
    run(capsys, "train", *keys, "--from", output, *data[:2], *data[4:], "--output", further)
    first, second = (read_settings(each, ()) for each in (output, further))
    assert second.network == first.network | {"dropout_input": 0.0}
    assert "--training.epochs" in refused(capsys, "readers", "--training.epochs", 1)


@pytest.mark.parametrize("command", ["train", "find-lr"])
def test_the_help_lists_the_keys(capsys: pytest.CaptureFixture[str], command: str) -> None:
    def shown(*arguments: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            run(capsys, command, *arguments)
        assert stopped.value.code == 0
        return " ".join(capsys.readouterr().out.split())

    general, fast = shown("--help"), shown("fast", "-h")
    epochs = "--training.epochs N passes over the training questions"
    assert fast.partition("keys of the")[2] == general.partition("keys of the")[2]
    assert f"{epochs} (default: 55)" in shown("qanet", "-h")
    assert f"{epochs} (default: 14)" in fast
    assert "F1: not measured" in fast
    assert "--network.no_answer_hidden N" in fast
    assert f"{epochs} (default: 5)" in shown("--from", "fast", "--help")
    line = refused(capsys, command, "crosconv", "--help")
    assert line.startswith(f"fabir {command}: no configuration is called 'crosconv': did you mean")


def test_find_lr_prints_a_rate_and_draws(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    config = write_config(tmp_path / "config.yaml")
    data = ("--train", files.train, "--vectors", files.vectors)
    plot = tmp_path / "lr.png"
    out = run(capsys, "find-lr", config, *data, "--steps", 8, "--plot", plot)
    assert 1e-7 <= float(out) <= 0.1
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "to a higher one" in refused(capsys, "find-lr", config, *data, "--lowest", 2)
    line = refused(capsys, "find-lr", config, *data, "--plot", tmp_path / "lr.exe")
    assert "name a .png" in line


def test_find_lr_says_that_it_did_not_go_far_enough(
    capsys: pytest.CaptureFixture[str],
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ("find-lr", write_config(tmp_path / "config.yaml"), "--train", files.train)
    for losses, said in ([3.0, 2.0, 1.0], True), ([3.0, 1.0, 2.0], False):
        sweep = Sweep([0.1, 0.2, 0.4], losses, losses)
        monkeypatch.setattr(finder, "sweep_files", lambda *_, sweep=sweep, **__: sweep)
        main([str(argument) for argument in (*command, "--vectors", files.vectors)])
        assert ("--highest" in capsys.readouterr().err) is said


def test_reproduce_says_where_missing_files_come_from(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    study = ("reproduce", "fabir-table-2", "--data", tmp_path)
    line = refused(capsys, *study)
    assert f"no {tmp_path}/train-v1.1.json: `fabir download squad --to {tmp_path}` fetches" in line
    named = ("--train", files.train, "--dev", files.dev)
    assert "glove.6B.zip: `fabir download glove" in refused(capsys, *study, *named)


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


def test_augment_then_train_on_a_mix(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    more = tmp_path / "more.json"
    program = ("--command", "sed 's/kite/drone/; s/wind/air/; s/1871/then/'")
    run(capsys, "augment", files.train, "--output", more, *program)
    made = read_squad(more)
    assert "A drone needs air, a tail and a string." in [p.text for p in made.passages]
    assert 0 < len(made) < len(dataset())  # "1871", an answer, is not there any more
    config = write_config(tmp_path / "config.yaml", epochs=1, mix=[2, 1])
    start = ("--train", files.train, more, "--dev", files.dev, "--vectors", files.vectors)
    run(capsys, "train", config, *start, "--output", tmp_path / "run")
    line = refused(capsys, "augment", files.train, "--output", tmp_path / "x", "--command", "false")
    assert "'false' failed (1)" in line
    assert not (tmp_path / "x").exists()
    assert "one of the arguments" in refused(capsys, "augment", files.train, "--output", more)


def test_make_negatives_writes_squad_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = Dataset(tuple(replace(p, title="one") for p in dataset().passages), "1.1")
    write_squad(data, tmp_path / "in.json")
    output = tmp_path / "out.json.gz"
    run(capsys, "make-negatives", tmp_path / "in.json", "--output", output, "--ratio", 1)
    made = read_squad(output)
    assert made.has_unanswerable
    assert sum(q.impossible for _, q in made.questions) == len(data)
    line = refused(capsys, "make-negatives", tmp_path / "in.json", "--output", output, "--ratio", 0)
    assert "above 0" in line


def test_vary_writes_variants_and_says_how_many(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    output = tmp_path / "out.json.gz"
    options = ("--output", output, "--copies", 2, "--vectors", files.vectors, "--seed", 1)
    main([str(option) for option in ("vary", files.train, *options)])
    out, err = capsys.readouterr()
    assert out == ""
    made = read_squad(output)
    assert made.version == "v2.0"
    total, *_ = err.splitlines()[-2].split(" variants: ")
    assert int(total) == len(made)
    counts = [int(word) for word in err.splitlines()[-2].split(": ")[1].split() if word.isdigit()]
    assert sum(counts) == len(made)
    varied = {q.id.rsplit("-", 2)[0] for _, q in made.questions}
    without = len(dataset()) - len(varied)
    assert f"{without} of {len(dataset())} questions have none" in err
    again = tmp_path / "again.json.gz"
    main([str(option) for option in ("vary", files.train, *options, "--output", again)])
    assert again.read_bytes() == output.read_bytes()


def test_vary_refuses_in_a_line(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    vary = ("vary", files.train, "--output", tmp_path / "out.json")
    assert "unknown kind 'turned'" in refused(capsys, *vary, "--kinds", "moved", "turned")
    assert "at least 1" in refused(capsys, *vary, "--copies", 0)
    assert "no vector file" in refused(capsys, *vary, "--vectors", tmp_path / "none.txt")
    assert "cannot write" in refused(capsys, "vary", files.train, "--output", tmp_path)
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    "command", [("make-negatives",), ("vary",), ("augment", "--command", "cat")]
)
def test_what_a_refusal_proposes_is_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    data = Dataset(tuple(replace(p, title="one") for p in dataset().passages), "1.1")
    write_squad(data, tmp_path / "in.json")
    document = json.loads((tmp_path / "in.json").read_text())
    document["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] += 1
    (tmp_path / "in.json").write_text(json.dumps(document))
    arguments = (*command, tmp_path / "in.json", "--output", tmp_path / "out.json")
    assert "--on-bad-answer skip or repair" in refused(capsys, *arguments)
    run(capsys, *arguments, "--on-bad-answer", "repair")
    assert len(read_squad(tmp_path / "out.json")) >= len(data)


def test_readers_lists_and_details(capsys: pytest.CaptureFixture[str]) -> None:
    _, rows = run(capsys, "readers").split("\n\n")
    listed = dict(line.split() for line in rows.splitlines()[1:])
    assert listed.keys() == set(CONFIGS)
    detail = run(capsys, "readers", "--detail", "fabir").splitlines()
    parameters = listed["fabir"]
    assert detail[0].split() == ["fabir", parameters]
    parts = [line.split() for line in detail if line.startswith("  ") and line[2] != " "]
    assert sum(int(count.replace(",", "")) for _, count in parts) == int(
        parameters.replace(",", "")
    )
    assert "fabir" in refused(capsys, "readers", "--detail", "no-such-reader")
    assert "\n\ntime:    " in run(capsys, "readers", "--detail", "fast")


def test_compact_makes_a_reader_that_answers(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    assert "MiB" in run(capsys, "compact", reader, "--output", small, "--words", 5)
    run(capsys, "answer", "What pulls?", "--passage", passage, "--reader", small)
    assert "another folder" in refused(capsys, "compact", reader, "--output", reader)


def test_an_option_for_several_values_may_be_repeated() -> None:
    repeated = set()
    for name, parser in build_parser().commands.items():
        for each in parser._actions + parser._mutually_exclusive_groups:
            each.required = False
        for option in (each for each in parser._actions if each.option_strings):
            if option.nargs in ("+", "*"):
                flag = option.option_strings[-1]
                options, _ = parser.parse_known_args([flag, "a", "b", flag, "c"])
                assert [*map(str, getattr(options, option.dest))] == ["a", "b", "c"], flag
                repeated.add(f"{name} {flag}")
    assert repeated >= {"serve --cors", "train --train", "predict --keep", "vary --kinds"}


def test_unknown_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--detial" in refused(capsys, "readers", "--detial", "fabir")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("answr", "; did you mean answer?"), ("Train", "; did you mean train?"), ("quux", "")],
)
def test_an_unknown_command_is_refused_with_the_nearest(
    capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    line = f"fabir: there is no command {name!r}{hint} (see fabir --help)\n"
    assert refused(capsys, name, "--passage", "p.txt") == line
    assert refused(capsys, "help", name) == line


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        out, err = capsys.readouterr()
        return stopped.value.code, out, err

    _, commands, _ = shown("--help")
    assert "Finds the answer" in commands
    assert shown("help") == (0, commands, "")
    assert shown() == (2, "", commands)
    assert shown("help", "answer") == shown("answer", "--help")
    assert shown("answer", "--help")[1].startswith("usage: fabir answer ")


def test_help_does_not_wait_for_torch() -> None:
    code = (
        "import sys\nfrom fabir.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def required_by(package: str) -> set[str]:
    """The packages that an installation of this one brings, without extras."""
    found, waiting = set[str](), [package]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        try:
            needed = map(Requirement, metadata.requires(name) or ())
        except metadata.PackageNotFoundError:  # another system's
            continue
        found.add(name)
        waiting += [it.name for it in needed if not it.marker or it.marker.evaluate({"extra": ""})]
    return found


def test_without_extras_the_bundled_reader_answers_and_others_say_what_is_missing(
    reader: Path, passage: Path, tmp_path: Path
) -> None:
    installed = required_by("fabir")
    lacking = {
        module
        for module, packages in metadata.packages_distributions().items()
        if installed.isdisjoint(map(canonicalize_name, packages))
    }
    assert {"torch", "fastapi"} <= lacking

    def run(*arguments: object) -> tuple[int, str]:
        hidden = f"import sys; sys.modules |= dict.fromkeys({sorted(lacking)})"
        command = [sys.executable, "-c", f"{hidden}; from fabir.cli import main; main()"]
        command += map(str, arguments)
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stderr

    answer = "answer", "What pulls?", "--passage", passage
    assert run(*answer) == (0, "")
    train = (
        "train",
        CONFIGS[0],
        "--train",
        "t",
        "--dev",
        "d",
        "--vectors",
        "v",
        "--output",
        tmp_path,
    )
    for command in (["readers"], train, [*answer, "--reader", reader]):
        code, err = run(*command)
        assert code == 2
        assert err.count("\n") == 1
        assert "torch" in err
        assert "pip install 'fabir[train]'" in err
    assert "there is no folder" in run(*answer, "--reader", tmp_path / "none")[1]


def test_export_refuses_to_calibrate_without_need(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    err = refused(capsys, "export", "--output", tmp_path / "small", "--calibrate", "train.json")
    assert "add --quantise int8" in err
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize(
    "command", ["predict", "train", "compact", "export", "calibrate", "analyse"]
)
def test_what_another_process_is_writing_is_refused(
    command: str, tmp_path: Path, reader: Path, files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / ("out.jsonl" if command == "predict" else "out")
    data = "--train", files.train, "--dev", files.dev, "--vectors", files.vectors
    options = {
        "predict": [files.dev, "--output", output, "--resume"],
        "train": ["crossconv", *data, "--output", output],
        "compact": [reader, "--output", output],
        "export": ["--reader", reader, "--output", output],
        "calibrate": [reader, "--data", files.dev],
        "analyse": [files.dev, "--reader", reader, "--output", output],
    }
    written = reader if command == "calibrate" else output
    with writing(written):
        said = refused(capsys, command, *options[command])
    assert f"another process is writing {written}" in said
    assert not output.exists()


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
