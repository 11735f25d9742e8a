"""What processes started anew are told to do: they import it by name. No tests here."""

from fabir.answer.predictor import Predictor

Spans = list[list[tuple[int, int]]]


def spans(predictor: Predictor, pairs: list[tuple[str, str]]) -> Spans:
    """Where the two best answers to each of the pairs stand."""
    return [[(each.start, each.end) for each in found] for found in predictor.answer_all(pairs, 2)]
