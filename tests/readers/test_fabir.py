"""FABIR against the thesis: its size, and a plain version of the whole network in float64."""

from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from fabir.data.batches import Batch
from fabir.explain.maps import recorded
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import VocabularySizes
from fabir.readers.fabir import Fabir, FabirConfig
from fabir.readers.fabir.layers import (
    DecoupledAttention,
    ProcessingLayer,
    ReductionLayer,
    word_matches,
)
from fabir.text.vocabulary import Vocabulary
from fabir.training.config_files import load_config
from fabir.training.rows import PAPER
from factories import CONFIGS, EXAMPLES, batch_of, small_config, small_reader
from plain_fabir import PlainFabir

RUNS = {name: load_config(name) for name in CONFIGS}
NETWORKS = {name: run.network for name, run in RUNS.items() if run.reader == "fabir"}
NETWORKS["fabir-word-match"] = FabirConfig(word_match=True)
NETWORKS["fabir-separate"] = FabirConfig(
    word_match=True, separate_layers=1, local_width=3, norm="before"
)
NETWORKS["fabir-matrix-separate"] = FabirConfig(
    word_match=True, separate_layers=3, local_width=3, reduction="matrix", norm="before"
)
NETWORKS["fabir-local"] = FabirConfig(local_width=5)
NETWORKS["fabir-convolved"] = FabirConfig(convolved_layers=1, convolved_width=3)


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
        ({"attention_convolution": "depthwise"}, -8 * (4 * 4 - 4) * 5),
        # two convolutions of 9 words, with biases
        ({"selector": "linear"}, 2 * 100 - (100 * 32 + 32 * 2) * 9 - 32 - 2),
        ({"selector_width": 1}, -(100 * 32 + 32 * 2) * 8),
        ({"selector_layers": "different"}, 100 * 32 * 9 + 32),
    ],
)
def test_size_of_a_variation(changes: dict[str, Any], difference: int) -> None:
    assert parameters(**changes) - parameters() == difference


@pytest.mark.parametrize(("reduction", "separate"), [("layer", 0), ("layer", 3), ("matrix", 0)])
def test_a_question_word_may_start_with_a_look_at_its_like(
    reduction: Literal["layer", "matrix"], separate: int
) -> None:
    torch.manual_seed(0)
    sizes = VocabularySizes(word_dim=50, trained_words=2, fixed_words=60, characters=30)
    passage, question = torch.arange(1, 61)[None], torch.arange(60, 0, -6)[None]
    words = torch.arange(61) + 2  # padding, unknown, then the fixed ones
    batch = Batch(words, torch.randint(1, 30, (61, 6)), passage, question, torch.zeros(1).long())
    found: dict[str, float] = {}
    for start in ("random", "alike"):
        config = FabirConfig(
            cross_start=start,
            character_filters=50,
            reduction=reduction,
            separate_layers=separate,
        )
        network = Fabir(config, sizes).eval()
        nn.init.normal_(network.embedding.words.fixed)
        with recorded(network) as seen:
            network(batch)
        looks = [weights[0] for name, weights in seen if "cross" in name]
        assert len(looks) == 4 - separate
        right = [
            (weights.unflatten(0, (-1, 10)).argmax(2) == question[0] - 1).double().mean()
            for weights in looks
        ]
        found[start] = float(torch.stack(right).min())
    assert found["alike"] > 0.4 > 0.2 > found["random"]


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


@pytest.mark.parametrize("config", NETWORKS.values(), ids=NETWORKS)
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
            result = torch.stack([side[0, real] for side in network(batch)]).double()
            expected = PlainFabir(network).logits(batch)
            torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("reduction", ["layer", "matrix"])
def test_the_question_never_sees_the_passage(reduction: Literal["layer", "matrix"]) -> None:
    network = small_reader("fabir", FabirConfig(reduction=reduction)).network
    assert isinstance(network, Fabir)
    words = [torch.ones(2, length, dtype=torch.int64) for length in (9, 5)]
    batch = Batch(torch.zeros(2), torch.zeros(2, 4), words[0], words[1], torch.arange(2))
    layers: list[Any] = [(x, 16) for x in network.layers]
    for layer, dim in [(network.reduction, 20), *layers]:
        question, passage = torch.randn(2, 5, dim), torch.randn(2, 9, dim)
        read = layer(question, passage, batch)
        other_passage = layer(question, torch.randn_like(passage), batch)
        assert torch.equal(read[0], other_passage[0])
        assert not torch.allclose(read[1], other_passage[1])
        other_question = layer(torch.randn_like(question), passage, batch)
        assert not torch.allclose(read[1], other_question[1])


def test_self_attention_is_shared_and_the_rest_is_not() -> None:
    """Both texts alike: they leave a layer's self-attention alike, and its feed-forward not."""
    layer = ProcessingLayer(0, small_config(FabirConfig())).eval()
    attention = layer.self_attention
    assert attention is not None
    for kernel in (attention.weights.kernel, layer.cross_attention.kernel):
        nn.init.normal_(kernel)
    text, words = torch.randn(2, 7, 16), torch.ones(2, 7, dtype=torch.int64)
    batch = Batch(torch.zeros(2), torch.zeros(2, 4), words, words, torch.arange(2))
    seen: list[Tensor] = []
    attention.register_forward_hook(lambda *call: seen.append(call[2]))
    first, second = layer(text, text, batch)
    assert torch.equal(seen[0], seen[1])
    assert not torch.allclose(first, second)
    assert layer.first.feed_forward[0].weight is not layer.second.feed_forward[0].weight


def test_decoupled_attention_keeps_positions_out_of_the_words() -> None:
    attention = DecoupledAttention(20, small_config(FabirConfig()), dropout=0.0).eval()
    nn.init.normal_(attention.weights.kernel)
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


def test_a_passage_is_read_once_for_all_questions_until_they_cross() -> None:
    config = FabirConfig(separate_layers=2, word_match=True)
    reader = small_reader("fabir", config)
    rows: list[int] = []
    for layer in reader.network.get_submodule("layers").children():
        layer.get_submodule("second.feed_forward").register_forward_hook(
            lambda _, texts, __: rows.append(len(texts[0]))
        )
    passage = EXAMPLES[0][1]
    questions = [EXAMPLES[0][0], EXAMPLES[1][0], "Who?"]
    batch = batch_of(reader.vocabulary, *[(question, passage) for question in questions])
    together = reader.network(batch)
    assert rows == [1, 3, 3]
    for number, question in enumerate(questions):
        alone = reader.network(batch_of(reader.vocabulary, (question, passage)))
        torch.testing.assert_close(together.start[number], alone.start[0])


def test_words_match_by_their_row_or_if_unknown_by_their_form() -> None:
    vocabulary = Vocabulary((), ("rain", "falls"), "", 4)
    pairs = [("Rain zyx Zyx?", "Zyx zyx ZYX falls rain RAIN ?"), ("rain", "Rain falls")]
    batch = batch_of(vocabulary, *pairs).unshared()
    real = batch.passage > 0
    found = [
        row[kept].tolist()
        for row, kept in zip(word_matches(batch, torch.float16), real, strict=True)
    ]
    assert found == [[1, 1, 0, 0, 1, 1, 1], [1, 0]]


def test_each_text_loses_other_positions_by_dropout() -> None:
    config = FabirConfig(dropout_input=0.5)
    layer, words = ReductionLayer(12, config), torch.zeros(2, 30, 12)
    first, second = layer._positions(words, 12)
    assert not torch.equal(first, second)
    layer.eval()
    assert layer._positions(words, 12).shape == (1, 30, 12)


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
        ({"heads": 3}, "3 heads do not divide the 200 features of a word, 100 of them"),
        ({"heads": 8}, "8 heads do not divide 100 features"),
        ({"heads": 0}, "0 heads"),
        ({"character_filters": 101}, "even sizes, got 201 and 100"),
        ({"model_dim": 25}, "even sizes, got 200 and 25"),
        ({"attention_width": 4}, "odd width, got 4"),
        ({"selector_width": 2}, "odd width, got 2"),
        ({"selector_layers": "different", "layers": 1}, "at least 2 layers"),
        ({"layer_type": "switching", "layers": 2}, "odd number"),
        ({"separate_layers": 4}, "of 4 layers, .* separate_layers cannot be 4"),
        ({"separate_layers": -1}, "separate_layers cannot be -1"),
        ({"convolved_layers": 4}, "are 3 layers .* convolved_layers cannot be 4"),
        ({"selector_layers": "different", "separate_layers": 3}, "2 layers that cross"),
        ({"dropout_input": 1.5}, "dropout rate .* got 1.5"),
        ({"dropout_selector": 1.0}, "dropout rate .* got 1.0"),
    ],
)
def test_refuses_what_does_not_go_together(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parameters(**changes)
