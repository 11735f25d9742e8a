"""Settings of a training run, and the learning rate they give at each step. Files of them are read
in `fabir.training.config_files`."""

from dataclasses import dataclass, field
from typing import Any, Literal

from fabir.text.vocabulary import VocabularyConfig


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How to train. The defaults are FABIR's own (thesis Table 5).

    Args:
        epochs: passes over the training questions
        batch_size: questions of a step, over all processes
        mix: shares of the training files in an epoch, such as 3, 1, 1. An epoch has all questions
            of the first file. Those of each other file are drawn anew for each epoch, a third as
            many in the example, some twice if the file has fewer. Empty for all questions of all
        length_groups: groups of similar length that batches are drawn from (thesis 6.2)
        questions_per_passage: the most questions about one passage that are read together. They
            share the encoding of the passage. More are faster and make batches less varied
        max_passage: words of a passage; training leaves out longer ones
        max_question: words of a question; training leaves out longer ones
        optimiser: "adamw", or "muon" for matrices and AdamW for the rest
        learning_rate: the highest
        schedule: "inverse-root" falls with the root of the step (thesis eq. 5.24), "linear" stays
            level and falls to zero over the last `decay` of all steps
        warmup_steps: steps over which the rate rises to the highest
        decay: share of the steps in which the linear schedule falls
        beta1: decay of Adam's running mean of the gradient
        beta2: decay of Adam's running mean of its square
        epsilon: Adam's
        weight_decay: decoupled from the gradient, on matrices only
        clip: largest norm of the gradient; 0 for no limit
        average: decay of the exponential moving average of the weights, which is evaluated and
            kept; 0 for none
        label_smoothing: share of a target spread over the neighbours of the true word
        distillation_weight: share of a target that is the teachers' probabilities (knowledge
            distillation), if there are teachers. For a question without an answer it is 1
        taught: of each training file how many of the teachers read it, from the first on. With 0
            its answers are learnt alone. Empty for all teachers and files
        no_answer_weight: of the loss of a head that tells whether there is an answer
        dropout_after: epochs trained without dropout first. What cross-attention should look at
            is learnt several times faster without it, and nothing is overfitted that early
        word_rows: how many of the most frequent fixed word rows are trained too
        word_decay: decay of these rows towards their vectors, as `weight_decay` is towards zero.
            Rows of rare words are learnt by heart without it
        precision: arithmetic of the network: "bf16" (autocast) or "fp32"
        seed: the same seed gives the same run on the same machine
        evaluations: times an epoch that the dev set is evaluated; 0 for the end of training only
        checkpoint_minutes: minutes between checkpoints
        patience: evaluations without a better F1 after which to stop (early stopping); 0 for none
    """

    epochs: int = 54
    batch_size: int = 75
    mix: tuple[float, ...] = ()
    length_groups: int = 30
    questions_per_passage: int = 1
    max_passage: int = 400
    max_question: int = 60
    optimiser: Literal["adamw", "muon"] = "adamw"
    learning_rate: float = 7.9e-4
    schedule: Literal["inverse-root", "linear"] = "inverse-root"
    warmup_steps: int = 4000
    decay: float = 0.3
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip: float = 0.0
    average: float = 0.0
    label_smoothing: float = 0.1
    distillation_weight: float = 0.5
    taught: tuple[int, ...] = ()
    no_answer_weight: float = 1.0
    dropout_after: float = 0.0
    word_rows: int = 0
    word_decay: float = 0.0
    precision: Literal["bf16", "fp32"] = "bf16"
    seed: int = 0
    evaluations: int = 1
    checkpoint_minutes: float = 5.0
    patience: int = 0

    def __post_init__(self) -> None:
        counts = "epochs", "batch_size", "length_groups", "warmup_steps", "questions_per_passage"
        others = "evaluations", "seed", "learning_rate", "weight_decay", "epsilon", "clip"
        others += "word_rows", "word_decay", "no_answer_weight"
        least_of = dict.fromkeys(counts, 1) | dict.fromkeys(others, 0)
        for name, least in least_of.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("average", "label_smoothing", "beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1")
        if not 0 <= self.distillation_weight <= 1:
            raise ValueError("distillation_weight must be at least 0 and at most 1")
        if self.mix and (min(self.mix) < 0 or self.mix[0] <= 0):
            raise ValueError("mix has a share above 0 for the first file and none below 0")
        if min(self.taught, default=0) < 0:
            raise ValueError(f"taught has no number below 0, got {self.taught}")


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
    if step <= warmup:
        return config.learning_rate * step / warmup
    if config.schedule == "inverse-root":
        return config.learning_rate * (warmup / step) ** 0.5
    falling = max(1.0, config.decay * total)
    return config.learning_rate * min(1.0, (total - step + 1) / falling)
