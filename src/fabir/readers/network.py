"""The interface of every reader: embed words, encode a passage alone, answer questions."""

from abc import abstractmethod

import torch.nn.functional as F
from torch import Tensor, nn

from fabir.data.batches import Batch, SpanLogits
from fabir.layers.embedding import Embedding


class Network(nn.Module):
    """A reader's network in three steps: `embed`, `encode` and `answer`.

    `embed` depends on a word's spelling alone, `encode` on a passage alone. So both results can be
    cached and reused for other questions. `forward` is all three steps.

    Shape:
        batch: see `fabir.data.batches.Batch`
        result: SpanLogits of [batch, passage]
    """

    embedding: Embedding  # holds the word rows: training, export and saving look there

    @property
    def tells_no_answer(self) -> bool:
        """Whether a head gives `SpanLogits.no_answer`."""
        return False

    def embed(self, rows: Tensor, characters: Tensor) -> Tensor:
        """A vector for each word type.

        Shape:
            rows: [types] row of each type's word vector, 0 for padding
            characters: [types, chars] its characters, 0 at padding
            result: [types, features]
        """
        return self.embedding(rows, characters)

    @abstractmethod
    def encode(self, words: Tensor, mask: Tensor) -> Tensor:
        """Encodings of passages, which depend on no question.

        Shape:
            words: [passages, passage, features] vectors of `embed`
            mask: [passages, passage, 1], True on real tokens
            result: [passages, passage, any number of features]
        """

    @abstractmethod
    def answer(self, encoded: Tensor, question: Tensor, batch: Batch) -> SpanLogits[Tensor]:
        """Logits of the first and the last word of each question's answer, and of no answer if
        there is a head for it.

        Shape:
            encoded: [passages, passage, features] of `encode`; a padded word has any values
            question: [batch, question, features] vectors of `embed`
            batch: the masks, the passage of each question, and which words are the same
        """

    def forward(self, batch: Batch) -> SpanLogits[Tensor]:
        vectors = self.embed(batch.words, batch.characters)
        encoded = self.encode(F.embedding(batch.passage, vectors), batch.passage_mask)
        return self.answer(encoded, F.embedding(batch.question, vectors), batch)
