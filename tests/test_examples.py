"""The examples run: data to fine-tune on, and the configurations of the page about training."""

import re
from pathlib import Path

from fabir.data.convert import convert
from fabir.runtime.torch_model import TorchModel
from fabir.training.config_files import load_config
from fabir.training.inputs import RunFiles
from fabir.training.run import prepare
from scripts import load_script
from tiny import Files

ROOT = Path(__file__).parent.parent


def test_the_data_sheets_have_every_answer_once(tmp_path: Path) -> None:
    load_script("examples/data_sheets.py").write(tmp_path / "train.csv", 60, 1)
    made = convert(tmp_path / "train.csv")
    assert made.notes == []
    assert len(made.data) == made.answers == 480


def test_the_guides_configuration_goes_on_from_the_bundled_reader(
    files: Files, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    own, changes = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    for name, text in ("own.yaml", own), ("fine-tune.yaml", changes):
        (tmp_path / name).write_text(text)
    assert load_config(tmp_path / "own.yaml").network.layers == 2
    config = load_config(tmp_path / "fine-tune.yaml", start="fast")
    assert (config.training.epochs, config.training.optimiser) == (3, "muon")
    ready = prepare(config, RunFiles(train=(files.train,), start=Path("fast")))
    assert ready.reader.config == TorchModel.load("fast").config
