"""Commands that make data: what they refuse before they write."""

from pathlib import Path

import pytest

from fabir.cli import main
from fabir.data.squad import write_squad
from tiny import dataset

AUGMENT = ("augment", "--command", "cat")


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize("command", [("convert",), ("make-negatives",), AUGMENT, ("vary",)])
def test_what_is_read_is_not_written_over(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, link = tmp_path / "data.json", tmp_path / "link.json"
    if command == ("convert",):
        data = tmp_path / "data.csv"
        data.write_text("question,passage,answer\nWho?,Ada did.,Ada\n")
    else:
        write_squad(dataset(), data)
    link.symlink_to(data)
    before = data.read_bytes()
    for output in (data, link):
        error = refused(capsys, *command, data, "--output", output)
        assert f"{output} is read, and would be written over: name another file" in error
        assert data.read_bytes() == before


@pytest.mark.parametrize("command", [("make-negatives",), AUGMENT, ("vary",)])
def test_a_seed_below_0_is_refused(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = tmp_path / "data.json", tmp_path / "output.json"
    write_squad(dataset(), data)
    error = refused(capsys, *command, data, "--output", output, "--seed", "-1")
    assert "the seed must be at least 0, not -1" in error
    assert not output.exists()


@pytest.mark.parametrize("ratio", ["inf", "nan", "0"])
def test_a_ratio_must_be_a_number_above_0(
    ratio: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = tmp_path / "data.json", tmp_path / "output.json"
    write_squad(dataset(), data)
    error = refused(capsys, "make-negatives", data, "--output", output, "--ratio", ratio)
    assert "the ratio of negatives must be above 0" in error
