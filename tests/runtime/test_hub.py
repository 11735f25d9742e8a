"""Models by name: a folder, the bundled model, or one on a fake Hugging Face hub."""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.runtime.hub import push
from fabir.runtime.locate import BUNDLED, find_model
from fabir.runtime.store import FILES, VOCABULARY, WORDS, model_files
from fabir.runtime.torch_model import TorchModel
from factories import ABBEY, small_reader

ASKED = ("Who founded the abbey?", ABBEY)


class Hub:
    """A fake hub in a folder, with the functions of huggingface_hub that fabir calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def snapshot_download(self, name: str, **options: Any) -> str:
        self.calls.append((name, options))
        if not (self.folder / name).is_dir():
            raise OSError(f"404\nfor {name}")
        return str(self.folder / name)

    def api(self, token: str | None = None) -> "Hub":
        if token == "wrong":
            raise OSError("401")
        return self

    def create_repo(self, name: str, **options: Any) -> str:
        self.calls.append((name, options))
        if "/" not in name:
            raise ValueError("no owner")
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        return f"https://hub/{name}"

    def file_exists(self, name: str, path: str) -> bool:
        return (self.folder / name / path).exists()

    def upload_file(self, *, path_or_fileobj: bytes, path_in_repo: str, repo_id: str) -> None:
        (self.folder / repo_id / path_in_repo).write_bytes(path_or_fileobj)

    def upload_folder(self, *, repo_id: str, folder_path: str) -> None:
        shutil.copytree(folder_path, self.folder / repo_id, dirs_exist_ok=True)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub(tmp_path / "hub")
    module = SimpleNamespace(snapshot_download=hub.snapshot_download, HfApi=hub.api)
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    monkeypatch.chdir(tmp_path)
    return hub


def test_a_pushed_model_is_got_by_name(hub: Hub) -> None:
    model = small_reader()
    assert model.push_to_hub("me/small", private=True) == "https://hub/me/small"
    assert hub.calls == [("me/small", {"private": True, "exist_ok": True})]
    assert 'from_pretrained("me/small")' in (hub.folder / "me/small/README.md").read_text()
    answers = Predictor(model).answer(*ASKED)
    assert Predictor.from_pretrained("me/small", revision="v1").answer(*ASKED) == answers
    assert hub.calls[-1] == ("me/small", {"revision": "v1", "allow_patterns": [*FILES, "LICENSE"]})
    for name in ("me/small", Path("me/small")):
        assert Predictor.load(name).answer(*ASKED) == answers
        assert Predictor(TorchModel.from_pretrained(name)).answer(*ASKED) == answers


def test_a_folder_goes_before_the_hub(hub: Hub, tmp_path: Path) -> None:
    model = small_reader()
    model.save_pretrained("me/small")
    assert Predictor(TorchModel.from_pretrained("me/small")).answer(*ASKED)
    Predictor.from_pretrained(tmp_path / "me" / "small", max_words=5)
    assert hub.calls == []


def test_a_model_card_is_kept(hub: Hub) -> None:
    small_reader().save("small")
    Path("small/README.md").write_text("mine")
    Path("small/train.json").write_text("{}")
    push("small", "me/small")
    assert (hub.folder / "me/small/README.md").read_text() == "mine"
    assert not (hub.folder / "me/small/train.json").exists()
    small_reader().push_to_hub("me/small")
    assert (hub.folder / "me/small/README.md").read_text() == "mine"


def test_a_bundled_model_is_pushed_with_its_words_and_card(hub: Hub) -> None:
    push(BUNDLED, "me/fast")
    assert "network" in (hub.folder / "me/fast/README.md").read_text()
    assert "CC BY-SA 4.0" in (hub.folder / "me/fast/LICENSE").read_text()
    answers = Predictor.load().answer(*ASKED)
    assert Predictor.from_pretrained("me/fast").answer(*ASKED) == answers


def test_the_bundled_model_has_a_name(hub: Hub) -> None:
    assert find_model(None) == find_model("fast") == find_model(Path("fast")) == BUNDLED
    Path("fast").mkdir()
    assert find_model("fast") == Path("fast")


def test_a_name_that_no_model_has_is_refused_with_the_names_that_there_are() -> None:
    for name in ("bundled", "fsat", "runs/deep/er", "/no/reader", "../me"):
        with pytest.raises(InputError, match=f"^there is no folder {name}, .* fast and accurate$"):
            find_model(name)


def test_the_second_bundled_model_shares_its_words_with_the_first() -> None:
    fast, accurate = find_model("fast"), find_model("accurate")
    assert accurate == BUNDLED.with_name("accurate")
    for name, file in model_files(accurate).items():
        assert (file == model_files(fast)[name]) == (name in (VOCABULARY, WORDS))


def test_what_is_nowhere_is_refused_in_a_line(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no folder me/none, nor does .*: 404 for me/none"):
        Predictor.load("me/none")
    with pytest.raises(InputError, match="does not take small: no owner"):
        small_reader().push_to_hub("small")
    with pytest.raises(InputError, match=r"hub is not a model's folder: it lacks config.json"):
        push(hub.folder, "me/small")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"no folder me/none; .* pip install 'fabir\[hub\]'"):
        Predictor.load("me/none")
    with pytest.raises(InputError, match=r"pip install 'fabir\[hub\]'"):
        small_reader().push_to_hub("me/small")


def test_without_a_network_the_line_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("huggingface_hub")
    from huggingface_hub import errors

    def refuse(cause: Exception) -> None:
        def download(name: str, **options: Any) -> str:
            raise errors.LocalEntryNotFoundError("An error happened " * 20) from cause

        monkeypatch.setattr(library, "snapshot_download", download)

    refuse(OSError("Name or service not known"))
    with pytest.raises(InputError, match=r"^there is no folder me/a, and .* cannot be reached$"):
        find_model("me/a")
    refuse(errors.OfflineModeIsEnabled("offline mode is enabled"))
    with pytest.raises(InputError, match="and HF_HUB_OFFLINE forbids"):
        find_model("me/a")


def test_the_hubs_own_library_has_what_is_used() -> None:
    hub = pytest.importorskip("huggingface_hub")
    from inspect import signature

    assert {"repo_id", "revision", "allow_patterns"} <= signature(
        hub.snapshot_download
    ).parameters.keys()
    for name, used in {
        "create_repo": {"repo_id", "private", "exist_ok"},
        "file_exists": {"repo_id", "filename"},
        "upload_file": {"path_or_fileobj", "path_in_repo", "repo_id"},
        "upload_folder": {"repo_id", "folder_path"},
    }.items():
        assert used <= signature(getattr(hub.HfApi, name)).parameters.keys()
