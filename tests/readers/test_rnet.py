"""R-Net's self-attention and pointer against the equations, word by word."""

import torch
from torch import Tensor

from fabir.layers.fusion import AdditiveAttention
from fabir.readers.rnet import QuestionPointer, RnetConfig, SelfAttention
from factories import Seen, padded_texts

DIM, HIDDEN = 8, 4
LENGTHS = [(5, 3), (1, 1)]  # of passage and question
CONFIG = RnetConfig(hidden=HIDDEN, dropout=0.0)


def logits(layer: AdditiveAttention, words: Tensor, query: Tensor) -> Tensor:
    """Anderson 2019, eq. 3: [words]."""
    together = [(layer.words(word) + layer.query(query)).tanh() for word in words]
    return torch.cat([layer.v(each) for each in together])


def test_self_attention() -> None:
    """Eq. 7, before its recurrent layer."""
    layer = SelfAttention(DIM, CONFIG)
    layer.layer = Seen()  # pyright: ignore[reportAttributeAccessIssue]
    x, _, mask, _ = padded_texts(LENGTHS, DIM)
    found = layer(x, mask)
    for row, (words, _) in enumerate(LENGTHS):
        text = x[row, :words]
        for place, word in enumerate(text):
            read = torch.cat([word, logits(layer.attention, text, word).softmax(0) @ text])
            expected = (layer.gate.linear.weight @ read).sigmoid() * read  # pyright: ignore
            torch.testing.assert_close(found[row, place], expected, atol=1e-5, rtol=0)


def test_pointer() -> None:
    """Two steps of one pointer, the first from the pooled question."""
    layer = QuestionPointer(DIM, CONFIG)
    modelled, question, mask, question_mask = padded_texts(LENGTHS, DIM)
    start, end = layer(modelled, modelled, question, mask, question_mask)
    for row, (words, count) in enumerate(LENGTHS):
        asked, text = question[row, :count], modelled[row, :words]
        state = logits(layer.pooling, asked, layer.seed).softmax(0) @ asked
        first = logits(layer.pointing, text, state)
        torch.testing.assert_close(start[row, :words], first, atol=1e-5, rtol=0)
        state = layer.cell(first.softmax(0) @ text, state)
        second = logits(layer.pointing, text, state)
        torch.testing.assert_close(end[row, :words], second, atol=1e-5, rtol=0)


def test_the_pointer_begins_with_signs() -> None:
    assert QuestionPointer(DIM, CONFIG).pointing.v.weight.abs().tolist() == [[1.0] * HIDDEN]
