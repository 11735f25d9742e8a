"""Six passages with questions, word vectors for them, and settings that train in a second.

No tests here.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.data.features import build_features
from fabir.data.squad import write_squad
from fabir.readers.fabir import FabirConfig
from fabir.runtime.torch_model import TorchModel
from fabir.text.tokens import tokenise
from fabir.text.vocabulary import VocabularyConfig, build_vocabulary
from fabir.training.examples import usable_examples
from fabir.training.inputs import RunFiles
from fabir.training.loop import Trainer
from fabir.training.run import train
from fabir.training.settings import RunConfig, TrainingConfig

# Each passage with its questions, and each question with its answers.
TEXTS = [
    (
        "The lighthouse at Cape Marrow was lit in 1871 by Ada Quist, who kept it for thirty years.",
        [
            ("When was the lighthouse lit?", "1871"),
            ("Who lit the lighthouse?", "Ada Quist"),
            ("How long did Ada Quist keep it?", "thirty years"),
            ("Where is the lighthouse?", "Cape Marrow", "at Cape Marrow"),
        ],
    ),
    (
        "Honey bees dance to tell the hive where flowers grow. A round dance means food is near.",
        [
            ("Who dances?", "Honey bees", "bees"),
            ("What does a round dance mean?", "food is near"),
            ("What do bees tell the hive?", "where flowers grow"),
        ],
    ),
    (
        "Bread rises because yeast eats sugar and breathes out gas. Salt slows the yeast down.",
        [
            ("What does yeast eat?", "sugar"),
            ("What slows the yeast down?", "Salt"),
            ("Why does bread rise?", "yeast eats sugar and breathes out gas"),
            ("What does yeast breathe out?", "gas"),
        ],
    ),
    (
        "The river Olm is 212 km long.\nIt begins in the Grey Hills and ends in Lake Sandar, "
        "where two thirds of its water dries up every summer before the rains come back.",
        [
            ("How long is the river Olm?", "212 km"),
            ("Where does the Olm begin?", "the Grey Hills", "in the Grey Hills"),
            ("Where does the Olm end?", "Lake Sandar"),
        ],
    ),
    (
        "Mira's café in København sells 40 kinds of tea, but no coffee at all.",
        [
            ("What does the café not sell?", "coffee"),
            ("How many kinds of tea are there?", "40", "40 kinds"),
            ("Whose café is it?", "Mira's", "Mira"),
        ],
    ),
    (
        "A kite needs wind, a tail and a string.",
        [
            ("What does a kite need?", "wind, a tail and a string", "wind"),
            ("What has a tail?", "A kite", "kite"),
        ],
    ),
]
NETWORK: dict[str, Any] = {
    "character_dim": 4,
    "character_filters": 8,
    "model_dim": 16,
    "heads": 2,
    "feed_forward": 16,
    "layers": 1,
    "selector_hidden": 8,
}
NO_DROPOUT: dict[str, Any] = {
    f"dropout_{place}": 0.0 for place in ("input", "sublayer", "attention")
} | {
    "dropout_selector": 0.0,
    "dropout_characters": 0.0,
}
TRAINING: dict[str, Any] = {
    "epochs": 3,
    "batch_size": 6,
    "length_groups": 1,
    "learning_rate": 5e-3,
    "warmup_steps": 4,
    "precision": "fp32",
}


@dataclass(frozen=True)
class Files:
    """What a training run is given."""

    train: Path
    dev: Path
    vectors: Path


def dataset() -> Dataset:
    """All texts as SQuAD 1.1 data of 19 questions; answers stand at their first occurrence."""
    passages = []
    for number, (text, asked) in enumerate(TEXTS):
        questions = tuple(
            Question(
                f"{number}-{place}",
                question,
                tuple(Answer(answer, text.index(answer)) for answer in answers),
            )
            for place, (question, *answers) in enumerate(asked)
        )
        passages.append(Passage(text, f"text {number}", questions))
    return Dataset(tuple(passages), "1.1")


def write_vectors(path: Path, dim: int = 8) -> None:
    """A file in GloVe's format: common words first, words seen once mostly left out."""
    counts = Counter(
        word.lower()
        for text, asked in TEXTS
        for part in (text, *(question for question, *_ in asked))
        for word in tokenise(part).words
    )
    generator = random.Random(0)
    with open(path, "w", encoding="utf-8") as file:
        for number, (word, count) in enumerate(counts.most_common()):
            if count > 1 or number % 4 == 0:
                row = " ".join(f"{generator.gauss(0, 1):.3f}" for _ in range(dim))
                file.write(f"{word} {row}\n")


def write_files(folder: Path) -> Files:
    """The training file, a dev file of its last three passages, and the vectors."""
    data = dataset()
    files = Files(folder / "train.json", folder / "dev.json.gz", folder / "vectors.txt")
    write_squad(data, files.train)
    write_squad(Dataset(data.passages[3:], data.version), files.dev)
    write_vectors(files.vectors)
    return files


def run_config(network: dict[str, Any] | None = None, **training: Any) -> RunConfig:
    """Settings for the tiny files; what is not said has the values above."""
    return RunConfig(
        "fabir",
        FabirConfig(**(NETWORK | (network or {}))),
        VocabularyConfig(word_count=1, character_count=2),
        TrainingConfig(**(TRAINING | training)),
    )


def train_tiny(
    files: Files,
    output: Path,
    config: RunConfig,
    *,
    resume: bool = False,
    processes: int = 1,
    log_with: Sequence[str] = (),
    **others: Any,
) -> float:
    """Train on the tiny files and `others`, by their names in `RunFiles`; returns the best F1."""
    named = {"train": (files.train,), "dev": files.dev, "vectors": files.vectors} | others
    return train(
        config,
        RunFiles(**named),
        output,
        resume=resume,
        processes=processes,
        log_with=log_with,
    )


def trainer_of(data: Dataset, output: Path, **training: Any) -> Trainer:
    """What trains a new reader without word vectors on `data`."""
    features = build_features(data)
    config = run_config(**training)
    vocabulary, _ = build_vocabulary(features.counts(), [], config.vocabulary)
    reader = TorchModel.build("fabir", config.network, vocabulary, torch.zeros(0, 8))
    examples = usable_examples(features, reader.vocabulary, config.training)
    return Trainer(reader, config.training, examples, data, output)


def write_config(path: Path, **training: object) -> Path:
    vocabulary = {"word_count": 1, "character_count": 2}
    content = {"reader": "fabir", "network": NETWORK, "vocabulary": vocabulary}
    path.write_text(json.dumps({**content, "training": TRAINING | training}))  # JSON is YAML
    return path
