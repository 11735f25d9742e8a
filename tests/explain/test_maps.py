"""Attention weights are recorded for every architecture, and no hook remains."""

from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import nn

from fabir.explain.maps import recorded
from fabir.explain.page import explain
from fabir.readers import READERS
from fabir.readers.a3 import A3Config
from fabir.readers.crossconv import CrossConvConfig
from fabir.readers.fabir import FabirConfig
from fabir.readers.rnet import RnetConfig
from fabir.runtime.torch_model import TorchModel
from fabir.text.tokens import tokenise
from factories import ABBEY, RAIN, batch_of, small_config, small_reader

QUESTION = "Where does rain fall from?"


# The number of maps of each architecture, head by head.
MAPS = {
    "fabir": (1 + 3) * (2 + 1) * 4,  # layers; both texts, and cross-attention; heads
    "crossconv": 2 + 4,  # self-attention of both texts; cross-attention in each layer
    "bidaf": 1,  # both directions in one map
    "rnet": 2 + 1,  # forwards and backwards over the question; self-attention of the passage
    "a3": 2 * 4 + 2,  # self-attention of both texts with four heads; cross-attention both ways
    "qanet": 2 * 8 + 2 + 3 * 2 * 8,  # both texts; cross-attention both ways; passes of two blocks
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("question", [QUESTION, "Rain", " ".join(["rain"] * 15)])
def test_every_reader_has_maps_of_its_texts(name: str, question: str) -> None:
    """Also if question and passage have the same length."""
    model = small_reader(name)
    asked, words = tokenise(question).words, tokenise(RAIN).words
    maps = explain(model, question, RAIN).maps
    # The pooling of a text is not a map, but has the shape of a map of a one-word question.
    assert len(maps) == MAPS[name] or (len(asked) == 1 and len(maps) > MAPS[name])
    assert any(each.columns[: len(words)] == words for each in maps) or name == "bidaf"
    for each in maps:
        assert each.weights.shape == (len(each.rows), len(each.columns))
        assert {*each.rows, *each.columns} <= {*asked, *words, "", "(sentinel)"}
        np.testing.assert_allclose(each.weights.sum(axis=1), 1, atol=1e-4)


@pytest.mark.parametrize("question", [QUESTION, "Rain"])
def test_crossconv_has_maps(question: str) -> None:
    maps = explain(small_reader("crossconv", CrossConvConfig(layers=3)), question, RAIN).maps
    asked, words = tokenise(question).words, tokenise(RAIN).words
    assert len(maps) == 2 + 3  # self-attention of both texts, then cross-attention in each layer
    for each in maps:
        assert [word for word in each.rows if word] in (asked, words)
        assert [word for word in each.columns if word] in (asked, words)
        np.testing.assert_allclose(each.weights.sum(axis=1), 1, atol=1e-4)


def test_a_network_that_attends_at_each_step_has_a_row_for_each_word() -> None:
    model = small_reader("rnet", RnetConfig(self_attention=False))
    maps = {each.module: each for each in explain(model, QUESTION, RAIN).maps}
    for direction in ("forwards", "backwards"):
        each = maps[f"attention.{direction}"]
        assert (each.rows, each.columns) == (tokenise(RAIN).words, tokenise(QUESTION).words)


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_sentinel_is_named_in_its_place(place: Literal["before", "after"]) -> None:
    config = A3Config(attention="coattention", sentinels="common", sentinel_place=place)
    maps = explain(small_reader("a3", small_config(config)), QUESTION, RAIN).maps
    columns = [each.columns for each in maps if "(sentinel)" in each.columns]
    words = tokenise(QUESTION).words
    assert columns
    for found in columns:
        assert found.index("(sentinel)") == (0 if place == "before" else len(found) - 1)
    assert any(words == [word for word in found if word != "(sentinel)"] for found in columns)


def test_a_question_as_long_as_there_are_heads_is_not_taken_for_heads() -> None:
    config = small_config(FabirConfig(cross_attention="row-wise", heads=4))
    model = small_reader("fabir", config)
    question = "Where does it fall"
    maps = [m for m in explain(model, question, RAIN).maps if "cross_attention" in m.module]
    per_layer = len(maps) // len({each.module for each in maps})
    assert per_layer == 4
    for each in maps:
        assert [word for word in each.rows if word] == tokenise(RAIN).words
        assert each.columns == tokenise(question).words


def test_a_bidirectional_layer_has_maps_of_both_directions() -> None:
    model = small_reader("fabir", FabirConfig(layer_type="bidirectional", layers=1))
    asked, words = tokenise(QUESTION).words, tokenise(RAIN).words
    found = {"first_cross_attention": (words, asked), "cross_attention": (asked, words)}
    for part, (rows, columns) in found.items():
        name = f"layers.0.{part}"
        maps = [m for m in explain(model, QUESTION, RAIN).maps if m.module == name]
        assert [each.head for each in maps] == [1, 2, 3, 4]
        for each in maps:
            texts = ([word for word in side if word] for side in (each.rows, each.columns))
            assert tuple(texts) == (rows, columns)


def test_the_weights_are_those_that_the_network_used() -> None:
    model = small_reader()
    maps = [
        each
        for each in explain(model, QUESTION, RAIN).maps
        if each.module == "layers.0.self_attention.weights" and len(each.rows) > 10
    ]
    used: list[torch.Tensor] = []

    def keep(module: nn.Module, inputs: Any, heads: Any) -> None:
        used.extend(heads)

    weights = model.network.get_submodule("layers.0.self_attention.weights")
    weights.register_forward_hook(keep)
    with torch.inference_mode():
        model.network(batch_of(model.vocabulary, (QUESTION, RAIN)))
    theirs = [head[0] for head in used if head.shape[1] == len(maps[0].rows)]
    assert [each.head for each in maps] == [1, 2, 3, 4]
    for each, expected in zip(maps, theirs, strict=True):
        np.testing.assert_allclose(each.weights, expected, atol=1e-5)


def hooks(model: TorchModel) -> int:
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks)
        for module in model.network.modules()
    )


def record(model: TorchModel, batch: Any) -> None:
    with recorded(model.network):
        model.network(batch)


def test_nothing_is_left_behind_also_after_an_error() -> None:
    model = small_reader()
    batch = batch_of(model.vocabulary, (QUESTION, ABBEY))
    with torch.inference_mode():
        before = model.network(batch)[:2]
        with recorded(model.network) as found:
            during = model.network(batch)[:2]
            count = len(found)
        after = model.network(batch)[:2]
    with pytest.raises(AttributeError):
        record(model, None)
    assert len(found) == count > 0
    assert hooks(model) == 0
    for first, second, third in zip(before, during, after, strict=True):
        assert torch.equal(first, second)
        assert torch.equal(first, third)
