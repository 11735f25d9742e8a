"""R-Net's attention against the equations, word by word, and its gradient against differences."""

from typing import Any

import pytest
import torch
from torch import Tensor

from fabir.layers.recurrent_attention import AttentiveGru, RecurrentAttention, _Steps
from factories import padded_texts

DIM, HIDDEN = 4, 3
LENGTHS = [(5, 3), (4, 2), (1, 1)]  # of passage and question


def one_way(layer: AttentiveGru, passage: list[Tensor], question: Tensor) -> list[Tensor]:
    """Anderson 2019, eqs. 3 to 6, for one pair of texts without padding."""
    state, states = torch.zeros(HIDDEN), []
    for word in passage:
        together = layer.words(question) + layer.passage(word) + layer.state(state)
        weights = layer.v(together.tanh())[:, 0].softmax(0)
        read = torch.cat([word, weights @ question])
        if layer.gate is not None:
            read = (layer.gate.linear.weight @ read).sigmoid() * read
        state = layer.cell(read[None], state[None])[0]
        states.append(state)
    return states


@pytest.mark.parametrize("gated", [True, False])
def test_values(gated: bool) -> None:
    layer = RecurrentAttention(DIM, HIDDEN, gated)
    passage, question, passage_mask, question_mask = padded_texts(LENGTHS, DIM)
    result = layer(passage, question, passage_mask, question_mask)
    assert result.shape == (len(LENGTHS), passage.shape[1], layer.size)
    for row, (words, asked) in enumerate(LENGTHS):
        read = list(passage[row, :words])
        right = one_way(layer.forwards, read, question[row, :asked])
        left = one_way(layer.backwards, read[::-1], question[row, :asked])[::-1]
        expected = torch.cat([torch.stack(right), torch.stack(left)], dim=1)
        torch.testing.assert_close(result[row, :words], expected, atol=1e-5, rtol=0)
        assert not result[row, words:].any()


@pytest.mark.parametrize("gated", [True, False])
def test_gradient(gated: bool) -> None:
    layer = AttentiveGru(DIM, HIDDEN, gated).double()
    passage, question, _, mask = padded_texts(LENGTHS, DIM, (3, 3))
    names = [name for name, _ in layer.named_parameters()]
    inputs = [passage.double(), question.double(), *(p.detach() for p in layer.parameters())]

    def run(passage: Tensor, question: Tensor, *weights: Tensor) -> Tensor:
        given = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(layer, given, (passage, question, mask))

    assert torch.autograd.gradcheck(run, [x.requires_grad_() for x in inputs])


@pytest.mark.parametrize("hidden", [2 * DIM, 2 * DIM + 1])
def test_alike_words_meet_at_the_start(hidden: int) -> None:
    layer = AttentiveGru(DIM, hidden, gated=False)
    states = torch.randn(20, DIM).tanh()
    together = layer.words(states) + layer.passage(states)[:, None]
    logits = layer.v(together.tanh()).squeeze(2)
    assert (logits.argmax(dim=1) == torch.arange(20)).all()
    torch.testing.assert_close(logits, logits.T)


def test_random_init_is_equation_3_without_a_bias() -> None:
    layer = AttentiveGru(DIM, HIDDEN, gated=False)
    layer.reset_random()
    word, question = torch.randn(DIM), torch.randn(3, DIM)
    together = question @ layer.words.weight.T + layer.passage.weight @ word  # no state yet
    weights = (together.tanh() @ layer.v.weight[0]).softmax(0)
    expected = layer.cell(torch.cat([word, weights @ question])[None])
    found = layer(word[None, None], question[None], torch.ones(1, 3, 1, dtype=torch.bool))
    torch.testing.assert_close(found[0], expected)


def test_steps_are_in_the_weights_precision_under_autocast(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer = RecurrentAttention(DIM, HIDDEN, gated=True)
    passage, question, passage_mask, question_mask = padded_texts(LENGTHS, DIM)
    apply = _Steps.apply

    def seen(*given: Any) -> Any:
        assert {x.dtype for x in given if x.is_floating_point()} == {torch.float32}
        assert not torch.is_autocast_enabled("cpu")
        return apply(*given)

    monkeypatch.setattr(_Steps, "apply", seen)
    with torch.autocast("cpu", torch.bfloat16):
        rough = layer(passage.bfloat16(), question.bfloat16(), passage_mask, question_mask)
    exact = layer(passage, question, passage_mask, question_mask)
    torch.testing.assert_close(rough, exact, atol=0.05, rtol=0)
    for gradient in torch.autograd.grad(rough.square().sum(), list(layer.parameters())):
        assert gradient.isfinite().all()
