"""Every command that writes, where files may not grow beyond a size, as on a full disk: one line,
what was there stays, and what was begun is removed or can be continued."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bulk_rows import write_rows
from collection import write_collection
from fabir.search.index import Index
from tiny import NETWORK, TRAINING, Files


def run(blocks: int | None, *arguments: object) -> tuple[int, str]:
    """Run fabir, where a file has at most so many blocks of 512 bytes."""
    limit = f"ulimit -f {blocks}; " if blocks is not None else ""
    command = ["sh", "-c", f'{limit}exec "$0" -m fabir "$@"', sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr


def refused(code: int, error: str) -> None:
    assert code == 2, error
    assert "Traceback" not in error
    last = error.splitlines()[-1]
    assert last.startswith("fabir ")
    assert "File too large" in last


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("blocks", [0, 1, 2, 4])
def test_index(tmp_path: Path, blocks: int) -> None:
    write_collection(tmp_path / "documents")
    (tmp_path / "documents" / "old.txt").write_text("An old text about kites.\n" * 200, "utf-8")
    index = tmp_path / "index"
    refused(*run(blocks, "index", tmp_path / "documents", "--output", index))
    assert not index.exists()
    Index.build([tmp_path / "documents"], index)
    before = contents(index)
    (tmp_path / "documents" / "new.txt").write_text("A new text about kites.\n" * 100, "utf-8")
    refused(*run(blocks, "index", tmp_path / "documents", "--output", index))
    assert contents(index) == before


@pytest.mark.parametrize("name", ["answers.jsonl", "answers.csv", "answers.parquet"])
def test_predict_rows(tmp_path: Path, reader: Path, name: str) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 40)
    whole, output = tmp_path / f"whole-{name}", tmp_path / "out" / name
    command = "predict", rows, "--reader", reader, "--output"
    assert run(None, *command, whole)[0] == 0
    code, error = run(4, *command, output)
    refused(code, error)
    assert "go on with --resume" in error
    assert not output.exists()
    resume = ["--resume"] if any(output.parent.iterdir()) else []
    assert run(None, *command, output, *resume)[0] == 0
    assert output.read_bytes() == whole.read_bytes()
    assert [path.name for path in output.parent.iterdir()] == [name]


def test_official_predictions(tmp_path: Path, reader: Path, files: Files) -> None:
    output = tmp_path / "predictions.json"
    output.write_text("{}")
    nbest = "--nbest", tmp_path / "nbest.json"
    refused(*run(4, "predict", files.dev, "--reader", reader, "--output", output, *nbest))
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.json"]


def test_compact(tmp_path: Path, reader: Path) -> None:
    refused(*run(2, "compact", reader, "--output", tmp_path / "small"))
    assert not any((tmp_path / "small").glob("*"))


def test_calibrate(tmp_path: Path, reader: Path, files: Files) -> None:
    shutil.copytree(reader, tmp_path / "reader")
    before = contents(tmp_path / "reader")
    refused(*run(1, "calibrate", tmp_path / "reader", "--data", files.dev))
    assert contents(tmp_path / "reader") == before


def test_train_leaves_a_run_that_can_be_resumed(tmp_path: Path, files: Files) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"reader": "fabir", "network": NETWORK, "training": TRAINING}))
    command = ["train", config, "--train", files.train, "--dev", files.dev, "--vectors"]
    command += [files.vectors, "--output", tmp_path / "run", "--processes", 1]
    refused(*run(16, *command))
    assert not any(path.name.endswith(".partial") for path in (tmp_path / "run").iterdir())
