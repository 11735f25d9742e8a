"""A3, "attention-aware attention": coattention and self-attention in BiDAF (Chambon and Zammit).

Each row of its Figure 8 is a config: `attention`, `sentinels`, `characters` and `conditional_end`.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from fabir.layers.attention import dot_product_attention
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import Activation
from fabir.layers.fusion import AttentionFlow, Coattention, Fusion, pointer_signs_
from fabir.layers.masking import masked_softmax
from fabir.layers.recurrent import Bidirectional
from fabir.readers.bidaf import Bidaf, BidafConfig
from fabir.readers.checks import check_fields, check_heads

_SELF_ATTENDING = ("stacked", "merged", "cross", "trilinear")
_PARTS = (  # a part, the attentions that have it, and its fields
    (
        "coattention",
        ("coattention", "stacked", "merged", "cross"),
        ("sentinels", "keep_passage"),
    ),
    (
        "self-attention",
        _SELF_ATTENDING,
        ("key_dim", "value_dim", "values", "skip", "attention_start"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class A3Config(BidafConfig):
    """The best row: CharEmb + TriSelfAtt + CondOutput.

    Args:
        attention: BiDAF's "flow"; "coattention" (CoAtt); self-attention below it, "stacked"
            (CoSelfAttStacked), or in place of its second level, "merged" (CoSelfAttMerged);
            self-attention below its first level alone, "cross" (Figure 1); self-attention below
            trilinear attention, "trilinear" (TriSelfAtt)
        sentinels: sentinels of coattention: "none", "separate", or one "common" to both texts
            (CoAttWithSent)
        sentinel_place: "before" the texts or "after" them
        sentinel_spread: standard deviation of the sentinels at initialisation
        keep_passage: coattention joins a passage word's own vector to the gathered one, as in
            Xiong et al. 2017; A3's equations leave it out
        heads: heads of self-attention
        key_dim: features of a head's queries and keys; 0 for a word's, divided by `heads`
        value_dim: features of a head's values; 0 for `key_dim`
        values: values of each head: "projected", or the "inputs" of self-attention themselves
        skip: add a skip connection to self-attention; "trilinear" always has one
        attention_start: initialisation of self-attention: "uniform" (PyTorch's),
            "glorot" normal or "orthogonal"
        conditional_end: an answer pointer whose end knows the start (CondOutput)
        pointer_hidden: hidden size of the answer pointer
    """

    character_dim: int = 64
    character_widths: tuple[int, ...] = (2, 3, 4)
    character_margin: int = 1
    character_activation: Activation = "none"
    character_spread: float = 0.1
    word_dim: int = 100
    joined_dim: int = 100
    backwards: Literal["strongest", "through"] = "through"
    end: Literal["modelled", "start"] = "modelled"
    attention: Literal["flow", "coattention", "stacked", "merged", "cross", "trilinear"] = (
        "trilinear"
    )
    sentinels: Literal["none", "separate", "common"] = "none"
    sentinel_place: Literal["before", "after"] = "before"
    sentinel_spread: float = 0.1
    keep_passage: bool = False
    heads: int = 4
    key_dim: int = 0
    value_dim: int = 0
    values: Literal["projected", "inputs"] = "projected"
    skip: bool = False
    attention_start: Literal["uniform", "glorot", "orthogonal"] = "uniform"
    conditional_end: bool = True
    pointer_hidden: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        own = (name for name in ("key_dim", "value_dim") if getattr(self, name))
        sizes = ("heads", "pointer_hidden", *own)
        check_fields(self, sizes=sizes, positive=("sentinel_spread",))
        if self.attention in _SELF_ATTENDING and not self.key_dim:
            check_heads("the 2 * hidden features of a word", 2 * self.hidden, self.heads)
        if self.value_dim and self.values == "inputs":
            raise ValueError(
                'value_dim is of projected values: values "inputs" have a word\'s size'
            )
        for part, kinds, names in _PARTS:
            for name in names:
                if self.attention not in kinds and getattr(self, name) != getattr(A3Config, name):
                    raise ValueError(f"{name} is of {part}: attention {self.attention} has none")


class A3(Bidaf[A3Config]):
    """The whole reader: see `Bidaf`."""

    def make_attention(self, config: A3Config) -> Fusion:
        dim = 2 * config.hidden
        if config.attention == "flow":
            return super().make_attention(config)
        if config.attention == "trilinear":
            return TrilinearSelfAttention(dim, config)
        return RecurrentCoattention(dim, config)

    def make_output(self, config: A3Config, attended: int, modelled: int) -> nn.Module:
        if config.conditional_end:
            return AnswerPointer(attended + modelled, config)
        return super().make_output(config, attended, modelled)


class SelfAttention(nn.Module):
    """Multi-head self-attention with ReLU after every projection (section 3.2.1).

    The paper also tries heads whose sizes together are not that of a word, and the inputs in place
    of the values. Every head then gathers whole inputs.

    Args:
        dim: features of a word
        skip: add the input to the output (section 3.2.2)

    Shape:
        x: [batch, length, dim], its mask [batch, length, 1]
        result: [batch, length, dim]
    """

    def __init__(self, dim: int, config: A3Config, *, skip: bool) -> None:
        super().__init__()
        self.heads, self.skip = config.heads, skip
        projected = config.values == "projected"
        key_dim = config.key_dim or dim // self.heads
        value_dim = (config.value_dim or key_dim) if projected else dim
        self.sizes = [self.heads * key_dim] * 2 + [self.heads * value_dim] * projected
        self.inputs = nn.Linear(dim, sum(self.sizes))
        self.output = nn.Linear(self.heads * value_dim, dim)
        draw = {"glorot": nn.init.xavier_normal_, "orthogonal": nn.init.orthogonal_}.get(
            config.attention_start
        )
        if draw:
            for weight in (*self.inputs.weight.split(self.sizes), self.output.weight):
                draw(weight)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        parts = self.inputs(x).relu().split(self.sizes, dim=2)
        query, key, *values = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts
        )
        value = values[0] if values else x[:, None].expand(-1, self.heads, -1, -1)
        attended = self.output(dot_product_attention(query, key, value, mask)).relu()
        return x + attended if self.skip else attended


class RecurrentCoattention(Fusion):
    """Coattention and its BiLSTM, with self-attention below or beside it (3.1, 3.2.1).

    Figure 1's base ("cross") is the stacked one without the second level: self-attention, then
    `a_i = sum_j softmax_j(c_i . q_j) q_j` of self-attended words.

    Shape:
        passage, question: [batch, length, dim] and masks [batch, length, 1]
        result: [batch, passage, size]
    """

    def __init__(self, dim: int, config: A3Config) -> None:
        super().__init__()
        self.kind = config.attention
        self.stacked = self.kind in ("stacked", "cross")
        if self.kind != "coattention":
            # Passage and question have weights of their own.
            self.passage = SelfAttention(dim, config, skip=config.skip)
            self.question = SelfAttention(dim, config, skip=config.skip)
        self.coattention = Coattention(
            dim,
            sentinels=config.sentinels,
            sentinel_place=config.sentinel_place,
            sentinel_spread=config.sentinel_spread,
            project=not self.stacked,
            second=self.kind in ("coattention", "stacked"),
        )
        self.keep_passage = config.keep_passage
        self.dropout = Dropout(config.dropout)
        levels = 1 if self.kind == "cross" else 2
        self.layer = Bidirectional((levels + self.keep_passage) * dim, dim, config.cell)
        self.size = 2 * dim

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        masks = passage_mask, question_mask
        own = passage
        if self.stacked:
            passage = self.passage(passage, passage_mask)
            question = self.question(question, question_mask)
        both = self.coattention(passage, question, *masks)
        if self.kind == "merged":
            itself = self.passage(passage, passage_mask)
            other = self.question(question, question_mask)
            weights = masked_softmax(torch.bmm(itself, other.transpose(1, 2)), question_mask)
            both = torch.cat([both, torch.bmm(weights, other)], dim=2)
        if self.keep_passage:
            both = torch.cat([own, both], dim=2)
        return self.layer(self.dropout(both), passage_mask)


class TrilinearSelfAttention(Fusion):
    """Self-attention shared by both texts, with a skip connection, below trilinear attention
    both ways (section 3.2.2, Figure 4).

    Shape:
        passage, question: [batch, length, dim] and masks [batch, length, 1]
        result: [batch, passage, size]
    """

    def __init__(self, dim: int, config: A3Config) -> None:
        super().__init__()
        self.itself = SelfAttention(dim, config, skip=True)
        self.flow = AttentionFlow(dim, "through")
        self.size = self.flow.size

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        passage = self.itself(passage, passage_mask)
        question = self.itself(question, question_mask)
        return self.flow(passage, question, passage_mask, question_mask)


class AnswerPointer(nn.Module):
    """Start and end from one pointer: the end knows the start (section 3.4).

    The paper's state is as large as the attended and modelled passage together (1,000 features).
    Here its size is a field.
    """

    def __init__(self, dim: int, config: A3Config) -> None:
        super().__init__()
        hidden = config.pointer_hidden
        self.dropout = Dropout(config.dropout)
        self.words = nn.Linear(dim, hidden, bias=False)
        self.state = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, 1, bias=False)
        self.step = nn.Linear(dim, hidden)
        pointer_signs_(self.v)

    def reset_random(self) -> None:
        self.v.reset_parameters()

    def forward(
        self,
        attended: Tensor,
        modelled: Tensor,
        question: Tensor,
        passage_mask: Tensor,
        question_mask: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Shape: see `fabir.readers.bidaf.RecurrentOutput`; `question` is not used."""
        passage = self.dropout(torch.cat([attended, modelled], dim=2))
        words = self.words(passage)
        state = words.new_zeros(words.shape[0], 1, words.shape[2])
        start = self._point(words, state)
        weights = masked_softmax(start.transpose(1, 2), passage_mask)
        # The paper's RNN cell: its first state is zero, so that the recurrent product is zero too.
        state = self.step(torch.bmm(weights, passage)).tanh()
        return start.squeeze(2), self._point(words, state).squeeze(2)

    def _point(self, words: Tensor, state: Tensor) -> Tensor:
        """Shape: result [batch, passage, 1]."""
        return self.v((words + self.state(state)).tanh())
