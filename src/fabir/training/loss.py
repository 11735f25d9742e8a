"""The negative log-likelihood of start and end (FABIR eq. 18), with the thesis' label smoothing."""

import torch
from torch import Tensor

from fabir.layers.pointer import SpanLogits


def span_loss(logits: SpanLogits, spans: Tensor, smoothing: float) -> Tensor:
    """Start and end loss added, summed over the batch.

    Args:
        spans: [batch, 2] first and last token of the answer
        smoothing: probability spread around the true token as exp(-distance^2)
    """
    losses = (
        -(_targets(scores, spans[:, side], smoothing) * scores.log_softmax(dim=1)).sum()
        for side, scores in enumerate(logits)
    )
    return sum(losses, torch.zeros((), device=spans.device))


def _targets(scores: Tensor, truth: Tensor, smoothing: float) -> Tensor:
    """Shape: scores [batch, passage], truth [batch] -> [batch, passage], rows that sum to one."""
    positions = torch.arange(scores.shape[1], device=scores.device)
    distance = (positions - truth[:, None]).float()
    exact = (distance == 0).float()
    if not smoothing:
        return exact
    near = torch.exp(-distance.square()) * (1 - exact) * (scores > -1e29)
    total = near.sum(dim=1, keepdim=True)
    spread = torch.where(total > 0, smoothing, 0.0)  # a passage of one token has no neighbours
    return (1 - spread) * exact + spread * near / total.clamp(min=1e-9)
