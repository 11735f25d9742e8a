"""`fabir train`, a question at a time, that writes the loss of every step.

torchrun record_losses.py LOSSES.json ARGUMENT...
"""

import json
import sys
from pathlib import Path

from fabir.cli import main
from fabir.training.loop import Trainer


def record(losses: Path) -> None:
    """Let the first process write the number of processes, and the losses, to a file."""
    seen: list[float] = []
    step = Trainer.step

    def recorded(self: Trainer, rate: float | None = None) -> float:
        seen.append(step(self, rate))
        assert not getattr(self.network, "will_sync_module_buffers", bool)()
        if self.main:
            losses.write_text(json.dumps([self.accelerator.num_processes, *seen]))
        return seen[-1]

    Trainer.step = recorded
    Trainer.map_cells = 1


if __name__ == "__main__":
    record(Path(sys.argv[1]))
    main(["train", *sys.argv[2:]])
