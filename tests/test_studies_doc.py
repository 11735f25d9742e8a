"""docs/studies.md: its study is written to files as it says, and can be run."""

import re
from pathlib import Path

from fabir.studies.study import read_study, shipped

PAGE = (Path(__file__).parent.parent / "docs" / "studies.md").read_text(encoding="utf-8")


def test_the_example_is_a_study(tmp_path: Path) -> None:
    wide, mine = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "wide.yaml").write_text(wide)
    (tmp_path / "mine.yaml").write_text(mine)
    study = read_study(str(tmp_path / "mine.yaml"))
    configs = {row.name: study.run_config(row, "short") for row in study.rows}
    assert configs["heads"].network.heads == 2
    assert configs["wide"].network.feed_forward == 800
    assert {config.training.epochs for config in configs.values()} == {3}
    assert {study.run_config(row, "full").training.epochs for row in study.rows} == {18, 54}


def test_every_shipped_study_is_listed() -> None:
    for name in shipped():
        assert f"| `{name}` |" in PAGE
