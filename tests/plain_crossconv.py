"""CrossConv once more, written for reading alone: what `fabir.readers.crossconv` is tested against.

As in `plain_fabir`: one question and passage, no padding, no dropout, float64. No tests here.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from fabir.data.batches import Batch
from fabir.readers.crossconv import CrossConv, CrossConvConfig
from fabir.text.vocabulary import UNKNOWN
from plain_fabir import Plain


class PlainCrossConv(Plain):
    """An encoder for each text alone, then layers in which the passage looks at the question."""

    config: CrossConvConfig

    def __init__(self, network: CrossConv, config: CrossConvConfig) -> None:
        super().__init__(network, config)

    def logits(self, batch: Batch) -> Tensor:
        """[2, passage]"""
        types = [x[0][x[0] > 0] for x in (batch.question, batch.passage)]
        words = [[self.word(batch, number) for number in x.tolist()] for x in types]
        matches = torch.tensor([[word in words[0]] for word in words[1]]).double()
        question, passage = (
            self.encode(self.embed(batch, x), which)
            for x, which in zip(types, ("question", "passage"), strict=True)
        )
        passage = passage + matches @ self.weights["match.weight"].T
        for number in range(self.config.layers):
            name = f"layers.{number}"
            if number:
                question, passage = (
                    self.convolve(f"between.{number - 1}", x) for x in (question, passage)
                )
            question = self.feed(f"{name}.question", question)
            keys = self.norm(f"{name}.keys", question)
            queries = self.norm(f"{name}.cross.norm", passage)
            maps = self.maps(f"{name}.cross.sublayer", 1, queries, keys, 1)
            capped = maps / (1 + maps.sum(2, keepdim=True))
            passage = passage + self.project(f"{name}.cross.sublayer", capped, keys)
            passage = self.feed(f"{name}.passage", passage)
        return self.convolutions("selector", self.norm("norm", passage))

    def word(self, batch: Batch, number: int) -> tuple[int, ...]:
        """What makes two words the same: their row, and their spelling if that is unknown."""
        row = int(batch.words[number])
        return (row,) if row > UNKNOWN else (row, number)

    def convolve(self, name: str, x: Tensor) -> Tensor:
        alone = self.weights[f"{name}.sublayer.0.weight"]
        read = self.norm(f"{name}.norm", x).T[None]
        near = F.conv1d(read, alone, padding="same", groups=len(alone))[0].T
        return x + self.linear(f"{name}.sublayer.1", near)

    def feed(self, name: str, x: Tensor) -> Tensor:
        return x + self.feed_forward(f"{name}.sublayer", self.norm(f"{name}.norm", x))

    def encode(self, words: Tensor, which: str) -> Tensor:
        words = self.convolve("encoder.convolution", words)
        read = self.norm(f"encoder.{which}.norm", words)
        placed = read + self.positions(len(words), words.shape[1])
        narrow = self.positions(len(words), self.config.model_dim)
        maps = self.maps("encoder.attention.weights", 1, placed, placed, 2)
        words = words + self.project("encoder.attention.words", maps, read)
        words = self.feed(f"encoder.{which}.feed", words)
        moved = narrow + self.project("encoder.attention.positions", maps, narrow)
        moved = self.norm(f"encoder.{which}.positions.norm", moved)
        reduced = self.linear("encoder.reduction", self.norm("encoder.norm", words))
        return self.convolve("encoder.last_convolution", reduced + moved)
