"""Training curves are drawn from what runs left."""

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
    before = (tmp_path / "curves.svg").read_bytes()
    for colour in ("#0072b2", "#d55e00"):
        assert (
            before.decode().count(f"stroke: {colour}; stroke-width: 1.5") == 3 + 1
        )  # and a legend
    plot_runs(runs, tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("content", ["", "no json\n", "[]\n", '{"epoch": 1}\n'])
def test_what_is_no_run_is_named(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"cannot read .*metrics.jsonl"):
        plot_runs([tmp_path], tmp_path / "curves.png")
    (tmp_path / "metrics.jsonl").write_text(content)
    with pytest.raises(InputError, match=r"metrics.jsonl: not the metrics of a run"):
        plot_runs([tmp_path], tmp_path / "curves.png")
    assert not (tmp_path / "curves.png").exists()
