"""The registered readers: a name, its config and its network. To add one, add a line."""

import reprlib
from dataclasses import dataclass
from typing import Any

import torch

from fabir.errors import InputError
from fabir.layers.embedding import VocabularySizes
from fabir.readers.a3 import A3, A3Config
from fabir.readers.bidaf import Bidaf, BidafConfig
from fabir.readers.crossconv import CrossConv, CrossConvConfig
from fabir.readers.fabir import Fabir, FabirConfig
from fabir.readers.network import Network
from fabir.readers.qanet import Qanet, QanetConfig
from fabir.readers.rnet import Rnet, RnetConfig


@dataclass(frozen=True)
class Registered:
    """A config dataclass, and the network built from it and the sizes of a vocabulary.

    `batch_words`: padded passage words of a batch, for the best speed in torch.
    """

    config: type[Any]
    network: type[Network]
    batch_words: int = 3072


READERS = {
    "fabir": Registered(FabirConfig, Fabir, batch_words=6144),
    "crossconv": Registered(CrossConvConfig, CrossConv, batch_words=6144),
    "bidaf": Registered(BidafConfig, Bidaf, batch_words=1536),
    "rnet": Registered(RnetConfig, Rnet, batch_words=6144),
    "a3": Registered(A3Config, A3),
    "qanet": Registered(QanetConfig, Qanet),
}


def build_network(name: str, config: Any, sizes: VocabularySizes) -> Network:
    """A new network of the reader called `name`.

    Raises:
        InputError: the config does not fit the vectors.
    """
    try:
        return registered(name).network(config, sizes)
    except torch.OutOfMemoryError:
        raise
    except (ValueError, RuntimeError) as error:
        raise InputError(f"the configuration of reader {name}: {error}") from error


def registered(name: str) -> Registered:
    """The reader called `name`; InputError lists the names there are."""
    if name not in READERS:
        raise InputError(
            f"no reader is called {reprlib.repr(name)}: there are {', '.join(READERS)}"
        )
    return READERS[name]
