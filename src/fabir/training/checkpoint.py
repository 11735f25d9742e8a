"""The state of a training run in one file, replaced as a whole: a crash leaves the one before."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from torch import Tensor

from fabir.errors import InputError
from fabir.runtime.tensors import read_tensors, write_tensors

FILE = "training.safetensors"


@dataclass
class Progress:
    """The progress of a run."""

    step: int = 0  # optimiser steps made
    epoch: int = 0
    batch: int = 0  # batches of the epoch already seen
    seconds: float = 0.0  # spent on steps, over all starts
    best_f1: float = -1.0
    stale: int = 0  # evaluations since the best one
    losses: float = 0.0  # the sum of those not logged yet
    logged: int = 0  # the last step with a line among the metrics
    settings: str = ""  # digest of what the run depends on; a resumed run must have the same

    def out_of_patience(self, patience: int) -> bool:
        """Whether `patience` evaluations were no better; never if it is 0."""
        return 0 < patience <= self.stale


def save_checkpoint(folder: Path, progress: Progress, groups: dict[str, dict[str, Tensor]]) -> None:
    """Write groups of named tensors ("network", "average", "moment" ...) with the progress."""
    tensors = {
        f"{group}/{name}": tensor
        for group, named in groups.items()
        for name, tensor in named.items()
    }
    write_tensors(folder / FILE, tensors, {"progress": json.dumps(asdict(progress))})


def load_checkpoint(folder: Path) -> tuple[Progress, dict[str, dict[str, Tensor]]]:
    """What `save_checkpoint` wrote; InputError if there is none."""
    path = folder / FILE
    if not path.exists():
        raise InputError(f"{folder} holds no checkpoint to resume: start without --resume")
    tensors, metadata = read_tensors(path)
    try:
        progress = Progress(**json.loads(metadata["progress"]))
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not a checkpoint of this version of fabir") from error
    groups: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        group, name = key.split("/", 1)
        groups.setdefault(group, {})[name] = tensor
    return progress, groups
