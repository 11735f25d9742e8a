"""The examples run: a component for Haystack without Haystack, and data to fine-tune on."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from fabir.data.convert import convert
from fabir.training.config_files import load_config
from fabir.training.inputs import RunFiles
from fabir.training.run import prepare
from factories import ABBEY, RAIN, small_reader
from tiny import Files

ROOT = Path(__file__).parent.parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_haystack_component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("haystack_reader")
    monkeypatch.setattr(module, "ExtractedAnswer", None)
    small_reader().save(tmp_path)
    reader = module.FabirReader(str(tmp_path), top_k=3)
    documents = [SimpleNamespace(content=text) for text in (RAIN, None, " ", ABBEY)]
    answers = reader.run("What pulls the drops?", documents)["answers"]
    assert len(answers) == 3
    for answer in answers:
        text = answer["document"].content
        assert answer["data"] == text[answer["start"] : answer["end"]]
    scores = [answer["score"] for answer in answers]
    assert scores == sorted(scores, reverse=True)
    assert len(reader.run("What?", documents, top_k=1)["answers"]) == 1
    assert reader.run("What?", []) == {"answers": []}


def test_the_data_sheets_have_every_answer_once(tmp_path: Path) -> None:
    load("data_sheets").write(tmp_path / "train.csv", 60, 1)
    made = convert(tmp_path / "train.csv")
    assert made.notes == []
    assert len(made.data) == made.answers == 480


def test_the_guides_configuration_goes_on_from_the_bundled_reader(
    files: Files, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "your-own-data.md").read_text(encoding="utf-8")
    (yaml,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "fine-tune.yaml").write_text(yaml)
    config = load_config(tmp_path / "fine-tune.yaml")
    ready = prepare(config, RunFiles(train=(files.train,), start=Path("bundled")))
    assert ready.reader.config.dropout_input == 0.1
