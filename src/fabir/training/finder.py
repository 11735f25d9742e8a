"""The learning-rate finder (Smith 2017; A3 section 3.5): a sweep of rates, what it suggests."""

import copy
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from fabir.data.dataset import Dataset
from fabir.errors import InputError
from fabir.plots import new_figure, save, style
from fabir.progress import live_line
from fabir.training.inputs import RunFiles
from fabir.training.loop import Trainer
from fabir.training.run import prepare
from fabir.training.settings import RunConfig

_MEMORY = 0.95  # decay of the exponential moving average of the loss
_SHOWN = 10  # seconds between lines of progress that is not on a terminal
_BLOWN_UP = 4.0  # times the lowest smoothed loss: the sweep stops there


@dataclass(frozen=True)
class Sweep:
    """Losses of steps at rising rates; `smoothed` is their running mean, unbiased at its start."""

    rates: list[float]
    losses: list[float]
    smoothed: list[float]

    @property
    def lowest(self) -> float:
        """The rate at which the smoothed loss was lowest."""
        return self.rates[self.smoothed.index(min(self.smoothed))]

    @property
    def suggestion(self) -> float:
        """A tenth of `lowest`: there the loss falls fast and is far from diverging."""
        return self.lowest / 10


def find_learning_rate(
    trainer: Trainer, lowest: float = 1e-6, highest: float = 1.0, steps: int = 200
) -> Sweep:
    """Train `steps` batches at rates that grow exponentially from `lowest` to `highest`.

    Stops early when the loss diverges. Weights, optimisers, averages, progress and random
    numbers are restored afterwards.

    Raises:
        InputError: rates that do not rise from above 0, fewer than 2 steps, or a loss that is no
            number from the first step on.
    """
    _check_range(lowest, highest, steps)
    rates, losses, smoothed = [], [], []
    mean = 0.0
    began = time.monotonic()
    with _restored(trainer), live_line(_SHOWN) as show:
        for step in range(steps):
            rate = lowest * (highest / lowest) ** (step / (steps - 1))
            loss = trainer.step(rate)
            mean = _MEMORY * mean + (1 - _MEMORY) * loss
            if not math.isfinite(mean):
                if not rates:
                    raise InputError(f"the loss is {loss} at the first rate, {rate:g}: begin lower")
                break
            rates.append(rate)
            losses.append(loss)
            smoothed.append(mean / (1 - _MEMORY ** (step + 1)))
            left = (time.monotonic() - began) / (step + 1) * (steps - step - 1)
            show(
                f"step {step + 1}/{steps}  rate {rate:.1e}  loss {smoothed[-1]:.3f}  "
                f"at most {left / 60:.1f} min left"
            )
            if smoothed[-1] > _BLOWN_UP * min(smoothed):
                break
    return Sweep(rates, losses, smoothed)


def sweep_files(
    config: RunConfig,
    files: RunFiles,
    *,
    lowest: float = 1e-6,
    highest: float = 1.0,
    steps: int = 200,
) -> Sweep:
    """The sweep of a run with this configuration on these files, see `fabir.training.run.train`."""
    _check_range(lowest, highest, steps)
    ready = prepare(config, files)
    no_dev, nowhere = Dataset((), ""), Path()  # nothing is evaluated or written
    trainer = Trainer(ready.reader, config.training, ready.examples, no_dev, nowhere)
    return find_learning_rate(trainer, lowest, highest, steps)


def _check_range(lowest: float, highest: float, steps: int) -> None:
    if not 0 < lowest < highest < math.inf or steps < 2:
        raise InputError(
            "a sweep goes from a rate above 0 to a higher one in 2 steps or more, all of them "
            f"finite, not from {lowest:g} to {highest:g} in {steps}"
        )


@contextmanager
def _restored(trainer: Trainer) -> Iterator[None]:
    network = trainer.reader.network
    kept = copy.deepcopy(
        (network.state_dict(), [o.state_dict() for o in trainer.optimisers], trainer.average)
    )
    progress, training = copy.deepcopy(trainer.progress), network.training
    random = torch.get_rng_state()
    try:
        yield
    finally:
        weights, states, average = kept
        network.load_state_dict(weights)
        network.train(training)
        for optimiser, state in zip(trainer.optimisers, states, strict=True):
            optimiser.load_state_dict(state)
        for name, value in average.items():
            trainer.average[name].copy_(value)
        trainer.progress = progress
        torch.set_rng_state(random)


def plot_sweep(sweep: Sweep, path: Path) -> None:
    """Draw a sweep and its suggestion as the kind of file that `path` ends in.

    Raises:
        InputError: as `check_plot`, or the file cannot be written.
    """
    figure = new_figure(7, 4.5)
    axes = figure.subplots()
    axes.plot(sweep.rates, sweep.losses, color="0.75", linewidth=1, label="loss of a batch")
    line, mark = (style(number)["color"] for number in range(2))
    axes.plot(sweep.rates, sweep.smoothed, color=line, linewidth=2, label="smoothed")
    label = f"suggested {sweep.suggestion:.1e}"
    axes.axvline(sweep.suggestion, color=mark, linestyle="--", label=label)
    axes.set(xscale="log", xlabel="learning rate", ylabel="training loss")
    # The fall is what matters; where the loss blows up it is a hundred times as high.
    least, first = min(sweep.smoothed), sweep.smoothed[0]
    axes.set_ylim(least - 0.1 * max(first, 1.0), first + 0.2 * max(first, 1.0))
    axes.legend(frameon=False)
    save(figure, path)
