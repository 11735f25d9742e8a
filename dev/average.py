"""Scores readers and the averages of all their combinations, as teachers are averaged.

    python dev/average.py dev-v1.1.json MODEL MODEL ...

The average is the normalised geometric mean of the probabilities of start and end.
"""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np

from fabir.answer.spans import top_spans
from fabir.data.features import load_features
from fabir.data.squad import read_squad
from fabir.evaluation.squad import evaluate
from fabir.runtime.locate import find_model
from fabir.training.distillation import teacher_probabilities
from fabir.training.settings import TrainingConfig

_ALL = TrainingConfig(max_passage=10_000, max_question=1_000)  # no text is too long
_LEAST = 1e-12  # of a probability


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    data = read_squad(options.data, "skip")
    features = load_features(data, [options.data])
    for size in range(1, len(options.models) + 1):
        for chosen in combinations(options.models, size):
            folders = [find_model(name) for name in chosen]
            said = teacher_probabilities(folders, [features], _ALL, 0)
            answers = {}
            for row, (passage, question) in enumerate(data.questions):
                logs = np.log(np.maximum(said[row].astype(np.float32), _LEAST))
                best = top_spans(logs[None, :, 0], logs[None, :, 1])
                place = features.passage_of[row]
                first, last = int(best.start[0, 0]), int(best.end[0, 0])
                begin, end = features.starts[place][first], features.ends[place][last]
                answers[question.id] = passage.text[begin:end]
            found = evaluate(data, answers)
            scores = f"{found['f1']:.2f} F1  {found['exact']:.2f} EM"
            print(f"{scores}  {' + '.join(chosen)}", flush=True)


if __name__ == "__main__":
    main()
