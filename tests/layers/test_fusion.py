"""Attention between passage and question against loops over positions."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from exporting import assert_exports
from fabir.layers import fusion
from fabir.layers.fusion import AdditiveAttention, AttentionFlow, Coattention, Gate
from factories import padded_texts

LENGTHS = [(5, 3), (4, 2), (1, 1)]  # of passage and question
DIM = 6


@pytest.fixture
def texts() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Padded passages and questions with noise at the padding, and their masks."""
    return padded_texts(LENGTHS, DIM)


def weighted(weights: Tensor, vectors: list[Tensor]) -> Tensor:
    return sum((w * v for w, v in zip(weights, vectors, strict=True)), torch.zeros(DIM))


@pytest.mark.parametrize("backwards", ["strongest", "through"])
def test_attention_flow(texts: tuple[Tensor, ...], backwards: str) -> None:
    layer = AttentionFlow(DIM, backwards)  # pyright: ignore[reportArgumentType]
    similar = layer.similarity
    result = layer(*texts)
    assert result.shape == (len(LENGTHS), texts[0].shape[1], layer.size)
    w = torch.cat([similar.passage.weight[0], similar.question.weight[0], similar.both])
    for row, (words, asked) in enumerate(LENGTHS):
        passage, question = list(texts[0][row, :words]), list(texts[1][row, :asked])
        logits = torch.stack(
            [torch.stack([w @ torch.cat([p, q, p * q]) for q in question]) for p in passage]
        )
        forth = [weighted(line.softmax(0), question) for line in logits]
        if backwards == "strongest":
            back = [weighted(logits.amax(1).softmax(0), passage)] * words
        else:
            read = [weighted(logits[:, j].softmax(0), passage) for j in range(asked)]
            back = [weighted(line.softmax(0), read) for line in logits]
        expected = [
            torch.cat([p, a, p * a, p * b]) for p, a, b in zip(passage, forth, back, strict=True)
        ]
        torch.testing.assert_close(result[row, :words], torch.stack(expected), atol=1e-5, rtol=0)


@pytest.mark.parametrize("sentinels", ["none", "separate", "common"])
@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("project", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_coattention(
    texts: tuple[Tensor, ...], sentinels: str, place: str, project: bool, second: bool
) -> None:
    layer = Coattention(
        DIM,
        sentinels=sentinels,  # pyright: ignore[reportArgumentType]
        sentinel_place=place,  # pyright: ignore[reportArgumentType]
        project=project,
        second=second,
    )
    result = layer(*texts)
    assert result.shape == (len(LENGTHS), texts[0].shape[1], (1 + second) * DIM)
    for row, (words, asked) in enumerate(LENGTHS):
        passage, question = list(texts[0][row, :words]), list(texts[1][row, :asked])
        if layer.projection is not None:
            question = [layer.projection(q).tanh() for q in question]
        own = passage
        if layer.sentinels is not None:
            assert len(layer.sentinels) == (1 if sentinels == "common" else 1 + second)
            passage = [*passage, layer.sentinels[0]]
            question = [*question, layer.sentinels[-1]]
        read = [
            weighted(torch.stack([p @ q for p in passage]).softmax(0), passage) for q in question
        ]
        for position, p in enumerate(own):
            weights = torch.stack([p @ q for q in question]).softmax(0)
            levels = [weighted(weights, read)] * second + [weighted(weights, question)]
            expected = torch.cat(levels)
            torch.testing.assert_close(result[row, position], expected, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_coattention_exports_for_every_length(tmp_path: Path) -> None:
    """Whole readers are exported in tests/export, A3 with its own attention alone."""
    names: list[str] = ["passage", "question", "passage_mask", "question_mask"]
    sizes = {name: ("batch", name.split("_")[0] + "_words") for name in names}
    others = [padded_texts(lengths, DIM) for lengths in ([(9, 1)], [(2, 7), (3, 4)])]
    layer = Coattention(DIM, sentinels="separate")
    given = dict(zip(names, padded_texts(LENGTHS, DIM), strict=True))
    assert_exports(layer, given, sizes, others, tmp_path)


@pytest.mark.parametrize("cells", [1 << 20, 40])
def test_additive_attention(
    texts: tuple[Tensor, ...], monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    monkeypatch.setattr(fusion, "_CELLS", cells)  # 40: one query at a time
    passage, question, _, mask = texts
    layer = AdditiveAttention(DIM, DIM, 4)
    result = layer(question, passage, mask)
    for row, (words, asked) in enumerate(LENGTHS):
        for p, found in zip(passage[row, :words], result[row], strict=False):
            together = (layer.words(question[row, :asked]) + layer.query(p)).tanh()
            weights = layer.v(together)[:, 0].softmax(0)
            expected = weighted(weights, list(question[row, :asked]))
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("cells", [1 << 20, 40])
def test_the_gradient_of_additive_attention(
    texts: tuple[Tensor, ...], monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    monkeypatch.setattr(fusion, "_CELLS", cells)
    passage, question, _, mask = (
        each.double() if each.is_floating_point() else each for each in texts
    )
    layer = AdditiveAttention(DIM, DIM, 4).double()
    names = [name for name, _ in layer.named_parameters()]
    inputs = [question, passage, *(each.detach() for each in layer.parameters())]

    def run(question: Tensor, passage: Tensor, *weights: Tensor) -> Tensor:
        given = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(layer, given, (question, passage, mask))

    assert torch.autograd.gradcheck(run, [x.requires_grad_() for x in inputs])


def test_gate() -> None:
    gate, x = Gate(3), torch.randn(2, 3)
    torch.testing.assert_close(gate(x), x / (1 + torch.exp(-x @ gate.linear.weight.T)))


def test_alike_words_meet_at_the_start() -> None:
    words = 3 * torch.eye(DIM)[None]
    mask = torch.ones(1, DIM, 1, dtype=torch.bool)
    itself = torch.arange(DIM)
    gathered = AttentionFlow(DIM, "through")(words, words, mask, mask)[0, :, DIM : 2 * DIM]
    assert (gathered.argmax(dim=1) == itself).all()
    gathered = Coattention(DIM)(words, words, mask, mask)[0, :, DIM:]
    assert (gathered.argmax(dim=1) == itself).all()
