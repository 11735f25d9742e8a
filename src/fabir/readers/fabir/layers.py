"""FABIR's layers: the reduction layer, or the reduction matrix, and the processing layer.

Each reads question and passage. The blocks that they are built of are in `fabir.layers`.
"""

import torch
from torch import Tensor, nn

from fabir.data.batches import Batch
from fabir.layers.attention import CrossAttention, Projection
from fabir.layers.convolution import SeparableConvolution
from fabir.layers.dropout import Dropout
from fabir.layers.feedforward import FeedForward, Join
from fabir.layers.position import trigonometric_positions
from fabir.readers.fabir.config import FabirConfig
from fabir.text.vocabulary import UNKNOWN


class Stream(nn.Module):
    """Feed-forward of one text in one layer, with the joins around it and around self-attention."""

    def __init__(
        self, dim: int, hidden: int, config: FabirConfig, dropout: float, *, attends: bool
    ) -> None:
        super().__init__()
        if attends:
            self.after_attention = config.join(dim, dropout)
        self.feed_forward = FeedForward(dim, hidden)
        self.after_feed_forward = config.join(dim, dropout)

    def feed(self, x: Tensor) -> Tensor:
        return self.after_feed_forward(x, self.feed_forward(self.after_feed_forward.enter(x)))


class Local(nn.Module):
    """What each word has from its neighbours, joined to it; nothing if `width` is 0.

    Shape:
        x: [batch, length, dim], its mask [batch, length, 1]
    """

    def __init__(self, dim: int, width: int, config: FabirConfig, dropout: float) -> None:
        super().__init__()
        self.join = config.join(dim, dropout) if width else None
        if width:
            self.convolution = SeparableConvolution(dim, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.join(x, self.convolution(self.join.enter(x) * mask)) if self.join else x


class SelfAttention(nn.Module):
    """Convolutional self-attention (FABIR eq. 13)."""

    def __init__(self, dim: int, config: FabirConfig, dropout: float) -> None:
        super().__init__()
        self.weights = config.attention_weights(dim, dropout)
        self.words = Projection(dim, config.heads)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.words(self.weights(x, x, mask), x)


class Layer(nn.Module):
    """A layer without its self-attention: cross-attention and feed-forward, question first.

    The first text never sees the second; the second attends to the first's output of this layer.
    Before cross-attention begins there is one row for each passage, then one for each question.

    Args:
        number: 0 for the reduction layer

    Shape:
        question: [batch, question, dim]
        passage: [passages or batch, passage, dim]
        result: both again, the passage as [batch, passage, dim] once cross-attention has begun
    """

    def __init__(
        self,
        number: int,
        dim: int,
        hidden: int,
        config: FabirConfig,
        sublayer: float,
        attention: float,
    ) -> None:
        super().__init__()
        attends = config.attends(number)
        width = config.local_width if attends else config.convolved_width
        self.local = Local(dim, width, config, sublayer)
        self.first = Stream(dim, hidden, config, sublayer, attends=attends)
        self.second = Stream(dim, hidden, config, sublayer, attends=attends)
        self.turned = config.layer_type == "switching" and number > 0 and number % 2 == 0
        self.crosses = number >= config.separate_layers
        self.begins = number == config.separate_layers
        self.match = None
        if self.crosses:
            self.cross_attention = CrossAttention(
                dim,
                config.heads,
                width=config.attention_width,
                depthwise=config.depthwise,
                over="queries" if config.cross_attention == "column-wise" else "keys",
                capped=config.cross_capped,
                dropout=attention,
            )
            self.keys = config.last_norm(dim)
            self.after_cross = config.join(dim, sublayer)
        if self.begins and config.word_match:
            self.match = nn.Linear(1, dim, bias=False)

    def streams(self) -> tuple[Stream, Stream]:
        """The question's and the passage's."""
        return (self.second, self.first) if self.turned else (self.first, self.second)

    def read(self, question: Tensor, passage: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Everything after self-attention and its norm."""
        if self.begins:
            passage = batch.for_questions(passage)
            batch = batch.unshared()
            if self.match is not None:
                passage = passage + self.match(word_matches(batch, passage.dtype)[..., None])
        asked, told = (question, batch.question_mask), (passage, batch.passage_mask)
        (first, first_mask), (second, second_mask) = (told, asked) if self.turned else (asked, told)
        first = self.first.feed(first)
        if self.crosses:
            texts = self.after_cross.enter(second), self.keys(first)
            crossed = self.cross_attention(*texts, second_mask, first_mask)
            second = self.after_cross(second, crossed)
        second = self.second.feed(second)
        return (second, first) if self.turned else (first, second)


class ProcessingLayer(Layer):
    """Self-attention on both texts, or a convolution, then cross-attention and feed-forward
    (FABIR III-E)."""

    def __init__(self, number: int, config: FabirConfig) -> None:
        rates = config.dropout_sublayer, config.dropout_attention
        super().__init__(number, config.model_dim, config.feed_forward, config, *rates)
        self.self_attention = None
        if config.attends(number):
            self.self_attention = SelfAttention(config.model_dim, config, rates[1])

    def forward(self, question: Tensor, passage: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        asked, told = self.streams()
        question = self._attend(question, batch.question_mask, asked)
        passage = self._attend(passage, batch.passage_mask, told)
        return self.read(question, passage, batch)

    def _attend(self, x: Tensor, mask: Tensor, stream: Stream) -> Tensor:
        x = self.local(x, mask)
        if self.self_attention is None:
            return x
        join = stream.after_attention
        return join(x, self.self_attention(join.enter(x), mask))


class DecoupledAttention(nn.Module):
    """Self-attention over words and positions kept apart (FABIR Figure 2).

    Queries and keys see word + position; values and the residual see words only. The stream of
    pure positions goes through the same weights with values and an output of its own.
    """

    def __init__(self, dim: int, config: FabirConfig, dropout: float) -> None:
        super().__init__()
        self.weights = config.attention_weights(dim, dropout)
        self.words = Projection(dim, config.heads)
        self.positions = Projection(config.model_dim, config.heads)

    def forward(
        self, words: Tensor, placed: Tensor, positions: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Shape:
        words, placed (word + position): [batch, length, input_dim]
        positions: [batch or 1, length, model_dim]
        """
        weights = self.weights(placed, placed, mask)
        return self.words(weights, words), self.positions(weights, positions)


class ReductionLayer(Layer):
    """Decoupled attention, a layer on words alone, then words reduced and positions added
    (FABIR III-F, thesis 5.4)."""

    def __init__(self, dim: int, config: FabirConfig) -> None:
        sublayer = config.amplified(config.dropout_sublayer)
        attention = config.amplified(config.dropout_attention)
        hidden = config.feed_forward * dim // config.model_dim
        super().__init__(0, dim, hidden, config, sublayer, attention)
        self.config = config
        self.self_attention = DecoupledAttention(dim, config, attention)
        self.first_positions = Join(config.model_dim, sublayer)
        self.second_positions = Join(config.model_dim, sublayer)
        self.input_dropout = Dropout(config.amplified(config.dropout_input))
        self.last_norm = config.last_norm(dim)
        self.reduction = nn.Linear(dim, config.model_dim)
        self.reduction_dropout = Dropout(sublayer)

    def forward(self, question: Tensor, passage: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Shape: see `Layer`; the result has `model_dim` features."""
        question_mask, passage_mask = batch.question_mask, batch.passage_mask
        question, asked_at = self._attend(question, question_mask, self.first, self.first_positions)
        passage, at = self._attend(passage, passage_mask, self.second, self.second_positions)
        if self.begins:
            at = batch.for_questions(at)
        question, passage = self.read(question, passage, batch)
        return self._reduce(question) + asked_at, self._reduce(passage) + at

    def _attend(
        self, words: Tensor, mask: Tensor, stream: Stream, join_positions: Join
    ) -> tuple[Tensor, Tensor]:
        words = self.local(words, mask)
        wide = self._positions(words, words.shape[2])
        narrow = self._positions(words, self.config.model_dim)
        entered = stream.after_attention.enter(words)
        attended, moved = self.self_attention(entered, entered + wide, narrow, mask)
        return stream.after_attention(words, attended), join_positions(narrow, moved)

    def _positions(self, words: Tensor, dim: int) -> Tensor:
        """[batch, length, dim] in training, [1, length, dim] for all else."""
        positions = position_encoding(self.config, words.shape[1], dim, words)
        if self.training:  # each text loses others by dropout
            positions = positions.expand(words.shape[0], -1, -1)
        return self.input_dropout(positions)

    def _reduce(self, words: Tensor) -> Tensor:
        return self.reduction_dropout(self.reduction(self.last_norm(words)))


class MatrixReduction(nn.Module):
    """The reduction matrix alone (FABIR eq. 17), then one more processing layer in the reduction
    layer's place (thesis 6.4.2)."""

    def __init__(self, dim: int, config: FabirConfig) -> None:
        super().__init__()
        self.config = config
        self.reduction = nn.Linear(dim, config.model_dim)
        self.input_dropout = Dropout(config.dropout_input)
        self.layer = ProcessingLayer(0, config)
        self.begins = self.layer.begins

    def forward(self, question: Tensor, passage: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """As the reduction layer's; the dimensions are `dim` and `model_dim` too."""
        return self.layer(self._place(question), self._place(passage), batch)

    def _place(self, words: Tensor) -> Tensor:
        reduced = self.reduction(words)
        positions = position_encoding(self.config, words.shape[1], self.config.model_dim, words)
        return reduced + self.input_dropout(positions.expand(words.shape[0], -1, -1))


def word_matches(batch: Batch, dtype: torch.dtype) -> Tensor:
    """1 where a passage word is in the question too: the same word row, or if unknown the same
    form; 0 elsewhere, and anything at padding.

    Shape: result [batch, passage], of a batch that is `unshared`
    """
    forms = torch.arange(batch.words.shape[0], device=batch.words.device)
    unknown = batch.words <= UNKNOWN
    words = torch.where(unknown, -forms, batch.words)  # padding is form 0
    passage, question = words.take(batch.passage), words.take(batch.question)
    same = passage[:, :, None] == question[:, None, :]
    return same.to(dtype).amax(dim=2)


def position_encoding(config: FabirConfig, length: int, dim: int, like: Tensor) -> Tensor:
    """Shape: result [1, length, dim] in the type and on the device of `like`."""
    positions = trigonometric_positions(
        length,
        dim,
        first=config.first_position,
        lowest=config.lowest_frequency,
        highest=config.highest_frequency,
        device=like.device,
    )
    return positions.to(like.dtype)[None]
