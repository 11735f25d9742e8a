"""The shipped configurations, each a row of a paper's table, and how large they are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import torch

from fabir.errors import InputError
from fabir.layers.embedding import VocabularySizes
from fabir.readers import build_network
from fabir.training.config_files import load_config, shipped_rows
from fabir.training.settings import RunConfig

# FABIR's setting: 100-dimensional GloVe vectors, which are not counted, and what is learned of
# SQuAD 1.1 train beside them: the unknown word and 281 characters, and rows for 16 words that
# GloVe lacks, seen more than 100 times.
PAPER = VocabularySizes(word_dim=100, trained_words=17, fixed_words=0, characters=281)
_SEEN = {100: 16, 10: 1216}  # such words, by how often they must have been seen


@dataclass(frozen=True)
class Component:
    """A part of a network and its trainable parameters; `depth` 0 is a whole reader."""

    name: str
    parameters: int
    depth: int


@cache
def rows() -> dict[str, RunConfig]:
    """The shipped configurations, each a row of a paper's table, by name."""
    return {name: load_config(name) for name in shipped_rows()}


def describe(name: str) -> list[Component]:
    """The row called `name`, then its parts to a depth of three, in its paper's setting.

    Raises:
        InputError: there is none.
    """
    if name not in rows():
        raise InputError(f"no configuration is called {name!r}: `fabir readers` lists them")
    run = rows()[name]
    sizes = replace(
        PAPER,
        word_dim=run.vectors.dim or PAPER.word_dim,
        trained_words=1 + _SEEN.get(run.vocabulary.word_count, 0),
    )
    with torch.device("meta"):  # shapes alone: nothing is allocated or initialised
        network = build_network(run.reader, run.network, sizes)
    return list(_components(name, network, 0))


def describe_all() -> list[Component]:
    """Every row as one component."""
    return [describe(name)[0] for name in rows()]


def _components(name: str, module: torch.nn.Module, depth: int) -> Iterator[Component]:
    yield Component(name, sum(p.numel() for p in module.parameters()), depth)
    if depth < 3:
        for child, part in module.named_children():
            if any(True for _ in part.parameters()):
                yield from _components(child, part, depth + 1)
        if any(True for _ in module.children()):
            for own, weights in module.named_parameters(recurse=False):
                yield Component(own, weights.numel(), depth + 1)
