"""Commands that ship a model."""

import json
import shutil
from pathlib import Path

import pytest

from calling import refused, run
from fabir.data.dataset import Dataset
from fabir.data.squad import write_squad
from fabir.runtime.locate import BUNDLED


def test_compact_makes_a_reader_that_answers(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    assert "MiB" in run(capsys, "compact", reader, "--output", small, "--words", 5)
    run(capsys, "answer", "What pulls?", "--passage", passage, "--reader", small)
    assert "another folder" in refused(capsys, "compact", reader, "--output", reader)


def test_export_refuses_to_calibrate_without_need(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    err = refused(capsys, "export", "--output", tmp_path / "small", "--calibrate", "train.json")
    assert "add --quantise int8" in err
    assert not (tmp_path / "small").exists()


def test_export_refuses_data_without_answers_before_it_begins(
    capsys: pytest.CaptureFixture[str], reader: Path, tmp_path: Path
) -> None:
    asked = {"context": "Rain falls.", "qas": [{"id": "lacking", "question": "What falls?"}]}
    squad = {"version": "1.1", "data": [{"title": "rain", "paragraphs": [asked]}]}
    (tmp_path / "unlabelled.json").write_text(json.dumps(squad))
    write_squad(Dataset((), "1.1"), tmp_path / "none.json")
    for name, said in (("unlabelled", "'lacking' has no reference"), ("none", "no question to")):
        options = "--output", tmp_path / "made", "--data", tmp_path / f"{name}.json"
        assert said in refused(capsys, "export", "--reader", reader, *options)
        assert not (tmp_path / "made").exists()


def test_no_folder_is_made_for_a_model_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for command in (
        ("calibrate", "nobody/nothing", "--data", "dev.json"),
        ("compact", "no/such/model", "--output", "out/deep/small"),
        ("compact", "empty", "--output", "out/deep/small"),
        ("export", "--reader", "empty", "--output", "out/deep/made"),
    ):
        assert command[1 + (command[0] == "export")] in refused(capsys, *command)
        assert list(Path().iterdir()) == [Path("empty")]


def test_calibrate_changes_no_bundled_model_by_its_path(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(BUNDLED)
    for folder in (BUNDLED, tmp_path / "link", BUNDLED / ".." / "accurate"):
        said = refused(capsys, "calibrate", folder, "--data", tmp_path / "none.json")
        assert f"the bundled model {folder} is not changed" in said


def test_no_model_is_lost_to_another(
    capsys: pytest.CaptureFixture[str], reader: Path, tmp_path: Path
) -> None:
    """Nor a file of another program that has the name of a model's."""
    mine, foreign, small, graphs = (
        tmp_path / name for name in ("mine", "foreign", "small", "graphs")
    )
    shutil.copytree(reader, mine)
    foreign.mkdir()
    (foreign / "config.json").write_text('{"colour": "blue"}')
    train = ("train", "--from", "fast", "--train", "none.json")
    for folder, said in ((mine, "holds another model"), (foreign, "name another folder")):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        for command in (("compact", reader), ("export", "--reader", reader), train):
            assert said in refused(capsys, *command, "--output", folder)
            assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    run(capsys, "compact", reader, "--output", small)
    assert "holds another model" in refused(capsys, "compact", mine, "--output", small)
    shutil.copytree(BUNDLED, graphs)
    before = sorted(graphs.iterdir())
    for command in (("compact", reader), train):
        assert "holds another model" in refused(capsys, *command, "--output", graphs)
    assert sorted(graphs.iterdir()) == before
