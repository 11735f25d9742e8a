"""BiDAF's layers after attention against loops over words, and what its readers refuse."""

from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from fabir.layers.embedding import VocabularySizes
from fabir.layers.fusion import Fusion
from fabir.layers.recurrent import Bidirectional
from fabir.readers.a3 import A3Config
from fabir.readers.bidaf import Bidaf, BidafConfig, RecurrentOutput
from fabir.readers.qanet import QanetConfig
from fabir.readers.rnet import RnetConfig
from fabir.training.config_files import load_config
from factories import ABBEY, RAIN, Seen, batch_of, padded_texts, small_reader, small_vocabulary

DIM = 4


@pytest.mark.parametrize("end", ["modelled", "start"])
def test_the_end_knows_what_its_kind_says(end: Literal["modelled", "start"]) -> None:
    lengths = [(5, 3), (1, 1)]
    modelled, _, mask, question_mask = padded_texts(lengths, DIM)
    attended = torch.randn(*mask.shape[:2], 3 * DIM)
    inputs = 6 * DIM if end == "start" else DIM
    layer = RecurrentOutput(3 * DIM, DIM, BidafConfig(end=end, hidden=inputs // 2, dropout=0.0))
    layer.layer = Seen()  # pyright: ignore[reportAttributeAccessIssue]
    found = layer(attended, modelled, modelled, mask, question_mask)
    for row, (words, _) in enumerate(lengths):
        g, m = attended[row, :words], modelled[row, :words]
        starts = torch.cat([layer.start(torch.cat([g[i], m[i]])) for i in range(words)])
        chosen = torch.stack([w * word for w, word in zip(starts.softmax(0), m, strict=True)]).sum(
            0
        )
        for word in range(words):
            last = m[word]
            if end == "start":
                last = torch.cat([g[word], m[word], chosen, m[word] * chosen])
            expected = starts[word], layer.end(torch.cat([g[word], last]))[0]
            for logits, value in zip(found, expected, strict=True):
                torch.testing.assert_close(logits[row, word], value, atol=1e-5, rtol=0)


class Halved(nn.Module):
    """In place of a recurrent layer."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return x / 2


class PassageAlone(Fusion):
    """In place of attention."""

    size = 2 * DIM

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        return passage


class Unattentive(Bidaf):
    def make_attention(self, config: BidafConfig) -> Fusion:
        return PassageAlone()


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_modelling_layers_read_one_another(layers: int) -> None:
    sizes = VocabularySizes(word_dim=2 * DIM, trained_words=99, fixed_words=0, characters=40)
    config = BidafConfig(hidden=DIM, modelling_layers=layers, characters=False)
    network = Unattentive(config, sizes).eval()
    assert len(network.modelling) == layers
    for number in range(layers):
        network.modelling[number] = Halved()
    given: list[tuple[Tensor, ...]] = []
    network.output.register_forward_hook(lambda *call: given.append(call[1]))
    network(batch_of(small_vocabulary(), ("What pulls?", RAIN), ("Who?", ABBEY)))
    ((attended, modelled, *_),) = given
    torch.testing.assert_close(modelled, attended / 2**layers)


def test_word_and_characters_are_embedded_apart() -> None:
    """Anderson 2019: [word; highway(ReLU(max(windows)))]; A3 section 3.3: the word's sigmoid."""
    sizes = VocabularySizes(word_dim=6, trained_words=9, fixed_words=0, characters=40)
    config = BidafConfig(
        hidden=DIM,
        character_windows="valid",
        word_dim=3,
        word_activation="sigmoid",
        highway="characters",
        highway_layers=1,
    )
    layer = Bidaf(config, sizes).eval().embedding
    assert layer.characters is not None
    spelling = [5, 6, 7, 8, 9, 10]
    found = layer(torch.tensor([1]), torch.tensor([[*spelling, 0, 0]]))[0]
    word = (layer.projection.get_parameter("weight") @ layer.words.trained[0]).sigmoid()
    read = layer.characters.table.weight[spelling]
    windows = [layer.characters.linears[0](read[i : i + 5].flatten()) for i in range(2)]
    spelt = torch.maximum(*windows).relu()
    gate, transformed = layer.characters.highway.layers[0](spelt).chunk(2)
    spelt = gate.sigmoid() * spelt + (1 - gate.sigmoid()) * transformed.relu()
    torch.testing.assert_close(found, torch.cat([word, spelt]))


SHIPPED_ROWS = ["bidaf", "a3-coatt", "a3-charemb-triselfatt-condoutput", "rnet-5-output"]


@pytest.mark.parametrize("name", SHIPPED_ROWS)
def test_every_layer_reads_its_input_with_dropout(name: str) -> None:
    reader = small_reader(*shipped(name, dropout=0.5))
    zeros: list[float] = []

    def count(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        zeros.append((inputs[0] == 0).float().mean().item())

    for part, layer in reader.network.named_modules():
        pointer = part in ("output.words", "output.pointing.words")
        if pointer or isinstance(layer, Bidirectional):
            layer.register_forward_pre_hook(count)
    batch = batch_of(reader.vocabulary, ("What pulls?", RAIN), ("Who?", ABBEY))
    reader.network(batch)
    before = zeros.copy()  # padding, and what a ReLU left
    zeros.clear()
    reader.network.train()(batch)
    # What is gathered beside a word has no dropout of its own.
    assert all(now > then + 0.12 for then, now in zip(before, zeros, strict=True))


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("bidaf", {"attention.similarity.both"}),
        ("bidaf-cs224n", {"attention.similarity.both"}),
        ("qanet", {"attention.similarity.both"}),
        ("a3-coatt", {"attention.coattention.projection.weight"}),
        ("a3-coselfatt-stacked", set()),
        ("a3-coselfatt-merged", {"attention.coattention.projection.weight"}),
        ("a3-charemb-triselfatt-condoutput", {"attention.flow.similarity.both", "output.v.weight"}),
        (
            "rnet-5-output",
            {"output.pointing.v.weight"}
            | {
                f"attention.below.{way}.{map}.weight"
                for way in ("forwards", "backwards")
                for map in ("words", "passage", "v")
            },
        ),
    ],
)
def test_random_init_draws_what_matching_init_sets(name: str, weights: set[str]) -> None:
    """All small, as drawn ones are."""
    matching, drawn = (
        small_reader(run.reader, run.network).network.state_dict()
        for run in (load_config(name, ["--network.init", init]) for init in ("matching", "random"))
    )
    others = {part for part, value in matching.items() if not torch.equal(value, drawn[part])}
    assert {part for part in others if part.endswith(("weight", "both"))} == weights
    for part in weights:
        assert len(drawn[part].unique()) == drawn[part].numel()
        largest = 4 if part.endswith("both") else 1  # standard deviations; else uniform
        assert drawn[part].abs().max() < largest * drawn[part].shape[-1] ** -0.5


@pytest.mark.parametrize(("name", "spread"), [("bidaf", 1.0), ("a3-charemb", 0.1)])
def test_character_embeddings_start_as_wide_as_configured(name: str, spread: float) -> None:
    """A3's are small: as large as in BiDAF they drown its words (docs/readers.md)."""
    run = load_config(name)
    table = small_reader(run.reader, run.network).network.state_dict()[
        "embedding.characters.table.weight"
    ]
    assert table[1:].std().item() == pytest.approx(spread, rel=0.2)


def shipped(name: str, **changes: Any) -> tuple[str, Any]:
    run = load_config(name)
    return run.reader, replace(run.network, **changes)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (BidafConfig, {"character_widths": ()}, r"character_widths must be from 1 .* \(\)"),
        (BidafConfig, {"character_widths": (3, 0)}, r"character_widths must be from 1 to"),
        (BidafConfig, {"character_widths": (10**12,)}, r"character_widths must be from 1 to 8192"),
        (BidafConfig, {"character_spread": 10**400}, "character_spread is too large a number"),
        (A3Config, {"character_filters": 2}, r"no more widths than .* \(2, 3, 4\) and 2"),
        (BidafConfig, {"modelling_layers": -1}, "modelling_layers must be from 0 to 100, got -1"),
        (BidafConfig, {"character_spread": 0.0}, "character_spread must be above 0, got 0.0"),
        (A3Config, {"sentinels": "common"}, "sentinels is of coattention: .* trilinear has none"),
        (A3Config, {"attention": "flow", "keep_passage": True}, "keep_passage is of coattention"),
        (A3Config, {"attention": "flow", "skip": True}, "skip is of self-attention: .* flow has"),
        (A3Config, {"attention": "coattention", "key_dim": 8}, "key_dim is of self-attention"),
        (
            A3Config,
            {"attention": "flow", "attention_start": "glorot"},
            "attention_start is of self",
        ),
        (A3Config, {"value_dim": -1}, "value_dim must be from 1 to 8192, got -1"),
        (A3Config, {"value_dim": 8, "values": "inputs"}, "value_dim is of projected values"),
        (A3Config, {"heads": 3}, "heads must divide the 2 . hidden features of a word: 3 do not"),
        (
            BidafConfig,
            {"characters": False, "highway": "characters"},
            "characters: set it to",
        ),
        (RnetConfig, {"cell": "lstm"}, "made of GRU cells: cell 'lstm'"),
        (RnetConfig, {"attention": "flow", "self_attention": False}, "nothing is gated"),
    ],
)
def test_what_does_not_go_together_is_refused(
    kind: type[BidafConfig], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**changes)


def test_what_has_no_effect_is_not_in_the_way() -> None:
    BidafConfig(characters=False, highway="characters", highway_layers=0)
    QanetConfig(encoder="recurrent", model_dim=100)
    QanetConfig(self_attention=False, model_dim=100)
    A3Config(attention="coattention", heads=3)
