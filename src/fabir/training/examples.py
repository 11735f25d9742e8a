"""The training questions of a run, and their batches. No network, no optimiser."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fabir.data.batches import COARSE, Batch, Steps, collate, length_groups, round_up
from fabir.data.features import Features, Ragged, renumber
from fabir.errors import InputError
from fabir.text.vocabulary import Vocabulary, WordTable
from fabir.training.settings import TrainingConfig


@dataclass(frozen=True)
class Examples:
    """Questions that training uses.

    table: the word types that passages and questions are numbered by
    passages: word types of the distinct passages
    questions: word types of all questions, also those not used
    rows: [examples] numbers of the questions used
    passage_of: [questions] the passage of each question
    spans: the aligned answers of each question, the first of which is learnt
    file_of: [questions] the training file that each question comes from
    teacher_probabilities: of each question [places, 2] a teacher's, of start and end
    """

    table: WordTable
    passages: Ragged
    questions: Ragged
    rows: np.ndarray
    passage_of: np.ndarray
    spans: Ragged
    file_of: np.ndarray
    teacher_probabilities: Ragged | None = None

    def epoch(self, number: int, config: TrainingConfig) -> list[np.ndarray]:
        """The batches of an epoch as questions' numbers; they depend on seed and `number` alone."""
        generator = np.random.default_rng([config.seed, number])
        rows = self._mixed(config.mix, generator) if config.mix else self.rows
        rows = generator.permutation(rows)
        passages = self.passage_of[rows]
        batches = length_groups(
            self.passages.lengths[passages],
            self.questions.lengths[rows],
            config.batch_size,
            config.length_groups,
            generator,
            _bundles(passages, config.questions_per_passage),
        )
        return [rows[chosen] for chosen in batches]

    def _mixed(self, mix: tuple[float, ...], generator: np.random.Generator) -> np.ndarray:
        """The questions of the first file, and a share of each other one's."""
        first, *others = (self.rows[self.file_of[self.rows] == file] for file in range(len(mix)))
        shares = (round(len(first) * share / mix[0]) for share in mix[1:])
        drawn = [first]
        for rows, share in zip(others, shares, strict=True):
            while len(rows) and share > 0:  # a file with fewer questions is repeated
                drawn.append(generator.permutation(rows)[:share])
                share -= len(drawn[-1])
        return np.concatenate(drawn)

    def longest(self, rows: np.ndarray) -> int:
        """Words of the longest passage of some questions."""
        return int(self.passages.lengths[self.passage_of[rows]].max())

    def batch(
        self, rows: np.ndarray, *, few_shapes: bool = False
    ) -> tuple[Batch[np.ndarray], Tensor]:
        """Some questions as a batch, and [batch, 2] first and last words of their answers.

        Args:
            few_shapes: each question has a passage of its own, and lengths are padded further, so
                that few enough shapes occur for a CUDA graph of each
        """
        most = self.table.vocabulary.max_characters
        steps = Steps(32, 16, 1024, max(1, most)) if few_shapes else COARSE
        distinct, passage_of = np.unique(self.passage_of[rows], return_inverse=True)
        # Empty passages round the number of passages up, so that few shapes occur. At most each
        # question has a passage of its own.
        number = round_up(len(distinct), max(1, len(rows) // 8))
        if few_shapes or number >= len(rows):
            number, passage_of, distinct = len(rows), np.arange(len(rows)), self.passage_of[rows]
        passages = [self.passages[passage] for passage in distinct]
        passages += [np.empty(0, np.int32)] * (number - len(passages))
        questions = [self.questions[row] for row in rows]
        # Start and end of "no answer" are the place before the passage.
        first = len(self.table.before)
        none = np.full(2, -first)
        spans = np.stack([[*self.spans[row], *none][:2] for row in rows]) + first
        batch = collate(self.table, passages, questions, passage_of, steps)
        return batch, torch.from_numpy(spans).long()

    @cached_property
    def has_unanswerable(self) -> bool:
        """Whether a question that is used has no answer."""
        return bool((self.spans.lengths[self.rows] == 0).any())

    def weights(self, rows: np.ndarray, share: float) -> Tensor:
        """[2] the weight of a question without an answer, and that of one with an answer.

        Args:
            rows: the questions of an epoch
            share: of the weight of all these that those without an answer have; 0 for all alike

        Raises:
            InputError: these questions are all of one kind, and `share` is not 0.
        """
        if not share:
            return torch.ones(2)
        has = self.answerable(rows).double().mean().item()
        if has in (0, 1):
            raise InputError(
                "training.unanswerable_share needs questions with and without an answer to train "
                "on: set it to 0"
            )
        return torch.tensor([share / (1 - has), (1 - share) / has])

    def answerable(self, rows: np.ndarray) -> Tensor:
        """[batch] whether some questions have an answer."""
        return torch.from_numpy(self.spans.lengths[rows] > 0)

    def teacher_batch(self, rows: np.ndarray, length: int) -> Tensor | None:
        """[batch, length, 2] a teacher's probabilities for some questions, if there is one."""
        if self.teacher_probabilities is None:
            return None
        batch = np.zeros((len(rows), length, 2), np.float32)
        for padded, row in zip(batch, rows, strict=True):
            probabilities = self.teacher_probabilities[row]
            padded[: len(probabilities)] = probabilities
        return torch.from_numpy(batch)

    def taught(self, rows: np.ndarray) -> Tensor:
        """[batch] whether a teacher has read some questions."""
        said = self.teacher_probabilities
        return torch.from_numpy(
            np.zeros(len(rows), bool) if said is None else said.lengths[rows] > 0
        )


def _bundles(passages: np.ndarray, size: int) -> np.ndarray:
    """The bundle of each question: at most `size` about one of `passages` [questions]."""
    order = np.argsort(passages, kind="stable")
    _, first, count = np.unique(passages[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(first, count)  # among its passage's questions
    bundle_of = np.empty(len(order), np.int64)
    bundle_of[order] = passages[order].astype(np.int64) * (len(order) + 1) + place // size
    return bundle_of


def usable_examples(
    features: Features,
    vocabulary: Vocabulary,
    config: TrainingConfig,
    file_of: np.ndarray | None = None,
    *,
    unanswerable: bool = False,
) -> Examples:
    """The questions with an aligned answer whose texts are not too long. With `unanswerable`, or
    with a vocabulary of a reader that may say that there is no answer, those without one too.

    `file_of` numbers the file of each question; one file if not given.

    Raises:
        InputError: no question is usable, or `mix` or `taught` has not one value for each file.
    """
    if file_of is None:
        file_of = np.zeros(len(features.questions), np.int32)
    files = int(file_of.max(initial=0)) + 1
    for name, values in (("mix", config.mix), ("taught", config.taught)):
        if values and len(values) != files:
            raise InputError(
                f"training.{name} has {len(values)} values for {files} training files: give one "
                "each"
            )
    table, passages, questions = renumber(features, vocabulary)
    usable = passages.lengths[features.passage_of] <= config.max_passage
    usable &= (questions.lengths <= config.max_question) & (questions.lengths > 0)
    empty = (features.spans.lengths == 0) & (features.unaligned == 0)
    usable &= (features.spans.lengths > 0) | (empty & (unanswerable or vocabulary.no_answer))
    if not usable.any():
        raise InputError(
            "no question to train on: none has an answer on word borders, in a passage of at most "
            f"{config.max_passage} words; --on-unaligned widen takes answers inside words"
        )
    rows = np.flatnonzero(usable)
    for number, share in enumerate(config.mix):
        if share and not (file_of[rows] == number).any():
            raise InputError(
                f"training.mix has a share for training file {number + 1}, of which no question "
                "can be trained on"
            )
    return Examples(table, passages, questions, rows, features.passage_of, features.spans, file_of)
