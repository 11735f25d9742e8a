"""Training curves are drawn from what runs left."""

import re
from pathlib import Path

import pytest

from fabir.errors import InputError
from fabir.training.curves import plot_runs
from fabir.training.metrics import log_metrics

pytest.importorskip("matplotlib")


def write_run(folder: Path, f1: float) -> Path:
    folder.mkdir()
    log_metrics(folder, step=1, epoch=0.2, loss=9.0)  # without scores
    for epoch in (1, 2, 3):
        log_metrics(folder, step=epoch * 5, epoch=epoch, loss=5 / epoch, f1=f1 + epoch, exact=f1)
    return folder


def test_every_run_has_a_line_in_every_panel(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, f1) for name, f1 in (("first", 50), ("second", 60))]
    plot_runs(runs, tmp_path / "curves.svg")
    drawn = (tmp_path / "curves.svg").read_text()
    for colour, dashes in ("#0072b2", 0), ("#d55e00", 4):
        lines = re.findall(rf"fill: none; stroke(-dasharray: [^\"]*)?[^\"]*{colour}[^\"]*", drawn)
        assert len(lines) == 3 + 1  # and a legend
        assert sum("dasharray" in line for line in lines) == dashes


def test_a_run_without_scores_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "whole", 50)
    begun = tmp_path / "begun"
    begun.mkdir()
    log_metrics(begun, step=1, epoch=0.2, loss=9.0)
    plot_runs([tmp_path / "whole", begun], tmp_path / "curves.png")
    assert capsys.readouterr().err == "begun is not evaluated yet: it has its loss alone\n"


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_runs_make_the_same_bytes(tmp_path: Path, kind: str) -> None:
    runs = [write_run(tmp_path / "first", 50)]
    first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind}"
    for path in first, second:
        plot_runs(runs, path)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("content", [b"", b"no json\n", b"[]\n", b'{"epoch": 1}\n', b"\xff\n"])
def test_what_is_no_run_is_named(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="there are no metrics in "):
        plot_runs([tmp_path], tmp_path / "curves.png")
    (tmp_path / "metrics.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=r"metrics.jsonl: not the metrics of a run"):
        plot_runs([tmp_path], tmp_path / "curves.png")
    assert not (tmp_path / "curves.png").exists()
