"""A3's coattention, beside the contract that every reader keeps."""

import pytest
import torch

from fabir.readers.a3 import A3Config, RecurrentCoattention


@pytest.mark.parametrize("attention", ["coattention", "merged"])
@pytest.mark.parametrize("keep_passage", [False, True])
def test_one_question_word_says_the_same_to_all_passage_words(attention, keep_passage):
    """With one question word every softmax over the question is 1: what passage words gather does
    not tell them apart, and in whatever order they stand, only their own vectors can."""
    torch.manual_seed(0)
    config = A3Config(attention=attention, heads=2, keep_passage=keep_passage)
    layer = RecurrentCoattention(8, config)
    passage, question = torch.randn(1, 6, 8), torch.randn(1, 1, 8)
    masks = torch.ones(1, 6, 1, dtype=torch.bool), torch.ones(1, 1, 1, dtype=torch.bool)

    straight = layer(passage, question, *masks)
    turned = layer(passage.flip(1), question, *masks)

    assert torch.allclose(straight, turned, atol=1e-6) is not keep_passage
