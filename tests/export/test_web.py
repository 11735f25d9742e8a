"""The folder of the page: what is written, what is refused. `tests/web` has what the page does."""

import hashlib
import io
import json
import re
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calling import refused
from fabir.cli import main
from fabir.data.download import Collection
from fabir.errors import InputError
from fabir.export import onnx, web
from fabir.export.web import PACKAGE, write_page
from fabir.files import write_json
from fabir.runtime.locate import BUNDLED, find_model
from fabir.runtime.settings import SETTINGS, format_states, read_states
from fabir.runtime.store import ANSWER, ONNX, copy_model, path_of, read_settings
from model_folders import edit_json, seal


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package as npm has it, with files of no use."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    with tarfile.open(folder / PACKAGE, "w:gz") as archive:
        for name in ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm", "ort.webgl.mjs"):
            entry = tarfile.TarInfo(f"package/dist/{name}")
            entry.size = len(name)
            archive.addfile(entry, io.BytesIO(name.encode()))
    digest = hashlib.sha256((folder / PACKAGE).read_bytes()).hexdigest()
    served = Collection("http://127.0.0.1:9/", "Toy licence", {PACKAGE: digest})
    monkeypatch.setattr(web, "RUNTIME", {"onnxruntime-web": served})
    return folder


def test_the_folder_has_the_page_the_model_and_the_runtime(tmp_path: Path, runtime: Path) -> None:
    size = write_page(BUNDLED, tmp_path / "site", runtime)
    written = {
        path.relative_to(tmp_path / "site").as_posix(): path.read_bytes()
        for path in (tmp_path / "site").rglob("*")
        if path.is_file()
    }
    assert size == sum(map(len, written.values()))
    for name in (*ONNX, "config.json"):
        assert written[f"model/{name}"] == path_of(BUNDLED, name).read_bytes()
    assert b"CC BY-SA 4.0" in written["model/LICENSE"]
    assert {name for name in written if name.startswith("runtime/")} == {
        "runtime/ort.wasm.bundle.min.js",
        "runtime/ort-wasm-simd-threaded.wasm",
        "runtime/LICENSE",
        "runtime/ThirdPartyNotices.txt",
    }
    assert written["runtime/LICENSE"].startswith(b"MIT License\n\nCopyright (c) Microsoft")
    page = written["index.html"].decode()
    links = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page)
    assert sorted(links) == ["base.css", "page.js", "style.css"]
    for name in (*links, "characters.js"):
        assert written[name]


def test_a_page_is_written_again_in_place(tmp_path: Path, runtime: Path) -> None:
    first = write_page(BUNDLED, tmp_path / "site", runtime)
    (tmp_path / "site" / "page.js").write_text("old")
    assert write_page(BUNDLED, tmp_path / "site", runtime) == first
    assert (tmp_path / "site" / "page.js").read_text() != "old"


def test_other_people_s_files_are_not_replaced(tmp_path: Path, runtime: Path) -> None:
    site = tmp_path / "site"
    (site / "runtime").mkdir(parents=True)
    for name in ("index.html", "characters.js"):
        (site / name).write_text("my own")
        with pytest.raises(InputError, match="is no such page and not empty"):
            write_page(BUNDLED, site, runtime)
        assert {path.read_text() for path in site.iterdir() if path.is_file()} == {"my own"}


def test_a_licence_is_the_model_s_own_or_none(tmp_path: Path, runtime: Path) -> None:
    model, site = tmp_path / "clone" / "model", tmp_path / "site"
    copy_model(BUNDLED, model)
    (model / "LICENSE").unlink()
    (model.parent / "LICENSE").write_text("of the clone")
    write_page(BUNDLED, site, runtime)
    write_page(model, site, runtime)
    assert not (site / "model" / "LICENSE").exists()
    (model / "LICENSE").write_text("of the model")
    write_page(model, site, runtime)
    assert (site / "model" / "LICENSE").read_text() == "of the model"


def test_a_page_is_never_half_of_another_model(
    tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    write_page(BUNDLED, site, runtime)
    copy = web.copy_file

    def interrupted(path: Path, to: Path) -> Path:
        if path.name == ANSWER:
            raise KeyboardInterrupt
        return copy(path, to)

    with monkeypatch.context() as patch:
        patch.setattr(web, "copy_file", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_page(find_model("accurate"), site, runtime)
    assert not (site / "model" / SETTINGS).exists()
    write_page(find_model("accurate"), site, runtime)
    assert read_settings(site / "model", ONNX).network["layers"] == 6


def test_a_page_has_the_settings_of_its_graphs(tmp_path: Path, runtime: Path) -> None:
    """Of a model that another one was to replace, `config.json` has the settings of both."""
    model, site = tmp_path / "model", tmp_path / "site"
    copy_model(BUNDLED, model)
    mine = read_states(model)[0]
    other = replace(mine, no_answer_threshold=0.001, files=dict.fromkeys(mine.files, "0" * 64))
    write_json(model / SETTINGS, format_states(other, mine))
    write_page(model, site, runtime)
    assert read_states(site / "model") == [mine]


def test_a_model_without_graphs_is_refused(tmp_path: Path, reader: Path, runtime: Path) -> None:
    with pytest.raises(InputError, match="add --output DIR"):
        write_page(reader, tmp_path / "site", runtime)
    assert not (tmp_path / "site").exists()


def test_a_tokeniser_that_no_browser_has_is_refused(tmp_path: Path, runtime: Path) -> None:
    pytest.importorskip("nltk")
    copy_model(BUNDLED, tmp_path / "model")
    edit_json(tmp_path / "model" / "vocabulary.json", tokeniser="nltk")
    seal(tmp_path / "model")
    with pytest.raises(InputError, match="NLTK"):
        write_page(tmp_path / "model", tmp_path / "site", runtime)


def test_a_package_that_cannot_be_fetched_may_be_put_there(tmp_path: Path, runtime: Path) -> None:
    pytest.importorskip("pooch")
    for damage in (lambda path: path.write_bytes(b"damaged"), Path.unlink):
        damage(runtime / PACKAGE)
        with pytest.raises(InputError, match=f"cannot fetch .*put {PACKAGE} of npm .*--runtime"):
            write_page(BUNDLED, tmp_path / "site", runtime)
        assert not (tmp_path / "site").exists()


def test_the_command_says_how_large_the_page_is(
    tmp_path: Path, runtime: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    main(["export", "--reader", "accurate", "--web", str(site), "--runtime", str(runtime)])
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    assert capsys.readouterr().out == f"{site}: {size / 2**20:.1f} MiB\n"
    settings = json.loads((site / "model" / "config.json").read_text())
    assert settings["reader"] == "crossconv"


@pytest.fixture
def exports(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of every export of graphs that is begun; none is made."""
    begun: list[Any] = []
    monkeypatch.setattr(onnx, "export", lambda *given, **named: begun.append(given))
    return begun


def test_a_page_that_cannot_be_written_is_refused_before_the_graphs_are_made(
    tmp_path: Path, runtime: Path, exports: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "notes.txt").write_text("my own")
    (tmp_path / "file").write_text("")
    for page, graphs, said in (
        (site, tmp_path / "graphs", "is no such page and not empty"),
        (tmp_path / "file", tmp_path / "graphs", "file is not a folder"),
        (tmp_path / "new", tmp_path / "new", "lies in the page's folder"),
        (tmp_path / "new", tmp_path / "new" / "graphs", "lies in the page's folder"),
    ):
        options = "--output", graphs, "--web", page, "--runtime", runtime
        assert said in refused(capsys, "export", *options)
    assert exports == []


def test_a_package_that_cannot_be_fetched_is_told_before_the_graphs_are_made(
    tmp_path: Path, runtime: Path, exports: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pooch")
    (runtime / PACKAGE).unlink()
    options = "--output", tmp_path / "graphs", "--web", tmp_path / "site", "--runtime", runtime
    with pytest.raises(SystemExit):
        main(["export", *map(str, options)])
    assert "cannot fetch" in capsys.readouterr().err
    assert exports == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--output DIR for graphs, --web DIR for a page"),
        (["--output", "made", "--runtime", "there"], "add --web DIR"),
        (["--web", "made", "--quantise", "int8"], "--quantise is for new graphs: add --output DIR"),
        (["--web", "made", "--data", "dev.json"], "--data is for new graphs: add --output DIR"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["export", *options])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert not Path("made").exists()
