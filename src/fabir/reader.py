"""A trained reader on disk and in memory: network, vocabulary and their settings in one folder.

config.json            reader, its network's config, format version, word storage
vocabulary.json        words and characters
words.safetensors      the fixed word rows
network.safetensors    every other weight
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from fabir.errors import InputError
from fabir.files import replacing
from fabir.layers.embedding import VocabularySizes
from fabir.readers import registered
from fabir.text.vocabulary import Vocabulary

FORMAT = 1


@dataclass
class Reader:
    """A network with the vocabulary it was built for."""

    name: str
    config: Any
    vocabulary: Vocabulary
    network: nn.Module

    @classmethod
    def build(cls, name: str, config: Any, vocabulary: Vocabulary, fixed: Tensor) -> "Reader":
        """A new, untrained reader.

        Args:
            fixed: [fixed words, word_dim] rows of the vocabulary's fixed words
        """
        sizes = VocabularySizes(
            word_dim=fixed.shape[1],
            trained_words=1 + len(vocabulary.trained),
            fixed_words=len(vocabulary.fixed),
            characters=2 + len(vocabulary.characters),
        )
        network = registered(name).network(config, sizes)
        network.get_buffer("embedding.words.fixed").copy_(fixed)
        return cls(name, config, vocabulary, network)

    def save(self, folder: str | Path) -> None:
        """Write the whole folder, file by file, each complete or not at all."""
        folder = Path(folder)
        self.save_vocabulary(folder)
        self.save_network(folder)

    def save_vocabulary(self, folder: Path) -> None:
        """Write what training does not change."""
        vocabulary = asdict(self.vocabulary)
        del vocabulary["_rows"], vocabulary["_character_rows"]
        _write_json(folder / "vocabulary.json", vocabulary)
        fixed = self.network.get_buffer("embedding.words.fixed")
        _write_tensors(folder / "words.safetensors", {"rows": fixed.to(torch.float16)})
        settings = {"format": FORMAT, "reader": self.name, "network": asdict(self.config)}
        _write_json(folder / "config.json", settings)

    def save_network(self, folder: Path, weights: dict[str, Tensor] | None = None) -> None:
        """Write the weights, or `weights` in their place (a moving average of them)."""
        _write_tensors(folder / "network.safetensors", weights or self.network.state_dict())

    @classmethod
    def load(cls, folder: str | Path) -> "Reader":
        """Read a folder written by `save` or by training; the network is in evaluation mode.

        Raises:
            InputError: a file is missing, damaged or of another version.
        """
        folder = Path(folder)
        settings = _read_json(folder / "config.json", {"format", "reader", "network"})
        if settings["format"] != FORMAT:
            raise InputError(
                f"{folder / 'config.json'}: format {settings['format']} is not {FORMAT}: "
                "the reader was saved by another version of fabir"
            )
        entry = registered(settings["reader"])
        fields = _read_json(
            folder / "vocabulary.json", {"trained", "fixed", "characters", "max_characters"}
        )
        vocabulary = Vocabulary(
            trained=tuple(fields["trained"]),
            fixed=tuple(fields["fixed"]),
            characters=fields["characters"],
            max_characters=fields["max_characters"],
        )
        rows = _read_rows(folder / "words.safetensors")
        weights = read_tensors(folder / "network.safetensors")[0]
        try:
            config = entry.config(**settings["network"])
            reader = cls.build(settings["reader"], config, vocabulary, rows)
            reader.network.load_state_dict(weights)
        except (TypeError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{folder}: its files do not fit together: {reason}") from error
        reader.network.eval()
        return reader


def _read_rows(path: Path) -> Tensor:
    """Fixed word rows as float32, whichever way they are stored."""
    tensors = read_tensors(path)[0]
    if "rows" not in tensors:
        raise InputError(f"{path}: holds no tensor 'rows'")
    rows = tensors["rows"].float()
    return rows * tensors["scales"].float()[:, None] if "scales" in tensors else rows


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file and its metadata; InputError names a bad file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {key: file.get_tensor(key) for key in file}, file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def _write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    with replacing(path) as temporary:
        save_file(
            {name: t.detach().contiguous() for name, t in tensors.items()}, temporary, metadata
        )


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")


def _read_json(path: Path, required: set[str]) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(value, dict) or required - value.keys():
        missing = ", ".join(sorted(required - set(value)))
        raise InputError(f"{path}: not a reader's file, it lacks {missing}")
    return value
