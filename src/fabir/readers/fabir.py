"""FABIR: a Fully Attention-Based Information Retriever (Correia et al. 2018, arXiv 1810.09580).

Embeddings, the reduction layer, processing layers, the answer selector; top to bottom like the
paper's Figure 1. No strings, no loss, no decoding here.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from fabir.data.batches import Batch
from fabir.layers.attention import AttentionWeights, CrossAttention, Projection
from fabir.layers.convolution import SeparableConvolution
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import CharacterConvolution, Embedding, VocabularySizes
from fabir.layers.feedforward import FeedForward, Join
from fabir.layers.pointer import ConvolutionSelector, LinearSelector, SpanLogits, mask_logits
from fabir.layers.position import trigonometric_positions
from fabir.text.vocabulary import UNKNOWN

# The last map of each sublayer but cross-attention.
_ADDING = (
    "self_attention.words.output.weight",
    "local.convolution.1.weight",
    "feed_forward.2.weight",
)
_LITTLE = 0.01  # of what they would add at first; nothing would leave what is below no gradient
_LOW = 0.3  # positions, beside words of size 1


@dataclass(frozen=True, kw_only=True)
class FabirConfig:
    """Table 5 of the thesis and every variation of its Table 6.

    Args:
        characters: embed characters too ("without char embedding" when false)
        character_dim: features of a character
        character_filters: size of a word's character-level vector
        character_width: characters a filter sees
        word_projection: a trained linear map of the word vector before the highway
        highway_layers: highway layers after word and characters are joined
        model_dim: size of a word's vector in the processing layers, even
        heads: attention heads ("2 heads")
        feed_forward: hidden size in processing layers; the reduction layer has it scaled alike
        layers: processing layers after the reduction layer ("2 layers", "4 layers")
        separate_layers: how many layers, the reduction layer first, read both texts without
            cross-attention: these read a passage once for all its questions. Not in the papers
        reduction: the reduction layer, or a reduction matrix and one more processing layer
        word_match: mark passage words that are in the question too, before the first
            cross-attention; not in the papers, it is the exact match of Chen et al. 2017 (DrQA)
        local_width: words that a separable convolution of each layer sees, a sublayer before
            self-attention as in QANet (Yu et al. 2018); 0 for none, as in FABIR's papers
        convolved_layers: how many of the last layers have a convolution in place of self-attention,
            which takes half as long; not in the papers
        convolved_width: words that it sees
        attention_width: kernel size along the keys; 0 is "without convolutional attention"
        attention_convolution: over the logits of all heads (eq. 12b), or "depthwise", of each head
            alone; the latter is faster and not in the papers
        cross_attention: softmax over passage positions (column-wise) or question positions
        cross_capped: bound what a passage word gathers from all question words together; not in
            the papers
        cross_start: all begins "random" (the thesis: Glorot normal), or so that cross-attention's
            queries meet the keys that are "alike": other sublayers then begin with little to add,
            positions low, and the maps in between keep angles; not in the papers
        norm: layer norm "after" each sublayer, or "before" it, which bears higher rates; the latter
            is not in the papers
        layer_type: repeated layers, or switching the direction of cross-attention at each
        selector: two convolutions, or one linear map ("linear answer selector")
        selector_hidden: filters of the first selector convolution
        selector_width: kernel size of both ("selector with kernel size 1")
        selector_layers: both ends from the last layer, or the start from the one before
        first_position: number of the first word's position
        lowest_frequency: of the position encoding, radians a word
        highest_frequency: of the position encoding, radians a word
        dropout_input: on embeddings and positions
        dropout_sublayer: on the output of every sublayer
        dropout_attention: on attention weights
        dropout_selector: before each selector convolution
        dropout_characters: on character embeddings
        dropout_amplification: power of the keep rates in the reduction layer (thesis eq. 5.26)
    """

    characters: bool = True
    character_dim: int = 8
    character_filters: int = 100
    character_width: int = 5
    word_projection: bool = True
    highway_layers: int = 2
    model_dim: int = 100
    heads: int = 4
    feed_forward: int = 200
    layers: int = 3
    separate_layers: int = 0
    reduction: Literal["layer", "matrix"] = "layer"
    word_match: bool = False
    local_width: int = 0
    convolved_layers: int = 0
    convolved_width: int = 15
    attention_width: int = 5
    attention_convolution: Literal["full", "depthwise"] = "full"
    cross_attention: Literal["column-wise", "row-wise"] = "column-wise"
    cross_capped: bool = False
    cross_start: Literal["random", "alike"] = "random"
    norm: Literal["after", "before"] = "after"
    layer_type: Literal["repeated", "switching"] = "repeated"
    selector: Literal["convolution", "linear"] = "convolution"
    selector_hidden: int = 32
    selector_width: int = 9
    selector_layers: Literal["last", "different"] = "last"
    first_position: int = 500
    lowest_frequency: float = 1e-4
    highest_frequency: float = 1.0
    dropout_input: float = 0.1
    dropout_sublayer: float = 0.1
    dropout_attention: float = 0.1
    dropout_selector: float = 0.2
    dropout_characters: float = 0.25
    dropout_amplification: float = 2.0

    def attends(self, number: int) -> bool:
        """Whether this layer, 0 the reduction layer, has self-attention."""
        return number <= self.layers - self.convolved_layers

    def join(self, dim: int, dropout: float) -> Join:
        return Join(dim, dropout, before=self.norm == "before")

    def last_norm(self, dim: int) -> nn.Module:
        """What a stream passes that no later sublayer's norm does."""
        return nn.LayerNorm(dim) if self.norm == "before" else nn.Identity()

    def input_dim(self, word_dim: int) -> int:
        """Size of a word's vector before the reduction: word and character features."""
        return word_dim + self.character_filters * self.characters

    @property
    def depthwise(self) -> bool:
        return self.attention_convolution == "depthwise"

    def amplified(self, rate: float) -> float:
        """A dropout rate as it is in the reduction layer."""
        if not 0 <= rate < 1:  # an even power would hide it
            raise ValueError(f"a dropout rate must be at least 0 and below 1, got {rate}")
        return 1 - (1 - rate) ** self.dropout_amplification


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
        self.weights = AttentionWeights(
            dim,
            config.heads,
            width=config.attention_width,
            depthwise=config.depthwise,
            dropout=dropout,
        )
        self.words = Projection(dim, config.heads)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.words(self.weights(x, x, mask), x, mask)


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
                passage = passage + self.match(word_matches(batch)[..., None].to(passage.dtype))
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
        self.weights = AttentionWeights(
            dim,
            config.heads,
            width=config.attention_width,
            depthwise=config.depthwise,
            dropout=dropout,
        )
        self.words = Projection(dim, config.heads)
        self.positions = Projection(config.model_dim, config.heads)

    def forward(
        self, words: Tensor, placed: Tensor, positions: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Shape:
        words, placed (word + position): [batch, length, input_dim]
        positions: [batch, length, model_dim]
        """
        weights = self.weights(placed, placed, mask)
        return self.words(weights, words, mask), self.positions(weights, positions, mask)


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
        positions = position_encoding(self.config, words.shape[1], dim, words)
        return self.input_dropout(positions.expand(words.shape[0], -1, -1))

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


def word_matches(batch: Batch) -> Tensor:
    """Which passage words are in the question: the same word row, or if unknown the same form.

    Shape: result [batch, passage] bool
    """
    forms = torch.arange(batch.words.shape[0], device=batch.words.device)
    unknown = batch.words <= UNKNOWN
    words = torch.where(unknown, -forms, batch.words)  # padding is form 0
    passage, question = batch.for_questions(words[batch.passage]), words[batch.question]
    same = passage[:, :, None] == question[:, None, :]
    return same.any(dim=2) & (passage != 0)


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


class Fabir(nn.Module):
    """The whole reader.

    Shape:
        batch: see `fabir.data.batches.Batch`
        result: SpanLogits of [batch, passage]
    """

    def __init__(self, config: FabirConfig, sizes: VocabularySizes) -> None:
        super().__init__()
        self.config = config
        dim = config.input_dim(sizes.word_dim)
        if dim % 2 or config.model_dim % 2:
            raise ValueError(f"positions need even sizes, got {dim} and {config.model_dim}")
        if config.heads < 1 or (config.reduction == "layer" and dim % config.heads):
            raise ValueError(
                f"{config.heads} heads do not divide the {dim} features of a word, "
                f"{sizes.word_dim} of them from its vector: change character_filters or heads"
            )
        if not 0 <= config.separate_layers <= config.layers:
            raise ValueError(
                f"of {config.layers + 1} layers, the reduction layer among them, one at least has "
                f"cross-attention: separate_layers cannot be {config.separate_layers}"
            )
        if not 0 <= config.convolved_layers <= config.layers:
            raise ValueError(
                f"there are {config.layers} layers after the reduction layer: convolved_layers "
                f"cannot be {config.convolved_layers}"
            )
        if config.selector_layers == "different" and config.layers < max(
            2, config.separate_layers + 1
        ):
            raise ValueError("selectors in different layers need at least 2 layers that cross")
        if config.layer_type == "switching" and config.layers % 2 == 0:
            raise ValueError("switching layers need an odd number: the last one reads the passage")
        self.embedding = Embedding(
            sizes,
            characters=CharacterConvolution(
                sizes.characters,
                config.character_dim,
                [config.character_filters],
                [config.character_width],
                dropout=config.dropout_characters,
            )
            if config.characters
            else None,
            word_dim=sizes.word_dim if config.word_projection else None,
            highway_layers=config.highway_layers,
        )
        amplified = config.amplified(config.dropout_input)
        self.input_dropout = Dropout(
            amplified if config.reduction == "layer" else config.dropout_input
        )
        reduction = ReductionLayer if config.reduction == "layer" else MatrixReduction
        self.reduction: ReductionLayer | MatrixReduction = reduction(dim, config)
        self.layers = nn.ModuleList(
            ProcessingLayer(number, config) for number in range(1, config.layers + 1)
        )
        self.last_norm = config.last_norm(config.model_dim)
        self.selectors = nn.ModuleList(
            self._selector(2 if config.selector_layers == "last" else 1)
            for _ in range(1 if config.selector_layers == "last" else 2)
        )
        self._initialise()

    def forward(self, batch: Batch) -> SpanLogits:
        forms = self.embedding(batch.words, batch.characters)
        if self.training:
            # The residual stream has the precision of the weights, also under autocast.
            forms = forms.to(self.embedding.words.trained.dtype)
        passage = self.input_dropout(forms[batch.passage]) * batch.passage_mask
        question = self.input_dropout(forms[batch.question]) * batch.question_mask
        before = passage
        for layer in (self.reduction, *self.layers):
            before = passage
            question, passage = layer(question, passage, batch)
            if layer.begins:
                batch = batch.unshared()
        outputs = (passage,) if len(self.selectors) == 1 else (before, passage)
        outputs = map(self.last_norm, outputs)
        logits = torch.cat(
            [
                selector(x, batch.passage_mask)
                for selector, x in zip(self.selectors, outputs, strict=True)
            ],
            dim=2,
        )
        real = batch.passage > 0
        return SpanLogits(mask_logits(logits[..., 0], real), mask_logits(logits[..., 1], real))

    def _selector(self, outputs: int) -> nn.Module:
        config = self.config
        if config.selector == "linear":
            return LinearSelector(config.model_dim, outputs)
        return ConvolutionSelector(
            config.model_dim,
            config.selector_hidden,
            outputs,
            config.selector_width,
            config.dropout_selector,
        )

    def _initialise(self) -> None:
        """Glorot normal, uniform in attention outputs and characters, no biases (thesis 5.6.3)."""
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif name.endswith("output.weight") or name.endswith("characters.linears.0.weight"):
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("convolution.0.weight"):
                nn.init.normal_(parameter, std=parameter.shape[2] ** -0.5)
            elif name.endswith("kernel"):
                outputs, heads, width = parameter.shape
                inputs = heads if outputs == heads else 1
                nn.init.normal_(parameter, std=(1 / (inputs * width)) ** 0.5)
            elif name.endswith(".weight") and parameter.ndim > 1 and "table" not in name:
                nn.init.xavier_normal_(parameter)
        if self.config.cross_start == "alike":
            self._start_alike()

    @torch.no_grad()
    def _start_alike(self) -> None:
        """Until cross-attention a word is its embedding, and what is alike there meets."""
        for name, parameter in self.named_parameters():
            if name.endswith(_ADDING):
                parameter.mul_(_LITTLE)
            elif name.endswith("_positions.norm.weight"):
                nn.init.constant_(parameter, _LOW)
        nn.init.orthogonal_(self.reduction.reduction.weight)
        for module in self.modules():
            if isinstance(module, CrossAttention):
                module.start_alike()
