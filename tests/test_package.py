"""What the package says about itself. That it is complete, `.ci/run` sees in the built wheel."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_project_has_one_address() -> None:
    source = PYPROJECT["project"]["urls"]["Source"]
    hooks = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]
    substituted = [each["replacement"] for each in hooks["fancy-pypi-readme"]["substitutions"]]
    card = (ROOT / "src" / "fabir" / "runtime" / "hub.py").read_text(encoding="utf-8")
    for said in *PYPROJECT["project"]["urls"].values(), *substituted, card:
        assert source in said
