"""Batches of word types and their places, which a network receives. No text lives here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from fabir.text.vocabulary import WordTable

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Array = TypeVar("Array")


class Steps(NamedTuple):
    """Lengths are padded to multiples of these steps."""

    passage: int
    question: int
    types: int
    characters: int


# Few different shapes occur, so that torch reuses the kernels that it has prepared for a shape.
COARSE = Steps(passage=16, question=8, types=256, characters=4)
_SPREAD = 4.0  # words; the largest random change to a question's length when batches are sorted


class Batch(NamedTuple, Generic[Array]):
    """Questions and passages as indices into the batch's own list of word types: arrays
    of numpy, or tensors for a network.

    Questions about the same passage share it. A network encodes each passage once;
    `for_questions` then repeats the encoding for its questions.

    Shape:
        words: [types] row of each type's word vector, 0 for type 0, which is padding
        characters: [types, chars] characters of each type, 0 at padding
        passage: [passages, passage] word type of each token, 0 at padding
        question: [batch, question] the same
        passage_of: [batch] the row of `passage` that each question is about
    """

    words: Array
    characters: Array
    passage: Array
    question: Array
    passage_of: Array

    @property
    def passage_mask(self: Batch[Tensor]) -> Tensor:
        """[passages, passage, 1] True on real tokens."""
        return (self.passage > 0)[..., None]

    @property
    def question_mask(self: Batch[Tensor]) -> Tensor:
        """[batch, question, 1] True on real tokens."""
        return (self.question > 0)[..., None]

    def for_questions(self: Batch[Tensor], x: Tensor) -> Tensor:
        """[passages, ...] as [batch, ...]: every question gets its passage's row."""
        return x.index_select(0, self.passage_of)

    def tensors(self, device: torch.device | str = "cpu") -> Batch[Tensor]:
        """The same batch as tensors on a device."""
        import torch

        return Batch(*(torch.as_tensor(array, device=device) for array in self))


class SpanLogits(NamedTuple, Generic[Array]):
    """The output of every reader: float32 logits, very low ones at padding.

    Shape:
        start, end: [batch, passage] of the first and of the last word of an answer
        no_answer: [batch] of the passage having no answer, from a network with a head for it
    """

    start: Array
    end: Array
    no_answer: Array | None = None


def collate(
    table: WordTable,
    passages: Sequence[np.ndarray],
    questions: Sequence[np.ndarray],
    passage_of: Sequence[int] | np.ndarray,
    steps: Steps = COARSE,
) -> Batch[np.ndarray]:
    """Pad word types of passages and questions (int32 [tokens] each) into a batch.

    `passage_of` gives the row of each question's passage. If the reader may say that there is no
    answer, each passage gets one place more, at its start.
    """
    passage = _padded([np.concatenate([table.before, row]) for row in passages], steps.passage)
    question = _padded(questions, steps.question)
    everything = np.concatenate([passage.ravel(), question.ravel(), [0]])
    used, where = np.unique(everything, return_inverse=True)  # used[0] is type 0, padding
    words = np.zeros(round_up(len(used), steps.types), np.int64)
    words[: len(used)] = table.rows(used)
    spelt = table.characters(used)
    longest = int((spelt > 0).sum(1).max())
    characters = np.zeros((len(words), round_up(longest, steps.characters)), np.int64)
    width = min(characters.shape[1], spelt.shape[1])
    characters[: len(used), :width] = spelt[:, :width]
    return Batch(
        words=words,
        characters=characters,
        passage=where[: passage.size].reshape(passage.shape),
        question=where[passage.size : -1].reshape(question.shape),
        passage_of=np.asarray(passage_of, np.int64),
    )


def _padded(rows: Sequence[np.ndarray], step: int) -> np.ndarray:
    longest = max(map(len, rows), default=0)
    padded = np.zeros((len(rows), round_up(longest, step)), np.int64)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = row
    return padded


def round_up(length: int, step: int) -> int:
    """`length` rounded up to a multiple of `step`, at least `step` itself."""
    return max(step, -(-length // step) * step)


def length_groups(
    passages: np.ndarray,
    questions: np.ndarray,
    batch_size: int,
    groups: int,
    generator: np.random.Generator,
    bundle_of: np.ndarray,
) -> list[np.ndarray]:
    """One epoch: every example once, in shuffled batches of similar length (thesis 6.2).

    Examples are sorted into `groups` equally large groups by the length of their passage. Within a
    group, questions of about the same length share a batch, since a batch's questions are padded
    to the longest. The thesis leaves this to chance. The batches of all groups are shuffled
    together. Each group leaves fewer than `batch_size` examples over; these share further batches.

    Args:
        passages, questions: [examples] lengths
        bundle_of: [examples] the bundle of each example. Examples of one bundle are about one
            passage and stay together

    Returns:
        arrays of indices into the examples
    """
    _, first, size = np.unique(bundle_of, return_index=True, return_counts=True)
    bundles = np.split(np.argsort(bundle_of, kind="stable"), np.cumsum(size)[:-1])
    longest = np.array([questions[bundle].max(initial=0) for bundle in bundles])
    order = np.argsort(passages[first] + generator.random(len(first)), kind="stable")
    batches, rest = [], []
    for drawn in np.array_split(order, groups):
        about = longest[drawn] + _SPREAD * generator.random(len(drawn))
        chosen = [bundles[bundle] for bundle in drawn[np.argsort(about)]]
        group = np.concatenate([np.empty(0, np.intp), *chosen])
        whole = len(group) // batch_size * batch_size
        batches += list(group[:whole].reshape(-1, batch_size))
        rest.append(group[whole:])
    left = np.concatenate(rest)
    batches += [left[i : i + batch_size] for i in range(0, len(left), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]
