"""Model cards: the README.md of a model's folder. Its head holds the scores, in the form of the
Hugging Face hub (`model-index`).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.runtime.settings import SETTINGS

CARD = "README.md"


@dataclass(frozen=True)
class Trained:
    """A trained reader on disk.

    size: bytes of its folder, without words that it shares with others
    scores: by the metric's name, such as `f1`, in percent; empty if its card has none
    """

    folder: Path
    size: int
    scores: dict[str, float]


def find_trained(*parents: Path) -> list[Trained]:
    """The models in the folders `parents`, in the order of their names.

    Raises:
        InputError: the head of a card is not YAML.
    """
    folders = [path.parent for parent in parents for path in sorted(parent.glob(f"*/{SETTINGS}"))]
    return [Trained(folder, _size(folder), read_scores(folder)) for folder in folders]


def read_scores(folder: Path) -> dict[str, float]:
    """The scores in the first result of a model's card, by the metric's name."""
    card = folder / CARD
    if not card.exists():
        return {}
    head = _head(card)
    try:
        metrics = head["model-index"][0]["results"][0]["metrics"]
        return {each["type"]: float(each["value"]) for each in metrics}
    except (KeyError, IndexError, TypeError, ValueError):
        return {}


def _head(card: Path) -> Any:
    import yaml

    try:
        _, head, _ = [*card.read_text(encoding="utf-8").split("---\n", 2), "", ""][:3]
        return yaml.safe_load(head)
    except UnicodeDecodeError as error:
        raise InputError(f"{card}: not UTF-8 text: convert it") from error
    except yaml.YAMLError as error:
        raise InputError(f"{card}: the head is not YAML: {error}") from error


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
