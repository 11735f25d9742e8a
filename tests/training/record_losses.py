"""Trains on the tiny files, a question at a time, and writes the loss of every step.

torchrun record_losses.py TRAIN DEV VECTORS OUTPUT LOSSES.json BATCH_SIZE
"""

import json
import sys
from pathlib import Path

from fabir.training.loop import Trainer
from tiny import NO_DROPOUT, Files, run_config, train_tiny


def main() -> None:
    train, dev, vectors, output, losses, batch_size = sys.argv[1:]
    files = Files(Path(train), Path(dev), Path(vectors))
    seen: list[float] = []
    step = Trainer.step

    def recorded(self: Trainer, rate: float | None = None) -> float:
        seen.append(step(self, rate))
        assert not getattr(self.network, "will_sync_module_buffers", bool)()
        if self.main:
            Path(losses).write_text(json.dumps([self.accelerator.num_processes, *seen]))
        return seen[-1]

    Trainer.step = recorded
    Trainer.map_cells = 1
    train_tiny(files, Path(output), run_config(NO_DROPOUT, batch_size=int(batch_size)))


if __name__ == "__main__":
    main()
