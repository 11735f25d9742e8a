"""What the README promises is run: its commands by `.ci/run`, its Python here."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI_RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_two_commands_are_what_ci_runs() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines() if " && " in line]
    assert len(lines) == 2
    for command in (command for line in lines for command in line.split(" && ")):
        assert any(re.match(rf"{re.escape(command)}( \||$)", line) for line in CI_RUN), command


def test_python_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert blocks("python")
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()
