"""Pulls a model's trained word rows back to the vectors that they began as.

    python dev/pull_rows.py MODEL --train train-v1.1.json --vectors glove.6B.50d.txt --output FOLDER

The row of a word that training saw c times becomes `GloVe + c / (c + 100) * (trained - GloVe)`. A
passage counts once for each of its questions. So rare words, whose rows are learnt by heart, keep
the meaning that their vectors give them. `training.word_decay` does the same while a model is
trained; this is for models trained without it.
"""

import argparse
from collections import Counter
from pathlib import Path

import torch

from fabir.data.features import load_features
from fabir.data.squad import read_squad
from fabir.runtime.torch_model import TorchModel
from fabir.text.vectors import read_vectors

HALF = 100  # sightings after which a row keeps half of what it learnt


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("model")
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    model = TorchModel.load(options.model)
    seen: Counter[str] = Counter()
    features = load_features(read_squad(options.train, "skip"), [options.train])
    for spelling, count in features.counts().items():
        seen[spelling.lower()] += count
    vectors = read_vectors(options.vectors)
    row_of = {word: row for row, word in enumerate(vectors.words)}
    words = model.vocabulary.fixed
    given = torch.as_tensor(vectors.matrix[[row_of[word] for word in words]], dtype=torch.float32)
    counts = torch.tensor([float(seen[word]) for word in words])
    kept = (counts / (counts + HALF))[:, None]
    rows = given + kept * (model.fixed_rows - given)
    pulled = TorchModel.build(model.name, model.config, model.vocabulary, rows)
    weights = model.network.state_dict()
    pulled.network.load_state_dict(weights)
    pulled.no_answer_threshold, pulled.calibration = model.no_answer_threshold, model.calibration
    pulled.save(options.output, small=True)


if __name__ == "__main__":
    main()
