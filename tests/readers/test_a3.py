"""A3's attention and pointer against loops over words, beside the readers' contract."""

from typing import Literal

import pytest
import torch
from torch import Tensor

from fabir.readers.a3 import (
    A3Config,
    AnswerPointer,
    RecurrentCoattention,
    SelfAttention,
    TrilinearSelfAttention,
)
from factories import Seen, padded_texts

DIM, HEADS = 8, 2
LENGTHS = [(5, 3), (1, 1)]  # of passage and question


def self_attended(layer: SelfAttention, words: Tensor) -> Tensor:
    """Section 3.2.1, word by word and head by head: [words, dim]."""
    size = DIM // HEADS
    query, key, value = layer.inputs(words).relu().chunk(3, dim=1)
    rows = []
    for word in range(len(words)):
        heads = []
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            logits = torch.stack([query[word, part] @ other[part] for other in key]) / size**0.5
            heads.append(logits.softmax(0) @ value[:, part])
        rows.append(layer.output(torch.cat(heads)).relu())
    return torch.stack(rows)


def near(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_self_attention() -> None:
    layer = SelfAttention(DIM, HEADS, "glorot")
    passage, _, mask, _ = padded_texts(LENGTHS, DIM)
    for row, (words, _) in enumerate(LENGTHS):
        near(layer(passage, mask)[row, :words], self_attended(layer, passage[row, :words]))


def test_orthogonal_maps_keep_angles() -> None:
    layer = SelfAttention(DIM, HEADS, "orthogonal")
    for weight in (*layer.inputs.weight.chunk(3), layer.output.weight):
        near(weight @ weight.T, torch.eye(DIM))


@pytest.mark.parametrize("kind", ["stacked", "merged"])
@pytest.mark.parametrize("sentinels", ["none", "separate"])
def test_coattention_with_self_attention(
    kind: Literal["stacked", "merged"], sentinels: Literal["none", "separate"]
) -> None:
    config = A3Config(attention=kind, heads=HEADS, sentinels=sentinels)
    layer = RecurrentCoattention(DIM, config).eval()
    layer.layer = Seen()  # pyright: ignore[reportAttributeAccessIssue]
    passages, questions, *masks = padded_texts(LENGTHS, DIM)
    found = layer(passages, questions, *masks)
    inner = layer.coattention
    for row, (words, asked) in enumerate(LENGTHS):
        passage, question = passages[row, :words], questions[row, :asked]
        own = self_attended(layer.passage, passage), self_attended(layer.question, question)
        if kind == "stacked":
            passage, question = own
        else:
            assert inner.projection is not None
            question = inner.projection(question).tanh()
        if inner.sentinels is not None:
            question = torch.cat([inner.sentinels[-1:], question])
            if kind == "stacked":
                passage = torch.cat([inner.sentinels[:1], passage])
        skipped = len(passage) - words
        for word in range(words):
            weights = torch.stack([passage[skipped + word] @ q for q in question]).softmax(0)
            first = sum(w * q for w, q in zip(weights, question, strict=True))
            if kind == "stacked":
                back = [
                    torch.stack([p @ q for p in passage]).softmax(0) @ passage for q in question
                ]
                second = sum(w * b for w, b in zip(weights, back, strict=True))
                expected = torch.cat([second, first])  # pyright: ignore
            else:
                crossed = torch.stack([own[0][word] @ q for q in own[1]]).softmax(0) @ own[1]
                expected = torch.cat([first, crossed])  # pyright: ignore
            near(found[row, word], expected)


def test_trilinear_self_attention() -> None:
    layer = TrilinearSelfAttention(DIM, A3Config(heads=HEADS))
    passages, questions, *masks = padded_texts(LENGTHS, DIM)
    found = layer(passages, questions, *masks)
    similarity = layer.flow.similarity
    w = torch.cat([similarity.passage.weight[0], similarity.question.weight[0], similarity.both])
    for row, (words, asked) in enumerate(LENGTHS):
        passage, question = (
            text + self_attended(layer.itself, text)
            for text in (passages[row, :words], questions[row, :asked])
        )
        table = torch.stack(
            [torch.stack([w @ torch.cat([p, q, p * q]) for q in question]) for p in passage]
        )
        for word in range(words):
            a = table[word].softmax(0) @ question
            through = [table[:, place].softmax(0) @ passage for place in range(asked)]
            b = table[word].softmax(0) @ torch.stack(through)
            p = passage[word]
            near(found[row, word], torch.cat([p, a, p * a, p * b]))


def test_answer_pointer() -> None:
    """Section 3.4: the end's state is made from the passage as the start weighs it."""
    layer = AnswerPointer(2 * DIM, A3Config(pointer_hidden=5)).eval()
    passage, _, mask, question_mask = padded_texts(LENGTHS, DIM)
    attended, modelled = passage, passage.flip(2)
    start, end = layer(attended, modelled, passage, mask, question_mask)
    for row, (words, _) in enumerate(LENGTHS):
        read = torch.cat([attended, modelled], dim=2)[row, :words]

        def point(state: Tensor, read: Tensor = read) -> Tensor:
            return torch.cat([layer.v((layer.words(h) + layer.state(state)).tanh()) for h in read])

        first = point(torch.zeros(5))
        near(start[row, :words], first)
        near(end[row, :words], point(layer.step(first.softmax(0) @ read).tanh()))


def test_pointers_begin_with_signs() -> None:
    assert AnswerPointer(DIM, A3Config(pointer_hidden=5)).v.weight.abs().tolist() == [[1.0] * 5]


@pytest.mark.parametrize("attention", ["coattention", "merged"])
@pytest.mark.parametrize("keep_passage", [False, True])
def test_one_question_word_says_the_same_to_all_passage_words(
    attention: Literal["coattention", "merged"], keep_passage: bool
) -> None:
    """With one question word every softmax over the question is 1: what passage words gather does
    not tell them apart, and in whatever order they stand, only their own vectors can."""
    config = A3Config(attention=attention, heads=2, keep_passage=keep_passage)
    layer = RecurrentCoattention(8, config).eval()
    passage, question = torch.randn(1, 6, 8), torch.randn(1, 1, 8)
    masks = torch.ones(1, 6, 1, dtype=torch.bool), torch.ones(1, 1, 1, dtype=torch.bool)

    straight = layer(passage, question, *masks)
    turned = layer(passage.flip(1), question, *masks)

    assert torch.allclose(straight, turned, atol=1e-6) is not keep_passage
