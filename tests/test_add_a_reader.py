"""docs/add-a-reader.md, followed to the letter in a copy of the project."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tiny import Files

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the reader of the page added as the page says."""
    folder = tmp_path_factory.mktemp("project")
    left_out = shutil.ignore_patterns("pretrained", "__pycache__")
    for part in ("src", "configs", "tests"):
        shutil.copytree(ROOT / part, folder / part, symlinks=True, ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", folder)
    page = (ROOT / "docs" / "add-a-reader.md").read_text(encoding="utf-8")
    network, registration, config = re.findall(r"```(?:python|yaml)\n(.*?)```", page, re.DOTALL)
    readers = folder / "src" / "fabir" / "readers"
    (readers / "likeness.py").write_text(network, encoding="utf-8")
    with open(readers / "__init__.py", "a", encoding="utf-8") as file:
        file.write(registration)
    (folder / "configs" / "likeness.yaml").write_text(config, encoding="utf-8")
    return folder


def python(project: Path, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Runs commands one after the other, and shows what each of them prints as an item of a list.
COMMANDS = """
import contextlib, io, json, sys
from fabir.cli import main
said = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as written:
        main(arguments)
    said.append(written.getvalue())
print(json.dumps(said))
"""


def test_it_is_listed_trained_and_answers(project: Path, files: Files, tmp_path: Path) -> None:
    text, run = tmp_path / "passage.txt", tmp_path / "run"
    text.write_text("The river Olm is 212 km long.", encoding="utf-8")
    data = ("--train", files.train, "--dev", files.dev, "--vectors", files.vectors)
    commands = [
        ["readers"],
        ["train", "configs/likeness.yaml", *data, "--output", run],
        ["answer", "How long is it?", "--passage", text, "--reader", run],
    ]
    given = json.dumps([list(map(str, command)) for command in commands])
    readers, _, answer = json.loads(python(project, "-c", COMMANDS, given))
    (line,) = (line for line in readers.splitlines() if "likeness" in line)
    assert int(line.split()[1].replace(",", "")) > 10_000
    assert answer.strip()
    assert answer.strip() in text.read_text()


@pytest.mark.slow
def test_it_keeps_the_contract(project: Path) -> None:
    contract = "tests/readers/test_contract.py"
    options = ("-k", "likeness", "-n0", "-q", "-p", "no:cacheprovider")
    assert re.search(r"\d+ passed", python(project, "-m", "pytest", contract, *options))
