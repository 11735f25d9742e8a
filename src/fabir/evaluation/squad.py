"""The official SQuAD 1.1 and 2.0 metrics, equal to the published scripts to the last digit.

Scores are percentages from 0 to 100. Sums have the scripts' order and types (an exact match is an
int, a partial one a float), because the last digit depends on both.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabir.data.checks import check_labelled
from fabir.data.dataset import Dataset, Question
from fabir.errors import InputError
from fabir.files import read_json
from fabir.text.normalise import normalise_answer


def evaluate(
    dataset: Dataset,
    predictions: Mapping[str, str],
    na_prob: Mapping[str, float] | None = None,
    na_threshold: float = 1.0,
) -> dict[str, float | int]:
    """Score the predicted text of each question id, with the metric of the data's version.

    SQuAD 1.1 has `exact`, `f1` and `total`. SQuAD 2.0 also has `HasAns_*` and `NoAns_*` for the
    questions with and without an answer, if there are any. In SQuAD 2.0 the empty text means "no
    answer", and so does a no-answer probability in `na_prob` above `na_threshold`. With `na_prob`
    the best thresholds are computed too (`best_exact`, `best_exact_thresh`, `best_f1`,
    `best_f1_thresh`). A missing value, as in a DataFrame, is the empty text. A question without a
    prediction counts as wrong, with a warning on stderr.
    Predictions for unknown questions are ignored.

    Raises:
        InputError: a prediction is no text; there are no questions; a question is not labelled, or
            has no reference answer in 1.1 data; `na_prob` is given for 1.1 data, or lacks a
            predicted question.
    """
    if not isinstance(dataset, Dataset) or not isinstance(predictions, Mapping):
        raise InputError("evaluate takes a Dataset and a dict of predicted texts by question id")
    questions = [question for _, question in dataset.questions]
    if not questions:
        raise InputError("there are no questions to evaluate")
    check_labelled(dataset)
    predictions = {id: _text(id, given) for id, given in predictions.items()}
    _warn_missing([question.id for question in questions if question.id not in predictions])
    if dataset.has_unanswerable:
        return _evaluate_v2(questions, predictions, na_prob, na_threshold)
    if na_prob is not None:
        raise InputError("no-answer probabilities (--na-prob) are for SQuAD 2.0 data, not for 1.1")
    return _evaluate_v1(questions, predictions)


def evaluate_by_halves(
    dataset: Dataset, predictions: Mapping[str, str], na_prob: Mapping[str, float]
) -> dict[str, float]:
    """`f1` and `exact` of SQuAD 2.0 with a threshold that was chosen on other articles.

    Every second title, in their order, is one half. Each half has the threshold with the best F1 on
    the other half. Scores are means over all questions.

    Raises:
        InputError: as `evaluate`; there is one title alone
    """
    titles = sorted({passage.title for passage, _ in dataset.questions})
    if len(titles) < 2:
        raise InputError("there is one article alone, so a threshold cannot be chosen on another")
    chosen = (
        tuple(each for each in dataset.passages if each.title in titles[half::2]) for half in (0, 1)
    )
    # One half may have answers to all its questions, so the version says that it need not.
    halves = [replace(dataset, passages=passages, version="2.0") for passages in chosen]
    totals = {"f1": 0.0, "exact": 0.0}
    for one, other in (halves, halves[::-1]):
        threshold = evaluate(one, predictions, na_prob)["best_f1_thresh"]
        scores = evaluate(other, predictions, na_prob, threshold)
        totals = {key: total + scores[key] * len(other) for key, total in totals.items()}
    return {key: total / len(dataset) for key, total in totals.items()}


def _text(id: str, given: Any) -> str:
    if isinstance(given, str):
        return given
    if given is None or str(given) in ("nan", "<NA>"):
        return ""
    raise InputError(f"prediction for {id!r}: expected a text, got {type(given).__name__}")


def question_scores(
    dataset: Dataset, predictions: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Exact match and F1 (0 to 1) of each question id, with the metric of the data's version.

    In SQuAD 2.0 the empty text means "no answer". A question without a prediction scores 0.
    """
    questions = [question for _, question in dataset.questions]
    if dataset.has_unanswerable:
        return _raw_scores(questions, predictions)
    exact: dict[str, float] = {}
    overlap: dict[str, float] = {}
    for question in questions:
        references = [answer.text for answer in question.answers] or [""]
        prediction = predictions.get(question.id)
        given = prediction is not None
        exact[question.id] = exact_match(prediction, references) if given else 0
        overlap[question.id] = f1(prediction, references, both_empty=0) if given else 0
    return exact, overlap


def read_predictions(path: str | Path) -> dict[str, str]:
    """Read predictions.json: an object from question id to answer text.

    Raises:
        InputError: the file cannot be read, or has another content.
    """
    predictions = _read_object(path)
    for id, text in predictions.items():
        if type(text) is not str:
            raise InputError(
                f"{path}: prediction for {id!r}: expected a string, got {type(text).__name__}"
            )
    return predictions


def read_na_prob(path: str | Path) -> dict[str, float]:
    """Read na_prob.json: an object from question id to the probability that it has no answer.

    Raises:
        InputError: the file cannot be read, or has another content.
    """
    probabilities = _read_object(path)
    for id, value in probabilities.items():
        if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
            got = value if type(value) is float else type(value).__name__
            raise InputError(f"{path}: probability for {id!r}: expected a number, got {got}")
    return {id: float(value) for id, value in probabilities.items()}


def exact_match(prediction: str, references: Iterable[str]) -> int:
    """1 if the prediction equals any reference after normalisation, else 0."""
    prediction = normalise_answer(prediction)
    return int(any(prediction == normalise_answer(reference) for reference in references))


def f1(prediction: str, references: Iterable[str], both_empty: int = 1) -> float:
    """The highest F1 (0 to 1) of the prediction's words against those of each reference.

    `both_empty` is the score if both texts are empty after normalisation: 1 in the 2.0 script, 0 in
    the 1.1 script.
    """
    words = normalise_answer(prediction).split()
    return max(_f1(words, normalise_answer(text).split(), both_empty) for text in references)


def _f1(prediction: Sequence[str], reference: Sequence[str], both_empty: int) -> float:
    if not prediction and not reference:
        return both_empty
    common = sum((Counter(prediction) & Counter(reference)).values())
    if common == 0:
        return 0
    precision = common / len(prediction)
    recall = common / len(reference)
    return (2 * precision * recall) / (precision + recall)


def _evaluate_v1(
    questions: Sequence[Question], predictions: Mapping[str, str]
) -> dict[str, float | int]:
    exact_total, f1_total = 0, 0.0
    for question in questions:
        references = [answer.text for answer in question.answers]
        if question.id in predictions:
            prediction = predictions[question.id]
            exact_total += exact_match(prediction, references)
            f1_total += f1(prediction, references, both_empty=0)  # summed as in the script
    total = len(questions)
    return {"exact": 100.0 * exact_total / total, "f1": 100.0 * f1_total / total, "total": total}


def _evaluate_v2(
    questions: Sequence[Question],
    predictions: Mapping[str, str],
    na_prob: Mapping[str, float] | None,
    na_threshold: float,
) -> dict[str, float | int]:
    answerable = {question.id: bool(question.answers) for question in questions}
    exact, overlap = _raw_scores(questions, predictions)
    probabilities = dict.fromkeys(predictions, 0.0) if na_prob is None else na_prob
    lacking = [id for id in answerable if id in predictions and id not in probabilities]
    if lacking:
        message = f"{len(lacking)} predicted questions have no no-answer probability"
        raise InputError(f"{message} ({_some(lacking)}); give one for each in --na-prob")
    silent = {id for id in answerable if id in predictions and probabilities[id] > na_threshold}
    certain = {id: float(not answerable[id]) for id in silent}
    result = _averages(exact | certain, overlap | certain, list(answerable))
    for name, wanted in (("HasAns", True), ("NoAns", False)):
        ids = [id for id, has_answer in answerable.items() if has_answer is wanted]
        if ids:
            part = _averages(exact | certain, overlap | certain, ids)
            result |= {f"{name}_{key}": value for key, value in part.items()}
    if na_prob is not None:
        for name, raw in (("exact", exact), ("f1", overlap)):
            best = _best_threshold(raw, predictions, na_prob, answerable)
            result[f"best_{name}"], result[f"best_{name}_thresh"] = best
    return result


def _raw_scores(
    questions: Sequence[Question], predictions: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Exact match and F1 by id, without a threshold; 0 if there is no prediction."""
    exact: dict[str, float] = {}
    overlap: dict[str, float] = {}
    for question in questions:
        texts = [answer.text for answer in question.answers if normalise_answer(answer.text)]
        references = texts or [""]
        prediction = predictions.get(question.id)
        exact[question.id] = 0 if prediction is None else exact_match(prediction, references)
        overlap[question.id] = 0 if prediction is None else f1(prediction, references)
    return exact, overlap


def _averages(
    exact: Mapping[str, float], overlap: Mapping[str, float], ids: Sequence[str]
) -> dict[str, float | int]:
    total = len(ids)
    return {
        "exact": 100.0 * sum(exact[id] for id in ids) / total,
        "f1": 100.0 * sum(overlap[id] for id in ids) / total,
        "total": total,
    }


def _best_threshold(
    raw: Mapping[str, float],
    predictions: Mapping[str, str],
    na_prob: Mapping[str, float],
    answerable: Mapping[str, bool],
) -> tuple[float, float]:
    """The best score, and the threshold of the no-answer probability that achieves it.

    The search starts with no answers and adds one question after another, by rising no-answer
    probability. As in the script, equal probabilities keep their order in the file, and the best
    score may fall between them.
    """
    score: float = sum(not answerable[id] for id in raw if id in predictions)
    best, threshold = score, 0.0
    for id in sorted(na_prob, key=lambda id: na_prob[id]):
        if id not in raw or id not in predictions:
            continue
        if answerable[id]:
            score += raw[id]
        elif predictions[id]:
            score -= 1
        if score > best:
            best, threshold = score, na_prob[id]
    return 100.0 * best / len(raw), threshold


def _warn_missing(ids: Sequence[str]) -> None:
    if ids:
        message = f"{len(ids)} questions have no prediction and count as wrong ({_some(ids)})"
        print(f"warning: {message}", file=sys.stderr)


def _some(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids[:3])) + (", ..." if len(ids) > 3 else "")


def _read_object(path: str | Path) -> dict[str, Any]:
    document = read_json(path)
    if type(document) is not dict:
        kind = type(document).__name__
        raise InputError(f"{path}: expected an object of question ids, got {kind}")
    return document
