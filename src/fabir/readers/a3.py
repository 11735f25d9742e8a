"""A3, "attention-aware attention": coattention and self-attention in BiDAF (Chambon and Zammit).

Each row of its Figure 8 is a config: `attention`, `sentinels`, `characters` and `conditional_end`.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from fabir.layers.dropout import Dropout
from fabir.layers.fusion import AttentionFlow, Coattention, Fusion, pointer_signs_
from fabir.layers.masking import mask_bias, masked_softmax
from fabir.layers.recurrent import Bidirectional
from fabir.readers.bidaf import Bidaf, BidafConfig
from fabir.readers.checks import check_fields, check_heads


@dataclass(frozen=True, kw_only=True)
class A3Config(BidafConfig):
    """The best row: CharEmb + TriSelfAtt + CondOutput.

    Args:
        attention: the baseline's "flow"; "coattention" (CoAtt); self-attention below it, "stacked"
            (CoSelfAttStacked), or in place of its second level, "merged" (CoSelfAttMerged);
            self-attention below trilinear attention, "trilinear" (TriSelfAtt)
        sentinels: of coattention: "none", "separate" or one "common" to both texts (CoAttWithSent)
        sentinel_place: "before" the texts or "after" them
        sentinel_spread: standard deviation of the sentinels at initialisation
        keep_passage: of coattention: join a passage word's own vector to the gathered one, as in
            Xiong et al. 2017; A3's equations leave it out
        heads: of self-attention
        attention_start: initialisation of self-attention: "uniform" (PyTorch's),
            "glorot" normal or "orthogonal"
        conditional_end: an answer pointer whose end knows the start (CondOutput)
        pointer_hidden: its hidden size
    """

    character_dim: int = 64
    character_widths: tuple[int, ...] = (2, 3, 4)
    character_margin: int = 1
    character_activation: Literal["tanh", "relu", "none"] = "none"
    word_dim: int = 100
    joined_dim: int = 100
    backwards: Literal["strongest", "through"] = "through"
    end: Literal["modelled", "start"] = "modelled"
    attention: Literal["flow", "coattention", "stacked", "merged", "trilinear"] = "trilinear"
    sentinels: Literal["none", "separate", "common"] = "none"
    sentinel_place: Literal["before", "after"] = "before"
    sentinel_spread: float = 0.1
    keep_passage: bool = False
    heads: int = 4
    attention_start: Literal["uniform", "glorot", "orthogonal"] = "uniform"
    conditional_end: bool = True
    pointer_hidden: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self, sizes=("heads", "pointer_hidden"), positive=("sentinel_spread",))
        check_heads("the 2 * hidden features of a word", 2 * self.hidden, self.heads)
        if self.attention in ("flow", "trilinear"):
            for name in ("sentinels", "keep_passage"):
                if getattr(self, name) != getattr(A3Config, name):
                    raise ValueError(
                        f"{name} is of coattention: attention {self.attention} has none"
                    )


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

    Shape:
        x: [batch, length, dim], its mask [batch, length, 1]
        result: [batch, length, dim]
    """

    def __init__(self, dim: int, heads: int, start: str) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(dim, 3 * dim)
        self.output = nn.Linear(dim, dim)
        draw = {"glorot": nn.init.xavier_normal_, "orthogonal": nn.init.orthogonal_}.get(start)
        if draw:
            for weight in (*self.inputs.weight.chunk(3), self.output.weight):
                draw(weight)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, dim = x.shape
        parts = self.inputs(x).relu().view(batch, length, 3, self.heads, dim // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        bias = mask_bias(mask, query.dtype)[:, None]
        attended = nn.functional.scaled_dot_product_attention(query, key, value, bias)
        return self.output(attended.transpose(1, 2).flatten(2)).relu()


class RecurrentCoattention(Fusion):
    """Coattention and its BiLSTM, with self-attention below or beside it (3.1, 3.2.1).

    Shape:
        passage, question: [batch, length, dim] and masks [batch, length, 1]
        result: [batch, passage, size]
    """

    def __init__(self, dim: int, config: A3Config) -> None:
        super().__init__()
        self.kind = config.attention
        if self.kind != "coattention":
            # Passage and question have weights of their own.
            self.passage = SelfAttention(dim, config.heads, config.attention_start)
            self.question = SelfAttention(dim, config.heads, config.attention_start)
        self.coattention = Coattention(
            dim,
            sentinels=config.sentinels,
            sentinel_place=config.sentinel_place,
            sentinel_spread=config.sentinel_spread,
            project=self.kind != "stacked",
            second=self.kind != "merged",
        )
        self.keep_passage = config.keep_passage
        self.dropout = Dropout(config.dropout)
        self.layer = Bidirectional((2 + self.keep_passage) * dim, dim, config.cell)
        self.size = 2 * dim

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        masks = passage_mask, question_mask
        own = passage
        if self.kind == "stacked":
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
        self.itself = SelfAttention(dim, config.heads, config.attention_start)
        self.flow = AttentionFlow(dim, "through")
        self.size = self.flow.size

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        passage = passage + self.itself(passage, passage_mask)
        question = question + self.itself(question, question_mask)
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
