"""Interrupted replacements of a model's folder, and folders without checksums."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fabir.errors import InputError
from fabir.export.compact import keep_words
from fabir.readers.fabir import FabirConfig
from fabir.runtime.base import load_model
from fabir.runtime.settings import NEUTRAL, Calibration, Confidence
from fabir.runtime.store import VOCABULARY, WORDS, change_settings, copy_model
from fabir.runtime.torch_model import TorchModel
from factories import EXAMPLES, batch_of, small_reader
from model_folders import edit_json, make_old, seal

PAIRS = [(question, passage) for question, passage, _, _ in EXAMPLES]


def logits(model: TorchModel) -> Tensor:
    with torch.no_grad():
        return torch.stack(model.network.eval()(batch_of(model.vocabulary, *PAIRS))[:2])


def changed(model: TorchModel) -> TorchModel:
    """The same model after some training."""
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.mul_(1.5)
    model.no_answer_threshold = 0.25
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_reader().save(tmp_path / "model")
    return tmp_path / "model"


def states_of(
    write: Callable[[], None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Path]:
    """Copies of the folder before and after each replacement or removal of a file, as after a
    kill."""
    copies: list[Path] = []

    def copy() -> None:
        copies.append(Path(tempfile.mkdtemp(dir=folder.parent)) / "state")
        shutil.copytree(folder, copies[-1])

    replace, unlink = os.replace, Path.unlink

    def replacing(source: Path, target: Path) -> None:
        copy()
        replace(source, target)
        copy()

    def unlinking(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok=missing_ok)
        if path.parent == folder and not path.name.startswith("."):
            copy()

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replacing)
        patch.setattr(Path, "unlink", unlinking)
        write()
    return copies


def outcomes(states: list[Path], before: Tensor, after: Tensor) -> set[str]:
    """The results of the states: as before, as after, or refused."""
    found = set()
    for state in states:
        try:
            model = load_model(state)
        except InputError:
            found.add("refused")
            continue
        assert isinstance(model, TorchModel)
        sides = {"before": (before, 1.0), "after": (after, 0.25)}
        (kind,) = [
            name
            for name, (expected, threshold) in sides.items()
            if torch.equal(logits(model), expected) and model.no_answer_threshold == threshold
        ]
        found.add(kind)
    return found


def test_training_leaves_a_whole_model_at_every_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, model = logits(TorchModel.load(folder)), changed(TorchModel.load(folder))
    states = states_of(lambda: model.save_weights(folder), folder, monkeypatch)
    assert outcomes(states, before, logits(model)) == {"before", "after"}


def test_a_model_in_place_of_another_is_whole_or_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = logits(TorchModel.load(folder))
    model = changed(small_reader("fabir", FabirConfig(layers=2)))
    model.fixed_rows.zero_()
    states = states_of(lambda: model.save(folder), folder, monkeypatch)
    assert outcomes(states, before, logits(model)) == {"before", "after", "refused"}
    for state in states:
        model.save(state)
    assert outcomes(states, before, logits(model)) == {"after"}


def test_trained_word_rows_and_weights_come_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, model = logits(TorchModel.load(folder)), TorchModel.load(folder)
    model.unfreeze_words(3)
    changed(model)
    tuned = model.network.get_parameter("embedding.words.tuned")
    with torch.no_grad():
        tuned.copy_(tuned.half())
    states = states_of(lambda: model.save_weights(folder), folder, monkeypatch)
    assert outcomes(states, before, logits(model)) == {"before", "after", "refused"}
    for state in states:  # a resumed run writes this folder again
        model.save_weights(state)
    assert outcomes(states, before, logits(model)) == {"after"}


@pytest.mark.slow
def test_a_write_interrupted_after_another_one_loses_neither(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = changed(TorchModel.load(folder))
    states = states_of(lambda: model.save_weights(folder), folder, monkeypatch)
    first = logits(model)
    changed(model)
    for state in states[1:-1:2]:
        shutil.rmtree(folder)
        shutil.copytree(state, folder)
        was = logits(TorchModel.load(folder))
        again = states_of(lambda: model.save_weights(folder), folder, monkeypatch)
        for each in again:
            loaded = logits(TorchModel.load(each))
            assert any(torch.equal(loaded, known) for known in (was, first, logits(model)))


@pytest.mark.parametrize("name", ["network.safetensors", "config.json"])
def test_a_file_of_another_model_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    changed(small_reader()).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / name, folder)
    with pytest.raises(InputError, match=r"network\.safetensors is damaged, or of another"):
        TorchModel.load(folder)


def test_files_that_config_does_not_name_are_not_read(folder: Path) -> None:
    expected = logits(TorchModel.load(folder))
    (folder / "answer.onnx").write_bytes(b"of another model")
    model = load_model(folder)
    assert isinstance(model, TorchModel)
    assert torch.equal(logits(model), expected)


def test_a_folder_without_checksums_is_read_with_a_word(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = logits(TorchModel.load(folder))
    assert not capsys.readouterr().err
    make_old(folder)
    for _ in range(2):
        assert torch.equal(logits(TorchModel.load(folder)), expected)
    (line,) = capsys.readouterr().err.splitlines()
    assert str(folder) in line
    assert "without checksums" in line
    TorchModel.load(folder).save_weights(folder)
    assert torch.equal(logits(TorchModel.load(folder)), expected)
    assert not capsys.readouterr().err


def test_a_calibration_is_kept_with_the_model(folder: Path, tmp_path: Path) -> None:
    assert TorchModel.load(folder).calibration == NEUTRAL
    fitted = Calibration(-1.0, 0.5, 2.0, 0.75, 0.1, 0.5)
    sure = Confidence(tuple(map(float, range(10))), tuple(map(float, range(-10, 0))))
    change_settings(folder, calibration=fitted, confidence=sure)
    model = TorchModel.load(folder)
    assert (model.calibration, model.confidence) == (fitted, sure)
    model.save(tmp_path / "copy")
    for copy in (TorchModel.load(tmp_path / "copy"), keep_words(model, 3)):
        assert (copy.calibration, copy.confidence) == (fitted, sure)


def test_settings_are_not_changed_by_hand(folder: Path) -> None:
    edit_json(folder / "config.json", no_answer_threshold=0.5)
    with pytest.raises(InputError, match=r"config\.json was damaged or changed"):
        TorchModel.load(folder)
    seal(folder)
    assert TorchModel.load(folder).no_answer_threshold == 0.5


@pytest.fixture
def sharing(folder: Path) -> Path:
    """The folder of a model whose words are in the folder above."""
    for name in (VOCABULARY, WORDS):
        (folder / name).rename(folder.parent / name)
    return folder


def test_words_may_be_shared_in_the_folder_above(
    sharing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = logits(small_reader())
    assert torch.equal(logits(TorchModel.load(sharing)), before)
    change_settings(sharing, no_answer_threshold=0.3)
    TorchModel.load(sharing).save_weights(sharing)
    assert TorchModel.load(sharing).no_answer_threshold == 0.3
    assert not (sharing / WORDS).exists()
    copy_model(sharing, sharing.parent / "deep" / "copy")
    monkeypatch.chdir(sharing)
    assert torch.equal(logits(TorchModel.load(Path())), before)
    assert torch.equal(logits(TorchModel.load(sharing.parent / "deep" / "copy")), before)


def test_damaged_shared_words_are_refused_and_those_of_a_folder_go_before_them(
    sharing: Path,
) -> None:
    copy_model(sharing, sharing.parent / "whole" / "copy")
    words = sharing.parent / WORDS
    damaged = words.read_bytes()[:-1] + b"!"
    words.write_bytes(damaged)
    with pytest.raises(InputError, match=f"{words} is damaged"):
        TorchModel.load(sharing)
    (sharing.parent / "whole" / WORDS).write_bytes(damaged)
    TorchModel.load(sharing.parent / "whole" / "copy")
    words.unlink()
    with pytest.raises(InputError, match=f"{sharing / WORDS}: it is missing"):
        TorchModel.load(sharing)
