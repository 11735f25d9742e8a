"""FABIR once more, written for reading alone: what `fabir.readers.fabir` is tested against.

One question and passage, no padding, no dropout, float64, no module of the package but the
position encoding. No tests here.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from fabir.data.batches import Batch
from fabir.layers.position import trigonometric_positions
from fabir.readers.fabir import Fabir
from fabir.text.vocabulary import UNKNOWN


class PlainFabir:
    """Thesis chapter 5, with the weights of `network`."""

    def __init__(self, network: Fabir) -> None:
        self.weights = {**network.state_dict(), **dict(network.named_buffers())}
        self.config = network.config

    def logits(self, batch: Batch) -> Tensor:
        """[2, passage]"""
        forms = [x[0][x[0] > 0] for x in (batch.question, batch.passage)]
        texts = [self.embed(batch, x) for x in forms]
        words = [[self.word(batch, form) for form in x.tolist()] for x in forms]
        self.matches = torch.tensor([[word in words[0]] for word in words[1]]).double()
        question, passage = self.reduce(texts[0], texts[1])
        outputs = [passage]
        for number in range(self.config.layers):
            name = f"layers.{number}"
            if self.config.layer_type == "switching" and number % 2:
                passage, question = self.layer(name, number + 1, passage, question)
            else:
                question, passage = self.layer(name, number + 1, question, passage)
            outputs.append(passage)
        if self.config.selector_layers == "different":
            return torch.cat([self.select(0, outputs[-2]), self.select(1, outputs[-1])])
        return self.select(0, outputs[-1])

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def norm(self, name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(1, keepdim=True)
        scaled = centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt()
        return scaled * self.weights[f"{name}.norm.weight"] + self.weights[f"{name}.norm.bias"]

    def word(self, batch: Batch, form: int) -> tuple[int, ...]:
        """What makes two words the same: their row, and their spelling if that is unknown."""
        row = int(batch.words[form])
        return (row,) if row > UNKNOWN else (row, form)

    def embed(self, batch: Batch, forms: Tensor) -> Tensor:
        trained = self.weights["embedding.words.trained"]
        padding = torch.zeros_like(trained[:1])
        rows = torch.cat([padding, trained, self.weights["embedding.words.fixed"]])
        x = self.linear("embedding.projection", rows[batch.words[forms]])
        if self.config.characters:
            spelt = [self.spell(form[form > 0]) for form in batch.characters[forms]]
            x = torch.cat([x, torch.stack(spelt)], dim=1)
        for number in range(self.config.highway_layers):
            gate, change = self.linear(f"embedding.highway.layers.{number}", x).chunk(2, dim=1)
            x = gate.sigmoid() * x + (1 - gate.sigmoid()) * change.relu()
        return x

    def spell(self, characters: Tensor) -> Tensor:
        width = self.config.character_width
        table = self.weights["embedding.characters.table.weight"]
        word = F.pad(table[characters], (0, 0, 0, width - 1))
        windows = [word[i : i + width].flatten() for i in range(len(characters))]
        return self.linear("embedding.characters.linears.0", torch.stack(windows)).amax(0).tanh()

    def positions(self, length: int, dim: int) -> Tensor:
        return trigonometric_positions(length, dim).double()

    def maps(self, name: str, queries: Tensor, keys: Tensor, over: int) -> Tensor:
        """Eq. 5.14: [heads, queries, keys], softmax over dimension `over`."""
        u = self.linear(f"{name}.query", queries).unflatten(1, (self.config.heads, -1))
        k = self.linear(f"{name}.key", keys).unflatten(1, (self.config.heads, -1))
        logits = torch.einsum("ihd,jhd->hij", u, k)
        if self.config.attention_width:
            kernel = self.weights[f"{name}.kernel"][:, :, None]
            groups = 1
            if self.config.depthwise:
                kernel, groups = kernel.transpose(0, 1), len(logits)
            logits = F.conv2d(logits, kernel, padding=(0, kernel.shape[3] // 2), groups=groups)
        return (logits / u.shape[2] ** 0.5).softmax(dim=over)

    def project(self, name: str, maps: Tensor, x: Tensor) -> Tensor:
        values = self.linear(f"{name}.value", x).unflatten(1, (self.config.heads, -1))
        return self.linear(f"{name}.output", torch.einsum("hij,jhd->ihd", maps, values).flatten(1))

    def feed(self, name: str, x: Tensor) -> Tensor:
        hidden = self.linear(f"{name}.feed_forward.0", x).relu()
        return self.norm(
            f"{name}.after_feed_forward", x + self.linear(f"{name}.feed_forward.2", hidden)
        )

    def rest(self, name: str, number: int, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """A layer after its self-attention."""
        begins = self.config.separate_layers
        if number == begins and self.config.word_match:
            second = second + self.matches @ self.weights[f"{name}.match.weight"].T
        first = self.feed(f"{name}.first", first)
        if number < begins:
            return first, self.feed(f"{name}.second", second)
        over = 1 if self.config.cross_attention == "column-wise" else 2
        maps = self.maps(f"{name}.cross_attention", second, first, over)
        if self.config.cross_capped:
            maps = maps / (1 + maps.sum(2, keepdim=True))
        crossed = self.project(f"{name}.cross_attention", maps, first)
        second = self.norm(f"{name}.after_cross", second + crossed)
        return first, self.feed(f"{name}.second", second)

    def layer(self, name: str, number: int, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        def attend(x: Tensor, which: str) -> Tensor:
            maps = self.maps(f"{name}.self_attention.weights", x, x, 2)
            attended = self.project(f"{name}.self_attention.words", maps, x)
            return self.norm(f"{name}.{which}.after_attention", x + attended)

        return self.rest(name, number, attend(first, "first"), attend(second, "second"))

    def reduce(self, question: Tensor, passage: Tensor) -> tuple[Tensor, Tensor]:
        dim = self.config.model_dim
        narrow = [self.positions(len(x), dim) for x in (question, passage)]
        if self.config.reduction == "matrix":
            question = self.linear("reduction.reduction", question) + narrow[0]
            passage = self.linear("reduction.reduction", passage) + narrow[1]
            return self.layer("reduction.layer", 0, question, passage)
        words, moved = [], []
        for x, e, which in ((question, narrow[0], "first"), (passage, narrow[1], "second")):
            name = "reduction.self_attention"
            placed = x + self.positions(len(x), x.shape[1])
            maps = self.maps(f"{name}.weights", placed, placed, 2)
            attended = x + self.project(f"{name}.words", maps, x)
            words.append(self.norm(f"reduction.{which}.after_attention", attended))
            place = e + self.project(f"{name}.positions", maps, e)
            moved.append(self.norm(f"reduction.{which}_positions", place))
        question, passage = self.rest("reduction", 0, *words)
        question, passage = (self.linear("reduction.reduction", x) for x in (question, passage))
        return question + moved[0], passage + moved[1]

    def select(self, number: int, passage: Tensor) -> Tensor:
        name = f"selectors.{number}"
        if self.config.selector == "linear":
            return self.weights[f"{name}.weight"] @ passage.T
        x = passage.T[None]
        for part in ("inner", "outer"):
            weight, bias = (self.weights[f"{name}.{part}.{kind}"] for kind in ("weight", "bias"))
            x = F.conv1d(x if part == "inner" else x.relu(), weight, bias, padding="same")
        return x[0]
