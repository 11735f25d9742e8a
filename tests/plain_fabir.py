"""FABIR once more, written for reading alone: what `fabir.readers.fabir` is tested against.

One question and passage, no padding, no dropout, float64, no module of the package but the
position encoding. `plain_crossconv` is written with the same pieces. No tests here.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fabir.data.batches import Batch
from fabir.layers.position import trigonometric_positions
from fabir.readers.fabir import Fabir, FabirConfig


class Plain:
    """What both networks are made of, with the weights of `network`."""

    def __init__(self, network: Any, config: Any) -> None:
        self.weights = {**network.state_dict(), **dict(network.named_buffers())}
        self.config = config

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def norm(self, name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(1, keepdim=True)
        scaled = centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt()
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def embed(self, batch: Batch, types: Tensor) -> Tensor:
        trained = self.weights["embedding.words.trained"]
        padding = torch.zeros_like(trained[:1])
        rows = torch.cat([padding, trained, self.weights["embedding.words.fixed"]])
        x = rows[batch.words[types]]
        if getattr(self.config, "word_projection", True):
            x = self.linear("embedding.projection", x)
        if getattr(self.config, "characters", True):
            spelt = [self.spell(row[row > 0]) for row in batch.characters[types]]
            x = torch.cat([x, torch.stack(spelt)], dim=1)
        for number in range(self.config.highway_layers):
            gate, change = self.linear(f"embedding.highway.layers.{number}", x).chunk(2, dim=1)
            x = gate.sigmoid() * x + (1 - gate.sigmoid()) * change.relu()
        return x

    def spell(self, characters: Tensor) -> Tensor:
        width, count = self.config.character_width, len(characters)
        if getattr(self.config, "character_windows", "overhanging") == "valid":  # eq. 5.5
            count = max(1, count - width + 1)
        table = self.weights["embedding.characters.table.weight"]
        word = F.pad(table[characters], (0, 0, 0, width - 1))
        windows = [word[i : i + width].flatten() for i in range(count)]
        return self.linear("embedding.characters.linears.0", torch.stack(windows)).amax(0).tanh()

    def positions(self, length: int, dim: int, name: str = "") -> Tensor:
        learned = self.weights.get(f"{name}.learned.rows")
        if learned is not None:
            return torch.stack([learned[min(i, len(learned) - 1)] for i in range(length)])
        given = {
            "first": getattr(self.config, "first_position", 500),
            "lowest": getattr(self.config, "lowest_frequency", 1e-4),
            "highest": getattr(self.config, "highest_frequency", 1.0),
        }
        return trigonometric_positions(length, dim, **given).double()

    def maps(self, name: str, heads: int, queries: Tensor, keys: Tensor, over: int) -> Tensor:
        """Eqs. 5.14 and 11: [heads, queries, keys], softmax over dimension `over`."""
        u = self.linear(f"{name}.query", queries).unflatten(1, (heads, -1))
        k = self.linear(f"{name}.key", keys).unflatten(1, (heads, -1))
        logits = torch.einsum("ihd,jhd->hij", u, k)
        if self.config.attention_width:
            kernel = self.weights[f"{name}.kernel"].unflatten(1, (-1, heads)).transpose(1, 2)
            logits = F.conv2d(logits, kernel, padding=[size // 2 for size in kernel.shape[2:]])
        if getattr(self.config, "attention_scaled", True):
            logits = logits / u.shape[2] ** 0.5
        return logits.softmax(dim=over)

    def project(self, name: str, maps: Tensor, x: Tensor) -> Tensor:
        values = self.linear(f"{name}.value", x).unflatten(1, (len(maps), -1))
        return self.linear(f"{name}.output", torch.einsum("hij,jhd->ihd", maps, values).flatten(1))

    def feed_forward(self, name: str, x: Tensor) -> Tensor:
        return self.linear(f"{name}.2", self.linear(f"{name}.0", x).relu())

    def convolutions(self, name: str, passage: Tensor) -> Tensor:
        """The selector: [outputs, passage]."""
        x = passage.T[None]
        parts = getattr(self.config, "selector_convolutions", 2)
        inner = ["inner"] * (parts > 1) + [f"between.{i}" for i in range(parts - 2)]
        for part in [*inner, "outer"]:
            weight, bias = (self.weights[f"{name}.{part}.{kind}"] for kind in ("weight", "bias"))
            x = F.conv1d(x, weight, bias, padding="same")
            x = x if part == "outer" else x.relu()
        return x[0]


class PlainFabir(Plain):
    """Thesis chapter 5."""

    config: FabirConfig

    def __init__(self, network: Fabir) -> None:
        super().__init__(network, network.config)

    def logits(self, batch: Batch) -> Tensor:
        """[2, passage]"""
        question, passage = (self.embed(batch, x[0][x[0] > 0]) for x in batch[3:1:-1])
        question, passage = self.reduce(question, passage)
        outputs = [passage]
        for number in range(self.config.layers):
            name = f"layers.{number}"
            if self.config.layer_type == "switching" and number % 2:
                passage, question = self.layer(name, passage, question)
            else:
                question, passage = self.layer(name, question, passage)
            outputs.append(passage)
        if self.config.selector_layers == "different":
            return torch.cat([self.select(0, outputs[-2]), self.select(1, outputs[-1])])
        return self.select(0, outputs[-1])

    def feed(self, name: str, x: Tensor) -> Tensor:
        fed = x + self.feed_forward(f"{name}.feed_forward", x)
        return self.norm(f"{name}.after_feed_forward.norm", fed)

    def cross(self, name: str, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """A layer after its self-attention."""
        over = 1 if self.config.cross_attention == "column-wise" else 2

        def attend(part: str, queries: Tensor, keys: Tensor) -> Tensor:
            maps = self.maps(f"{name}.{part}", self.config.heads, queries, keys, over)
            return queries + self.project(f"{name}.{part}", maps, keys)

        if self.config.layer_type == "bidirectional":  # att_cross(Q, P), III-D.2
            crossed = attend("first_cross_attention", first, second)
            first = self.norm(f"{name}.after_first_cross.norm", crossed)
        first = self.feed(f"{name}.first", first)
        crossed = attend("cross_attention", second, first)
        second = self.norm(f"{name}.after_cross.norm", crossed)
        return first, self.feed(f"{name}.second", second)

    def layer(self, name: str, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        def attend(x: Tensor, which: str) -> Tensor:
            maps = self.maps(f"{name}.self_attention.weights", self.config.heads, x, x, 2)
            attended = self.project(f"{name}.self_attention.words", maps, x)
            return self.norm(f"{name}.{which}.after_attention.norm", x + attended)

        return self.cross(name, attend(first, "first"), attend(second, "second"))

    def reduce(self, question: Tensor, passage: Tensor) -> tuple[Tensor, Tensor]:
        dim, kind = self.config.model_dim, self.config.reduction
        own = "narrow" if kind == "layer" else "positions"
        narrow = [self.positions(len(x), dim, f"reduction.{own}") for x in (question, passage)]
        if kind != "layer":
            reduce = self.linear if kind == "matrix" else self.feed_forward
            question = reduce("reduction.reduction", question) + narrow[0]
            passage = reduce("reduction.reduction", passage) + narrow[1]
            if kind == "feed-forward":
                return question, passage
            return self.layer("reduction.layer", question, passage)
        words, moved = [], []
        for x, e, which in ((question, narrow[0], "first"), (passage, narrow[1], "second")):
            name = "reduction.self_attention"
            placed = x + self.positions(len(x), x.shape[1], "reduction.wide")
            maps = self.maps(f"{name}.weights", self.config.heads, placed, placed, 2)
            attended = x + self.project(f"{name}.words", maps, x)
            words.append(self.norm(f"reduction.{which}.after_attention.norm", attended))
            place = e + self.project(f"{name}.positions", maps, e)
            moved.append(self.norm(f"reduction.{which}_positions.norm", place))
        question, passage = (
            self.linear("reduction.reduction", x) for x in self.cross("reduction", *words)
        )
        return question + moved[0], passage + moved[1]

    def select(self, number: int, passage: Tensor) -> Tensor:
        if self.config.selector == "linear":
            return self.weights[f"selectors.{number}.weight"] @ passage.T
        return self.convolutions(f"selectors.{number}", passage)
