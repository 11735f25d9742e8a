"""dev/gpu.sh gives each worker every row, and goes on after a row that fails."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fabir.cli import build_parser
from fabir.studies.study import read_study

_SCRIPT = Path(__file__).parents[2] / "dev" / "gpu.sh"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="timeout is of GNU's coreutils")


def _gpu(folder: Path, command: str, *arguments: str) -> tuple[int, list[list[str]]]:
    """The exit status, and what `fabir` was called with: it is a script, `command`, here."""
    called = folder / "called"
    called.touch()
    fabir = folder / "fabir"
    fabir.write_text(f'#!/bin/sh\necho "$*" >>{shlex.quote(str(called))}\n{command}\n')
    fabir.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", _SCRIPT, *arguments], env={**os.environ, "PATH": path}, timeout=60, check=False
    )
    return done.returncode, [line.split() for line in called.read_text().splitlines()]


def test_every_worker_asks_for_rows_that_are_there(tmp_path: Path) -> None:
    status, calls = _gpu(tmp_path, "exit 0", "5", "2", "gpu", "--data", "data")
    assert status == 0
    assert calls
    assert len(calls) == 2 * len({tuple(call) for call in calls})
    asked: dict[str, set[str]] = {}
    for call in calls:
        options = build_parser().parse_args(call)
        assert (options.budget, str(options.data)) == ("gpu", "data")
        read_study(options.study).chosen(options.rows)  # or an error
        asked.setdefault(options.study, set()).update(options.rows)
    assert {"fabir", "bidaf"} == asked["fabir-table-2"]
    assert {row.name for row in read_study("fabir-table-1").rows} == asked["fabir-table-1"]


def test_a_row_that_fails_is_told_at_the_end(tmp_path: Path) -> None:
    whole = len(_gpu(tmp_path, "exit 0", "5", "1", "gpu")[1])
    (tmp_path / "called").unlink()
    status, calls = _gpu(tmp_path, "case $* in *qanet*) exit 3 ;; esac", "5", "1", "gpu")
    assert status == 3
    assert len(calls) == whole


@pytest.mark.parametrize(
    ("minutes", "command", "calls"), [("0", "exit 0", 0), ("5", "exit 130", 1)]
)
def test_the_end_of_the_time_is_no_failure(
    minutes: str, command: str, calls: int, tmp_path: Path
) -> None:
    status, called = _gpu(tmp_path, command, minutes, "1", "gpu")
    assert (status, len(called)) == (0, calls)
