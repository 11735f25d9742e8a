"""Attention weights, recorded during a forward pass. Networks need no code for it.

Every attention ends in a softmax over a matrix of words by words. `recorded` intercepts each
softmax and stores its weights with the name of the calling module.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

SENTINEL = "(sentinel)"


@dataclass(frozen=True)
class Map:
    """Attention weights of one head.

    Args:
        module: the name of the module in the network
        head: its number, from 1; 0 for a single head
        texts: the text that reads, and the text that is read; each "question" or "passage"
        rows: words of the text that reads
        columns: words of the text that is read
        weights: [rows, columns] float32; a row sums to 1
    """

    module: str
    head: int
    texts: tuple[str, str]
    rows: list[str]
    columns: list[str]
    weights: np.ndarray


class Side(NamedTuple):
    """A text of the batch: its words, one for each position, and the position of a sentinel.

    Padding is an empty word.
    """

    name: str
    words: list[str]
    sentinel: Literal["before", "after"] = "before"


class _Softmax(TorchFunctionMode):
    """Calls `keep` with the weights of every softmax."""

    def __init__(self, keep: Callable[[Tensor], None]) -> None:
        super().__init__()
        self.keep = keep

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:  # it does not return its weights
            query, key, _, bias = args
            logits = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
            self.keep((logits + bias).softmax(dim=-1))
        elif getattr(func, "__name__", "") == "softmax":
            # Each row belongs to a query, in either layout.
            self.keep(result.transpose(kwargs["dim"] if "dim" in kwargs else args[1], -1))
        return result


@contextmanager
def recorded(network: nn.Module) -> Iterator[list[tuple[str, Tensor]]]:
    """Yield a list that collects the weights of every softmax in `network`, with its module."""
    running: list[str] = [""]
    found: list[tuple[str, Tensor]] = []
    with ExitStack() as stack:
        for name, module in network.named_modules():
            enter = module.register_forward_pre_hook(lambda *_, name=name: running.append(name))
            leave = module.register_forward_hook(
                lambda *_: (running.pop(), None)[1], always_call=True
            )
            stack.callback(enter.remove)
            stack.callback(leave.remove)
        keep = _Softmax(lambda weights: found.append((running[-1], weights.detach().float())))
        stack.enter_context(keep)
        yield found


@torch.inference_mode()
def attention_maps(found: list[tuple[str, Tensor]], sides: tuple[Side, Side]) -> list[Map]:
    """Turn `recorded` weights of one question and passage into maps.

    Args:
        sides: the question and the passage. Their lengths must differ, since lengths identify
            them. A dimension that is longer by one includes the sentinel.

    Weights that belong to no pair of texts, such as a pointer's, are left out. A recurrent network
    that attends at each step yields one row at a time; such rows are joined.
    """
    parts: dict[str, list[np.ndarray]] = {}
    for module, weights in found:
        parts.setdefault(module, []).extend(_heads(weights[0].numpy(), sides))
    maps: list[Map] = []
    for module, pieces in parts.items():
        of_size: dict[tuple[int, ...], list[np.ndarray]] = {}
        for whole in _wholes(pieces, sides, backwards="backwards" in module.split(".")):
            of_size.setdefault(whole.shape, []).append(whole)
        for (rows, columns), heads in of_size.items():
            reader, read = _side(rows, sides), _side(columns, sides)
            if not (reader and read):
                continue
            for head, weights in enumerate(heads, 1):
                maps.append(_map(module, head * (len(heads) > 1), reader, read, weights))
    return maps


def _map(module: str, head: int, reader: Side, read: Side, weights: np.ndarray) -> Map:
    """A map without the padding."""
    real = [[i for i, word in enumerate(side.words) if word] for side in (reader, read)]
    rows, columns = ([word for word in side.words if word] for side in (reader, read))
    return Map(module, head, (reader.name, read.name), rows, columns, weights[np.ix_(*real)])


def _wholes(
    pieces: list[np.ndarray], sides: tuple[Side, Side], *, backwards: bool
) -> Iterator[np.ndarray]:
    """Maps with a row for each word of a text; separate rows of a passage are joined."""
    rest: list[np.ndarray] = []
    for piece in pieces:
        if _side(len(piece), sides):
            yield piece
            continue
        rest.append(piece)
        if rest[0].shape[1] != piece.shape[1] or sum(map(len, rest)) > len(sides[1].words):
            rest = [piece]
        if sum(map(len, rest)) == len(sides[1].words):
            yield np.concatenate(rest[::-1] if backwards else rest)
            rest = []


def _heads(weights: np.ndarray, sides: tuple[Side, Side]) -> Iterator[np.ndarray]:
    """The maps of all heads in an array of two or three dimensions."""
    if weights.ndim == 3:
        first, second, _ = weights.shape
        # The shape is [rows, heads, columns] for a passage, or [heads, rows, columns].
        apart = first == len(sides[1].words) != second or not _side(second, sides)
        yield from weights.swapaxes(0, 1) if apart and second > 1 else weights
    elif weights.ndim == 2:
        rows, columns = weights.shape
        # The heads of cross-attention stand below each other, each with a row for every key.
        keys = len(sides[columns == len(sides[0].words)].words)
        apart = not _side(rows, sides) and rows % keys == 0 and rows > 1
        yield from weights.reshape(-1, keys, columns) if apart else weights[None]


def _side(length: int, sides: tuple[Side, Side]) -> Side | None:
    """The text with this length; or a text shorter by one, with its sentinel."""
    for side in sides:
        if length == len(side.words):
            return side
    for side in sides:
        if length == len(side.words) + 1:
            before = side.sentinel == "before"
            return side._replace(words=[SENTINEL] * before + side.words + [SENTINEL] * (not before))
    return None
