"""CrossConv: convolutions and cross-attention, made for speed on a CPU.

The network of the bundled readers. It is FABIR's (Correia et al. 2018) with self-attention in the
first layer alone, which reads a passage without its questions. Each layer after it is a
convolution over words, one-headed cross-attention to the question, and a feed-forward sublayer.
Norms come before sublayers (pre-norm, Xiong et al. 2020). Passage words that stand in the question
too are marked (exact match, Chen et al. 2017).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fabir.data.batches import Batch, SpanLogits
from fabir.layers.attention import CrossAttention
from fabir.layers.convolution import DepthwiseConvolution, SeparableConvolution
from fabir.layers.decoupled import DecoupledAttention
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import CharacterConvolution, Embedding, VocabularySizes
from fabir.layers.feedforward import FeedForward, Join
from fabir.layers.initialisation import glorot_
from fabir.layers.no_answer import NoAnswerHead
from fabir.layers.pointer import ConvolutionSelector, mask_logits
from fabir.layers.position import trigonometric_positions
from fabir.readers.checks import check_even, check_fields
from fabir.readers.network import Network
from fabir.text.vocabulary import UNKNOWN

_LITTLE = 0.01  # initial scale of a sublayer's output; with zero its weights would have no gradient
_LOW = 0.3  # initial scale of positions; words have scale 1


@dataclass(frozen=True, kw_only=True)
class CrossConvConfig:
    """Sizes, by default those of `fast` without its head; widths are odd.

    ValueError names a wrong one.

    Args:
        character_dim: features of a character
        character_filters: filters of the character convolution; each is a feature of a word
        character_width: characters that a filter sees
        highway_layers: highway layers after word and characters are joined
        model_dim: features of a word in the layers, even
        feed_forward: hidden size in the layers; the encoder's is scaled with its features
        layers: layers after the encoder
        encoder_width: words that the encoder's first convolution sees
        width: words that its last one, and those of the layers, see
        attention_width: keys that the convolution within attention sees (FABIR eq. 12b)
        selector_hidden: filters of the selector's first convolution
        selector_width: words that the selector's convolutions see
        no_answer_hidden: features of the head that tells whether there is an answer; 0 for none
        dropout_input: dropout rate on embeddings and positions
        dropout_sublayer: dropout rate on the output of every sublayer
        dropout_attention: dropout rate on attention weights
        dropout_selector: dropout rate before each selector convolution
        dropout_characters: dropout rate on character embeddings
    """

    character_dim: int = 8
    character_filters: int = 46
    character_width: int = 5
    highway_layers: int = 2
    model_dim: int = 80
    feed_forward: int = 160
    layers: int = 4
    encoder_width: int = 7
    width: int = 15
    attention_width: int = 5
    selector_hidden: int = 32
    selector_width: int = 3
    no_answer_hidden: int = 0
    dropout_input: float = 0.1
    dropout_sublayer: float = 0.05
    dropout_attention: float = 0.05
    dropout_selector: float = 0.1
    dropout_characters: float = 0.05

    def __post_init__(self) -> None:
        dropouts = "input", "sublayer", "attention", "selector", "characters"
        check_fields(
            self,
            sizes=(
                *("character_dim", "character_filters", "character_width", "selector_hidden"),
                *("model_dim", "feed_forward"),
            ),
            counts=("highway_layers", "layers", "no_answer_hidden"),
            odd=("encoder_width", "width", "attention_width", "selector_width"),
            rates=[f"dropout_{place}" for place in dropouts],
        )
        check_even("model_dim", self.model_dim)
        if not self.layers:
            raise ValueError("layers must be at least 1: the encoder alone never sees the question")


class CrossConv(Network):
    """The whole reader."""

    def __init__(self, config: CrossConvConfig, sizes: VocabularySizes) -> None:
        super().__init__()
        self.embedding = Embedding(
            sizes,
            characters=CharacterConvolution(
                sizes.characters,
                config.character_dim,
                [config.character_filters],
                [config.character_width],
                dropout=config.dropout_characters,
            ),
            word_dim=sizes.word_dim,
            highway_layers=config.highway_layers,
        )
        dim = config.model_dim
        self.encoder = Encoder(self.embedding.dim, config)
        self.match = nn.Linear(1, dim, bias=False)
        between = (
            Convolved(dim, config.width, config.dropout_sublayer) for _ in range(config.layers - 1)
        )
        self.between = nn.ModuleList(between)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(dim)
        self.selector = ConvolutionSelector(
            dim, config.selector_hidden, 2, config.selector_width, config.dropout_selector
        )
        hidden = config.no_answer_hidden
        self.no_answer = NoAnswerHead(dim, hidden, config.dropout_selector) if hidden else None
        self._initialise()

    @torch.no_grad()
    def _initialise(self) -> None:
        """Matching initialisation: words stay close to their embeddings until cross-attention.
        There like words attend to each other."""
        glorot_(self)
        for module in self.modules():
            if isinstance(module, DepthwiseConvolution):
                nn.init.normal_(module.weight, std=module.weight.shape[2] ** -0.5)
            elif isinstance(module, SeparableConvolution | FeedForward):
                list(module.parameters())[-2].mul_(_LITTLE)  # the last map's weights
            elif isinstance(module, DecoupledAttention):
                module.words.output.weight.mul_(_LITTLE)
            elif isinstance(module, CrossAttention | NoAnswerHead):
                module.start_matching()
        for own in (self.encoder.question, self.encoder.passage):
            nn.init.constant_(own.positions.norm.weight, _LOW)
        nn.init.orthogonal_(self.encoder.reduction.weight)

    @property
    def tells_no_answer(self) -> bool:
        return self.no_answer is not None

    def embed(self, rows: Tensor, characters: Tensor) -> Tensor:
        vectors = self.embedding(rows, characters)
        # As in FABIR: the residual stream keeps the precision of the weights in training.
        return vectors.to(self.embedding.words.trained.dtype) if self.training else vectors

    def encode(self, words: Tensor, mask: Tensor) -> Tensor:
        return self.encoder(words, mask, self.encoder.passage)  # [passages, passage, dim]

    def answer(self, encoded: Tensor, question: Tensor, batch: Batch) -> SpanLogits[Tensor]:
        asked, told = batch.question_mask, batch.for_questions(batch.passage_mask)
        question = self.encoder(question, asked, self.encoder.question)  # [batch, question, dim]
        matches = exact_match(batch, encoded.dtype)[..., None]  # [batch, passage, 1]
        passage = batch.for_questions(encoded) + self.match(matches)  # [batch, passage, dim]
        question, passage = self.layers[0](question, passage, asked, told)
        for convolve, layer in zip(self.between, list(self.layers)[1:], strict=True):
            question, passage = convolve(question, asked), convolve(passage, told)
            question, passage = layer(question, passage, asked, told)
        passage, real = self.norm(passage), told.squeeze(2)
        start, end = self.selector(passage, told).unbind(dim=2)  # [batch, passage] each
        start, end = mask_logits(start, real), mask_logits(end, real)
        if self.no_answer is None:
            return SpanLogits(start, end)
        return SpanLogits(start, end, self.no_answer(passage, question, told, asked, start, end))


class Residual(nn.Module):
    """`x + dropout(sublayer(norm(x), ...))` (pre-norm). Shape: x and result [..., dim]"""

    def __init__(self, sublayer: nn.Module, dim: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.sublayer = sublayer
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, *others: Tensor) -> Tensor:
        return x + self.dropout(self.sublayer(self.norm(x), *others))


class Convolved(nn.Module):
    """A residual sublayer too, a separable convolution over words that are real.

    Shape: x and result [batch, length, dim], the mask [batch, length, 1]
    """

    def __init__(self, dim: int, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.sublayer = SeparableConvolution(dim, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return x + self.dropout(self.sublayer(self.norm(x) * mask))


class Own(nn.Module):
    """What passage and question each have for themselves in the encoder."""

    def __init__(self, dim: int, position_dim: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.positions = Join(position_dim, dropout)
        self.feed = Residual(FeedForward(dim, hidden), dim, dropout)


class Encoder(nn.Module):
    """Reads one text alone: convolution, self-attention with positions apart (FABIR Figure 2),
    feed-forward; then fewer features, with positions added, and another convolution.

    Dropout keeps the square of what it keeps in the layers (FABIR thesis eq. 5.26).

    Shape:
        words: [batch, length, inputs], their mask [batch, length, 1]
        result: [batch, length, model_dim]
    """

    def __init__(self, inputs: int, config: CrossConvConfig) -> None:
        super().__init__()
        check_even("the features of a word (from its vector and character_filters)", inputs)
        rates = config.dropout_input, config.dropout_sublayer, config.dropout_attention
        at_input, sublayer, attention = (1 - (1 - rate) ** 2 for rate in rates)
        dim = config.model_dim
        own = inputs, dim, max(1, config.feed_forward * inputs // dim), sublayer
        self.input_dropout, self.dropout = Dropout(at_input), Dropout(sublayer)
        self.convolution = Convolved(inputs, config.encoder_width, sublayer)
        self.attention = DecoupledAttention(inputs, dim, 1, config.attention_width, attention)
        self.question, self.passage = Own(*own), Own(*own)
        self.norm = nn.LayerNorm(inputs)
        self.reduction = nn.Linear(inputs, dim)
        self.last_convolution = Convolved(dim, config.width, config.dropout_sublayer)

    def forward(self, words: Tensor, mask: Tensor, own: Own) -> Tensor:
        words = self.convolution(self.input_dropout(words), mask)
        wide = self._positions(words, words.shape[2])
        narrow = self._positions(words, self.reduction.out_features)
        normed = own.norm(words)
        attended, moved = self.attention(normed, normed + wide, narrow, mask)
        words = own.feed(words + self.dropout(attended))
        reduced = self.dropout(self.reduction(self.norm(words)))
        return self.last_convolution(reduced + own.positions(narrow, moved), mask)

    def _positions(self, words: Tensor, dim: int) -> Tensor:
        """[1, length, dim]; [batch, length, dim] in training, where each text has its dropout."""
        positions = trigonometric_positions(words.shape[1], dim, device=words.device)
        texts = words.shape[0] if self.training else 1
        return self.input_dropout(positions.to(words.dtype).expand(texts, -1, -1))


class Layer(nn.Module):
    """The passage gathers from the question by cross-attention. Each text has a feed-forward
    sublayer of its own.

    Shape:
        question, passage: [batch, length, dim] and masks [batch, length, 1]
        result: both again
    """

    def __init__(self, config: CrossConvConfig) -> None:
        super().__init__()
        dim, hidden, dropout = config.model_dim, config.feed_forward, config.dropout_sublayer
        attention = CrossAttention(
            dim,
            1,
            width=config.attention_width,
            over="queries",
            capped=True,
            dropout=config.dropout_attention,
        )
        self.question = Residual(FeedForward(dim, hidden), dim, dropout)
        self.keys = nn.LayerNorm(dim)
        self.cross = Residual(attention, dim, dropout)
        self.passage = Residual(FeedForward(dim, hidden), dim, dropout)

    def forward(
        self, question: Tensor, passage: Tensor, question_mask: Tensor, passage_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        question = self.question(question)
        passage = self.cross(passage, self.keys(question), passage_mask, question_mask)
        return question, self.passage(passage)


def exact_match(batch: Batch, dtype: torch.dtype) -> Tensor:
    """1 where a passage word is in the question too: the same row, or if unknown the same type.

    Shape: result [batch, passage], anything at padding
    """
    types = torch.arange(batch.words.shape[0], device=batch.words.device)
    words = torch.where(batch.words <= UNKNOWN, -types, batch.words)  # padding is type 0
    passage = batch.for_questions(words.take(batch.passage))
    question = words.take(batch.question)
    return (passage[:, :, None] == question[:, None, :]).to(dtype).amax(dim=2)
