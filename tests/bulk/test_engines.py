"""Both engines write the same; what workers refuse reaches the user as if it were refused here."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bulk_rows import write_rows
from exporting import exported_once
from fabir.bulk.engines import start_ray
from fabir.bulk.rows import CHUNK
from fabir.bulk.run import answer_rows
from fabir.errors import InputError


@pytest.fixture
def ray() -> Iterator[Any]:
    """Ray on this machine. It gives up after half a minute, which a busy machine may need. It
    leaves a handler of SIGTERM behind."""
    pytest.importorskip("ray.data")
    handler = signal.getsignal(signal.SIGTERM)
    cluster = next(filter(None, (_try_to_start() for _ in range(3))), None)
    if cluster is not None:
        yield cluster
        cluster.shutdown()
    signal.signal(signal.SIGTERM, handler)
    if cluster is None:
        pytest.skip("Ray does not start here")


def _try_to_start() -> Any:
    try:
        return start_ray()
    except InputError:
        return None


@pytest.mark.slow
def test_ray_writes_what_one_process_writes(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, ray: Any
) -> None:
    """It stops at a bad row as one process does, and goes on."""
    parts = tmp_path / "parts"
    parts.mkdir()
    write_rows(parts / "a.jsonl", CHUNK + 500)
    last = write_rows(parts / "b.jsonl", CHUNK - 400)
    given: Any = {"reader": exported_once(tmp_path_factory)[1], "keep": "all"}
    here, there = tmp_path / "here.jsonl", tmp_path / "ray.jsonl"
    answer_rows(parts, here, engine="local", **given)
    with last.open("a") as file:
        file.write("{}\n")
    with pytest.raises(InputError, match=r'b\.jsonl: row 625, field "question": missing'):
        answer_rows(parts, there, engine="ray", **given)
    answer_rows(parts, there, engine="ray", resume=True, on_bad_row="skip", **given)
    assert there.read_bytes() == here.read_bytes()


def test_ray_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    source = write_rows(tmp_path / "rows.jsonl", 1)
    with pytest.raises(InputError, match=r"pip install 'fabir\[cluster\]'"):
        answer_rows(source, tmp_path / "answers.jsonl", engine="ray")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
