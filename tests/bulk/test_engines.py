"""Both engines write the same; what workers refuse reaches the user as if it were refused here."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bulk_rows import write_rows
from fabir.bulk.engines import _start_ray
from fabir.bulk.rows import CHUNK
from fabir.bulk.run import answer_rows
from fabir.errors import InputError
from factories import small_reader


@pytest.fixture
def ray() -> Iterator[Any]:
    """Ray on this machine. It gives up after half a minute, which a busy machine may need."""
    pytest.importorskip("ray.data")
    cluster = next(filter(None, (_try_to_start() for _ in range(3))), None)
    if cluster is None:
        pytest.skip("Ray does not start here")
    yield cluster
    cluster.shutdown()


def _try_to_start() -> Any:
    try:
        return _start_ray()
    except InputError:
        return None


@pytest.mark.slow
def test_ray_writes_what_one_process_writes(tmp_path: Path, ray: Any) -> None:
    small_reader().save(tmp_path / "reader")
    parts = tmp_path / "parts"
    parts.mkdir()
    write_rows(parts / "a.jsonl", CHUNK + 500)
    last = write_rows(parts / "b.jsonl", CHUNK - 400)
    given: Any = {"reader": tmp_path / "reader", "keep": "all"}
    outputs = [tmp_path / "here.jsonl", tmp_path / "ray.jsonl"]
    for engine, output in zip(("local", "ray"), outputs, strict=True):
        answer_rows(parts, output, engine=engine, **given)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    with last.open("a") as file:
        file.write("{}\n")
    more = tmp_path / "more.jsonl"
    with pytest.raises(InputError, match=r'b\.jsonl: row 625, field "question": missing'):
        answer_rows(parts, more, engine="ray", **given)
    answer_rows(parts, more, engine="ray", resume=True, on_bad_row="skip", **given)
    assert more.read_bytes() == outputs[0].read_bytes()
    (tmp_path / "broken.csv").write_bytes(b"")
    with pytest.raises(InputError, match=r"broken\.csv: its first line"):
        answer_rows(tmp_path / "broken.csv", tmp_path / "x.csv", engine="ray")


def test_ray_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    source = write_rows(tmp_path / "rows.jsonl", 1)
    with pytest.raises(InputError, match=r"pip install 'fabir\[cluster\]'"):
        answer_rows(source, tmp_path / "answers.jsonl", engine="ray")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
