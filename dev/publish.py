"""Puts a trained reader into `trained/`, small, with its scores in the head of its card.

    python dev/publish.py RUN NAME --data dev-v1.1.json [--dataset "SQuAD 1.1"] [--split dev]

Its words stay in the folder above if they are those of the readers beside it. The rest of a card is
written by hand.
"""

import argparse
import shutil
from pathlib import Path

from fabir.answer.predictor import Predictor
from fabir.data.squad import read_squad
from fabir.evaluation.model import evaluate_model
from fabir.export.compact import compact
from fabir.runtime.cards import CARD
from fabir.runtime.store import VOCABULARY, WORDS

TRAINED = Path(__file__).parents[1] / "trained"
_WORDS = 50_000
_METRICS = {"exact": "exact_match", "f1": "f1"}
_HEAD = """---
license: cc-by-sa-4.0
language: en
library_name: fabir
pipeline_tag: question-answering
model-index:
- name: {name}
  results:
  - task: {{type: question-answering}}
    dataset: {{name: {dataset}, type: squad, split: {split}}}
    metrics:
{metrics}
---
"""


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", default="SQuAD 1.1")
    parser.add_argument("--split", default="dev")
    options = parser.parse_args()
    folder = TRAINED / options.name
    compact(options.run, folder, _WORDS)
    share_words(folder)
    shutil.copyfile(options.run / "metrics.jsonl", folder / "metrics.jsonl")
    scores = evaluate_model(Predictor.load(folder, threshold=0), read_squad(options.data))
    metrics = [
        f"    - {{type: {name}, value: {scores[key]:.2f}}}" for key, name in _METRICS.items()
    ]
    card = folder / CARD
    written = card.read_text().split("---\n", 2)[2] if card.exists() else f"# {options.name}\n"
    head = _HEAD.format(
        name=options.name,
        dataset=options.dataset,
        split=options.split,
        metrics="\n".join(metrics),
    )
    card.write_text(head + written)
    print(head)


def share_words(folder: Path) -> None:
    """Keep one copy of each file of words in the folder above, if it is the same."""
    for name in (VOCABULARY, WORDS):
        own, shared = folder / name, TRAINED / name
        if not shared.exists():
            own.rename(shared)
        elif own.read_bytes() == shared.read_bytes():
            own.unlink()


if __name__ == "__main__":
    main()
