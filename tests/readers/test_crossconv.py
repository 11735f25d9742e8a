"""CrossConv against a plain version of it in float64, and what it is made for."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

from fabir.data.batches import Batch
from fabir.explain.maps import recorded
from fabir.layers.dropout import Dropout
from fabir.layers.embedding import VocabularySizes
from fabir.readers.crossconv import CrossConv, CrossConvConfig, exact_match
from fabir.text.vocabulary import Vocabulary
from factories import EXAMPLES, batch_of, small_reader
from plain_crossconv import PlainCrossConv

SIZES = VocabularySizes(word_dim=50, trained_words=2, fixed_words=60, characters=30)


@pytest.mark.parametrize("changes", [{}, {"layers": 1}, {"width": 3, "encoder_width": 1}])
def test_equals_the_network_written_out(changes: dict[str, Any]) -> None:
    reader = small_reader("crossconv", CrossConvConfig(**changes))
    network = reader.network.double()
    assert isinstance(network, CrossConv)
    with torch.no_grad():
        for parameter in network.parameters():  # what begins at zero would hide
            parameter.add_(torch.randn_like(parameter) * 0.2)
        network.get_parameter("embedding.characters.table.weight")[0] = 0  # padding
        for question, passage, *_ in EXAMPLES:
            batch = batch_of(reader.vocabulary, (question, passage))
            real = batch.passage[0] > 0
            result = torch.stack([side[0, real] for side in network(batch)[:2]]).double()
            expected = PlainCrossConv(network, reader.config).logits(batch)
            torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)


def test_size_of_the_bundled_network() -> None:
    with torch.device("meta"):
        network = CrossConv(CrossConvConfig(), SIZES)
    words = network.embedding.words.trained.numel() + 8 * SIZES.characters
    assert sum(p.numel() for p in network.parameters()) - words == 537_583


def test_a_question_word_starts_with_a_look_at_its_like() -> None:
    torch.manual_seed(0)
    passage, question = torch.arange(1, 61)[None], torch.arange(60, 0, -6)[None]
    words = torch.arange(61) + 2  # padding, unknown, then the fixed ones
    batch = Batch(words, torch.randint(1, 30, (61, 6)), passage, question, torch.zeros(1).long())
    network = CrossConv(CrossConvConfig(), SIZES).eval()
    nn.init.normal_(network.embedding.words.fixed)
    with recorded(network) as seen:
        network(batch)
    looks = [weights[0] for name, weights in seen if "cross" in name]
    assert len(looks) == 4
    for weights in looks:
        assert (weights.argmax(1) == question[0] - 1).double().mean() > 0.4


def test_the_encoder_starts_with_all_of_a_word_and_little_of_its_position() -> None:
    torch.manual_seed(0)
    encoder = CrossConv(CrossConvConfig(), SIZES).encoder
    rows = encoder.reduction.weight
    torch.testing.assert_close(rows @ rows.T, torch.eye(len(rows)), atol=1e-5, rtol=0)
    for own in (encoder.question, encoder.passage):
        assert own.positions.norm.weight.tolist() == pytest.approx([0.3] * len(rows))


def test_each_rate_drops_in_its_places() -> None:
    """In the encoder twice: of 0.9 kept it keeps 0.81 (FABIR thesis eq. 5.26)."""
    network = CrossConv(CrossConvConfig(no_answer_hidden=6), SIZES)
    rates = {
        name: module.threshold / 256
        for name, module in network.named_modules()
        if isinstance(module, Dropout) and module.threshold
    }
    assert len(rates) == 31
    for name, rate in rates.items():
        expected = 0.05
        if name == "encoder.input_dropout":
            expected = 0.19
        elif name.startswith("encoder.") and "last_convolution" not in name:
            expected = 0.0975
        elif name.startswith(("selector.", "no_answer.")):
            expected = 0.1
        assert rate == pytest.approx(expected, abs=1 / 256), name


def test_the_encoder_drops_from_words_positions_and_what_it_makes_of_them() -> None:
    reader, seen = small_reader("crossconv"), Counter[str]()
    encoder = reader.network.train().get_submodule("encoder")
    for name in ("input_dropout", "dropout"):
        encoder.get_submodule(name).register_forward_hook(lambda *_, name=name: seen.update([name]))
    reader.network(batch_of(reader.vocabulary, EXAMPLES[0][:2]))
    # Of each text: words, wide and narrow positions; self-attention and the fewer features.
    assert seen == {"input_dropout": 2 * 3, "dropout": 2 * 2}


def test_words_match_by_their_row_or_if_unknown_by_their_type() -> None:
    vocabulary = Vocabulary((), ("rain", "falls"), "", 4)
    pairs = [("Rain zyx Zyx?", "Zyx zyx ZYX falls rain RAIN ?"), ("rain", "Rain falls")]
    batch = batch_of(vocabulary, *pairs)
    real = batch.for_questions(batch.passage > 0)
    found = [
        row[kept].tolist()
        for row, kept in zip(exact_match(batch, torch.float16), real, strict=True)
    ]
    assert found == [[1, 1, 0, 0, 1, 1, 1], [1, 0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_dim": 81}, "model_dim must be even for positions, got 81"),
        ({"layers": 0}, "layers must be at least 1"),
        ({"width": 4}, "width must be an odd number of at least 1, got 4"),
        ({"attention_width": 0}, "attention_width must be an odd number"),
        ({"character_filters": 45}, "features of a word .* must be even for positions, got 95"),
        ({"dropout_sublayer": -0.1}, "dropout_sublayer must be at least 0"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrossConv(CrossConvConfig(**changes), SIZES)
