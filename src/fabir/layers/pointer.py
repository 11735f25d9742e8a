"""From passage vectors to start and end logits: the answer selectors."""

import torch
from torch import Tensor, nn

from fabir.layers.convolution import Convolution
from fabir.layers.dropout import Dropout

PADDING_LOGIT = -1e30


def mask_logits(logits: Tensor, mask: Tensor) -> Tensor:
    """Float32 logits with padding at `PADDING_LOGIT`.

    Shape:
        logits, mask: [batch, passage]; the mask is True on real tokens
    """
    return torch.where(mask, logits.float(), PADDING_LOGIT)


class LinearSelector(nn.Linear):
    """One weight vector for each of `outputs` distributions (thesis eq. 5.19, `P v`)."""

    def __init__(self, dim: int, outputs: int) -> None:
        super().__init__(dim, outputs, bias=False)

    def forward(self, input: Tensor, mask: Tensor | None = None) -> Tensor:
        """Shape: passage [batch, passage, dim] -> [batch, passage, outputs]; ignores the mask."""
        return super().forward(input)


class ConvolutionSelector(nn.Module):
    """Convolutions with a ReLU between, dropout before each (thesis eq. 5.20; FABIR III-G has two).

    Shape:
        passage: [batch, passage, dim]
        mask: [batch, passage, 1], True on real tokens
        result: [batch, passage, outputs]
    """

    def __init__(
        self,
        dim: int,
        hidden: int,
        outputs: int,
        width: int,
        dropout: float,
        convolutions: int = 2,
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.inner = Convolution(dim, hidden, width) if convolutions > 1 else None
        self.between = nn.ModuleList(
            Convolution(hidden, hidden, width) for _ in range(convolutions - 2)
        )
        self.outer = Convolution(hidden if convolutions > 1 else dim, outputs, width)

    def forward(self, passage: Tensor, mask: Tensor) -> Tensor:
        x = passage
        for convolution in (self.inner, *self.between):
            if convolution is not None:
                x = convolution(self.dropout(x * mask)).relu()
        return self.outer(self.dropout(x * mask))
