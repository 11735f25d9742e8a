"""From word rows and characters to one vector a word form (FABIR eqs. 7, 8; thesis 5.1).

A form is a distinct spelling in a batch. Its vector does not depend on context, so it is computed
once a form and then laid out over passage and question.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fabir.layers.convolution import neighbourhoods
from fabir.layers.dropout import Dropout


@dataclass(frozen=True, kw_only=True)
class VocabularySizes:
    """What a reader must know of a vocabulary to be built."""

    word_dim: int  # features of a word vector
    trained_words: int  # rows learned with the network, the unknown word among them
    fixed_words: int  # rows taken from the vectors file
    characters: int  # distinct characters, padding and the unknown one included


class WordRows(nn.Module):
    """Rows of word vectors: 0 is padding (zeros), then trained rows, then fixed ones.

    The fixed rows are a buffer that is not part of the state dict: they are stored once beside
    the network, not in every checkpoint. `unfreeze` makes the first of them a parameter.

    Shape:
        rows: [forms] int64
        result: [forms, word_dim]
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

    def fixed_rows(self) -> Tensor:
        """[fixed words, word_dim] with what training made of them."""
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
    """Character embedding, convolution, maximum over time, tanh (FABIR III-A, thesis eq. 5.6).

    Only windows whose first character is real take part, as in the authors' program.

    Shape:
        characters: [forms, chars] int64, 0 at padding
        result: [forms, filters]
    """

    def __init__(self, characters: int, dim: int, filters: int, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.table = nn.Embedding(characters, dim, padding_idx=0)
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(width * dim, filters)

    def forward(self, characters: Tensor) -> Tensor:
        embedded = self.dropout(self.table(characters))
        form, place = (characters > 0).nonzero(as_tuple=True)
        around = neighbourhoods(embedded, self.width, centred=False)[form, place]
        windows = self.linear(around)
        lowest = windows.new_full((len(characters), windows.shape[1]), -1e4, dtype=torch.float32)
        index = form[:, None].expand_as(windows)
        highest = lowest.scatter_reduce(0, index, windows.float(), "amax")
        return highest.to(windows.dtype).tanh()


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
