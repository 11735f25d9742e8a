"""The loop as a run uses it: what it learns, writes, and does when it is stopped and resumed."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import DEFAULT, Mock

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch.nn.utils import parameters_to_vector

from fabir.answer.predictor import Predictor
from fabir.data.batches import Batch
from fabir.data.dataset import Dataset
from fabir.data.features import build_features
from fabir.data.squad import read_squad
from fabir.errors import InputError
from fabir.evaluation.squad import evaluate
from fabir.runtime.tensors import read_tensors
from fabir.runtime.torch_model import TorchModel
from fabir.text.vectors import read_vectors
from fabir.training import loop
from fabir.training.checkpoint import load_checkpoint
from fabir.training.examples import Examples
from fabir.training.inputs import RunFiles
from fabir.training.loop import Trainer
from fabir.training.run import prepare
from tiny import NO_DROPOUT, Files, dataset, run_config, train_tiny, trainer_of, write_files

PER_EPOCH = 4  # 19 questions in batches of 6


class StoppedError(Exception):
    """What breaks a run off in the tests."""


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The loss of every step that is made."""
    seen: list[float] = []
    step = Trainer.step

    def recorded(self: Trainer, *arguments: Any) -> float:
        seen.append(step(self, *arguments))
        return seen[-1]

    monkeypatch.setattr(Trainer, "step", recorded)
    return seen


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let the next run break off when it comes to this step."""
    make = Trainer.step

    def stopping(self: Trainer, *arguments: Any) -> float:
        if self.progress.step == step:
            monkeypatch.setattr(Trainer, "step", make)
            raise StoppedError
        return make(self, *arguments)

    monkeypatch.setattr(Trainer, "step", stopping)


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def evaluations(folder: Path) -> list[dict[str, Any]]:
    return [line for line in metrics(folder) if "f1" in line]


def assert_same_run(folder: Path, unbroken: Path) -> None:
    """Every bit of network, average, moments and best weights; metrics but for the time."""
    for name in ("training.safetensors", "network.safetensors", "words.safetensors"):
        ours, theirs = (read_tensors(path / name)[0] for path in (folder, unbroken))
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    untimed = [
        [{k: v for k, v in line.items() if k != "seconds"} for line in metrics(path)]
        for path in (folder, unbroken)
    ]
    assert untimed[0] == untimed[1]


def test_training_learns_and_leaves_a_reader(
    files: Files, tmp_path: Path, losses: list[float]
) -> None:
    output = tmp_path / "new" / "run"
    size = {"model_dim": 32, "feed_forward": 32}
    epochs = 20
    config = run_config(NO_DROPOUT | size, epochs=epochs, schedule="linear", learning_rate=0.006)
    best = train_tiny(files, output, config)
    assert len(losses) == epochs * PER_EPOCH
    assert np.mean(losses[-8:]) < 0.5 * np.mean(losses[:8])
    logged = metrics(output)
    assert [line["loss"] for line in logged] == losses  # fewer steps than lines
    lines = evaluations(output)
    assert [line["step"] for line in lines] == list(range(4, epochs * 4 + 1, 4))
    assert lines[0].keys() == {"step", "seconds", "epoch", "loss", "exact", "f1", "total"}
    assert best == max(line["f1"] for line in lines) > lines[0]["f1"]
    # The folder answers as well as the best evaluation said, but for one answer that hangs on
    # the rounding of what is stored.
    predictor = Predictor.load(output)
    dev = read_squad(files.dev)
    found = {q.id: predictor.answer(q.text, p.text)[0].text for p, q in dev.questions}
    assert evaluate(dev, found)["f1"] == pytest.approx(best, abs=100 / len(found))
    assert {path.name for path in output.iterdir()} == {
        "config.json",
        "vocabulary.json",
        "words.safetensors",
        "network.safetensors",
        "training.safetensors",
        "metrics.jsonl",
    }


def test_losses_between_two_lines_are_averaged(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, losses: list[float]
) -> None:
    monkeypatch.setattr(Trainer, "loss_lines", 4)
    train_tiny(files, tmp_path, run_config(epochs=2, evaluations=0))  # 8 steps
    lines = metrics(tmp_path)
    assert [line["step"] for line in lines] == [2, 4, 6, 8]
    assert [line["loss"] for line in lines] == [sum(losses[i : i + 2]) / 2 for i in (0, 2, 4, 6)]
    assert ["f1" in line for line in lines] == [False, False, False, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("every_step", "settings"),
    [
        (True, {"precision": "bf16", "average": 0.9, "clip": 1.0, "weight_decay": 0.1}),
        (False, {"precision": "bf16", "average": 0.9, "clip": 1.0, "weight_decay": 0.1}),
        (
            True,
            {"precision": "bf16", "optimiser": "muon", "schedule": "linear", "evaluations": 3}
            | {"word_rows": 5},
        ),
        (
            False,
            {"optimiser": "adadelta", "learning_rate": 0.5, "schedule": "constant"}
            | {"average": 0.9, "precision": "fp32", "word_rows": 5},
        ),
        (
            True,
            {"optimiser": "sgd", "momentum": 0.9, "schedule": "steps", "milestones": (1, 2)},
        ),
        (False, {"optimiser": "sgd", "l2": 0.01}),  # which has no state
        (
            True,
            {"optimiser": "adagrad", "schedule": "annealed", "annealing": 0.01, "word_rows": 5},
        ),
    ],
    ids=["average", "average-last-evaluation", "muon", "adadelta", "momentum", "sgd", "adagrad"],
)
def test_a_resumed_run_equals_an_unbroken_one_bit_for_bit(
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    every_step: bool,
    settings: dict[str, Any],
) -> None:
    monkeypatch.setattr(loop, "fast_bf16", lambda _: True)
    config = run_config(epochs=3, checkpoint_minutes=0 if every_step else 60, **settings)
    train_tiny(files, tmp_path / "unbroken", config)
    # Each stop takes as long as a run: some settings have every kind of place, the others two.
    stops = (0, 2, 6, 11) if "clip" in settings else (3, 10)
    for number, step in enumerate(stops):
        stop_at(monkeypatch, step)
        with pytest.raises(StoppedError):
            train_tiny(files, tmp_path / "broken", config, resume=number > 0)
        saved = load_checkpoint(tmp_path / "broken")[0].step
        assert saved == step if every_step else saved <= step
        TorchModel.load(tmp_path / "broken")
    best = train_tiny(files, tmp_path / "broken", config, resume=True)
    assert_same_run(tmp_path / "broken", tmp_path / "unbroken")
    assert best == load_checkpoint(tmp_path / "unbroken")[0].best_f1


@pytest.mark.parametrize(
    ("function", "call"),  # of two epochs, each with four lines, an evaluation and two checkpoints
    [("dev_scores", 2), ("log_metrics", 4), ("log_metrics", 8), ("save_checkpoint", 3),
     ("save_checkpoint", 5)],
)  # fmt: skip
def test_a_run_broken_off_around_an_evaluation_goes_on_as_an_unbroken_one(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, call: int
) -> None:
    config = run_config(epochs=2)
    best = train_tiny(files, tmp_path / "unbroken", config)
    answers = [*([DEFAULT] * (call - 1)), StoppedError]
    breaking = Mock(wraps=getattr(loop, function), side_effect=answers)
    with monkeypatch.context() as patch:
        patch.setattr(loop, function, breaking)
        with pytest.raises(StoppedError):
            train_tiny(files, tmp_path / "broken", config)
    assert train_tiny(files, tmp_path / "broken", config, resume=True) == best
    assert_same_run(tmp_path / "broken", tmp_path / "unbroken")


@pytest.mark.parametrize(
    ("precision", "fast", "autocast"),
    [("bf16", True, True), ("bf16", False, False), ("fp32", True, False)],
)
def test_bfloat16_is_used_where_it_is_wanted_and_faster(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    precision: str,
    fast: bool,
    autocast: bool,
) -> None:
    monkeypatch.setattr(loop, "fast_bf16", lambda _: fast)
    trainer = trainer_of(dataset(), tmp_path, precision=precision)
    seen: list[bool] = []
    trainer.network.register_forward_hook(lambda *_: seen.append(torch.is_autocast_enabled("cpu")))
    trainer.step()
    assert seen == [autocast]


def test_a_finished_run_is_resumed_to_the_same_end(
    files: Files, tmp_path: Path, losses: list[float]
) -> None:
    first = train_tiny(files, tmp_path, run_config(epochs=1))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    made = len(losses)
    assert train_tiny(files, tmp_path, run_config(epochs=1), resume=True) == first
    assert len(losses) == made
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_more_epochs_can_be_added(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path, run_config(epochs=1))
    train_tiny(files, tmp_path, run_config(epochs=3), resume=True)
    assert [line["step"] for line in evaluations(tmp_path)] == [4, 8, 12]


def test_other_batches_cannot_be_resumed(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path, run_config(epochs=2))
    with pytest.raises(InputError, match="other batches: resume with the same batch_size"):
        train_tiny(files, tmp_path, run_config(epochs=3, batch_size=3), resume=True)


def test_seeds_decide_a_run(files: Files, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        train_tiny(files, tmp_path / name, run_config(epochs=1, seed=seed))
    one, same, other = (
        read_tensors(tmp_path / name / "training.safetensors")[0]
        for name in ("one", "same", "other")
    )
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert not all(torch.equal(one[key], other[key]) for key in one)


def scripted(monkeypatch: pytest.MonkeyPatch, scores: list[float]) -> list[dict[str, torch.Tensor]]:
    """Let evaluations say these F1; returns the weights that each of them saw."""
    seen: list[dict[str, torch.Tensor]] = []

    def evaluated(self: Trainer) -> dict[str, float]:
        seen.append({k: v.clone() for k, v in self.reader.network.state_dict().items()})
        return {"exact": 0.0, "f1": scores[len(seen) - 1]}

    monkeypatch.setattr(Trainer, "scores", evaluated)
    return seen


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_the_best_weights_are_kept_and_the_last_ones_too(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, average: float
) -> None:
    seen = scripted(monkeypatch, [10.0, 30.0, 20.0, 30.0])
    assert train_tiny(files, tmp_path, run_config(epochs=4, average=average)) == 30
    kept = read_tensors(tmp_path / "network.safetensors")[0]
    assert all(torch.equal(kept[name], seen[1][name]) for name in kept)
    progress, groups = load_checkpoint(tmp_path)
    assert (progress.step, progress.epoch, progress.best_f1, progress.stale) == (16, 4, 30, 2)
    last = groups["average"] if average else groups["network"]
    assert all(torch.equal(last[name], seen[3][name]) for name in last)
    if average:  # what is trained on is not what is evaluated
        assert not torch.equal(
            groups["network"]["reduction.reduction.weight"],
            groups["average"]["reduction.reduction.weight"],
        )


def test_the_average_is_that_of_the_steps(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights: list[torch.Tensor] = []
    averages: list[torch.Tensor] = []
    name = "reduction.reduction.weight"
    step = Trainer.step

    def recorded(self: Trainer) -> float:
        loss = step(self)
        weights.append(self.reader.network.get_parameter(name).detach().clone())
        averages.append(self.average[name].clone())
        return loss

    monkeypatch.setattr(Trainer, "step", recorded)
    monkeypatch.setattr(Trainer, "scores", lambda self: {"exact": 0.0, "f1": 0.0})
    train_tiny(files, tmp_path, run_config(epochs=10, average=0.8))
    for number in range(1, len(weights)):
        memory = min(0.8, (1 + number) / (10 + number))
        expected = memory * averages[number - 1] + (1 - memory) * weights[number]
        torch.testing.assert_close(averages[number], expected)


def test_patience_stops_a_run_that_gets_no_better(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, [10.0, 30.0, 20.0, 30.0, 40.0])
    assert train_tiny(files, tmp_path, run_config(epochs=50, patience=2)) == 30
    assert [line["f1"] for line in evaluations(tmp_path)] == [10, 30, 20, 30]
    # It has stopped for good, unless it is given more patience.
    train_tiny(files, tmp_path, run_config(epochs=50, patience=2), resume=True)
    assert len(evaluations(tmp_path)) == 4


@pytest.mark.parametrize(
    ("times", "steps"),
    [
        (0.5, [8]),
        (1, [4, 8]),
        (1.3, [3, 6, 8]),
        (2, [2, 4, 6, 8]),
        (9, [*range(1, 9)]),
    ],
)
def test_evaluations_come_as_often_as_asked(
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    times: float,
    steps: list[int],
) -> None:
    scripted(monkeypatch, [float(number) for number in range(9)])
    train_tiny(files, tmp_path, run_config(epochs=2, evaluations=times))
    assert [line["step"] for line in evaluations(tmp_path)] == steps


def test_questions_without_an_answer_and_long_texts_are_left_out(tmp_path: Path) -> None:
    data = dataset()
    everything = trainer_of(data, tmp_path).examples
    assert everything.rows.tolist() == list(range(19))
    short = trainer_of(data, tmp_path, max_passage=20, max_question=6).examples
    assert 0 < len(short.rows) < 19
    features = build_features(data)
    for row in range(19):
        length = features.passages.lengths[features.passage_of[row]]
        assert (row in short.rows) == (length <= 20 and features.questions.lengths[row] <= 6)


def test_nothing_to_train_on_is_the_users_mistake(tmp_path: Path) -> None:
    for data, limit in ((Dataset((), "1.1"), 400), (dataset(), 3)):
        with pytest.raises(InputError, match="no question to train on"):
            trainer_of(data, tmp_path, max_passage=limit)
    assert not list(tmp_path.iterdir())


def test_dropout_may_begin_after_some_epochs(
    files: Files, tmp_path: Path, losses: list[float]
) -> None:
    train_tiny(files, tmp_path / "without", run_config(NO_DROPOUT, epochs=2))
    train_tiny(files, tmp_path / "late", run_config(epochs=2, dropout_after=1.5))
    without, late = losses[: 2 * PER_EPOCH], losses[2 * PER_EPOCH :]
    assert late[:6] == without[:6]
    assert late[6] != without[6]


def test_a_launchers_environment_changes_no_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    for environment in ({}, {"MIXED_PRECISION": "bf16", "GRADIENT_ACCUMULATION_STEPS": "4"}):
        for name, value in environment.items():
            monkeypatch.setenv(f"ACCELERATE_{name}", value)
        AcceleratorState._reset_state(reset_partial_state=True)
        torch.manual_seed(0)
        given = {"optimiser": "sgd", "learning_rate": 1.0, "schedule": "constant"}
        trainer = trainer_of(dataset(), tmp_path / str(len(steps)), **given, warmup_steps=0)
        before = parameters_to_vector(trainer.reader.network.parameters()).detach().clone()
        trainer.step()
        after = parameters_to_vector(trainer.reader.network.parameters()).detach()
        steps.append(after - before)
        assert trainer.accelerator.mixed_precision == "no"
    torch.testing.assert_close(*steps)


def test_clipping_limits_the_step(files: Files, tmp_path: Path) -> None:
    config = {"epochs": 1, "epsilon": 1.0, "learning_rate": 1.0}  # steps that follow the gradient
    for name, clip in (("free", 0.0), ("clipped", 1e-3)):
        train_tiny(files, tmp_path / name, run_config(NO_DROPOUT, clip=clip, **config))
    free, clipped = (
        load_checkpoint(tmp_path / name)[1]["exp_avg"].values() for name in ("free", "clipped")
    )
    norm = torch.stack([moment.norm() for moment in clipped]).norm()
    assert norm <= 1e-3 < torch.stack([moment.norm() for moment in free]).norm()


def test_l2_is_part_of_the_gradient_that_is_clipped(tmp_path: Path) -> None:
    """A step of SGD at rate 1 is the gradient; L2 adds its share of every weight, biases too."""
    changes, before = [], torch.zeros(0)
    for settings in ({}, {"l2": 0.5}, {"l2": 0.5, "clip": 0.01}):
        torch.manual_seed(0)
        common = {"optimiser": "sgd", "learning_rate": 1.0, "schedule": "constant"}
        trainer = trainer_of(dataset(), tmp_path, warmup_steps=0, **common, **settings)
        weights = list(trainer.reader.network.parameters())
        before = parameters_to_vector(weights).detach()
        trainer.step()
        changes.append(parameters_to_vector(weights).detach() - before)
    without, coupled, clipped = changes
    torch.testing.assert_close(coupled, without - 0.5 * before, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(clipped, 0.01 * coupled / coupled.norm(), rtol=1e-3, atol=1e-6)


def test_reading_a_batch_in_parts_changes_no_loss(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, losses: list[float]
) -> None:
    config = run_config(NO_DROPOUT, clip=1.0)
    train_tiny(files, tmp_path / "whole", config)
    whole = losses.copy()
    losses.clear()
    read: list[int] = []
    batch = Examples.batch

    def counted(
        self: Examples, rows: np.ndarray, **options: Any
    ) -> tuple[Batch[np.ndarray], torch.Tensor]:
        read.append(len(rows))
        return batch(self, rows, **options)

    monkeypatch.setattr(Examples, "batch", counted)
    monkeypatch.setattr(Trainer, "map_cells", 1500)  # a few short passages, or a long
    train_tiny(files, tmp_path / "parts", config)
    assert len(read) > len(losses)
    assert sum(read) == 3 * 19
    assert losses == pytest.approx(whole, rel=1e-4)


def test_trained_word_rows_decay_towards_their_vectors(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    moved = {}
    for decay in (0.0, 20.0):
        folder = tmp_path / f"decay-{decay}"
        training: dict[str, Any] = {"word_rows": 10, "word_decay": decay, "learning_rate": 0.02}
        config = run_config(NO_DROPOUT, epochs=40, batch_size=19, evaluations=0, **training)
        train_tiny(files, folder, config)
        model = TorchModel.load(folder)
        vectors = read_vectors(files.vectors)
        rows = [vectors.words.index(word) for word in model.vocabulary.fixed[:10]]
        moved[decay] = (model.fixed_rows[:10] - torch.from_numpy(vectors.matrix[rows])).norm()
    assert 0 < moved[20.0] < moved[0.0] / 3


def test_word_rows_are_pulled_back_at_the_rate_of_the_step(files: Files, tmp_path: Path) -> None:
    common = {"optimiser": "sgd", "learning_rate": 1.0, "schedule": "constant", "warmup_steps": 0}
    away = {}
    for decay in (0.0, 4.0):
        config = run_config(NO_DROPOUT, word_rows=10, word_decay=decay, **common)
        reader, examples, _ = prepare(config, RunFiles(train=(files.train,), vectors=files.vectors))
        trainer = Trainer(reader, config.training, examples, dataset(), tmp_path)
        tuned = reader.network.get_parameter("embedding.words.tuned")
        begin = tuned.detach().clone()
        with torch.no_grad():
            tuned += 1
        trainer.step(0.05)
        away[decay] = tuned.detach() - begin
    assert len(away[0.0]) == 10
    torch.testing.assert_close(away[4.0], (1 - 0.05 * 4.0) * away[0.0])


def test_each_process_has_its_own_random_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Accelerator, "num_processes", 2)
    seeds = []
    for rank in range(2):
        monkeypatch.setattr(Accelerator, "process_index", rank)
        trainer = trainer_of(dataset(), tmp_path)
        for _ in range(2):
            trainer.step()
            seeds.append(torch.initial_seed())
    assert len(set(seeds)) == 4


@pytest.mark.parametrize(
    ("what", "seen_by"),
    [
        ("loss is", "step"),
        ("weights are not finite", "checkpoint"),
        ("weights are not finite", "evaluation"),
    ],
)
def test_a_run_that_diverges_stops_and_keeps_its_checkpoint(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, seen_by: str
) -> None:
    folder = tmp_path / "run"
    train_tiny(files, folder, run_config(NO_DROPOUT, epochs=1))
    training: dict[str, Any] = {"epochs": 3, "schedule": "constant"}
    with monkeypatch.context() as patch:
        if what == "loss is":
            training["learning_rate"] = 1e38
        else:  # a gradient may be no number where the loss is one
            step = Trainer.step

            def damaged(self: Trainer) -> float:
                loss = step(self)
                next(self.reader.network.parameters()).data.fill_(float("nan"))
                return loss

            patch.setattr(Trainer, "step", damaged)
            training |= {"checkpoint_minutes": 0} if seen_by == "checkpoint" else {"evaluations": 4}
        with pytest.raises(
            InputError, match=rf"{what}.*train with a lower.*is of step {PER_EPOCH}"
        ):
            train_tiny(files, folder, run_config(NO_DROPOUT, **training), resume=True)
    progress, groups = load_checkpoint(folder)
    assert progress.step == PER_EPOCH
    assert all(weights.isfinite().all() for weights in groups["network"].values())
    train_tiny(files, folder, run_config(NO_DROPOUT, epochs=2), resume=True)
    assert load_checkpoint(folder)[0].epoch == 2
