"""What TensorBoard shows of a run, read back from its files. No tests here."""

import json
from pathlib import Path

import pytest


def metric_lines(output: Path) -> list[dict[str, float]]:
    return list(map(json.loads, (output / "metrics.jsonl").read_text().splitlines()))


def scalars(output: Path) -> dict[str, dict[int, float]]:
    """The values that TensorBoard shows, by name and step."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(str(output / "logs" / "fabir"))
    log.Reload()
    return {
        tag: {each.step: each.value for each in log.Scalars(tag)} for tag in log.Tags()["scalars"]
    }


def assert_tracked(output: Path) -> None:
    shown = scalars(output)
    for line in metric_lines(output):
        step = int(line.pop("step"))
        for name, value in line.items():
            assert shown[name][step] == pytest.approx(value, rel=1e-6)
    assert shown["loss"].keys() == {line["step"] for line in metric_lines(output)}


def assert_settings(output: Path, *lines: str) -> None:
    """These are among the run's settings that TensorBoard shows."""
    settings = next((output / "logs").rglob("hparams.yml")).read_text()
    for line in lines:
        assert line in settings
