"""Commands that ship a model."""

from pathlib import Path

import pytest

from calling import refused, run


def test_compact_makes_a_reader_that_answers(
    capsys: pytest.CaptureFixture[str], reader: Path, passage: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    assert "MiB" in run(capsys, "compact", reader, "--output", small, "--words", 5)
    run(capsys, "answer", "What pulls?", "--passage", passage, "--reader", small)
    assert "another folder" in refused(capsys, "compact", reader, "--output", reader)


def test_export_refuses_to_calibrate_without_need(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    err = refused(capsys, "export", "--output", tmp_path / "small", "--calibrate", "train.json")
    assert "add --quantise int8" in err
    assert not (tmp_path / "small").exists()
