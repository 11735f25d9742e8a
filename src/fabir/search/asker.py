"""Answers questions from an index: retrieves passages, reads them and merges their answers."""

from collections.abc import Iterable
from dataclasses import dataclass

from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.errors import InputError
from fabir.runtime.settings import NEUTRAL, Calibration
from fabir.search.index import Index, Passage
from fabir.search.passages import unwrap_lines
from fabir.text.normalise import normalise_answer
from fabir.text.sentences import sentences

PASSAGES = 5  # passages read per question; more add 0.1 EM on SQuAD and nothing to F1


@dataclass(frozen=True, slots=True)
class Found:
    """An answer and its place in a document.

    text: the document's characters `start` to `end`, equal to `passage[passage_start:passage_end]`
    score: probability that the answer is right
    page, line: where the answer begins, counted from 1; None if the document has no pages or lines
    sentence: the sentence that contains the answer
    """

    text: str
    score: float
    document: str
    page: int | None
    line: int | None
    start: int
    end: int
    passage: str
    passage_start: int
    passage_end: int
    sentence: str


class Asker:
    """Answers questions from an index.

    Args:
        index: the index to retrieve passages from
        predictor: the predictor that reads the passages
        passages: number of passages to read per question
        least: minimum score of an answer; by default that of the predictor's calibration
    """

    def __init__(
        self,
        index: Index,
        predictor: Predictor,
        *,
        passages: int = PASSAGES,
        least: float | None = None,
    ) -> None:
        if passages < 1:
            raise InputError(f"at least 1 passage must be read, not {passages}")
        self.index, self.predictor = index, predictor
        self.passages = passages
        self.least = predictor.model.calibration.least if least is None else least

    def ask(self, question: str, top_k: int = 5) -> list[Found]:
        """At most `top_k` answers with different texts, best first; none if all score too low.

        Raises:
            InputError: a blank question, or `top_k` below 1.
        """
        if top_k < 1:
            raise InputError(f"top_k must be at least 1, not {top_k}")
        passages = self.search(question)
        pairs = ((question, passage.text) for passage in passages)
        return self.choose(passages, self.predictor.read_all(pairs, top_k), top_k)

    def search(self, question: str) -> list[Passage]:
        """The passages to read for a question.

        Raises:
            InputError: a blank question.
        """
        if not question.strip():
            raise InputError("the question is empty: ask something")
        return self.index.search(question, self.passages)

    def choose(
        self, passages: list[Passage], readings: Iterable[Reading], top_k: int
    ) -> list[Found]:
        """At most `top_k` answers, chosen from the readings of the passages."""
        found = zip(passages, readings, strict=True)
        model = self.predictor.model
        ranked = merge(found, model.no_answer_threshold, model.calibration)
        return [_found(*each) for each in ranked[:top_k] if each[0] >= self.least]


def merge(
    found: Iterable[tuple[Passage, Reading]],
    threshold: float = 1.0,
    calibration: Calibration = NEUTRAL,
) -> list[tuple[float, Passage, Answer]]:
    """Scores, passages and answers, best first. Of answers with the same words the best stays.

    A passage's answers count only if its reading's `no_answer` is at most `threshold`.
    """
    readings = list(found)
    highest = max((passage.score for passage, _ in readings), default=0.0)
    scored = [
        (calibration.likely(passage.score, highest, answer.score), passage, answer)
        for passage, reading in readings
        for answer in reading.given(threshold)
    ]
    scored.sort(key=lambda each: -each[0])
    best: dict[str, tuple[float, Passage, Answer]] = {}
    for each in scored:
        best.setdefault(normalise_answer(each[2].text), each)
    return list(best.values())


def _found(score: float, passage: Passage, answer: Answer) -> Found:
    line = passage.line
    if line is not None and passage.lines_run_on:
        line += passage.text.count("\n", 0, answer.start)
    return Found(
        text=answer.text,
        score=score,
        document=passage.document,
        page=passage.page,
        line=line,
        start=passage.start + answer.start,
        end=passage.start + answer.end,
        passage=passage.text,
        passage_start=answer.start,
        passage_end=answer.end,
        sentence=passage.text[slice(*sentence_around(passage.text, answer.start, answer.end))],
    )


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Half-open offsets of the sentences that overlap the characters `start` to `end`."""
    around = [span for span in sentences(unwrap_lines(text)) if span[0] < end and span[1] > start]
    return min(start, around[0][0]), max(end, around[-1][1])
