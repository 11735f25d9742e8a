"""Commands that train: what they print, and how a run goes on."""

import json
from pathlib import Path

import pytest

from calling import refused, run, stopped
from fabir.cli import main
from fabir.runtime.store import read_settings
from fabir.training import finder
from fabir.training import run as run_module
from fabir.training.finder import Sweep
from fabir.training.loop import Trainer
from factories import CONFIGS
from tiny import Files, write_config


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


def test_a_stopped_run_says_how_it_goes_on(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    config, output = write_config(tmp_path / "config.yaml", checkpoint_minutes=0), tmp_path / "run"
    data = ("--train", files.train, "--dev", files.dev, "--vectors", files.vectors)
    command = ("train", config, *data, "--output", output)
    for place, said in ((run_module, "prepare"), False), ((Trainer, "step"), True):
        assert (
            "stopped: the same command with --resume" in stopped(capsys, place, *command)
        ) == said
    run(capsys, *command, "--resume")


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
    assert "F1: 75.75" in fast
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
