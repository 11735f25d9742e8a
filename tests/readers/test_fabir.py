"""FABIR against the thesis: its size, and a plain version of the whole network in float64."""

from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from fabir.layers.decoupled import DecoupledAttention
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import VocabularySizes
from fabir.readers.fabir import Fabir, FabirConfig
from fabir.readers.fabir_layers import ProcessingLayer
from fabir.training.rows import PAPER
from factories import CONFIGS, EXAMPLES, batch_of, shipped_config, small_config, small_reader
from plain_fabir import PlainFabir

RUNS = {name: shipped_config(name) for name in CONFIGS}
NETWORKS = {name: run.network for name, run in RUNS.items() if run.reader == "fabir"}
# What the paper and the thesis write or try, and no row of their tables has.
VARIANTS = {
    "unscaled": FabirConfig(attention_scaled=False),
    "no biases": FabirConfig(attention_bias=False, attention_scaled=False, heads=2),
    "3 x 5": FabirConfig(attention_height=3),
    "5 x 1, row-wise": FabirConfig(
        attention_height=5, attention_width=1, cross_attention="row-wise"
    ),
    "bidirectional": FabirConfig(layer_type="bidirectional"),
    "bidirectional after a matrix": FabirConfig(layer_type="bidirectional", reduction="matrix"),
    "feed-forward": FabirConfig(reduction="feed-forward"),
    "learned positions": FabirConfig(learned_positions=7),
    "learned positions after a matrix": FabirConfig(learned_positions=40, reduction="matrix"),
    "1 convolution": FabirConfig(selector_convolutions=1),
    "4 convolutions": FabirConfig(selector_convolutions=4, selector_width=3),
    "valid windows": FabirConfig(character_windows="valid"),
    "no projection": FabirConfig(word_projection=False),
}
WRITTEN_OUT = NETWORKS | VARIANTS


def parameters(sizes: VocabularySizes = PAPER, **changes: Any) -> int:
    with torch.device("meta"):  # shapes alone
        network = Fabir(FabirConfig(**changes), sizes)
    return sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("trained", [1, 17, 90])
@pytest.mark.parametrize("characters", [2, 281])
@pytest.mark.parametrize("fixed", [0, 400])
def test_size_at_the_papers_setting(trained: int, characters: int, fixed: int) -> None:
    sizes = VocabularySizes(
        word_dim=100, trained_words=trained, fixed_words=fixed, characters=characters
    )
    assert parameters(sizes) == 1_377_250 + 8 * characters + 100 * trained


def test_size_is_within_a_percent_of_the_papers() -> None:
    assert parameters() == pytest.approx(1_385_198, rel=0.01)


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"cross_attention": "row-wise"}, 200 + 3 * 100),  # biases of queries
        ({"layer_type": "switching"}, 0),
        # eight kernels [heads, heads, width]
        ({"attention_width": 0}, -8 * 4 * 4 * 5),
        ({"heads": 2}, -8 * (4 * 4 - 2 * 2) * 5),
        # two convolutions of 9 words, with biases
        ({"selector": "linear"}, 2 * 100 - (100 * 32 + 32 * 2) * 9 - 32 - 2),
        ({"selector_width": 1}, -(100 * 32 + 32 * 2) * 8),
        ({"selector_layers": "different"}, 100 * 32 * 9 + 32),
        # a layer's maps of self-attention have four biases, of cross-attention three; the reduction
        # layer's are twice as long, and it has two for positions
        ({"attention_bias": False}, -(7 * 3 * 100 + 7 * 200 + 2 * 100)),
        ({"attention_scaled": False}, 0),
        ({"attention_height": 3}, 8 * 4 * 4 * 5 * 2),
        # queries without a bias, keys, values, output, a kernel, a norm
        (
            {"layer_type": "bidirectional"},
            3 * (4 * 100**2 + 3 * 100 + 80 + 200) + 4 * 200**2 + 3 * 200 + 80 + 400,
        ),
        ({"learned_positions": 512}, 512 * (100 + 200)),
        ({"selector_convolutions": 3}, 32 * 32 * 9 + 32),
        ({"selector_convolutions": 1}, 100 * 2 * 9 - (100 * 32 + 32 * 2) * 9 - 32),
        ({"character_windows": "valid"}, 0),
    ],
)
def test_size_of_a_variation(changes: dict[str, Any], difference: int) -> None:
    assert parameters(**changes) - parameters() == difference


def test_size_grows_by_a_layer_and_shrinks_without_characters_and_reduction_layer() -> None:
    attention = 4 * (100 * 100 + 100)  # queries, keys, values, output
    feed_forward = 2 * 100 * 200 + 200 + 100
    # the queries of column-wise attention have no bias
    layer = 2 * (attention + 4 * 4 * 5) - 100 + 2 * feed_forward + 5 * 2 * 100
    assert parameters(layers=4) - parameters(layers=3) == layer
    assert parameters(layers=3) - parameters(layers=2) == layer
    assert parameters(characters=False) < parameters()
    # a reduction layer is twice as wide as a processing layer: four times the matrices
    assert parameters(reduction="matrix") < parameters() - 3 * (attention + feed_forward)


@pytest.mark.parametrize("config", WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_equals_the_network_written_out(config: FabirConfig) -> None:
    reader = small_reader("fabir", config)
    network = reader.network.double()
    assert isinstance(network, Fabir)
    with torch.no_grad():
        for parameter in network.parameters():  # biases begin at zero and would hide
            parameter.add_(torch.randn_like(parameter) * 0.2)
        if config.characters:
            network.get_parameter("embedding.characters.table.weight")[0] = 0  # padding
        for question, passage, *_ in EXAMPLES:
            batch = batch_of(reader.vocabulary, (question, passage))
            real = batch.passage[0] > 0
            result = torch.stack([side[0, real] for side in network(batch)[:2]]).double()
            expected = PlainFabir(network).logits(batch)
            torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("reduction", ["layer", "matrix"])
def test_the_first_text_never_sees_the_second(reduction: Literal["layer", "matrix"]) -> None:
    network = small_reader("fabir", FabirConfig(reduction=reduction)).network
    assert isinstance(network, Fabir)
    masks = torch.ones(2, 5, 1).bool(), torch.ones(2, 9, 1).bool()
    layers: list[Any] = [(x, 16) for x in network.layers]
    width = 20 + 16 if reduction == "layer" else 16
    for layer, dim in [(network.reduction.cross, width), *layers]:
        first, second = torch.randn(2, 5, dim), torch.randn(2, 9, dim)
        read = layer(first, second, *masks)
        other_second = layer(first, torch.randn_like(second), *masks)
        assert torch.equal(read[0], other_second[0])
        assert not torch.allclose(read[1], other_second[1])
        other_first = layer(torch.randn_like(first), second, *masks)
        assert not torch.allclose(read[1], other_first[1])


def test_self_attention_is_shared_and_the_rest_is_not() -> None:
    """Both texts alike: they leave a layer's self-attention alike, and its feed-forward not."""
    layer = ProcessingLayer(small_config(FabirConfig())).eval()
    text, mask = torch.randn(2, 7, 16), torch.ones(2, 7, 1).bool()
    seen: list[Tensor] = []
    layer.self_attention.register_forward_hook(lambda *call: seen.append(call[2]))
    first, second = layer(text, text, mask, mask)
    assert torch.equal(seen[0], seen[1])
    assert not torch.allclose(first, second)
    assert layer.first.feed_forward[0].weight is not layer.second.feed_forward[0].weight


def test_decoupled_attention_keeps_positions_out_of_the_words() -> None:
    attention = DecoupledAttention(20, 16, heads=4, width=5, dropout=0.0).eval()
    words, positions, mask = torch.randn(1, 7, 20), torch.randn(1, 7, 16), torch.ones(1, 7, 1)
    placed = words + torch.randn(1, 7, 20)

    attended, moved = attention(words, placed, positions, mask)
    # Where to look depends on words and positions ...
    assert not torch.allclose(attended, attention(words, words, positions, mask)[0])
    # ... what is gathered there on one of them alone.
    assert torch.equal(attended, attention(words, placed, positions + 1, mask)[0])
    assert torch.equal(moved, attention(words + 1, placed, positions, mask)[1])
    assert (attended.shape[2], moved.shape[2]) == (20, 16)


def test_switching_layers_take_turns() -> None:
    reader = small_reader("fabir", FabirConfig(layer_type="switching"))
    lengths: list[tuple[int, int]] = []
    for layer in reader.network.get_submodule("layers").children():
        layer.get_submodule("cross_attention").register_forward_hook(
            lambda _, texts, __: lengths.append((texts[1].shape[1], texts[0].shape[1]))
        )
    reader.network(batch_of(reader.vocabulary, *[pair[:2] for pair in EXAMPLES]))
    assert lengths == [(8, 32), (32, 8), (8, 32)]  # who is seen, who sees


def test_each_text_loses_other_positions_by_dropout() -> None:
    config = FabirConfig(dropout_input=0.5, dropout_sublayer=0.0, dropout_attention=0.0)
    network = small_reader("fabir", config).network.train()
    words, mask = torch.zeros(2, 30, 20), torch.ones(2, 30, 1).bool()
    first, second = network.encode(words, mask)
    assert not torch.allclose(first, second)
    first, second = network.eval().encode(words, mask)
    assert torch.equal(first, second)


def test_selectors_in_different_layers_read_the_last_two() -> None:
    reader = small_reader("fabir", FabirConfig(selector_layers="different"))
    batch = batch_of(reader.vocabulary, EXAMPLES[0][:2])
    before = reader.network(batch)
    nn.init.normal_(reader.network.get_parameter("layers.2.second.feed_forward.0.weight"))
    after = reader.network(batch)
    assert torch.equal(before.start, after.start)
    assert not torch.allclose(before.end, after.end)


def test_dropout_is_amplified_in_the_reduction_layer() -> None:
    """Thesis eq. 5.26: of 0.9 kept it keeps 0.81."""
    network = Fabir(FabirConfig(), PAPER)
    rates = {
        name: module.threshold / 256
        for name, module in network.named_modules()
        if isinstance(module, Dropout)
    }
    for name, rate in rates.items():
        if name == "embedding.dropout":  # FABIR drops from what the embedding gives
            expected = 0.0
        elif name.startswith("selectors"):
            expected = 0.2
        elif name.startswith("embedding.characters"):
            expected = 0.25
        else:
            expected = 0.1 if name.startswith("layers") else 0.19
        assert rate == pytest.approx(expected, abs=1 / 256), name


def test_begins_without_biases_and_with_embeddings_of_variance_one() -> None:
    network = Fabir(FabirConfig(), PAPER)
    for name, parameter in network.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
    characters = network.get_parameter("embedding.characters.table.weight")[1:]
    for table in (network.embedding.words.trained, characters):
        assert float(table.detach().std()) == pytest.approx(1, abs=0.1)
    first = network.get_parameter("layers.0.self_attention.weights.query.weight")
    assert float(first.detach().std()) == pytest.approx(0.1, abs=0.01)  # Glorot: (2 / 200) ** 0.5


def test_a_reduction_matrix_takes_any_even_size() -> None:
    assert parameters(reduction="matrix", character_filters=50)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": 3}, "heads must divide model_dim: 3 do not divide 100"),
        ({"heads": 8}, "heads must divide model_dim: 8 do not divide 100"),
        ({"heads": 0}, "heads must be from 1 to 8192, got 0"),
        ({"heads": 20, "character_filters": 110}, "features of a word .* 20 do not divide 210"),
        ({"character_filters": 101}, "features of a word .*100 of them.* must be even .* got 201"),
        ({"model_dim": 25}, "model_dim must be even for positions, got 25"),
        ({"model_dim": 0}, "model_dim must be from 1 to 8192, got 0"),
        ({"feed_forward": 0}, "feed_forward must be from 1 to 8192, got 0"),
        ({"layers": -1}, "layers must be from 0 to 100, got -1"),
        ({"layers": 1_000_000_000}, "layers must be from 0 to 100"),
        ({"layers": 2.0}, "layers must be a whole number, got 2.0"),
        ({"layers": True}, "layers must be a whole number, got True"),
        ({"characters": 1}, "characters must be true or false, got 1"),
        (
            {"reduction": "mtx"},
            "reduction must be one of 'layer', 'matrix', 'feed-forward', got 'mtx'",
        ),
        ({"attention_width": 4}, "attention_width must be an odd number of at least 1, got 4"),
        ({"attention_width": -1}, "attention_width must be an odd number"),
        ({"attention_height": 2}, "attention_height must be an odd number of at least 1, got 2"),
        ({"attention_height": 3, "attention_width": 0}, "attention_height above 1 needs"),
        ({"reduction": "feed-forward", "layers": 0}, "'feed-forward' needs layers of at least 1"),
        ({"learned_positions": -1}, "learned_positions must be from 1 to 8192, got -1"),
        ({"selector_convolutions": 0}, "selector_convolutions must be at least 1"),
        ({"selector_width": 2}, "selector_width must be an odd number of at least 1, got 2"),
        ({"selector": "linear", "selector_hidden": -3}, "selector_hidden must be .* got -3"),
        ({"selector_layers": "different", "layers": 1}, "layers of at least 2"),
        ({"layer_type": "switching", "layers": 2}, "odd number of layers, got 2"),
        ({"first_position": -1}, "first_position must be from 0 to 1000000, got -1"),
        ({"lowest_frequency": 0.0}, "lowest_frequency must be above 0, got 0"),
        ({"lowest_frequency": "low"}, "lowest_frequency must be a number, got 'low'"),
        ({"dropout_input": 1.5}, "dropout_input must be at least 0 and below 1, got 1.5"),
        ({"dropout_selector": 1.0}, "dropout_selector must be at least 0 and below 1"),
        ({"dropout_attention": float("nan")}, "dropout_attention must be at least 0"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parameters(**changes)
