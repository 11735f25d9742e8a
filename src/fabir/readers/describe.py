"""How large the registered readers are, component by component."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from fabir.layers.embedding import VocabularySizes
from fabir.readers import READERS, registered

# The papers' setting: 100-dimensional GloVe vectors, which are not counted, and what is learned of
# SQuAD 1.1 train beside them: 16 frequent words that GloVe lacks and the unknown one, and 281
# characters.
PAPER = VocabularySizes(word_dim=100, trained_words=17, fixed_words=0, characters=281)


@dataclass(frozen=True)
class Component:
    """A part of a network and its trainable parameters; `depth` 0 is a whole reader."""

    name: str
    parameters: int
    depth: int


def describe(name: str) -> list[Component]:
    """The reader called `name`, then its parts to a depth of three, in the papers' setting."""
    entry = registered(name)
    with torch.device("meta"):  # shapes alone: nothing is allocated or initialised
        network = entry.network(entry.config(), PAPER)
    return list(_components(name, network, 0))


def describe_all() -> list[Component]:
    """Every registered reader as one component."""
    return [describe(name)[0] for name in READERS]


def _components(name: str, module: torch.nn.Module, depth: int) -> Iterator[Component]:
    yield Component(name, sum(p.numel() for p in module.parameters()), depth)
    if depth < 3:
        for child, part in module.named_children():
            if any(True for _ in part.parameters()):
                yield from _components(child, part, depth + 1)
