"""The head that tells whether a passage has an answer."""

import pytest
import torch
from torch import Tensor

from fabir.layers.no_answer import NoAnswerHead
from fabir.layers.pointer import mask_logits


def inputs(passage: int, question: int, padding: int) -> list[Tensor]:
    """Of one question; padding holds other numbers each time."""
    generator = torch.Generator().manual_seed(3)
    texts = [torch.randn(1, length, 8, generator=generator) for length in (passage, question)]
    logits = torch.randn(2, 1, passage, generator=generator)
    masks = []
    for place, text in enumerate(texts):
        masks.append(torch.arange(text.shape[1] + padding)[None, :, None] < text.shape[1])
        texts[place] = torch.cat([text, torch.randn(1, padding, 8)], dim=1)
    sides = [torch.cat([side, torch.randn(1, padding)], dim=1) for side in logits]
    return [*texts, *masks, *(mask_logits(side, masks[0].squeeze(2)) for side in sides)]


def test_padding_has_no_effect() -> None:
    torch.manual_seed(0)
    head = NoAnswerHead(8, 6)
    found = [head(*inputs(9, 4, padding)) for padding in (0, 1, 7)]
    assert found[0].shape == (1,)
    for other in found[1:]:
        torch.testing.assert_close(other, found[0])


def test_equals_its_formula_word_by_word() -> None:
    torch.manual_seed(0)
    head = NoAnswerHead(8, 6).double().eval()
    passage, question, told, asked, *sides = inputs(9, 4, 0)
    texts = passage[0].double(), question[0].double()
    told_words, asked_words = head.passage(texts[0]), head.question(texts[1])
    chances = [side[0].double().softmax(0) for side in sides]
    spans = [chance @ told_words for chance in chances]
    middle, root = (spans[0] + spans[1]) / 2, 6**0.5
    words = []
    for word in asked_words:
        best = max((word @ other).item() for other in told_words) / root
        covered = torch.tensor([best, (word @ middle).item() / root], dtype=torch.float64)
        words.append(head.word(torch.cat([word, word * middle, covered])).relu())
    highest, mean = torch.stack(words).amax(0), torch.stack(words).mean(0)
    sure = [chance.max().log() for chance in chances]
    sure += [(chance * chance.log()).sum() for chance in chances]
    every = torch.cat([*spans, highest, mean, torch.stack(sure)])
    expected = head.output(head.all(every).relu())
    found = head(passage.double(), question.double(), told, asked, *(x.double() for x in sides))
    torch.testing.assert_close(found, expected.float())


def test_gradients_are_finite_where_probabilities_are_zero() -> None:
    torch.manual_seed(0)
    head = NoAnswerHead(8, 6)
    passage, question, told, asked, start, end = inputs(9, 4, 2)
    start = (start * 1e4).requires_grad_()
    head(passage, question, told, asked, start, end).sum().backward()
    assert start.grad is not None
    assert start.grad.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in head.parameters())


def test_it_learns_that_a_word_of_the_question_is_matched_nowhere() -> None:
    """The spans say nothing here: only coverage can tell."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    words = torch.randn(40, 16, generator=generator)
    head = NoAnswerHead(16, 8)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.01)
    mask, flat = torch.ones(64, 12, 1) > 0, torch.zeros(64, 12)

    def batch() -> tuple[Tensor, Tensor, Tensor]:
        passage = torch.rand(64, 40, generator=generator).argsort(1)
        question = passage[:, :4].clone()
        strange = torch.rand(64, generator=generator) < 0.5
        question[strange, 2] = passage[strange, 20]  # not among the first 12
        return words[passage[:, :12]], words[question], strange

    for _ in range(300):
        passage, question, strange = batch()
        logits = head(passage, question, mask, mask[:, :4], flat, flat)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, strange.float())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    passage, question, strange = batch()
    right = (head(passage, question, mask, mask[:, :4], flat, flat) > 0) == strange
    assert right.float().mean().item() == pytest.approx(1, abs=0.1)
