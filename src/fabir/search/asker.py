"""Answers questions from an index: retrieves passages, reads them and merges their answers."""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from fabir.answer.checks import check_kind, check_whole
from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.answer.threshold import check_threshold
from fabir.errors import InputError
from fabir.runtime.settings import NEUTRAL, Calibration
from fabir.search.echo import blank_marks, repeats_question
from fabir.search.edges import after_number, pair_brackets, whole_name
from fabir.search.index import Copy, Index, Passage
from fabir.text.lines import unwrap_lines
from fabir.text.sentences import sentences
from fabir.text.units import is_blank

CREDIBLE = 0.02  # least probability of an answer whose passage others are compared with
UNSURE = 0.3  # score of an answer, below which a doubt is said
_QUOTES = "\\s\"'“”‘’«»`()\\[\\]{}"
_AROUND = re.compile(rf"^[{_QUOTES}]*(?:(?:an?|the)\s+(?=\S))?|[{_QUOTES}.,:;!?…]+$")
SPANS = 5  # read of each passage, at least
PASSAGES = 5  # passages read per question; more add 0.1 EM on SQuAD and nothing to F1


@dataclass(frozen=True, slots=True)
class Found:
    """An answer and its place in a document.

    text: the document's characters `start` to `end`, equal to `passage[passage_start:passage_end]`
    score: probability that the answer is right
    document, path: see `Passage`
    page, line: where the answer begins, counted from 1; None if the document has no pages or lines
    heading: the heading that it stands under; None if there is none
    sentence: the sentence that contains the answer
    copies: where nearly the same passage stands too
    paragraph: paragraph in which the answer begins, from 1; None as for `Passage`
    """

    text: str
    score: float
    document: str
    path: str
    page: int | None
    line: int | None
    heading: str | None
    start: int
    end: int
    passage: str
    passage_start: int
    passage_end: int
    sentence: str
    copies: tuple[Copy, ...] = ()
    paragraph: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a question to an index.

    answers: the answers that are given, best first
    no_answer: probability that the best span is not the answer, one minus its score; 1 if there is
        no span
    best_guess: the best span if no answer is given, else None; also None if there is no span
    """

    answers: list[Found]
    no_answer: float
    best_guess: Found | None


class Asker:
    """Answers questions from an index.

    Args:
        index: the index to retrieve passages from
        predictor: the predictor that reads the passages
        passages: number of passages to read per question
        threshold: least score of an answer that is given, from 0 to 1; 0 always answers. By
            default the predictor's. If that is None too, the model's own rule decides: the least
            score is `calibration.least`. A model without a calibration takes no answer from a
            passage whose `Reading.no_answer` is above the model's `no_answer_threshold`
    """

    def __init__(
        self,
        index: Index,
        predictor: Predictor,
        *,
        passages: int = PASSAGES,
        threshold: float | None = None,
    ) -> None:
        self.index, self.predictor = check_kind("index", index, Index), predictor
        self.passages = check_whole("passages", passages)
        self.threshold = predictor.threshold if threshold is None else check_threshold(threshold)

    def ask(self, question: str, top_k: int = 5) -> list[Found]:
        """At most `top_k` answers with different texts, best first; none if none is given.

        Raises:
            InputError: a blank question, or `top_k` below 1.
        """
        return self.read(question, top_k).answers

    def read(self, question: str, top_k: int = 5) -> Result:
        """The same as `ask`, with the no-answer probability and the best guess."""
        top_k = check_whole("top_k", top_k)
        passages = self.search(question)
        readings = self.predictor.read_all(self.pairs(question, passages), spans(top_k))
        return self.choose(question, passages, readings, top_k)

    def read_many(self, questions: Iterable[str], top_k: int = 5) -> Iterator[tuple[str, Result]]:
        """Each question with its result, in their order, many read together.

        A result is there as soon as it can be had, also while `questions` waits for the next one.
        They are taken ahead in a thread of their own, as `Predictor.answer_all` takes its pairs.

        Raises:
            InputError: a blank question, one text in place of several, or `top_k` below 1.
        """
        top_k = check_whole("top_k", top_k)
        if isinstance(questions, str):
            raise InputError("questions is one text: put it into a list, or call read")
        asked: deque[tuple[str, list[Passage]]] = deque()

        def pairs() -> Iterator[tuple[str, str]]:
            for question in questions:
                passages = self.search(question)
                asked.append((question, passages))
                yield from self.pairs(question, passages) or [(question, "")]

        readings = self.predictor.read_all(pairs(), spans(top_k))
        for first in readings:
            question, passages = asked.popleft()
            rest = islice(readings, max(len(passages) - 1, 0))
            of_passages = [first, *rest][: len(passages)]
            yield question, self.choose(question, passages, of_passages, top_k)

    def search(self, question: str) -> list[Passage]:
        """The passages to read for a question.

        Raises:
            InputError: a blank question, or one that is no str.
        """
        if is_blank(check_kind("the question", question, str)):
            raise InputError("the question is empty: ask something")
        return self.index.search(question, self.passages)

    def pairs(self, question: str, passages: Iterable[Passage]) -> list[tuple[str, str]]:
        """What a predictor reads: the question, and each passage with what stands above it.

        That is the heading before it, and the names of the columns if it goes on with a table.
        Marks of headings and items are blank, such as "#" and "a)", and so is what only repeats the
        question. Numbers such as "4.2" stay: questions ask for them.
        """
        blank = self.index.blank_echoes
        return [
            (question, blank_marks(_above(each) + blank(each.text, question))) for each in passages
        ]

    def found(
        self, question: str, passages: list[Passage], readings: Iterable[Reading]
    ) -> list[tuple[Passage, Reading]]:
        """Each passage, and the answers in it that say more than the question.

        Args:
            readings: those of the `pairs` of the passages
        """
        return [
            (passage, _within(passage, reading, question))
            for passage, reading in zip(passages, readings, strict=True)
        ]

    def choose(
        self,
        question: str,
        passages: list[Passage],
        readings: Iterable[Reading],
        top_k: int,
        threshold: float | None = None,
    ) -> Result:
        """The result for a question, from the readings of its `pairs`.

        Args:
            top_k: answers at most
            threshold: another one than the asker's

        Raises:
            InputError: `threshold` is not from 0 to 1.
        """
        found = self.found(question, passages, readings)
        model = self.predictor.model
        threshold = self.threshold if threshold is None else check_threshold(threshold)
        own_rule = threshold is None
        least = model.calibration.least if own_rule else threshold
        uncalibrated = model.calibration == NEUTRAL
        allowed = model.no_answer_threshold if own_rule and uncalibrated else 1.0
        ranked = merge(found, 1.0, model.calibration)
        likely = ranked if allowed >= 1 else merge(found, allowed, model.calibration)
        answers = [_found(*each) for each in likely[:top_k] if each[0] >= least]
        if not ranked:
            return Result([], 1.0, None)
        return Result(answers, 1 - ranked[0][0], None if answers else _found(*ranked[0]))


def spans(top_k: int) -> int:
    """How many spans of a passage to read for `top_k` answers.

    Some are left out afterwards, and the first answer and its score must not depend on `top_k`.
    """
    return max(top_k, SPANS)


def _above(passage: Passage) -> str:
    """The heading and the names of columns before a passage, to be read with it."""
    place, heading = passage.headings[0] if passage.headings else (0, "")
    heading = f"{heading}\n\n" if place < 0 else ""
    return f"{heading}{passage.columns}\n" if passage.columns else heading


def _within(passage: Passage, reading: Reading, question: str) -> Reading:
    """The answers in a passage that say more than the question."""
    before = len(_above(passage))
    answers = []
    for answer in reading.answers:
        start, end = answer.start - before, answer.end - before
        if start < 0:
            continue
        start, end = pair_brackets(passage.text, start, end)
        start = after_number(passage.text, start, end, question)
        start, end = whole_name(passage.text, start, end)
        text = passage.text[start:end]
        if not repeats_question(text, question):
            answers.append(Answer(text, start, end, answer.score))
    return replace(reading, answers=answers)


def merge(
    found: Iterable[tuple[Passage, Reading]],
    threshold: float = 1.0,
    calibration: Calibration = NEUTRAL,
) -> list[tuple[float, Passage, Answer]]:
    """Scores, passages and answers, best first. Of answers with the same words the best stays.

    A passage's answers count only if its reading's `no_answer` is at most `threshold`.
    """
    readings = list(found)
    highest = highest_score(readings)
    scored = [
        (
            calibration.likely(
                passage.score, highest, answer.score, reading.no_answer, passage.lacks_name
            ),
            passage,
            answer,
        )
        for passage, reading in readings
        for answer in reading.given(threshold)
    ]
    scored.sort(key=lambda each: -each[0])
    best: dict[str, tuple[float, Passage, Answer]] = {}
    for each in scored:
        best.setdefault(_wording(each[2].text), each)
    return list(best.values())


def _wording(answer: str) -> str:
    """What equal answers share: no case, no article, no quotes or stops around. "C++" is no "C"."""
    return " ".join(_AROUND.sub("", answer.lower()).split())


def highest_score(found: Iterable[tuple[Passage, Reading]]) -> float:
    """The best score of a passage with a credible answer; of any if none has one."""
    readings = list(found)
    credible = [
        passage.score
        for passage, reading in readings
        if any(each.score * (1 - reading.no_answer) >= CREDIBLE for each in reading.answers)
    ]
    return max(credible or [passage.score for passage, _ in readings], default=0.0)


def _found(score: float, passage: Passage, answer: Answer) -> Found:
    line = passage.line
    if line is not None and passage.lines_run_on:
        line += passage.text.count("\n", 0, answer.start)
    paragraph = passage.paragraph
    if paragraph is not None:
        paragraph += passage.text.count("\n\n", 0, answer.start)
    page = passage.page and passage.page + bisect_right(passage.pages, answer.start)
    above = [text for place, text in passage.headings if place <= answer.start]
    return Found(
        text=answer.text,
        score=score,
        document=passage.document,
        path=passage.path,
        page=page,
        line=line,
        heading=above[-1] if above else None,
        start=passage.start + answer.start,
        end=passage.start + answer.end,
        passage=passage.text,
        passage_start=answer.start,
        passage_end=answer.end,
        sentence=passage.text[slice(*sentence_around(passage.text, answer.start, answer.end))],
        copies=passage.copies,
        paragraph=paragraph,
    )


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Half-open offsets of the sentences that overlap the characters `start` to `end`."""
    around = [span for span in sentences(unwrap_lines(text)) if span[0] < end and span[1] > start]
    return min(start, around[0][0]), max(end, around[-1][1])
