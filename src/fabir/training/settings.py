"""Settings of a training run, and the learning rate they give at each step. Files of them are read
in `fabir.training.config_files`."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from fabir.text.vocabulary import VocabularyConfig


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How to train. The defaults are FABIR's own (thesis Table 5), but for bf16.

    Args:
        epochs: passes over the training questions
        batch_size: questions of a step, over all processes
        mix: shares of the training files in an epoch, such as 3, 1, 1. An epoch has all questions
            of the first file. Those of each other file are drawn anew for each epoch, a third as
            many in the example, some twice if the file has fewer. Empty for all questions of all
        length_groups: groups of similar length that batches are drawn from (thesis 6.2)
        questions_per_passage: the most questions about one passage that are read together. They
            share the encoding of the passage, but not on a GPU. More are faster and make batches
            less varied
        max_passage: words of a passage; training leaves out longer ones
        max_question: words of a question; training leaves out longer ones
        optimiser: "adamw", which is Adam without `weight_decay`; "muon" for matrices and AdamW for
            the rest; or PyTorch's "adadelta", "sgd" or "adagrad" (thesis 3.4)
        learning_rate: the highest learning rate
        schedule: what follows the warm-up. "constant" stays level, "linear" stays level and falls
            to zero over the last `decay` of all steps, "inverse-root" falls with the root of the
            step (thesis eq. 5.24), "steps" falls by `factor` at each of the `milestones`,
            "annealed" divides the last step's rate by 1 + `annealing` * t at step t, which counts
            from the end of the warm-up (thesis eq. 3.11)
        warmup_steps: steps over which the rate rises to the highest; 0 for none
        warmup: the rate rises with the step ("linear") or its logarithm ("logarithmic")
        decay: share of the steps in which the linear schedule falls
        milestones: epochs, such as 10, 20.5, after which schedule "steps" falls
        factor: what the rate is multiplied by at each milestone
        annealing: rho of schedule "annealed"
        beta1: decay of the running mean of the gradient. For adamw and muon
        beta2: decay of the running mean of its square. For adamw and muon; adadelta's rho
        epsilon: added to the denominator. For adamw, muon, adadelta and adagrad
        momentum: share of the last step that is made again. For sgd
        weight_decay: weight decay, decoupled from the gradient, on matrices. For adamw and muon
        l2: L2 regularisation, coupled: this share of every trained weight is added to its gradient
            before clipping. For all optimisers
        clip: largest norm of the gradient; 0 for no limit
        average: decay of the exponential moving average of the weights, which is evaluated and
            kept; 0 for none
        label_smoothing: share of a target spread over the neighbours of the true word
        distillation_weight: share of a target that is the teachers' probabilities (knowledge
            distillation), if there are teachers. For a question without an answer it is 1, if
            the network has a head that tells so
        taught: of each training file how many of the teachers read it, from the first on. With 0
            its answers are learnt alone. Empty for all teachers and files
        unanswerable_share: share of the loss that questions without an answer have together; 0 lets
            every question count alike. SQuAD 2.0's training file has 0.334 of them
        no_answer_weight: weight of the loss of a head that tells whether there is an answer
        no_answer_alone: only this head is trained, and answers stay as they are. The last weights
            are kept
        dropout_after: epochs trained without dropout first. What cross-attention should look at
            is learnt several times faster without it, and nothing is overfitted that early
        word_rows: how many of the most frequent fixed word rows are trained too
        word_decay: decay of these rows towards their vectors, as `weight_decay` is towards zero.
            Rows of rare words are learnt by heart without it
        precision: arithmetic of the network: "fp32", or "bf16" (autocast) where the processor or
            GPU is faster in it
        seed: the same seed gives the same run on the same machine
        evaluations: times an epoch that the dev set is evaluated, such as 2.6; 0 for the end of
            training only
        checkpoint_minutes: minutes between checkpoints; 0 saves one after each step
        patience: evaluations without a better F1 after which to stop (early stopping); 0 for none
    """

    epochs: int = 54
    batch_size: int = 75
    mix: tuple[float, ...] = ()
    length_groups: int = 30
    questions_per_passage: int = 1
    max_passage: int = 400
    max_question: int = 60
    optimiser: Literal["adamw", "muon", "adadelta", "sgd", "adagrad"] = "adamw"
    learning_rate: float = 7.906e-4
    schedule: Literal["inverse-root", "linear", "constant", "steps", "annealed"] = "inverse-root"
    warmup_steps: int = 4000
    warmup: Literal["linear", "logarithmic"] = "linear"
    decay: float = 0.3
    milestones: tuple[float, ...] = ()
    factor: float = 0.1
    annealing: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-8
    momentum: float = 0.0
    weight_decay: float = 0.0
    l2: float = 0.0
    clip: float = 0.0
    average: float = 0.0
    label_smoothing: float = 0.0
    distillation_weight: float = 0.5
    taught: tuple[int, ...] = ()
    unanswerable_share: float = 0.0
    no_answer_weight: float = 1.0
    no_answer_alone: bool = False
    dropout_after: float = 0.0
    word_rows: int = 0
    word_decay: float = 0.0
    precision: Literal["bf16", "fp32"] = "bf16"
    seed: int = 0
    evaluations: float = 1
    checkpoint_minutes: float = 5.0
    patience: int = 0

    def __post_init__(self) -> None:
        self._check_ranges()
        self._check_files()
        self._check_together()

    def _check_ranges(self) -> None:
        counts = ["epochs", "batch_size", "length_groups", "questions_per_passage"]
        if self.schedule == "inverse-root":
            counts.append("warmup_steps")
        others = "evaluations", "seed", "learning_rate", "weight_decay", "l2", "epsilon", "clip"
        others += "word_rows", "word_decay", "no_answer_weight", "warmup_steps", "factor"
        others += "dropout_after", "patience", "annealing", "checkpoint_minutes"
        least_of = dict.fromkeys(others, 0) | dict.fromkeys(counts, 1)
        for name, least in least_of.items():
            if not getattr(self, name) >= least:  # so that NaN is refused too
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name, bits in [*((name, 31) for name in counts), ("seed", 63)]:
            if getattr(self, name) >= 2**bits:
                raise ValueError(f"{name} must be below 2^{bits}, got {getattr(self, name)}")
        shares = "average", "label_smoothing", "beta1", "beta2", "momentum", "unanswerable_share"
        for name in shares:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1")
        for name in ("distillation_weight", "decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be at least 0 and at most 1")

    def _check_files(self) -> None:
        if self.mix and not (self.mix[0] > 0 and all(0 <= each < math.inf for each in self.mix)):
            raise ValueError(
                "mix has finite shares, one above 0 for the first file and none below 0, got "
                f"{self.mix}"
            )
        if min(self.taught, default=0) < 0:
            raise ValueError(f"taught has no number below 0, got {self.taught}")

    def _check_together(self) -> None:
        if self.weight_decay and self.optimiser not in ("adamw", "muon"):
            raise ValueError(f"{self.optimiser} has no weight_decay: set it to 0, l2 is for all")
        if self.schedule == "steps" and not self.milestones:
            raise ValueError("schedule steps needs milestones")
        if not all(each >= 0 for each in self.milestones):
            raise ValueError(f"milestones must be at least 0, got {self.milestones}")
        if self.schedule == "annealed" and not self.annealing:
            raise ValueError("schedule annealed needs annealing above 0, got 0")
        if self.no_answer_alone and self.patience:
            raise ValueError(
                "no_answer_alone changes no F1 that patience could wait for: set patience to 0"
            )
        if self.no_answer_alone and self.word_rows:
            raise ValueError(
                f"no_answer_alone trains no word rows: set word_rows {self.word_rows} to 0"
            )


@dataclass(frozen=True, kw_only=True)
class VectorsConfig:
    """The word vectors that a configuration is meant for.

    Args:
        dim: numbers of a vector; 0 for any
    """

    dim: int = 0

    def __post_init__(self) -> None:
        if self.dim < 0:
            raise ValueError(f"dim must not be negative, got {self.dim}")


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a training run, but for its files."""

    reader: str
    network: Any
    vocabulary: VocabularyConfig
    training: TrainingConfig
    vectors: VectorsConfig = field(default_factory=VectorsConfig)


def learning_rate(config: TrainingConfig, step: int, total: int) -> float:
    """The rate at `step`, counted from 1, of `total` steps."""
    warmup = config.warmup_steps
    if step > warmup:
        return config.learning_rate * _after_warmup(config, step, total)
    if config.warmup == "logarithmic":
        return config.learning_rate * math.log1p(step) / math.log1p(warmup)
    return config.learning_rate * step / warmup


def _after_warmup(config: TrainingConfig, step: int, total: int) -> float:
    """The rate at `step` as a share of the highest."""
    warmup = config.warmup_steps
    match config.schedule:
        case "inverse-root":
            return (warmup / step) ** 0.5
        case "linear":
            falling = max(1.0, config.decay * total)
            return min(1.0, (total - step + 1) / falling)
        case "steps":
            epochs = config.epochs * (step - 1) / total
            return config.factor ** sum(milestone <= epochs for milestone in config.milestones)
        case "annealed":
            divisors = config.annealing * np.arange(1, step - warmup + 1)
            return math.exp(-np.log1p(divisors).sum())
        case "constant":
            return 1.0
