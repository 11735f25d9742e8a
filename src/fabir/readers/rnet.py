"""The ladder from BiDAF to R-Net (Anderson 2019, "Variants of Attention for Neural Question
Answering"): R-Net's attention, gates, self-attention and output, one after another, in BiDAF.
"""

import reprlib
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from fabir.layers.dropout import Dropout
from fabir.layers.fusion import AdditiveAttention, Fusion, Gate, pointer_signs_
from fabir.layers.masking import masked_softmax
from fabir.layers.recurrent import Bidirectional, Cell
from fabir.layers.recurrent_attention import RecurrentAttention
from fabir.readers.bidaf import Bidaf, BidafConfig


@dataclass(frozen=True, kw_only=True)
class RnetConfig(BidafConfig):
    """The last step of the ladder; each field here removes one step.

    The self-attention layer stands where the first of BiDAF's two modelling layers was: the paper
    calls it "a strictly more expressive version of the modeling layer".

    Args:
        attention: BiDAF's "flow", or R-Net's "recurrent" attention (eq. 6)
        gated: gates on the input of R-Net's recurrent layers
        self_attention: R-Net's self-attention layer (eq. 7) after the attention layer
        pointer: BiDAF's "layers", or R-Net's "question" pointer, whose first state is the pooled
            question
    """

    character_dim: int = 20
    cell: Cell = "gru"
    modelling_layers: int = 1
    end: Literal["modelled", "start"] = "modelled"
    attention: Literal["flow", "recurrent"] = "recurrent"
    gated: bool = True
    self_attention: bool = True
    pointer: Literal["layers", "question"] = "question"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cell != "gru":
            raise ValueError(
                f"the ladder to R-Net is made of GRU cells: cell {reprlib.repr(self.cell)} is none"
            )
        if self.gated and self.attention == "flow" and not self.self_attention:
            raise ValueError(
                "nothing is gated: BiDAF's attention without self_attention has no gate"
            )


class Rnet(Bidaf[RnetConfig]):
    """The whole reader: see `Bidaf`."""

    def make_attention(self, config: RnetConfig) -> Fusion:
        two = 2 * config.hidden
        below = (
            super().make_attention(config)
            if config.attention == "flow"
            else RecurrentAttention(two, config.hidden, config.gated)
        )
        if not config.self_attention:
            return below
        return SelfAttentive(below, SelfAttention(below.size, config), two)

    def make_output(self, config: RnetConfig, attended: int, modelled: int) -> nn.Module:
        if config.pointer == "layers":
            return super().make_output(config, attended, modelled)
        return QuestionPointer(modelled, config)


class SelfAttentive(Fusion):
    """An attention layer with a self-attention layer above it, `size` features wide."""

    def __init__(self, below: Fusion, itself: "SelfAttention", size: int) -> None:
        super().__init__()
        self.below, self.itself, self.size = below, itself, size

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        """Shape: see `Fusion`."""
        attended = self.below(passage, question, passage_mask, question_mask)
        return self.itself(attended, passage_mask)


class SelfAttention(nn.Module):
    """Every word attends to all words of the passage, then a GRU both ways (eq. 7)."""

    def __init__(self, dim: int, config: RnetConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.attention = AdditiveAttention(dim, dim, config.hidden)
        self.gate = Gate(2 * dim) if config.gated else nn.Identity()
        self.layer = Bidirectional(2 * dim, config.hidden, "gru")

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Shape: x [batch, passage, dim] -> [batch, passage, 2 * hidden]."""
        x = self.dropout(x)
        gathered = self.attention(x, x, mask)
        return self.layer(self.gate(torch.cat([x, gathered], dim=2)), mask)


class QuestionPointer(nn.Module):
    """R-Net's output: a pointer over two steps. Its first state is the pooled question.

    Args:
        dim: features of the passage that it points into
    """

    def __init__(self, dim: int, config: RnetConfig) -> None:
        super().__init__()
        hidden, question = config.hidden, 2 * config.hidden
        self.dropout = Dropout(config.dropout)
        self.seed = nn.Parameter(torch.randn(question) * question**-0.5)
        self.pooling = AdditiveAttention(question, question, hidden)
        self.pointing = AdditiveAttention(dim, question, hidden)
        self.cell = nn.GRUCell(dim, question)
        pointer_signs_(self.pointing.v)

    def reset_random(self) -> None:
        self.pointing.v.reset_parameters()

    def forward(
        self,
        attended: Tensor,
        modelled: Tensor,
        question: Tensor,
        passage_mask: Tensor,
        question_mask: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Shape: see `fabir.readers.bidaf.RecurrentOutput`; `attended` is not used."""
        seed = self.seed.to(question.dtype).expand(question.shape[0], 1, -1)
        state = self.pooling(question, seed, question_mask)
        modelled = self.dropout(modelled)
        start = self.pointing.logits(modelled, state)
        chosen = torch.bmm(masked_softmax(start, passage_mask), modelled)
        state = self.cell(chosen.squeeze(1), state.squeeze(1))
        end = self.pointing.logits(modelled, state[:, None])
        return start.squeeze(1), end.squeeze(1)
