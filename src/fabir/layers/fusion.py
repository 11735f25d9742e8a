"""Similarities between passage and question words, and the attention built on them.

Masks are [batch, length, 1], True on real tokens. Here a map is [batch, passage, question].
"""

from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from fabir.layers.dropout import Dropout
from fabir.layers.masking import mask_bias, masked_softmax

_CELLS = 1 << 19  # numbers that one part of an additive attention has at once
_CELLS_OF_GPU = 1 << 23
_STEEP, _SHARE = (
    3.0,
    0.7,
)  # matching initialisation of additive attention, for states of recurrent cells


Init = Literal["matching", "random"]  # of attention between texts, and of pointers


@runtime_checkable
class StartsMatching(Protocol):
    """A module with matching initialisation: at the start like words attend to each other, or a
    pointer tells words apart."""

    def reset_random(self) -> None:
        """Draw these weights at random, as the papers do."""
        ...


def initialise_(network: nn.Module, init: Init) -> None:
    """Keep the matching initialisation of a network's new modules, or reset them to random."""
    if init == "random":
        for module in network.modules():
            if isinstance(module, StartsMatching):
                module.reset_random()


class Trilinear(nn.Module):
    """`w . [p; q; p * q]` for every pair of words (Seo et al. 2017 eq. 1, Yu et al. 2018).

    There is no bias: it would be the same for all pairs, and a softmax over them would cancel it.
    With matching initialisation all weights of `p * q` are equal, so that like words attend to each
    other. With random signs a reader needs its first epoch to learn this
    (docs/results/matching-initialisation.md).

    Args:
        dim: features of both texts
        start: the first weights of `p * q`: 1 for features that recurrent cells keep between -1
            and 1, less for others

    Shape:
        passage: [batch, passage, dim]
        question: [batch, question, dim]
        result: [batch, passage, question]
    """

    def __init__(self, dim: int, start: float = 1.0) -> None:
        super().__init__()
        self.passage = nn.Linear(dim, 1, bias=False)
        self.question = nn.Linear(dim, 1, bias=False)
        self.both = nn.Parameter(torch.full((dim,), start))

    def reset_random(self) -> None:
        nn.init.normal_(self.both, std=len(self.both) ** -0.5)

    def forward(self, passage: Tensor, question: Tensor) -> Tensor:
        product = torch.bmm(passage * self.both.to(passage.dtype), question.transpose(1, 2))
        return product + self.passage(passage) + self.question(question).transpose(1, 2)


def over_passage(logits: Tensor, passage_mask: Tensor) -> Tensor:
    """Each question word's weights over the passage: softmax along the columns of a map."""
    return (logits + mask_bias(passage_mask, logits.dtype).transpose(1, 2)).softmax(dim=1)


class Fusion(nn.Module):
    """Combines passage and question; a passage word then has `size` features.

    Shape:
        passage, question: [batch, length, dim] and masks [batch, length, 1]
        result: [batch, passage, size]
    """

    size: int


class AttentionFlow(Fusion):
    """Attention both ways on trilinear similarities, joined as `[p; a; p * a; p * b]`.

    `a` is the vector that a passage word gathers from the question. For "strongest", `b` is one
    vector: the passage words with the strongest match (Seo et al. 2017, eqs. 2 to 4). For
    "through", each word gathers `b` from the passage through the question (Yu et al. 2018, after
    Xiong et al.).

    Args:
        dim: features of both texts
        backwards: how `b` is made
        dropout: rate on the inputs of the similarities
        start: see `Trilinear`

    Shape:
        passage: [batch, passage, dim]
        question: [batch, question, dim]
        result: [batch, passage, 4 * dim]
    """

    def __init__(
        self,
        dim: int,
        backwards: Literal["strongest", "through"],
        dropout: float = 0.0,
        start: float = 1.0,
    ) -> None:
        super().__init__()
        self.size = 4 * dim
        self.similarity = Trilinear(dim, start)
        self.backwards = backwards
        self.dropout = Dropout(dropout)

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        logits = self.similarity(self.dropout(passage), self.dropout(question))
        forth = masked_softmax(logits, question_mask)
        if self.backwards == "strongest":
            bias = mask_bias(question_mask, logits.dtype)
            strongest = (logits + bias).amax(dim=2, keepdim=True)
            back = over_passage(strongest, passage_mask)
            gathered = torch.bmm(back.transpose(1, 2), passage)
        else:
            back = over_passage(logits, passage_mask)
            gathered = torch.bmm(forth, torch.bmm(back.transpose(1, 2), passage))
        return joined(passage, torch.bmm(forth, question), gathered)


def joined(passage: Tensor, forth: Tensor, back: Tensor) -> Tensor:
    """`[p; a; p * a; p * b]` of vectors a = `forth` and b = `back` (b may be one for all words)."""
    return torch.cat([passage, forth, passage * forth, passage * back], dim=2)


class Coattention(nn.Module):
    """Coattention (A3 section 3.1, after Xiong et al. 2017), before its recurrent encoder.

    Args:
        dim: features of both texts
        sentinels: learned words beside the texts, which may be attended to instead of all others:
            "none", "separate" ones for both texts, or a "common" one
        sentinel_place: the sentinels stand "before" the texts or "after" them
        sentinel_spread: standard deviation of the sentinels at the start
        project: apply `tanh(W q + b)` to the question first. With matching initialisation W starts
            as the identity
        second: add the second level; without it the passage has no sentinel

    Shape:
        passage: [batch, passage, dim]
        question: [batch, question, dim]
        result: [batch, passage, 2 * dim], the second-level and the first-level outputs, or
            [batch, passage, dim], the first-level outputs alone
    """

    def __init__(
        self,
        dim: int,
        *,
        sentinels: Literal["none", "separate", "common"] = "none",
        sentinel_place: Literal["before", "after"] = "before",
        sentinel_spread: float = 0.1,
        project: bool = True,
        second: bool = True,
    ) -> None:
        super().__init__()
        self.projection = nn.Linear(dim, dim) if project else None
        if self.projection is not None:
            nn.init.eye_(self.projection.weight)
            nn.init.zeros_(self.projection.bias)
        self.place = sentinel_place
        self.second = second
        count = {"none": 0, "separate": 1 + second, "common": 1}[sentinels]
        self.sentinels = nn.Parameter(torch.randn(count, dim) * sentinel_spread) if count else None

    def reset_random(self) -> None:
        if self.projection is not None:
            self.projection.reset_parameters()

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        if self.projection is not None:
            question = self.projection(question).tanh()
        if self.sentinels is not None:
            if self.second:
                passage, passage_mask = self._beside(self.sentinels[0], passage, passage_mask)
            question, question_mask = self._beside(self.sentinels[-1], question, question_mask)
        logits = torch.bmm(passage, question.transpose(1, 2))
        gathered = question
        if self.second:
            back = torch.bmm(over_passage(logits, passage_mask).transpose(1, 2), passage)
            gathered = torch.cat([back, question], dim=2)
            if self.sentinels is not None:
                logits = logits[:, 1:] if self.place == "before" else logits[:, :-1]
        return torch.bmm(masked_softmax(logits, question_mask), gathered)

    def _beside(self, sentinel: Tensor, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The text with its sentinel, one place longer. "after" puts it behind the padding."""
        one = sentinel.to(x.dtype).expand(x.shape[0], 1, -1)
        real = mask.new_ones(x.shape[0], 1, 1)
        pair = [(one, real), (x, mask)] if self.place == "before" else [(x, mask), (one, real)]
        return torch.cat([p[0] for p in pair], dim=1), torch.cat([p[1] for p in pair], dim=1)


class AdditiveAttention(nn.Module):
    """`v . tanh(W_s s + W_x x)` of words s with vectors x (the ladder's eqs. 3 to 5).

    Args:
        words: features of the words attended to
        query: features of the vectors that attend
        hidden: size of the common space

    Shape:
        words: [batch, words, features]
        query: [batch, queries, features]
        mask: [batch, words, 1]
    """

    def __init__(self, words: int, query: int, hidden: int) -> None:
        super().__init__()
        self.words = nn.Linear(words, hidden, bias=False)
        self.query = nn.Linear(query, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)

    def logits(self, words: Tensor, query: Tensor) -> Tensor:
        """Shape: result [batch, queries, words], in the weights' precision, also under autocast."""
        v = self.v.weight[0]
        mapped = self.words(words).to(v), self.query(query).to(v)
        with torch.autocast(v.device.type, enabled=False):
            return _AdditiveLogits.apply(*mapped, v)  # pyright: ignore[reportReturnType]

    def forward(self, words: Tensor, query: Tensor, mask: Tensor) -> Tensor:
        """The vector that each query gathers: [batch, queries, features of the words]."""
        return torch.bmm(masked_softmax(self.logits(words, query), mask), words)


class _AdditiveLogits(torch.autograd.Function):
    """`v . tanh(word + query)` of all pairs, and its gradient.

    The tanh has the shape [batch, queries, words, hidden]. So queries are taken in parts that fit
    in a processor's cache, and the gradient computes the tanh again.

    Shape:
        words: [batch, words, hidden]
        queries: [batch, queries, hidden]
        v: [hidden]
        result: [batch, queries, words]
    """

    @staticmethod
    def forward(ctx: Any, words: Tensor, queries: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(words, queries, v)
        parts = queries.split(_at_a_time(words), dim=1)
        return torch.cat([_together(words, part) @ v for part in parts], dim=1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        words, queries, v = ctx.saved_tensors
        to_words, to_queries, to_v = torch.zeros_like(words), [], torch.zeros_like(v)
        size = _at_a_time(words)
        parts = zip(queries.split(size, dim=1), gradients[0].split(size, dim=1), strict=True)
        for part, gradient in parts:
            together = _together(words, part)
            to_v.addmv_(together.flatten(0, 2).T, gradient.flatten())
            slope = together.square_().neg_().add_(1).mul_(gradient[..., None])
            to_words += slope.sum(dim=1)
            to_queries.append(slope.sum(dim=2))
        return to_words * v, torch.cat(to_queries, dim=1) * v, to_v


def _together(words: Tensor, queries: Tensor) -> Tensor:
    return fast_tanh_(words[:, None] + queries[:, :, None])


def fast_tanh_(x: Tensor) -> Tensor:
    """`x.tanh_()`, on a CPU as `2 sigmoid(2 x) - 1`: there torch's sigmoid (2.13) takes a sixth of
    the time of its tanh. They differ by a rounding of 1."""
    return x.tanh_() if x.is_cuda else x.mul_(2).sigmoid_().mul_(2).sub_(1)


def _at_a_time(words: Tensor) -> int:
    """How many queries of each text an additive attention takes at once."""
    cells = _CELLS if words.device.type == "cpu" else _CELLS_OF_GPU
    return max(1, cells // max(1, words.numel()))


@torch.no_grad()
def matching_additive_(words: nn.Linear, query: nn.Linear, v: nn.Linear) -> None:
    """Matching initialisation of additive attention; `query` has a bias.

    Both maps are the same with opposite signs, so that each hidden feature starts as a difference
    z. Hidden features are paired: `tanh(z + 1) - tanh(z - 1)` is largest where z is zero. Random
    maps compare nothing at first, and learning to compare takes epochs
    (docs/results/matching-initialisation.md).
    """
    pairs = v.in_features // 2
    nn.init.zeros_(v.weight)
    nn.init.orthogonal_(query.weight[:pairs], _STEEP)
    query.weight[pairs : 2 * pairs] = query.weight[:pairs]
    words.weight.copy_(-query.weight)
    query.bias.copy_(torch.ones_like(query.bias))
    query.bias[pairs:] = -1
    v.weight[:, :pairs], v.weight[:, pairs : 2 * pairs] = _SHARE, -_SHARE


@torch.no_grad()
def pointer_signs_(v: nn.Linear) -> None:
    """Start the `v` of a pointer's `v . tanh(...)` as 1 and -1.

    With smaller weights, large logits need a saturated tanh. Start and end differ only in the
    pointer's state, which has no effect on a saturated tanh.
    """
    v.weight.copy_(torch.randn_like(v.weight).sign())


class Gate(nn.Module):
    """`sigmoid(W x) * x` (the ladder's section 3, R-Net's gated attention).

    Shape: x [..., dim] -> [..., dim]
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).sigmoid() * x
