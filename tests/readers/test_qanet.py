"""QANet's blocks against PyTorch's own layers, how they are joined, and its stochastic depth."""

from typing import Any

import pytest
import torch
from torch import nn

from fabir.data.batches import Batch
from fabir.layers.convolution import SeparableConvolution
from fabir.layers.dropout import enable_dropout
from fabir.layers.embedding import VocabularySizes
from fabir.layers.position import trigonometric_positions
from fabir.readers.qanet import Block, Qanet, QanetConfig, Stack, Sublayer, _SelfAttention
from factories import ABBEY, RAIN, batch_of, padded_texts, small_reader


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


def test_self_attention_equals_that_of_pytorch() -> None:
    x, _, mask, _ = padded_texts([(5, 1), (2, 1)], 8)
    layer, other = _SelfAttention(8, 2), nn.MultiheadAttention(8, 2, batch_first=True)
    maps = layer.weights.query, layer.weights.key, layer.words.value
    for part in "weight", "bias":
        joined = torch.cat([getattr(each, part) for each in maps])
        getattr(other, f"in_proj_{part}").data.copy_(joined)
        getattr(other.out_proj, part).data.copy_(getattr(layer.words.output, part))
    expected, _ = other(x, x, x, key_padding_mask=~mask[..., 0])
    torch.testing.assert_close(layer(x, mask), expected, atol=1e-5, rtol=0)


def test_sublayers_are_added_to_what_they_read() -> None:
    """A block without stochastic depth: positions, then `x + layer(norm(x))` one after another."""
    torch.manual_seed(0)
    block = Stack(1, 2, 5, QanetConfig(model_dim=8, heads=2, layer_dropout=0.0)).eval().blocks[0]
    assert isinstance(block, Block)
    x, mask = torch.randn(1, 6, 8), torch.ones(1, 6, 1, dtype=torch.bool)
    first, second, attention, forward = block.layers()
    expected = x + trigonometric_positions(6, 8, first=0)
    for sublayer in first, second:
        convolution = sublayer.layer.get_submodule("convolution")
        expected = expected + convolution(sublayer.norm(expected)).relu()
    expected = expected + attention.layer(attention.norm(expected), mask)
    inner, outer = (each for each in forward.layer.modules() if isinstance(each, nn.Linear))
    expected = expected + outer(inner(forward.norm(expected)).relu())
    torch.testing.assert_close(block(x, mask), expected)


def test_three_passes_through_the_same_blocks() -> None:
    """Start is read from the first and the second pass, end from the first and the third."""
    reader = small_reader("qanet")
    network = reader.network
    assert isinstance(network, Qanet)
    passed: list[torch.Tensor] = []
    network.model.register_forward_hook(lambda *call: passed.append(call[2]))
    batch = batch_of(reader.vocabulary, ("What pulls?", RAIN), ("Who?", ABBEY))
    found = network(batch)
    once, twice, thrice = passed
    mask = batch.passage_mask
    for given, made in (once, twice), (twice, thrice):
        torch.testing.assert_close(network.model(given, mask), made)
    real = mask[..., 0]
    for logits, layer, last in (
        (found.start, network.start, twice),
        (found.end, network.end, thrice),
    ):
        expected = layer(torch.cat([once, last], dim=2))[..., 0]
        torch.testing.assert_close(logits[real], expected[real])


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


@pytest.mark.parametrize("layers", [1, 3])
def test_recurrent_encoders_equal_pytorchs_lstms(layers: int) -> None:
    """RNN-n-128: bidirectional LSTMs in the place of each stack of blocks, and a linear map."""
    sizes = VocabularySizes(word_dim=50, trained_words=2, fixed_words=60, characters=30)
    config = QanetConfig(encoder="recurrent", recurrent_layers=layers)
    network = Qanet(config, sizes).eval()
    x, _, mask, _ = padded_texts([(9, 1), (4, 1)], 128)
    for stack in network.encoder, network.model:
        lstm = nn.LSTM(128, 128, layers, bidirectional=True, batch_first=True)
        for number, layer in enumerate(stack.get_submodule("layers").children()):
            for part, end in (("forwards", ""), ("backwards", "_reverse")):
                for name, weights in layer.get_submodule(part).named_parameters():
                    lstm.get_parameter(name.replace("_l0", f"_l{number}{end}")).data = weights.data
        packed = nn.utils.rnn.pack_padded_sequence(
            x, mask.sum((1, 2)), batch_first=True, enforce_sorted=False
        )
        read, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], True, total_length=x.shape[1])
        narrow = stack.get_submodule("narrow")
        assert isinstance(narrow, nn.Linear)
        torch.testing.assert_close(stack(x, mask), read @ narrow.weight.T + narrow.bias)


def test_embedded_words_are_scaled_unless_told_otherwise() -> None:
    sizes = VocabularySizes(word_dim=50, trained_words=9, fixed_words=0, characters=30)
    found = []
    for scale in True, False:
        torch.manual_seed(0)
        network = Qanet(QanetConfig(scale_embedding=scale), sizes).eval()
        words, characters = torch.arange(1, 9), torch.ones(8, 3).long()
        found.append((network.embed(words, characters), network, words, characters))
    (scaled, *_), (plain, network, *given) = found
    torch.testing.assert_close(plain, network.narrow(network.embedding(*given)))
    torch.testing.assert_close(scaled, plain * 128**0.5)


class Doubling(nn.Module):
    """A sublayer with nothing to learn."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return 2 * x * mask


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_dim": 15, "heads": 3}, "model_dim must be even for positions, got 15"),
        ({"encoder": "gru"}, "encoder must be one of 'blocks', 'recurrent', got 'gru'"),
        ({"recurrent_layers": 0}, "recurrent_layers must be at least 1"),
        ({"layer_dropout": 1.0}, "layer_dropout must be at least 0 and below 1, got 1.0"),
    ],
)
def test_what_makes_no_network_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QanetConfig(**changes)
