"""What the README promises is run: `.ci/run` installs as it says, and its links lead somewhere.

Its examples are run by tests/docs/test_pages.py.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI_RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_two_commands_are_what_ci_runs() -> None:
    lines = re.findall(r"^pip install .* && .*$", README, re.MULTILINE)
    assert len(lines) == 2
    for command in (command for line in lines for command in line.split(" && ")):
        assert any(re.match(rf"{re.escape(command)}( \||$)", line) for line in CI_RUN), command


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()
