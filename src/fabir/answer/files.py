"""Answers to every question of a data set, and the official prediction files."""

from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.data.dataset import Dataset
from fabir.files import write_json
from fabir.progress import track

Given = Callable[[Reading], list[Answer]]
ALL: Given = attrgetter("answers")


def read_dataset(
    predictor: Predictor, data: Dataset, top_k: int = 1
) -> Iterator[tuple[str, Reading]]:
    """Each question's id with the model's reading, in the order of the file."""
    pairs = [(question.text, passage.text) for passage, question in data.questions]
    readings = track(predictor.read_all(pairs, top_k), "answering", total=len(pairs))
    for (_, question), reading in zip(data.questions, readings, strict=True):
        yield question.id, reading


def predictions(found: dict[str, Reading], given: Given = ALL) -> dict[str, str]:
    """The official predictions: the text of the best answer that is given, by question id.

    The text is empty if none is given.

    Args:
        given: selects a reading's answers, such as `Predictor.given`; by default all
    """
    return {
        name: next((answer.text for answer in given(reading)), "")
        for name, reading in found.items()
    }


def no_answer_probabilities(found: dict[str, Reading]) -> dict[str, float]:
    """The official no-answer probabilities by question id."""
    return {name: reading.no_answer for name, reading in found.items()}


def write_predictions(
    found: dict[str, Reading],
    given: Given,
    output: Path,
    nbest: Path | None = None,
    na_prob: Path | None = None,
) -> None:
    """Write the official predictions; with `nbest` and `na_prob` also those files.

    `given` is that of `predictions`. The file `nbest` has all answers, given or not.
    """
    write_json(output, predictions(found, given))
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
