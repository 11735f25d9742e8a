"""How many processors are used, by what the system says."""

import os
from pathlib import Path

import pytest

from fabir.runtime import processors as module
from fabir.runtime.processors import processors


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ("max 100000\n", 8),
        ("100000 100000\n", 1),
        ("350000 100000\n", 4),
        ("20000 100000\n", 1),
        ("6400000 100000\n", 8),
        ("", 8),
        (None, 8),
    ],
)
def test_a_containers_share_of_the_processors(
    share: str | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpu.max"
    if share is not None:
        file.write_text(share)
    monkeypatch.setattr(module, "SHARE", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert processors() == expected


def test_who_names_a_number_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    monkeypatch.setattr(module, "SHARE", tmp_path / "cpu.max")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert processors() == 3
