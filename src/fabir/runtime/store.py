"""A reader's folder as far as it takes no torch: its settings and its vocabulary.

config.json            reader, its network's config, format version
vocabulary.json        words and characters
words.safetensors      the fixed word rows; in an exported reader the trained ones too
network.safetensors    every other weight, for torch
words.onnx             for ONNX Runtime: from a word's row and characters to its vector
encode.onnx            for ONNX Runtime: from vectors of words to what is known of a passage alone
answer.onnx            for ONNX Runtime: from the latter and questions to logits
"""

import json
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.text.vocabulary import Vocabulary

FORMAT = 1
SETTINGS, VOCABULARY, WORDS = "config.json", "vocabulary.json", "words.safetensors"
WEIGHTS = "network.safetensors"
EMBED, ENCODE, ANSWER = "words.onnx", "encode.onnx", "answer.onnx"
FORMS, NETWORK, FURTHER = "forms.onnx", "network.onnx", "further.onnx"  # of the first format
FILES = SETTINGS, VOCABULARY, WORDS, WEIGHTS, EMBED, ENCODE, ANSWER


def read_settings(folder: Path) -> dict[str, Any]:
    """What `config.json` says.

    Raises:
        InputError: it is missing, damaged or of another version.
    """
    path = folder / SETTINGS
    settings = _read_json(path, {"format", "reader", "network"})
    if settings["format"] != FORMAT:
        raise InputError(
            f"{path}: format {settings['format']} is not {FORMAT}: "
            "the reader was saved by another version of fabir"
        )
    return settings


def read_vocabulary(folder: Path) -> Vocabulary:
    """The words and characters of a reader; InputError if they cannot be read."""
    path = folder / VOCABULARY
    kinds = {"trained": list, "fixed": list, "characters": str, "max_characters": int}
    fields = _read_json(path, set(kinds))
    for name, kind in kinds.items():
        if not isinstance(fields[name], kind):
            raise InputError(f"{path}: `{name}` is not of type {kind.__name__}")
    return Vocabulary(
        trained=tuple(fields["trained"]),
        fixed=tuple(fields["fixed"]),
        characters=fields["characters"],
        max_characters=fields["max_characters"],
    )


def _read_json(path: Path, required: set[str]) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON: {error}") from error
    missing = required - value.keys() if isinstance(value, dict) else required
    if missing:
        raise InputError(f"{path}: not a reader's file, it lacks {', '.join(sorted(missing))}")
    return value
