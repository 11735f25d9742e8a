"""Answering every question of a data set, and the files that others expect of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabir.answer.predictor import Answer, Predictor
from fabir.data.squad import Dataset
from fabir.files import write_json
from fabir.progress import track


def answer_dataset(
    predictor: Predictor, data: Dataset, top_k: int = 1
) -> Iterator[tuple[str, list[Answer]]]:
    """Each question's id with its best answers, in the order of the file."""
    pairs = [(question.text, passage.text) for passage, question in data.questions]
    answers = track(predictor.answer_all(pairs, top_k), "answering", total=len(pairs))
    for (_, question), found in zip(data.questions, answers, strict=True):
        yield question.id, found


def predictions(found: dict[str, list[Answer]]) -> dict[str, str]:
    """The official predictions: the best answer's text by question id, empty for none."""
    return {name: answers[0].text if answers else "" for name, answers in found.items()}


def no_answer_probabilities(found: dict[str, list[Answer]]) -> dict[str, float]:
    """By question id one minus the best answer's probability, 1 where there is none.

    A reader trained without unanswerable questions knows no better estimate.
    """
    return {name: 1 - answers[0].score if answers else 1.0 for name, answers in found.items()}


def write_predictions(
    found: dict[str, list[Answer]],
    output: Path,
    nbest: Path | None = None,
    na_prob: Path | None = None,
) -> None:
    """Write the official files: predictions, and if named the best ones and no-answer chances."""
    write_json(output, predictions(found))
    if nbest:
        write_json(nbest, {name: [_record(a) for a in found[name]] for name in found})
    if na_prob:
        write_json(na_prob, no_answer_probabilities(found))


def _record(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "probability": answer.score,
        "start": answer.start,
        "end": answer.end,
    }
