"""Fits a model's calibration, by which `fabir ask` ranks and withholds answers: `calibration` in
its config.json, see `fabir.runtime.settings.Calibration`.

    python benchmarks/calibration.py --train train-v1.1.json [--questions 400] [--reader DIR]
        [--save]

Questions spread over the file are asked of a collection of its passages. The collection lacks the
passage of every second question. `lead` maximises F1 on the questions with their passage. `bias`,
`search` and `reader` are a logistic regression on all questions; its target is whether the best
answer is correct. `least` is the median probability on the questions without their passage. Use
the training set, so that the dev set remains unseen.
"""

import argparse
import math
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from retrieval import write_passages

from fabir import Predictor, read_squad
from fabir.evaluation.squad import exact_match, f1
from fabir.progress import track
from fabir.runtime.locate import find_model
from fabir.runtime.settings import Calibration
from fabir.runtime.store import change_settings
from fabir.search.asker import PASSAGES
from fabir.search.index import Index

LEADS = np.arange(0, 1.55, 0.1)


class Candidate(NamedTuple):
    """An answer from a search.

    highest: the best passage's search score
    lead: the search score of the answer's passage, minus `highest`
    certainty: the logarithm of the answer's score
    right, f1: exact match and F1
    """

    highest: float
    lead: float
    certainty: float
    right: float
    f1: float


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--reader", type=Path, metavar="DIR")
    parser.add_argument("--save", action="store_true", help="write it into the model's folder")
    options = parser.parse_args()
    if options.questions < 2:
        parser.error("--questions must be at least 2")
    data = read_squad(options.train, "keep")
    asked = list(data.questions)[:: max(1, len(data) // options.questions)]
    missing = {passage for passage, _ in asked[1::2]}
    predictor = Predictor.load(options.reader)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = [passage for passage in data.passages if passage not in missing]
        write_passages(kept, folder / "passages.jsonl")
        index = Index.build([folder / "passages.jsonl"], folder / "index", size=10**6)
        found = []
        for _, question in track(asked, "asking", len(asked)):
            answers = [answer.text for answer in question.answers]
            found.append(candidates(index, predictor, question.text, answers))
    there = [
        each for each, (passage, _) in zip(found, asked, strict=True) if passage not in missing
    ]
    scores = [np.mean([best(each, lead).f1 for each in there]) for lead in LEADS]
    lead = float(LEADS[int(np.argmax(scores))])
    chosen = [best(each, lead) for each in found]
    inputs = np.array([[1.0, each.highest, value(each, lead)] for each in chosen])
    weights = logistic_regression(inputs, np.array([each.right for each in chosen]))
    likely = 1 / (1 + np.exp(-inputs @ weights))
    absent = [
        chance for chance, (passage, _) in zip(likely, asked, strict=True) if passage in missing
    ]
    fitted = Calibration(*(round(float(x), 3) for x in (*weights, lead, np.median(absent))))
    was = predictor.model.calibration
    for name, new in asdict(fitted).items():
        print(f"{name:8}{new:8.3f}  (now {getattr(was, name)})")
    now = float(np.mean([best(each, was.lead).f1 for each in there]))
    print(
        f"F1 of {len(there)} questions: {100 * max(scores):.2f}, with lead as it is {100 * now:.2f}"
    )
    if options.save:
        change_settings(find_model(options.reader), calibration=fitted)


def candidates(
    index: Index, predictor: Predictor, question: str, answers: list[str]
) -> list[Candidate]:
    passages = index.search(question, PASSAGES)
    highest = max((passage.score for passage in passages), default=0.0)
    readings = predictor.read_all((question, passage.text) for passage in passages)
    return [
        Candidate(
            highest,
            passage.score - highest,
            math.log(max(answer.score, 1e-30)),
            exact_match(answer.text, answers),
            f1(answer.text, answers),
        )
        for passage, reading in zip(passages, readings, strict=True)
        if reading.no_answer <= predictor.model.no_answer_threshold
        for answer in reading.answers
    ] or [Candidate(highest, 0.0, -30.0, 0.0, 0.0)]


def value(candidate: Candidate, lead: float) -> float:
    return candidate.certainty + lead * candidate.lead


def best(found: list[Candidate], lead: float) -> Candidate:
    return max(found, key=lambda each: value(each, lead))


def logistic_regression(inputs: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Maximum-likelihood weights by Newton's method. Shape: inputs [n, k], right [n] -> [k]"""
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (right - chances)
        curve = (inputs * (chances * (1 - chances))[:, None]).T @ inputs
        weights += np.linalg.solve(curve + 1e-6 * np.eye(len(weights)), slope)
    return weights


if __name__ == "__main__":
    main()
