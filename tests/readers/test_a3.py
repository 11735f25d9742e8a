"""A3's attention and pointer against loops over words, beside the readers' contract."""

from dataclasses import replace
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
PLAIN = A3Config(heads=HEADS)


def self_attended(layer: SelfAttention, words: Tensor, config: A3Config = PLAIN) -> Tensor:
    """Section 3.2.1, word by word and head by head: [words, dim]."""
    size = config.key_dim or DIM // config.heads
    value_size = config.value_dim or size
    mapped = layer.inputs(words).relu()
    query, key, value = mapped.tensor_split([config.heads * size, 2 * config.heads * size], dim=1)
    rows = []
    for word in range(len(words)):
        heads = []
        for head in range(config.heads):
            part = slice(head * size, (head + 1) * size)
            logits = torch.stack([query[word, part] @ other[part] for other in key]) / size**0.5
            values = value[:, head * value_size : (head + 1) * value_size]
            heads.append(logits.softmax(0) @ (words if config.values == "inputs" else values))
        attended = layer.output(torch.cat(heads)).relu()
        rows.append(words[word] + attended if config.skip else attended)
    return torch.stack(rows)


def near(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "config",
    [
        PLAIN,
        replace(PLAIN, skip=True),
        A3Config(heads=3, key_dim=5),
        A3Config(heads=3, key_dim=5, value_dim=2),
        replace(PLAIN, value_dim=7),
        replace(PLAIN, values="inputs"),
        A3Config(heads=3, key_dim=5, values="inputs", skip=True),
    ],
)
@pytest.mark.parametrize("start", ["glorot", "orthogonal"])
def test_self_attention(config: A3Config, start: Literal["glorot", "orthogonal"]) -> None:
    layer = SelfAttention(DIM, replace(config, attention_start=start), skip=config.skip)
    passage, _, mask, _ = padded_texts(LENGTHS, DIM)
    for row, (words, _) in enumerate(LENGTHS):
        text = passage[row, :words]
        near(layer(passage, mask)[row, :words], self_attended(layer, text, config))


def test_orthogonal_maps_keep_angles() -> None:
    layer = SelfAttention(DIM, replace(PLAIN, attention_start="orthogonal"), skip=False)
    for weight in (*layer.inputs.weight.chunk(3), layer.output.weight):
        near(weight @ weight.T, torch.eye(DIM))


@pytest.mark.parametrize("kind", ["stacked", "merged", "cross"])
@pytest.mark.parametrize("sentinels", ["none", "separate"])
@pytest.mark.parametrize("skip", [False, True])
def test_coattention_with_self_attention(
    kind: Literal["stacked", "merged", "cross"],
    sentinels: Literal["none", "separate"],
    skip: bool,
) -> None:
    """Figures 1 to 3, before the recurrent layer."""
    config = A3Config(attention=kind, heads=HEADS, sentinels=sentinels, skip=skip)
    layer = RecurrentCoattention(DIM, config).eval()
    layer.layer = Seen()  # pyright: ignore[reportAttributeAccessIssue]
    passages, questions, *masks = padded_texts(LENGTHS, DIM)
    found = layer(passages, questions, *masks)
    inner = layer.coattention
    for row, (words, asked) in enumerate(LENGTHS):
        passage, question = passages[row, :words], questions[row, :asked]
        own = (
            self_attended(layer.passage, passage, config),
            self_attended(layer.question, question, config),
        )
        if kind != "merged":
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
            if kind == "cross":
                expected = first
            elif kind == "stacked":
                back = [
                    torch.stack([p @ q for p in passage]).softmax(0) @ passage for q in question
                ]
                second = sum(w * b for w, b in zip(weights, back, strict=True))
                expected = torch.cat([second, first])  # pyright: ignore
            else:
                crossed = torch.stack([own[0][word] @ q for q in own[1]]).softmax(0) @ own[1]
                expected = torch.cat([first, crossed])  # pyright: ignore
            near(found[row, word], expected)  # pyright: ignore


def test_trilinear_self_attention() -> None:
    layer = TrilinearSelfAttention(DIM, A3Config(heads=HEADS))
    passages, questions, *masks = padded_texts(LENGTHS, DIM)
    found = layer(passages, questions, *masks)
    similarity = layer.flow.similarity
    w = torch.cat([similarity.passage.weight[0], similarity.question.weight[0], similarity.both])
    for row, (words, asked) in enumerate(LENGTHS):
        passage, question = (
            self_attended(layer.itself, text, replace(PLAIN, skip=True))
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
