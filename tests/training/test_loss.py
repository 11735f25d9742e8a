import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fabir.data.batches import SpanLogits
from fabir.layers.pointer import mask_logits
from fabir.training import loss as module
from fabir.training.loss import no_answer_loss, span_loss


def logits_of(lengths: list[int], seed: int = 0) -> SpanLogits[Tensor]:
    """Random logits for passages of these lengths, padded to the longest and three more."""
    generator = torch.Generator().manual_seed(seed)
    width = max(lengths) + 3
    real = torch.arange(width) < torch.tensor(lengths)[:, None]
    start, end = torch.randn(2, len(lengths), width, generator=generator) * 3
    return SpanLogits(mask_logits(start, real), mask_logits(end, real))


def direct(scores: list[float], truth: int, smoothing: float) -> float:
    """Eq. 5.23 of the thesis, one side of one passage, word by word."""
    log_total = math.log(sum(math.exp(score) for score in scores))
    near = {i: math.exp(-((i - truth) ** 2)) for i in range(len(scores)) if i != truth}
    spread = smoothing if near else 0.0
    loss = -(1 - spread) * (scores[truth] - log_total)
    for i, weight in near.items():
        loss -= spread * weight / sum(near.values()) * (scores[i] - log_total)
    return loss


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("lengths", [[7], [1], [5, 1, 30, 2]])
def test_the_loss_is_that_of_the_formula(lengths: list[int], smoothing: float) -> None:
    logits = logits_of(lengths)
    spans = [[length // 3, length - 1] for length in lengths]
    expected = [
        sum(
            direct(side[row, :length].tolist(), truth, smoothing)
            for side, truth in zip(logits[:2], spans[row], strict=True)
        )
        for row, length in enumerate(lengths)
    ]
    assert span_loss(logits, torch.tensor(spans), smoothing).tolist() == pytest.approx(
        expected, rel=1e-5, abs=1e-6
    )


def test_one_word_is_no_loss_with_and_without_smoothing() -> None:
    for smoothing in (0.0, 0.5):
        assert span_loss(logits_of([1]), torch.tensor([[0, 0]]), smoothing).item() == 0


def test_no_answer_is_no_neighbour_of_the_first_word() -> None:
    """Smoothing stays among words where the first place stands for no answer."""
    for side in logits_of([6]).start, logits_of([9]).end:
        for truth in range(1, 6):
            found = module._targets(side, torch.tensor([truth]), 0.3, 1)[0]
            words = module._targets(side[:, 1:], torch.tensor([truth - 1]), 0.3)[0]
            torch.testing.assert_close(found, torch.cat([torch.zeros(1), words]))
        none = module._targets(side, torch.tensor([0]), 0.3, 1)[0]
        assert none.tolist() == [1.0, *[0.0] * (len(none) - 1)]


def test_the_loss_of_a_question_does_not_depend_on_others() -> None:
    logits = logits_of([9, 9, 9])
    spans = torch.tensor([[0, 3], [2, 2], [8, 8]])
    rows = [slice(row, row + 1) for row in range(3)]
    alone = [
        span_loss(SpanLogits(*(side[row] for side in logits[:2])), spans[row], 0.1) for row in rows
    ]
    torch.testing.assert_close(span_loss(logits, spans, 0.1), torch.cat(alone))
    assert not len(span_loss(SpanLogits(*(side[:0] for side in logits[:2])), spans[:0], 0.1))


def test_padding_has_no_gradient() -> None:
    logits = logits_of([4, 9])
    leaves = [side.clone().requires_grad_() for side in logits[:2]]
    span_loss(SpanLogits(*leaves), torch.tensor([[3, 3], [0, 8]]), 0.1).sum().backward()
    for leaf in leaves:
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()
        assert not leaf.grad[0, 4:].any()
        assert leaf.grad[0, :4].all()
        assert leaf.grad.sum(dim=1).abs().max() < 1e-6


@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(0, 1, exclude_max=True)), min_size=1),
    st.floats(0, 1, exclude_max=True),
)
def test_targets_sum_to_one_and_lie_on_real_words(
    rows: list[tuple[int, float]], smoothing: float
) -> None:
    lengths = [length for length, _ in rows]
    truth = torch.tensor([int(length * place) for length, place in rows])
    scores = logits_of(lengths).start
    targets: Tensor = module._targets(scores, truth, smoothing)
    torch.testing.assert_close(targets.sum(dim=1), torch.ones(len(rows)))
    for row, length in enumerate(lengths):
        assert not targets[row, length:].any()
        expected = 1 - (smoothing if length > 1 else 0)
        assert targets[row, truth[row]].item() == pytest.approx(expected, abs=1e-6)


def test_a_question_without_an_answer_learns_from_the_teacher_alone() -> None:
    logits = logits_of([9, 9])
    spans = torch.tensor([[0, 3], [0, 0]])
    answerable = torch.tensor([True, False])
    first, second = (SpanLogits(*(side[i : i + 1] for side in logits[:2])) for i in range(2))
    alone = span_loss(first, spans[:1], 0.0)
    found = span_loss(logits, spans, 0.0, answerable=answerable)
    torch.testing.assert_close(found, torch.cat([alone, torch.zeros(1)]))
    teacher = torch.rand(2, logits.start.shape[1], 2).softmax(1) * (logits.start > -1e29)[..., None]
    of_second = span_loss(second, spans[1:], 0.0, teacher[1:], 1.0)
    expected = torch.cat([span_loss(first, spans[:1], 0.0, teacher[:1], 0.4), of_second])
    found = span_loss(logits, spans, 0.0, teacher, 0.4, answerable)
    torch.testing.assert_close(found, expected)


def test_the_loss_of_no_answer_is_the_logistic_one() -> None:
    logits = torch.tensor([2.0, -1.0])
    expected = [math.log1p(math.exp(-2.0)), math.log1p(math.exp(-1.0))]
    found = no_answer_loss(logits, torch.tensor([False, True]))
    assert found.tolist() == pytest.approx(expected)
