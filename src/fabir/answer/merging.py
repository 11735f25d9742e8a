"""From what was found in a passage's windows to its answers.

Knows spans, masses and offsets: how windows are read is the business of `answer.batching`.
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
    """What a model makes of one question and passage.

    answers: the best pieces of the passage that do not overlap, whether it has an answer or not
    no_answer: probability that it has none, against its best piece; from a model that never saw
        unanswerable questions, one minus the score of that piece; 1 if there is none
    """

    answers: list[Answer]
    no_answer: float

    def given(self, threshold: float) -> list[Answer]:
        """The answers, or none of them if `no_answer` is above `threshold`."""
        return self.answers if self.no_answer <= threshold else []


class Found(NamedTuple):
    """What a window's logits say: candidates, the log-mass of all starts and of all ends, and the
    start and end logit of no answer."""

    candidates: Candidates
    start_mass: float
    end_mass: float
    no_start: float = -np.inf
    no_end: float = -np.inf


def merge(passage: str, windows_found: list[Found], top_k: int) -> Reading:
    """The best answers of a passage's windows. Logits compare across windows, so masses add up.

    The passage's no-answer logits are those of the window with the lowest.
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
