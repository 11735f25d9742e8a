"""A compact model is nearly the same model, with fewer words and rounded weights."""

from pathlib import Path

import pytest
import torch

from fabir.errors import InputError
from fabir.export.compact import compact, keep_words
from fabir.runtime.torch_model import TorchModel
from factories import EXAMPLES, batch_of, small_reader


def test_all_words_and_rounding_change_logits_little(tmp_path: Path) -> None:
    model = small_reader()
    model.save(tmp_path / "whole")
    (tmp_path / "whole" / "LICENSE").write_text("of the weights")
    compact(tmp_path / "whole", tmp_path / "small", words=1000)
    small = TorchModel.load(tmp_path / "small")
    assert (tmp_path / "small" / "LICENSE").read_text() == "of the weights"
    assert small.vocabulary == model.vocabulary
    scale = model.fixed_rows.abs().amax(dim=1, keepdim=True)
    assert ((small.fixed_rows - model.fixed_rows).abs() <= 0.51 / 127 * scale + 1e-3).all()
    batch = batch_of(model.vocabulary, *(example[:2] for example in EXAMPLES))
    with torch.inference_mode():
        expected, found = model.network(batch), small.network(batch)
    torch.testing.assert_close(found.start, expected.start, atol=0.05, rtol=0.05)


def test_words_that_go_become_unknown() -> None:
    model = small_reader()
    smaller = keep_words(model, 3)
    assert smaller.vocabulary.fixed == model.vocabulary.fixed[:3]
    gone, kept = model.vocabulary.fixed[3], model.vocabulary.fixed[2]
    assert smaller.vocabulary.word_row(gone) == 1
    assert smaller.vocabulary.word_row(kept) == model.vocabulary.word_row(kept)


def test_trained_rows_are_cut_and_kept_too() -> None:
    model = small_reader()
    model.unfreeze_words(4)
    assert len(keep_words(model, 3).fixed_rows) == 3


@pytest.mark.parametrize("name", ["LICENSE", "vocabulary.json", "network.safetensors"])
def test_files_of_others_are_not_replaced(name: str, tmp_path: Path) -> None:
    source, output = tmp_path / "model", tmp_path / "project"
    small_reader().save(source)
    (source / "LICENSE").write_text("of the weights")
    output.mkdir()
    (output / name).write_text("my own")
    with pytest.raises(
        InputError, match=rf"project has a file {name}, but no model's config\.json"
    ):
        compact(source, output, 10)
    assert [path.read_text() for path in output.iterdir() if path.name[0] != "."] == ["my own"]
    (output / name).unlink()
    (output / "notes.txt").write_text("my own")
    size = compact(source, output, 10)
    files = {path.name: path.stat().st_size for path in output.iterdir() if path.name[0] != "."}
    assert size == sum(files.values()) - files["notes.txt"] - files["LICENSE"]


def test_no_words_or_the_same_folder_are_refused(tmp_path: Path) -> None:
    model = small_reader()
    model.save(tmp_path)
    with pytest.raises(InputError, match="at least 1 word"):
        keep_words(model, 0)
    with pytest.raises(InputError, match="another folder"):
        compact(tmp_path, tmp_path / ".", 10)
    assert TorchModel.load(tmp_path).vocabulary == model.vocabulary
