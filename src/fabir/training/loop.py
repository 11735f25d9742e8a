"""The training loop: batches, steps, evaluation on the dev set, checkpoints, resuming."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from fabir.data.batches import Batch
from fabir.data.dataset import Dataset
from fabir.errors import InputError
from fabir.files import remove_partial
from fabir.layers.dropout import enable_dropout
from fabir.progress import clock, live_line
from fabir.runtime.processors import fast_bf16
from fabir.runtime.torch_model import TorchModel
from fabir.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from fabir.training.examples import Examples
from fabir.training.graphs import Graphs
from fabir.training.loss import no_answer_loss, span_loss
from fabir.training.metrics import forget_metrics, log_metrics
from fabir.training.optimiser import add_l2, load_state_dict, make_optimisers, state_dict
from fabir.training.scores import dev_scores
from fabir.training.settings import TrainingConfig, learning_rate
from fabir.training.stopping import Stop
from fabir.training.trackers import run_settings, tracker_arguments, tracking


class Trainer:
    """Trains one reader and writes its folder.

    The folder is a reader (`network.safetensors` holds the best weights so far) that also has
    `training.safetensors` (the last state) and `metrics.jsonl`.

    Attributes:
        loss_lines: lines of metrics with the loss of a run, besides those of evaluations
        map_cells: cells of one head's attention maps that are in memory at once
        graph_map_cells: the same where the steps are CUDA graphs, on a GPU
    """

    loss_lines = 200
    map_cells = 75 * 200**2
    graph_map_cells = 4 * map_cells

    def __init__(
        self,
        reader: TorchModel,
        config: TrainingConfig,
        examples: Examples,
        dev: Dataset,
        output: Path,
        *,
        settings: str = "",
        resume: bool = False,
        log_with: Sequence[str] = (),
    ) -> None:
        self.reader, self.config, self.examples = reader, config, examples
        self.dev, self.output = dev, output
        views = DistributedDataParallelKwargs(gradient_as_bucket_view=True)
        trackers = tracker_arguments(log_with, output)
        # The environment of a launcher may ask for both, which the configuration decides.
        self.accelerator = Accelerator(mixed_precision="no", kwargs_handlers=[views], **trackers)
        self.accelerator.gradient_accumulation_steps = 1
        self.device = self.accelerator.device
        self.main = self.accelerator.is_main_process
        self._plan: tuple[int, list[np.ndarray]] = (-1, [])  # an epoch and its batches
        self._smooth: float | None = None  # the loss that is shown
        self._dropout: bool | None = None  # whether it is on
        self._saved = 0  # the step of the last checkpoint
        self._stop, self._stopped = Stop(), False
        epoch = self._epoch(0)
        self.weights = examples.weights(np.concatenate(epoch), config.unanswerable_share)
        self.per_epoch = len(epoch)
        self.total = self.per_epoch * config.epochs
        if config.word_rows:
            reader.unfreeze_words(config.word_rows)
        reader.network.to(self.device)
        self.optimisers = make_optimisers(reader.network, config)
        self.progress = Progress(settings=settings)
        self.named = dict(reader.network.named_parameters())
        averaged = self.named if config.average else {}
        self.average = {name: weights.detach().clone() for name, weights in averaged.items()}
        if resume:
            self._resume(settings)
        # Optimisers are not wrapped: every process makes the same step from the same gradient.
        self.network = self.accelerator.prepare_model(reader.network)
        if isinstance(self.network, DistributedDataParallel):
            # The only buffers are fixed word vectors. They are sent once and never change.
            self.network.broadcast_buffers = False
        self.graphs = self.stream = None
        if self.device.type == "cuda" and self.accelerator.num_processes == 1:
            # Graphs can be captured on a stream of one's own alone.
            self.graphs, self.stream = Graphs(self.device), torch.cuda.Stream()

    def run(self) -> Progress:
        """Train to the end, or until `patience` runs out. Ctrl+C and SIGTERM save a checkpoint;
        an evaluation that they stop is made anew by the run that goes on.

        Raises:
            InputError: the loss or a weight is not finite. The last checkpoint is from before.
        """
        with self._tracking(), self._stop.listening():
            return self._run()

    def _run(self) -> Progress:
        if self.main:
            self._prepare_folder()
        saved = time.monotonic()
        with live_line() if self.main else nullcontext(lambda line: None) as show:
            while True:
                if self._evaluation_due():
                    self._save()  # whoever stops the evaluation loses nothing else
                    with self._stop.at_once():
                        self._evaluate()
                    self._save()
                    saved = time.monotonic()
                if self._is_finished():
                    break
                started = time.monotonic()
                loss = self.step()
                self.progress.seconds += time.monotonic() - started
                if not math.isfinite(loss):
                    raise InputError(self._diverged(f"the loss is {loss}"))
                show(self._line(loss))
                self.progress.losses += loss
                if self._stopped:
                    self._save()
                    self._stop.end()
                unlogged = self.progress.step - self.progress.logged
                if unlogged >= self.total / self.loss_lines and not self._evaluation_due():
                    self._log()
                if time.monotonic() - saved > 60 * self.config.checkpoint_minutes:
                    self._save()
                    saved = time.monotonic()
        return self.progress

    def _tracking(self) -> AbstractContextManager[None]:
        if not self.main or not self.accelerator.log_with:
            return nullcontext()
        settings = run_settings(self.reader, self.config)
        return tracking(self.accelerator, self.output, self.progress.step, settings)

    def _prepare_folder(self) -> None:
        """Prepare the folder: from now on it is a reader and a resumable run."""
        if not self.progress.step:
            self._save()
            self.reader.save(self.output)
        forget_metrics(self.output, self.progress.logged)
        remove_partial(self.output)

    def step(self, rate: float | None = None) -> float:
        """Learn from the next batch, at the schedule's rate or another; returns its loss."""
        progress = self.progress
        batches = self._epoch(progress.epoch)
        if rate is None:
            rate = learning_rate(self.config, progress.step + 1, self.total)
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):  # nothing without one
            loss = self._step(batches[progress.batch], rate)
        progress.step += 1
        progress.batch += 1
        if progress.batch == len(batches):
            progress.epoch, progress.batch = progress.epoch + 1, 0
        return loss

    def _is_finished(self) -> bool:
        progress = self.progress
        return progress.step >= self.total or progress.out_of_patience(self.config.patience)

    def _epoch(self, epoch: int) -> list[np.ndarray]:
        """The batches of an epoch."""
        if self._plan[0] != epoch:
            self._plan = epoch, self.examples.epoch(epoch, self.config)
        return self._plan[1]

    def _step(self, rows: np.ndarray, rate: float) -> float:
        """One optimiser step; the loss is the mean over the whole batch, on all processes.

        Each step seeds the random numbers anew, so that a resumed run needs no state of them.
        """
        config, progress = self.config, self.progress
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        torch.manual_seed(((config.seed * 1_000_003 + progress.step) * 64 + rank) % 2**63)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
        if not self.reader.network.training:
            self.network.train()
        dropout = progress.step >= config.dropout_after * self.per_epoch
        if dropout != self._dropout:
            enable_dropout(self.network, dropout)
            self._dropout = dropout
        # A process without a share of a small batch reads another's, with weight zero.
        # Neighbours stay together, since they may share a passage.
        share = np.array_split(rows, world)[rank] if rank < len(rows) else rows[:1]
        # Gradients are averaged over processes, each with its share of one common mean.
        loss = self._backward(share, (rank < len(rows)) * world / len(rows)) / world
        if config.l2:
            add_l2(self.network, config.l2)
        if config.clip:
            self.accelerator.clip_grad_norm_(self.named.values(), config.clip)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=self.graphs is None)
        if config.word_decay:
            self.reader.network.embedding.words.pull_back(rate * config.word_decay)
        if self.average:
            # Early on the moving average forgets faster, so that no random weights remain in it.
            kept = min(config.average, (1 + progress.step) / (10 + progress.step))
            torch._foreach_lerp_(  # pyright: ignore[reportPrivateImportUsage]
                list(self.average.values()),
                [self.named[name].detach() for name in self.average],
                1 - kept,
            )
        # All processes stop after the same step, whichever of them was asked to.
        both = torch.stack([loss, loss.new_full((), self._stop.asked is not None)])
        loss, asked = self.accelerator.reduce(both, "sum").tolist()  # pyright: ignore[reportAttributeAccessIssue]
        self._stopped = asked > 0
        return loss

    def _backward(self, rows: np.ndarray, scale: float) -> Tensor:
        """Add the gradient of `scale` times the loss of `rows`; returns that product.

        Attention maps grow with the square of a passage's length. A batch of long passages is split
        into parts (gradient accumulation), so that its memory is bounded.
        """
        longest = self.examples.longest(rows)
        cells = self.map_cells if self.graphs is None else self.graph_map_cells
        number = -(-len(rows) * longest**2 // cells)
        parts = np.array_split(rows, min(len(rows), number))
        total = torch.zeros((), device=self.device)
        for place, part in enumerate(parts, 1):
            last = place == len(parts)
            with nullcontext() if last else self.accelerator.no_sync(self.network):
                inputs = self._inputs(part, scale)
                if self.graphs is None:
                    total += self._gradient([each.to(self.device) for each in inputs])
                else:
                    total += self.graphs(self._gradient, inputs, self._dropout)
        return total

    def _inputs(self, rows: np.ndarray, scale: float) -> list[Tensor]:
        """What `_gradient` takes: the tensors of a batch and of its targets."""
        examples = self.examples
        batch, truth = examples.batch(rows, few_shapes=self.graphs is not None)
        weight = self.config.distillation_weight * examples.taught(rows)
        answerable = examples.answerable(rows)
        targets = [truth, answerable, scale * self.weights[answerable.int()], weight]
        teacher = examples.teacher_batch(rows, batch.passage.shape[1])
        return [*map(torch.from_numpy, batch), *targets, *([] if teacher is None else [teacher])]

    def _gradient(self, inputs: Sequence[Tensor]) -> Tensor:
        """Add the gradient of a batch's loss times a factor; returns that product."""
        config, batch = self.config, Batch(*inputs[: len(Batch._fields)])
        truth, answerable, scale, weight, *taught = inputs[len(batch) :]
        teacher = taught[0] if taught else None
        rough = config.precision == "bf16" and fast_bf16(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=rough):
            logits = self.network(batch)
        loss = span_loss(
            logits,
            truth,
            config.label_smoothing,
            teacher,
            weight,
            None if logits.no_answer is None else answerable,
            before=len(self.examples.table.before),
        )
        if logits.no_answer is not None and self.examples.has_unanswerable:
            loss = loss + config.no_answer_weight * no_answer_loss(logits.no_answer, answerable)
        loss = (scale * loss).sum()
        self.accelerator.backward(loss)
        return loss.detach()

    def _evaluation_due(self) -> bool:
        times, step = self.config.evaluations, self.progress.step
        due = times > 0 and step % max(1, self.per_epoch // times) == 0
        return (due or step == self.total) and self.progress.logged < step

    def _evaluate(self) -> None:
        with self._averaged():
            scores = self.scores()
            progress = self.progress
            # A head that is trained alone changes no answer: the last one is the best.
            if scores["f1"] > progress.best_f1 or self.config.no_answer_alone:
                progress.best_f1, progress.stale = scores["f1"], 0
                if self.main:
                    self.reader.save_weights(self.output)
            else:
                progress.stale += 1
        self._log(**scores)

    def _log(self, **scores: float) -> None:
        """Write a line of metrics: the mean loss since the last line, and any scores."""
        progress = self.progress
        loss = progress.losses / (progress.step - progress.logged)
        progress.losses, progress.logged = 0.0, progress.step
        if self.main:
            metrics = {
                "seconds": round(progress.seconds, 3),
                "epoch": round(progress.step / self.per_epoch, 3),
                "loss": loss,
                **scores,
            }
            log_metrics(self.output, step=progress.step, **metrics)
            self.accelerator.log(metrics, step=progress.step)

    def scores(self) -> dict[str, float | int]:
        """Scores on the dev set with the present weights."""
        return dev_scores(self.reader, self.dev, self.accelerator)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Within it the reader has the exponential moving average of its weights."""
        last = {name: self.named[name].detach().clone() for name in self.average}
        with torch.no_grad():
            for name, value in self.average.items():
                self.named[name].copy_(value)
            try:
                yield
            finally:
                for name, value in last.items():
                    self.named[name].copy_(value)

    def _save(self) -> None:
        if not self.main:
            return
        self._check_weights()
        network = self.reader.network
        groups = {
            "network": dict(network.state_dict()),
            "average": self.average,
            **state_dict(self.optimisers, network),
        }
        save_checkpoint(self.output, self.progress, groups)
        self._saved = self.progress.step

    def _check_weights(self) -> None:
        if not all(weights.isfinite().all() for weights in self.named.values()):
            raise InputError(self._diverged("some weights are not finite"))

    def _diverged(self, what: str) -> str:
        return (
            f"{self.output}: {what} after step {self.progress.step}: train with a lower "
            f"training.learning_rate ({self.config.learning_rate:g} now), or limit gradients with "
            f"training.clip; the last checkpoint is of step {self._saved}"
        )

    def _resume(self, settings: str) -> None:
        self.progress, groups = load_checkpoint(self.output)
        self.progress.settings = settings
        self._saved = self.progress.step
        try:
            self.reader.network.load_state_dict(groups.pop("network"))
        except RuntimeError as error:
            raise InputError(
                f"{self.output} was trained with other weights, perhaps by an older fabir: "
                "train into another folder"
            ) from error
        for name, value in groups.pop("average", {}).items():
            self.average[name].copy_(value)
        load_state_dict(self.optimisers, self.reader.network, groups, self.progress.step)

    def _line(self, loss: float) -> str:
        progress = self.progress
        decay = 0.99
        smooth = loss if self._smooth is None else self._smooth
        self._smooth = decay * smooth + (1 - decay) * loss
        rate = progress.step * self.config.batch_size / max(progress.seconds, 1e-9)
        left = (self.total - progress.step) * self.config.batch_size / rate
        best = f"best F1 {progress.best_f1:.2f}  " if progress.best_f1 >= 0 else ""
        return (
            f"epoch {progress.step / self.per_epoch:.2f}/{self.config.epochs}  "
            f"loss {self._smooth:.3f}  {rate:.0f} questions/s  {best}{clock(left)} left"
        )
