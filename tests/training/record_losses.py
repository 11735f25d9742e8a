"""Trains on the tiny files, a question at a time, and writes the loss of every step.

torchrun record_losses.py TRAIN DEV VECTORS OUTPUT LOSSES.json BATCH_SIZE
"""

import json
import sys
from pathlib import Path

import numpy as np

from fabir.training import loop
from fabir.training.loop import Trainer
from tiny import NO_DROPOUT, Files, run_config, train_tiny


def main() -> None:
    train, dev, vectors, output, losses, batch_size = sys.argv[1:]
    files = Files(Path(train), Path(dev), Path(vectors))
    seen: list[float] = []
    step = Trainer._step

    def recorded(self: Trainer, rows: np.ndarray, rate: float) -> float:
        seen.append(step(self, rows, rate))
        assert not getattr(self.network, "will_sync_module_buffers", bool)()
        if self.main:
            Path(losses).write_text(json.dumps([self.accelerator.num_processes, *seen]))
        return seen[-1]

    Trainer._step = recorded
    loop._MAP_CELLS = 1
    train_tiny(files, Path(output), run_config(NO_DROPOUT, batch_size=int(batch_size)))


if __name__ == "__main__":
    main()
