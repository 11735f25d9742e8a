import errno
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from fabir.errors import InputError
from fabir.training.checkpoint import FILE, Progress, load_checkpoint, save_checkpoint

PROGRESS = Progress(step=7, epoch=2, batch=1, seconds=3.5, best_f1=12.25, stale=1, settings='"{ü')


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    groups = {
        "network": {
            "a.weight": torch.randn(3, 4).T,  # not contiguous
            "a/b": torch.tensor([1.0, float("nan"), float("inf")]),
            "half": torch.randn(2).bfloat16(),
        },
        "average": {},
        "moment": {"a.weight": torch.zeros(0, 2), "scalar": torch.tensor(2.0)},
    }
    save_checkpoint(tmp_path, PROGRESS, groups)
    progress, loaded = load_checkpoint(tmp_path)
    assert progress == PROGRESS
    assert loaded.keys() == {"network", "moment"}  # a group of nothing leaves no trace
    for group, tensors in loaded.items():
        assert tensors.keys() == groups[group].keys()
        for name, tensor in tensors.items():
            assert tensor.dtype == groups[group][name].dtype
            torch.testing.assert_close(tensor, groups[group][name], rtol=0, atol=0, equal_nan=True)


def test_a_new_checkpoint_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    for step in range(3):
        save_checkpoint(tmp_path, Progress(step=step), {"network": {"w": torch.tensor(step)}})
        assert load_checkpoint(tmp_path)[0].step == step
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_checkpoint_that_fails_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoint(tmp_path, PROGRESS, {"network": {"w": torch.ones(2)}})

    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(InputError, match="No space left on device"):
        save_checkpoint(tmp_path, Progress(step=8), {"network": {"w": torch.zeros(2)}})
    assert load_checkpoint(tmp_path)[0] == PROGRESS
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_folder_without_a_checkpoint_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no checkpoint to resume"):
        load_checkpoint(tmp_path)
    with pytest.raises(InputError, match="holds no checkpoint to resume"):
        load_checkpoint(tmp_path / "missing")


@pytest.mark.parametrize("content", [b"", b"no tensors", b"\x08" + b"\x00" * 7 + b"{}      "])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match=FILE):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "metadata", [None, {"progress": "{"}, {"progress": "[]"}, {"progress": '{"steps": 1}'}]
)
def test_tensors_of_something_else_are_refused(
    tmp_path: Path, metadata: dict[str, str] | None
) -> None:
    save_file({"network/w": torch.ones(1)}, tmp_path / FILE, metadata)
    with pytest.raises(InputError, match="not a checkpoint of this version"):
        load_checkpoint(tmp_path)
