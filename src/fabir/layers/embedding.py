"""From word rows and characters to one vector per word type (FABIR eqs. 7, 8; thesis 5.1).

A word type is a distinct spelling in a batch. Its vector does not depend on context. It is
computed once and then laid out over passage and question.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fabir.layers.convolution import neighbourhoods
from fabir.layers.dropout import Dropout

Activation = Literal["tanh", "relu", "sigmoid", "none"]
CharacterWindows = Literal["overhanging", "valid"]
_GROUPS = 4  # of word types, each as wide as its longest
_ACTIVATIONS = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
    "none": nn.Identity,
}


@dataclass(frozen=True, kw_only=True)
class VocabularySizes:
    """The sizes of a vocabulary, which decide the shapes of a reader's weights."""

    word_dim: int  # features of a word vector
    trained_words: int  # rows learned with the network, the unknown word among them
    fixed_words: int  # rows taken from the vectors file
    characters: int  # distinct characters, padding and the unknown one included


class WordRows(nn.Module):
    """Rows of word vectors: 0 is padding (zeros), then trained rows, then fixed ones.

    The fixed rows are a buffer outside the state dict. They are stored once beside the network,
    not in every checkpoint. `unfreeze` makes the first of them a parameter.

    Shape:
        rows: [types] int64
        result: [types, word_dim]
    """

    fixed: Tensor
    tuned: nn.Parameter | None

    def __init__(self, sizes: VocabularySizes) -> None:
        super().__init__()
        self.trained = nn.Parameter(torch.randn(sizes.trained_words, sizes.word_dim))
        self.register_buffer(
            "fixed", torch.zeros(sizes.fixed_words, sizes.word_dim), persistent=False
        )
        self.register_parameter("tuned", None)

    def unfreeze(self, rows: int) -> None:
        """Let training change the first `rows` fixed rows too; they join the state dict."""
        self.tuned = nn.Parameter(self.fixed[:rows].float().clone())

    @torch.no_grad()
    def pull_back(self, share: float) -> None:
        """Move the rows that training changes by `share` of the way to the fixed rows that they
        began as."""
        if self.tuned is not None:
            self.tuned.lerp_(self.fixed[: len(self.tuned)].to(self.tuned.dtype), share)

    def fixed_rows(self) -> Tensor:
        """[fixed words, word_dim], including the rows that training changed."""
        if self.tuned is None:
            return self.fixed
        return torch.cat([self.tuned.detach(), self.fixed[len(self.tuned) :].float()])

    def forward(self, rows: Tensor) -> Tensor:
        trained = self.trained[(rows - 1).clamp(0, len(self.trained) - 1)]
        if len(self.fixed) == 0:
            return trained * (rows > 0)[:, None]
        place = rows - 1 - len(self.trained)
        fixed = self.fixed[place.clamp(min=0)].to(trained.dtype)
        if self.tuned is not None:
            tuned = self.tuned[place.clamp(0, len(self.tuned) - 1)]
            fixed = torch.where((place < len(self.tuned))[:, None], tuned, fixed)
        return torch.where((place >= 0)[:, None], fixed, trained * (rows > 0)[:, None])


class CharacterConvolution(nn.Module):
    """Character embedding, convolutions, maximum over time (Kim 2014; FABIR III-A, thesis eq. 5.6).

    The maximum is over a word's windows. "overhanging" ones begin at each of its characters, and
    the last of them see zeros beyond its end, as in the programs of FABIR and BiDAF. "valid" ones
    lie within the word (thesis eq. 5.5: `length - width + 1` of them) and the margins on both its
    sides (A3 section 3.3). A word shorter than a filter then has one window, filled up with zeros.

    Args:
        characters: distinct characters
        dim: features of a character
        filters: features of a word for each of `widths`
        widths: characters that a filter sees
        activation: after the maximum
        margin: padding before the word that windows may begin with; after it, valid ones may end
            with as much
        windows: "overhanging" or "valid"
        highway_layers: highway layers after the activation, over characters alone
        spread: standard deviation of the character embeddings at initialisation
        dropout: rate on character embeddings

    Shape:
        characters: [types, chars] int64, 0 at padding
        result: [types, sum of filters]
    """

    def __init__(
        self,
        characters: int,
        dim: int,
        filters: Sequence[int],
        widths: Sequence[int],
        *,
        activation: Activation = "tanh",
        margin: int = 0,
        windows: CharacterWindows = "overhanging",
        highway_layers: int = 0,
        spread: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.widths, self.margin, self.size = tuple(widths), margin, sum(filters)
        self.valid = windows == "valid"
        self.table = nn.Embedding(characters, dim, padding_idx=0)
        with torch.no_grad():
            self.table.weight.mul_(spread)
        self.dropout = Dropout(dropout)
        self.linears = nn.ModuleList(
            nn.Linear(width * dim, size) for width, size in zip(widths, filters, strict=True)
        )
        self.activation = _ACTIVATIONS[activation]()
        self.highway = Highway(self.size, highway_layers)

    def forward(self, characters: Tensor) -> Tensor:
        # Shapes must not depend on words where a graph is made.
        at_once = characters.is_cuda or torch.compiler.is_compiling()
        highest = self._highest(characters) if at_once else self._highest_in_groups(characters)
        return self.highway(self.activation(highest))

    def _highest_in_groups(self, characters: Tensor) -> Tensor:
        """`_highest` of types of similar length together: most are shorter than the longest."""
        lengths, order = (characters > 0).sum(dim=1).sort()
        longest = [max(1, int(part[-1])) for part in lengths.chunk(_GROUPS)]
        groups = zip(order.chunk(_GROUPS), longest, strict=True)
        found = torch.cat([self._highest(characters[rows, :length]) for rows, length in groups])
        return torch.empty_like(found).index_copy(0, order, found)

    def _highest(self, characters: Tensor) -> Tensor:
        """[types, sum of filters]: each filter's value in the window where it is highest."""
        begins = characters > 0
        if self.margin:
            before = begins.any(dim=1, keepdim=True).expand(-1, self.margin)
            begins = torch.cat([before, begins], dim=1)
            characters = F.pad(characters, (self.margin, 0))
        embedded = self.dropout(self.table(characters))
        found = []
        for width, linear in zip(self.widths, self.linears, strict=True):
            windows = neighbourhoods(embedded, width, centred=False)
            # One more feature lowers the windows that do not count, within the same product.
            counted = self._valid(begins, width) if self.valid else begins
            lowered = (counted.to(embedded.dtype) - 1)[:, :, None] * 1e4
            weight = F.pad(linear.get_parameter("weight"), (0, 1), value=1.0)
            highest = F.linear(torch.cat([windows, lowered], dim=2), weight).amax(dim=1)
            found.append(highest + linear.get_parameter("bias").to(highest.dtype))
        return torch.cat(found, dim=1)

    def _valid(self, begins: Tensor, width: int) -> Tensor:
        """Of the places [types, places] where a window may begin, those where a valid one does."""
        overhanging = max(0, width - 1 - self.margin)
        count = (begins.sum(dim=1, keepdim=True) - overhanging).clamp(min=1)
        return begins & (torch.arange(begins.shape[1], device=begins.device) < count)


class Highway(nn.Module):
    """`gate * x + (1 - gate) * ReLU(W x + b)`, applied `layers` times (Srivastava et al. 2015).

    Shape:
        x: [..., dim]
        result: [..., dim]
    """

    def __init__(self, dim: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, 2 * dim) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            gate, transformed = layer(x).chunk(2, dim=-1)
            gate, transformed = gate.sigmoid(), transformed.relu()
            x = transformed + gate * (x - transformed)
        return x


class Embedding(nn.Module):
    """A vector for each word type: word row and characters joined, then a highway.

    Args:
        sizes: of the vocabulary
        characters: computes character-level vectors; None for words alone
        word_dim: size of a trained linear map of the word's row; None for the row itself
        word_bias: whether that map has a bias
        word_activation: after that map
        joined_dim: size of a trained linear map of both together; None for both side by side
        highway_layers: after that
        dropout: rate on word rows and on the result of joining

    Shape:
        rows: [types] int64
        characters: [types, chars] int64, 0 at padding
        result: [types, dim]
    """

    def __init__(
        self,
        sizes: VocabularySizes,
        *,
        characters: CharacterConvolution | None,
        word_dim: int | None = None,
        word_bias: bool = True,
        word_activation: Activation = "none",
        joined_dim: int | None = None,
        highway_layers: int = 2,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.words = WordRows(sizes)
        self.projection = (
            nn.Linear(sizes.word_dim, word_dim, bias=word_bias) if word_dim else nn.Identity()
        )
        self.activation = _ACTIVATIONS[word_activation]()
        self.characters = characters
        dim = word_dim or sizes.word_dim
        if characters is not None:
            dim += characters.size
        self.joined = nn.Linear(dim, joined_dim, bias=False) if joined_dim else nn.Identity()
        self.dropout = Dropout(dropout)
        self.dim = joined_dim or dim
        self.highway = Highway(self.dim, highway_layers)

    def forward(self, rows: Tensor, characters: Tensor) -> Tensor:
        vectors = self.activation(self.projection(self.dropout(self.words(rows))))
        if self.characters is not None:
            vectors = torch.cat([vectors, self.characters(characters)], dim=1)
        return self.highway(self.dropout(self.joined(vectors)))
