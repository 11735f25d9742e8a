"""Answers to every question of a data set, and the official prediction files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.data.squad import Dataset
from fabir.files import write_json
from fabir.progress import track


def read_dataset(
    predictor: Predictor, data: Dataset, top_k: int = 1
) -> Iterator[tuple[str, Reading]]:
    """Each question's id with the model's reading, in the order of the file."""
    pairs = [(question.text, passage.text) for passage, question in data.questions]
    readings = track(predictor.read_all(pairs, top_k), "answering", total=len(pairs))
    for (_, question), reading in zip(data.questions, readings, strict=True):
        yield question.id, reading


def predictions(found: dict[str, Reading], threshold: float = 1.0) -> dict[str, str]:
    """The official predictions: the best answer's text by question id.

    The text is empty if there is no answer, or if the no-answer probability is above `threshold`.
    """
    return {
        name: next((answer.text for answer in reading.given(threshold)), "")
        for name, reading in found.items()
    }


def no_answer_probabilities(found: dict[str, Reading]) -> dict[str, float]:
    """The official no-answer probabilities by question id."""
    return {name: reading.no_answer for name, reading in found.items()}


def write_predictions(
    found: dict[str, Reading],
    threshold: float,
    output: Path,
    nbest: Path | None = None,
    na_prob: Path | None = None,
) -> None:
    """Write the official predictions; with `nbest` and `na_prob` also those files."""
    write_json(output, predictions(found, threshold))
    if nbest:
        write_json(nbest, {name: [_record(a) for a in found[name].answers] for name in found})
    if na_prob:
        write_json(na_prob, no_answer_probabilities(found))


def _record(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "probability": answer.score,
        "start": answer.start,
        "end": answer.end,
    }
