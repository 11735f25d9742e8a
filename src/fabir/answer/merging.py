"""From the candidates of a passage's windows to its answers.

This module handles spans, masses and offsets. `answer.batching` runs the model on windows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fabir.answer.windows import Candidates, select_distinct


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of the passage: `text == passage[start:end]`.

    `score` is the probability of its first word times that of its last, over the whole passage.
    """

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's result for one question and passage.

    answers: the best spans that do not overlap, whatever `no_answer` is
    no_answer: probability of no answer against the best span. Without a no-answer position in the
        model, it is one minus the best span's score. It is 1 if there is no span.
    """

    answers: list[Answer]
    no_answer: float

    def given(self, threshold: float) -> list[Answer]:
        """The answers, or an empty list if `no_answer` is above `threshold`."""
        return self.answers if self.no_answer <= threshold else []


class Found(NamedTuple):
    """A window's result: candidate spans, the log-sum-exp of its start and of its end logits, and
    the start and end logit of no answer."""

    candidates: Candidates
    start_mass: float
    end_mass: float
    no_start: float = -np.inf
    no_end: float = -np.inf


def merge(passage: str, windows_found: list[Found], top_k: int) -> Reading:
    """The best answers of a passage's windows.

    All windows share one softmax: logits are comparable across windows, so their masses add up. A
    passage's no-answer logits are those of its least convinced window.
    """
    if not windows_found:
        return Reading([], 1.0)
    no_start, no_end = min(((f.no_start, f.no_end) for f in windows_found), key=sum)
    masses = [(no_start, no_end), *((f.start_mass, f.end_mass) for f in windows_found)]
    start_mass, end_mass = np.logaddexp.reduce(masses)
    columns = zip(*(found.candidates for found in windows_found), strict=True)
    best = select_distinct(Candidates(*map(np.concatenate, columns)), top_k)
    scores = np.exp(best.scores - start_mass - end_mass).clip(max=1)  # rounding may exceed it
    rows = zip(best.starts.tolist(), best.ends.tolist(), scores.tolist(), strict=True)
    answers = [Answer(passage[start:end], start, end, score) for start, end, score in rows]
    if no_start == -np.inf:
        return Reading(answers, 1 - answers[0].score)
    margin = best.scores[0] - no_start - no_end
    return Reading(answers, float(np.exp(-np.logaddexp(0, margin))))
