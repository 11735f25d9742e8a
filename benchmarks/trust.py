"""How good readers are, and whether their probabilities hold.

    python benchmarks/trust.py --reader fast --reader accurate --squad1 dev-v1.1.json \\
        --squad2 dev-v2.0.json [--other reddit.json] [--questions 2000] [--output FILE.json]

For each reader:

- F1 and exact match on SQuAD 1.1 and on other text, always answering
- F1 on SQuAD 2.0: the threshold of `no_answer` with the best F1 on one half of the articles is
  used on the other half, both ways
- expected calibration error (15 bins of equal width) of `score` on SQuAD 1.1, where an answer with
  an F1 of at least 0.5 is right, and of `no_answer` on SQuAD 2.0
- the same two errors with each passage among others of its article, 5,000 words or the whole
  article, on `--questions` questions spread over each set

Nothing is fitted but the two thresholds.
"""

import argparse
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from fabir import Predictor, __version__, read_squad
from fabir.answer.files import no_answer_probabilities, predictions, read_dataset
from fabir.answer.predictor import Reading
from fabir.data.dataset import Dataset, Passage, Question
from fabir.evaluation.calibration import RIGHT, expected_calibration_error
from fabir.evaluation.squad import evaluate, evaluate_by_halves, f1
from fabir.progress import track

WORDS = 5000  # of a long text, about


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--reader", action="append", metavar="NAME")
    parser.add_argument("--squad1", type=Path, required=True)
    parser.add_argument("--squad2", type=Path, required=True)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    paths = {"squad1": options.squad1, "squad2": options.squad2, "other": options.other}
    data = {name: read_squad(path, "keep") for name, path in paths.items() if path}
    report: dict[str, Any] = {"fabir": __version__, "questions_in_long_texts": options.questions}
    for name in options.reader or ["fast"]:
        predictor = Predictor.load(name, threshold=0)
        report[name] = {}
        for figure, value in figures(predictor, data, options.questions):
            report[name][figure] = round(float(value), 4)
            print(f"{name:12} {figure:32} {value:8.4f}", flush=True)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def figures(
    predictor: Predictor, data: dict[str, Dataset], questions: int
) -> Iterator[tuple[str, float]]:
    for name in ("squad1", "other"):
        if name in data:
            found = dict(read_dataset(predictor, data[name]))
            scores = evaluate(data[name], predictions(found))
            yield f"{name} F1", scores["f1"]
            yield f"{name} EM", scores["exact"]
            if name == "squad1":
                rows = [(found[each.id], each) for _, each in data[name].questions]
                yield "score, error", score_error(rows)
    found = dict(read_dataset(predictor, data["squad2"]))
    given = predictions(found), no_answer_probabilities(found)
    yield "squad2 F1, cross-fitted", evaluate_by_halves(data["squad2"], *given)["f1"]
    rows = [(found[each.id], each) for _, each in data["squad2"].questions]
    yield "no_answer, error", no_answer_error(rows)
    yield "score in long texts, error", score_error(read_long(predictor, data["squad1"], questions))
    rows = read_long(predictor, data["squad2"], questions)
    yield "no_answer in long texts, error", no_answer_error(rows)


def score_error(rows: list[tuple[Reading, Question]]) -> float:
    said = [reading.answers[0].score for reading, _ in rows]
    right = [
        f1(reading.answers[0].text, [answer.text for answer in question.answers]) >= RIGHT
        for reading, question in rows
    ]
    return expected_calibration_error(np.array(said), np.array(right))


def no_answer_error(rows: list[tuple[Reading, Question]]) -> float:
    said = np.array([reading.no_answer for reading, _ in rows])
    return expected_calibration_error(said, np.array([not each.answers for _, each in rows]))


def read_long(
    predictor: Predictor, data: Dataset, questions: int
) -> list[tuple[Reading, Question]]:
    """Questions spread over the data, asked of a text of about `WORDS` words around its passage."""
    texts: dict[Passage, str] = {}
    for _, group in groupby(data.passages, key=lambda passage: passage.title):
        article = list(group)
        for place, passage in enumerate(article):
            texts[passage] = around(article, place)
    asked = list(data.questions)[:: max(1, len(data) // questions)]
    pairs = [(question.text, texts[passage]) for passage, question in asked]
    found = track(predictor.read_all(pairs), "asking long texts", len(pairs))
    return [(reading, question) for reading, (_, question) in zip(found, asked, strict=True)]


def around(article: list[Passage], place: int) -> str:
    """The passage at `place` and its neighbours, the next and the previous in turn."""
    first = last = place
    words = len(article[place].text.split())
    while words < WORDS and last - first + 1 < len(article):
        forward = last + 1 < len(article) and (last - place <= place - first or first == 0)
        first, last = (first, last + 1) if forward else (first - 1, last)
        words += len(article[last if forward else first].text.split())
    return "\n".join(passage.text for passage in article[first : last + 1])


if __name__ == "__main__":
    main()
