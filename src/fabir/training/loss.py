"""The negative log-likelihood of start and end (FABIR eq. 18), with the thesis' label smoothing
and with a teacher's probabilities beside the truth; and that of having no answer."""

import torch
import torch.nn.functional as F
from torch import Tensor

from fabir.data.batches import SpanLogits


def span_loss(
    logits: SpanLogits,
    spans: Tensor,
    smoothing: float,
    teacher: Tensor | None = None,
    distillation_weight: Tensor | float = 0.0,
    answerable: Tensor | None = None,
    *,
    before: int = 0,
) -> Tensor:
    """[batch] the loss of start and end added, of each question.

    Args:
        spans: [batch, 2] first and last token of the answer
        smoothing: probability spread around the true token as exp(-distance^2)
        teacher: [batch, passage, 2] a teacher's probabilities of start and end, if there is one
        distillation_weight: share of the targets that is the teacher's, of all questions or
            [batch] of each
        answerable: [batch] whether a question has an answer; all have one if not given. A question
            without one learns from the teacher alone, if at all
        before: places before the passage, which stand for no answer and are no word's neighbours
    """
    total = torch.zeros(len(spans), device=spans.device)
    weight = torch.as_tensor(distillation_weight, device=spans.device).expand(len(spans))[:, None]
    if answerable is not None:
        weight = torch.where(answerable[:, None], weight, 1.0)
    for side, scores in enumerate((logits.start, logits.end)):
        targets = _targets(scores, spans[:, side], smoothing, before)
        if teacher is not None:
            targets = torch.lerp(targets, teacher[:, :, side], weight)
        elif answerable is not None:
            targets = targets * answerable[:, None]
        total = total - (targets * scores.log_softmax(dim=1)).sum(dim=1)
    return total


def no_answer_loss(logits: Tensor, answerable: Tensor) -> Tensor:
    """[batch] the negative log-likelihood of having no answer, of each question.

    Args:
        logits: [batch] of having none
        answerable: [batch] whether there is one
    """
    return F.binary_cross_entropy_with_logits(logits, (~answerable).float(), reduction="none")


def _targets(scores: Tensor, truth: Tensor, smoothing: float, before: int = 0) -> Tensor:
    """Shape: scores [batch, passage], truth [batch] -> [batch, passage], rows that sum to one."""
    positions = torch.arange(scores.shape[1], device=scores.device)
    distance = (positions - truth[:, None]).float()
    exact = (distance == 0).float()
    if not smoothing:
        return exact
    words = (scores > -1e29) & (positions >= before) & (truth[:, None] >= before)
    near = torch.exp(-distance.square()) * (1 - exact) * words
    total = near.sum(dim=1, keepdim=True)
    spread = torch.where(total > 0, smoothing, 0.0)  # one word, or no answer, has no neighbours
    return (1 - spread) * exact + spread * near / total.clamp(min=1e-9)
