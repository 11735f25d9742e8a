"""docs/studies.md: its study is written to files as it says, and run."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml

from fabir.cli import main
from fabir.readers import registered
from fabir.studies.study import read_study, shipped
from fabir.training.rows import PAPER
from tiny import Files

PAGE = (Path(__file__).parent.parent / "docs" / "studies.md").read_text(encoding="utf-8")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    wide, mine, budgets = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "wide.yaml").write_text(wide)
    (tmp_path / "mine.yaml").write_text(mine)
    (tmp_path / "own.yaml").write_text(
        yaml.safe_dump(yaml.safe_load(mine) | yaml.safe_load(budgets))
    )
    return tmp_path / "mine.yaml"


def test_the_example_is_a_study(study: Path) -> None:
    mine, own = read_study(str(study)), read_study(str(study.with_name("own.yaml")))
    configs = {row.name: mine.run_config(row, "short") for row in mine.rows}
    assert configs["wide"].network.feed_forward == 800 != configs["fabir"].network.feed_forward
    assert {config.training.epochs for config in configs.values()} == {1}
    for budget in "short", "smoke":
        assert mine.budget(budget).vectors.endswith(".50d.txt")
        for row in mine.rows:
            with torch.device("meta"):  # as it is run without --vectors
                for each, dim in (mine, 50), (own, 100):
                    config = each.run_config(row, budget).network
                    registered("fabir").network(config, replace(PAPER, word_dim=dim))
    assert {own.run_config(row, "short").training.epochs for row in own.rows} == {3}
    assert own.budgets.keys() == {"smoke", "short"}


def test_the_example_has_a_report(
    study: Path, files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--train", str(files.train), "--dev", str(files.dev), "--vectors", str(files.vectors)]
    output = tmp_path / "runs"
    command = ["reproduce", str(study), "--budget", "smoke", "--output", str(output)]
    main([*command, *data])
    assert capsys.readouterr().out == f"{output / 'report.md'}\n"
    report = (output / "report.md").read_text()
    rows = json.loads((output / "results.json").read_text())["rows"]
    for name in ("fabir", "wide"):
        assert f"| {name} | {rows[name][0]['f1']:.2f} |" in report
    assert "F1 against fabir" in report
    main([*command, "--report-only"])
    assert (output / "report.md").read_text() == report


def test_every_shipped_study_is_listed() -> None:
    for name in shipped():
        assert f"| `{name}` |" in PAGE
