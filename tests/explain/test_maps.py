"""Attention weights are read off every reader, and nothing is left behind."""

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


# Of the small readers, head by head.
MAPS = {
    "fabir": (1 + 3) * (2 + 1) * 4,  # layers; both texts, and one meeting the other; heads
    "crossconv": 2 + 4,  # both texts alone; a passage meeting its question in each layer
    "bidaf": 1,  # both ways in one map
    "rnet": 2 + 1,  # forwards and backwards over the question; over the passage itself
    "a3": 2 * 4 + 2,  # both texts with four heads; each meeting the other
    "qanet": 2 * 8 + 2 + 3 * 2 * 8,  # both texts; each meeting the other; passes of two blocks
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("question", [QUESTION, "Rain", " ".join(["rain"] * 15)])
def test_every_reader_has_maps_of_its_texts(name: str, question: str) -> None:
    """Also where question and passage are as long as each other."""
    reader = small_reader(name)
    asked, words = tokenise(question).words, tokenise(RAIN).words
    maps = explain(reader, question, RAIN).maps
    # What pools a text is not a map, but looks like one of a question of one word.
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
    assert len(maps) == 2 + 3  # both texts in the reduction layer, then a passage of its question
    for each in maps:
        assert [word for word in each.rows if word] in (asked, words)
        assert [word for word in each.columns if word] in (asked, words)
        np.testing.assert_allclose(each.weights.sum(axis=1), 1, atol=1e-4)


def test_a_network_that_attends_at_each_step_has_a_row_for_each_word() -> None:
    reader = small_reader("rnet", RnetConfig(self_attention=False))
    maps = {each.module: each for each in explain(reader, QUESTION, RAIN).maps}
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
    reader = small_reader("fabir", config)
    question = "Where does it fall"
    maps = [m for m in explain(reader, question, RAIN).maps if "cross_attention" in m.module]
    per_layer = len(maps) // len({each.module for each in maps})
    assert per_layer == 4
    for each in maps:
        assert [word for word in each.rows if word] == tokenise(RAIN).words
        assert each.columns == tokenise(question).words


def test_the_weights_are_those_that_the_network_used() -> None:
    reader = small_reader()
    maps = [
        each
        for each in explain(reader, QUESTION, RAIN).maps
        if each.module == "layers.0.self_attention.weights" and len(each.rows) > 10
    ]
    used: list[torch.Tensor] = []

    def keep(module: nn.Module, inputs: Any, heads: Any) -> None:
        used.extend(heads)

    weights = reader.network.get_submodule("layers.0.self_attention.weights")
    weights.register_forward_hook(keep)
    with torch.inference_mode():
        reader.network(batch_of(reader.vocabulary, (QUESTION, RAIN)))
    theirs = [head[0] for head in used if head.shape[1] == len(maps[0].rows)]
    assert [each.head for each in maps] == [1, 2, 3, 4]
    for each, expected in zip(maps, theirs, strict=True):
        np.testing.assert_allclose(each.weights, expected, atol=1e-5)


def hooks(reader: TorchModel) -> int:
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks)
        for module in reader.network.modules()
    )


def record(reader: TorchModel, batch: Any) -> None:
    with recorded(reader.network):
        reader.network(batch)


def test_nothing_is_left_behind_also_after_an_error() -> None:
    reader = small_reader()
    batch = batch_of(reader.vocabulary, (QUESTION, ABBEY))
    with torch.inference_mode():
        before = reader.network(batch)
        with recorded(reader.network) as found:
            during = reader.network(batch)
            count = len(found)
        after = reader.network(batch)
    with pytest.raises(AttributeError):
        record(reader, None)
    assert len(found) == count > 0
    assert hooks(reader) == 0
    for first, second, third in zip(before, during, after, strict=True):
        assert torch.equal(first, second)
        assert torch.equal(first, third)
