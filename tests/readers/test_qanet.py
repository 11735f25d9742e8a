"""QANet's blocks against PyTorch's own layers, and its stochastic depth."""

import pytest
import torch
from torch import nn

from fabir.data.batches import Batch
from fabir.layers.convolution import SeparableConvolution
from fabir.layers.dropout import enable_dropout
from fabir.layers.embedding import VocabularySizes
from fabir.readers.qanet import Qanet, QanetConfig, Stack, Sublayer


def test_separable_convolution_equals_two_of_pytorch() -> None:
    torch.manual_seed(0)
    layer, x = SeparableConvolution(6, 5), torch.randn(2, 9, 6)
    alone, together = layer
    assert isinstance(alone, nn.Conv1d)
    assert isinstance(together, nn.Linear)
    depthwise = nn.Conv1d(6, 6, 5, padding=2, groups=6, bias=False)
    pointwise = nn.Conv1d(6, 6, 1)
    depthwise.load_state_dict({"weight": alone.weight})
    pointwise.load_state_dict({"weight": together.weight[..., None], "bias": together.bias})
    expected = pointwise(depthwise(x.transpose(1, 2))).transpose(1, 2)
    torch.testing.assert_close(layer(x), expected)


def test_deeper_sublayers_are_left_out_more_often() -> None:
    stack = Stack(3, 2, 5, QanetConfig(model_dim=8, heads=2, layer_dropout=0.3))
    rates = [layer.skipped for layer in stack.modules() if isinstance(layer, Sublayer)]
    assert len(rates) == 3 * 4
    assert rates == pytest.approx([0.3 * n / 12 for n in range(1, 13)])


def test_a_text_is_left_out_whole_and_the_mean_stays() -> None:
    torch.manual_seed(0)
    layer = Sublayer(nn.Identity(), 4, 0.0)
    layer.layer = Doubling()
    layer.skipped = 0.25
    x, mask = torch.randn(4000, 2, 4), torch.ones(4000, 2, 1, dtype=torch.bool)
    whole = layer.eval()(x, mask) - x
    change = layer.train()(x, mask) - x
    kept = change.abs().sum((1, 2)) > 0
    assert float(kept.double().mean()) == pytest.approx(0.75, abs=0.03)
    torch.testing.assert_close(change[kept], whole[kept] / 0.75)
    enable_dropout(layer, False)
    torch.testing.assert_close(layer(x, mask) - x, whole)


def test_words_are_not_drowned_by_their_places() -> None:
    """At the start a word of the encoded question is most like the same word of the passage."""
    torch.manual_seed(0)
    sizes = VocabularySizes(word_dim=50, trained_words=2, fixed_words=60, characters=30)
    network = Qanet(QanetConfig(), sizes).eval()
    nn.init.normal_(network.embedding.words.fixed, std=0.5)
    passage, question = torch.arange(1, 61)[None], torch.arange(60, 0, -6)[None]
    seen: list[torch.Tensor] = []
    network.encoder.register_forward_hook(lambda *call: seen.append(call[2][0]))
    words = torch.arange(61) + 2
    network(Batch(words, torch.randint(1, 30, (61, 6)), passage, question, torch.zeros(1).long()))
    read, asked = seen
    assert torch.equal((asked @ read.T).argmax(1), question[0] - 1)


class Doubling(nn.Module):
    """A sublayer with nothing to learn."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return 2 * x * mask


def test_an_odd_size_is_refused() -> None:
    sizes = VocabularySizes(word_dim=4, trained_words=2, fixed_words=1, characters=3)
    with pytest.raises(ValueError, match="even model_dim, got 15"):
        Qanet(QanetConfig(model_dim=15, heads=3), sizes)
