"""Experiment trackers, which get what `metrics.jsonl` gets: TensorBoard, Trackio, Weights & Biases.

Accelerate calls them. What a tracker sends, and where, is its own: TensorBoard and Trackio write
files here, Weights & Biases sends them to its service unless WANDB_MODE says otherwise.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import LoggerType, ProjectConfiguration

from fabir.errors import InputError
from fabir.runtime.torch_model import TorchModel
from fabir.training.settings import TrainingConfig

TRACKERS = "tensorboard", "trackio", "wandb"  # each the name of its package
_PROJECT = "fabir"


def check_trackers(names: Sequence[str]) -> None:
    """Refuse a tracker that is not known or not installed.

    Raises:
        InputError: says what to install.
    """
    for name in names:
        if name not in TRACKERS:
            raise InputError(f"no tracker is called {name!r}: there are {', '.join(TRACKERS)}")
        if find_spec(name) is None:
            raise InputError(f"--log-with {name} needs {name}: pip install {name}")
        if name not in LoggerType.list():
            raise InputError(
                f"--log-with {name} needs a newer accelerate: pip install -U accelerate"
            )


def tracker_arguments(names: Sequence[str], output: Path) -> dict[str, Any]:
    """Arguments of an `Accelerator` that calls these trackers."""
    if not names:
        return {}
    files = ProjectConfiguration(logging_dir=str(output / "logs"))
    return {"log_with": list(names), "project_config": files}


@contextmanager
def tracking(accelerator: Accelerator, output: Path, step: int, settings: Any) -> Iterator[None]:
    """Within it the accelerator's trackers take metrics of the run `output`, from `step` on.

    Args:
        settings: numbers and texts by name, which describe the run

    Raises:
        InputError: a tracker does not start.
    """
    output.mkdir(parents=True, exist_ok=True)
    begun: dict[str, Any] = {
        "tensorboard": {"purge_step": step + 1},  # what a resumed run writes again
        "trackio": {"name": output.name},
        "wandb": {"name": output.name, "dir": str(output)},
    }
    try:
        accelerator.init_trackers(_PROJECT, settings, begun)
    except Exception as error:  # whatever a tracker raises if it is not set up, such as no account
        names = ", ".join(map(str, accelerator.log_with))
        line = " ".join(str(error).split())
        raise InputError(f"--log-with {names} does not start: {line}") from error
    try:
        yield
    finally:
        for tracker in accelerator.trackers:
            tracker.finish()


def run_settings(reader: TorchModel, config: TrainingConfig) -> dict[str, Any]:
    """What decides a run, by key, in numbers and texts."""
    sections = {"network": asdict(reader.config), "training": asdict(config)}
    settings: dict[str, Any] = {"reader": reader.name}
    for section, values in sections.items():
        for key, value in values.items():
            plain = str(list(value)) if isinstance(value, tuple) else value
            settings[f"{section}.{key}"] = plain
    return settings
