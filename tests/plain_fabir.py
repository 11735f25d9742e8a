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
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def enter(self, name: str, x: Tensor) -> Tensor:
        """What a sublayer or a map reads, `name` its layer norm."""
        return self.norm(name, x) if self.config.norm == "before" else x

    def join(self, name: str, x: Tensor) -> Tensor:
        """What leaves a sublayer."""
        return x if self.config.norm == "before" else self.norm(f"{name}.norm", x)

    def local(self, name: str, x: Tensor) -> Tensor:
        alone = self.weights.get(f"{name}.convolution.0.weight")
        if alone is None:
            return x
        read = self.enter(f"{name}.join.norm", x).T[None]
        near = F.conv1d(read, alone, padding="same", groups=len(alone))[0].T
        return self.join(f"{name}.join", x + self.linear(f"{name}.convolution.1", near))

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
        read = self.enter(f"{name}.after_feed_forward.norm", x)
        hidden = self.linear(f"{name}.feed_forward.0", read).relu()
        return self.join(
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
        keys = self.enter(f"{name}.keys", first)
        queries = self.enter(f"{name}.after_cross.norm", second)
        maps = self.maps(f"{name}.cross_attention", queries, keys, over)
        if self.config.cross_capped:
            maps = maps / (1 + maps.sum(2, keepdim=True))
        crossed = self.project(f"{name}.cross_attention", maps, keys)
        second = self.join(f"{name}.after_cross", second + crossed)
        return first, self.feed(f"{name}.second", second)

    def layer(self, name: str, number: int, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        def attend(x: Tensor, which: str) -> Tensor:
            attends = number <= self.config.layers - self.config.convolved_layers
            x = self.local(f"{name}.local", x)
            if not attends:
                return x
            read = self.enter(f"{name}.{which}.after_attention.norm", x)
            maps = self.maps(f"{name}.self_attention.weights", read, read, 2)
            attended = self.project(f"{name}.self_attention.words", maps, read)
            return self.join(f"{name}.{which}.after_attention", x + attended)

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
            x = self.local("reduction.local", x)
            read = self.enter(f"reduction.{which}.after_attention.norm", x)
            placed = read + self.positions(len(x), x.shape[1])
            maps = self.maps(f"{name}.weights", placed, placed, 2)
            attended = x + self.project(f"{name}.words", maps, read)
            words.append(self.join(f"reduction.{which}.after_attention", attended))
            place = e + self.project(f"{name}.positions", maps, e)
            moved.append(self.norm(f"reduction.{which}_positions.norm", place))
        question, passage = self.rest("reduction", 0, *words)
        question, passage = (
            self.linear("reduction.reduction", self.enter("reduction.last_norm", x))
            for x in (question, passage)
        )
        return question + moved[0], passage + moved[1]

    def select(self, number: int, passage: Tensor) -> Tensor:
        name = f"selectors.{number}"
        passage = self.enter("last_norm", passage)
        if self.config.selector == "linear":
            return self.weights[f"{name}.weight"] @ passage.T
        x = passage.T[None]
        for part in ("inner", "outer"):
            weight, bias = (self.weights[f"{name}.{part}.{kind}"] for kind in ("weight", "bias"))
            x = F.conv1d(x if part == "inner" else x.relu(), weight, bias, padding="same")
        return x[0]
