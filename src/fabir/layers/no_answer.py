"""A head that tells whether a passage has an answer. Spans do not depend on it."""

import torch
from torch import Tensor, nn

from fabir.layers.dropout import Dropout
from fabir.layers.masking import mask_bias

_FLOOR = -30.0  # of logarithms of probabilities


class NoAnswerHead(nn.Module):
    """The logit of a passage having no answer, from three kinds of evidence.

    - How sure the span is: the highest probability of a start and of an end, and their entropies.
    - What the answer is: the mean of the passage's words under the probabilities of start and end.
    - Coverage: how well each word of the question is matched, by its best word in the passage and
      by the answer. The largest value of a feature over the question's words finds a word that is
      matched nowhere.

    Args:
        dim: features of passage and question
        hidden: features inside the head
        dropout: rate on the inputs

    Shape:
        passage: [batch, passage, dim], its mask [batch, passage, 1]
        question: [batch, question, dim], its mask [batch, question, 1]
        start, end: [batch, passage] logits, very low at padding
        result: [batch]
    """

    def __init__(self, dim: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.passage = nn.Linear(dim, hidden)
        self.question = nn.Linear(dim, hidden)
        self.word = nn.Linear(2 * hidden + 2, hidden)
        self.all = nn.Linear(4 * hidden + 4, hidden)
        self.output = nn.Linear(hidden, 1)
        self.start_matching()

    def start_matching(self) -> None:
        """Matching initialisation: both texts have the same map, so that like words match."""
        nn.init.orthogonal_(self.passage.weight)
        with torch.no_grad():
            self.question.weight.copy_(self.passage.weight)

    def forward(
        self,
        passage: Tensor,
        question: Tensor,
        passage_mask: Tensor,
        question_mask: Tensor,
        start: Tensor,
        end: Tensor,
    ) -> Tensor:
        told = self.passage(self.dropout(passage))  # [batch, passage, hidden]
        asked = self.question(self.dropout(question))  # [batch, question, hidden]
        log = torch.stack([start, end], dim=1).log_softmax(dim=2)  # [batch, 2, passage]
        chances, log = log.exp(), log.clamp(min=_FLOOR)
        span = torch.bmm(chances.to(told.dtype), told)  # [batch, 2, hidden]
        middle = span.mean(dim=1, keepdim=True)  # [batch, 1, hidden]
        scale = told.shape[2] ** -0.5
        matches = torch.bmm(asked, told.transpose(1, 2)) * scale  # [batch, question, passage]
        best = (matches + mask_bias(passage_mask, matches.dtype)).amax(dim=2, keepdim=True)
        near = (asked * middle).sum(dim=2, keepdim=True) * scale
        words = self.word(torch.cat([asked, asked * middle, best, near], dim=2)).relu()
        words = words * question_mask  # not negative, so the highest is of a real word or zero
        highest = words.amax(dim=1)
        mean = words.sum(dim=1) / question_mask.sum(dim=1).clamp(min=1)
        sure = torch.cat([log.amax(dim=2), (chances * log).sum(dim=2)], dim=1)  # [batch, 4]
        found = [span.flatten(1), highest, mean, sure.to(span.dtype)]
        return self.output(self.all(torch.cat(found, dim=1)).relu()).squeeze(1).float()
