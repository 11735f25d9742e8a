"""The official metrics of a model on a data set."""

from fabir.answer.files import no_answer_probabilities, predictions, read_dataset
from fabir.answer.predictor import Predictor
from fabir.data.squad import Dataset
from fabir.evaluation.squad import evaluate


def evaluate_model(
    predictor: Predictor, data: Dataset, threshold: float | None = None
) -> dict[str, float | int]:
    """The official metrics of a model's answers to every question of `data`.

    Above the no-answer probability `threshold` there is no answer. By default it is the model's.
    """
    found = dict(read_dataset(predictor, data))
    if threshold is None:
        threshold = predictor.model.no_answer_threshold
    if not data.has_unanswerable:
        return evaluate(data, predictions(found, threshold))
    return evaluate(data, predictions(found), no_answer_probabilities(found), threshold)
