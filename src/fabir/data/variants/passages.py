"""Variants with a changed passage: sentences dropped, moved or added, another passage joined.

Each function takes some questions about the passage of `source`. It returns variants of a part of
them that share one changed passage, or none if no question suits. Answers keep exact offsets.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fabir.data.dataset import Answer, Question
from fabir.data.variants.entities import exchanged, words_of
from fabir.data.variants.sources import Source, Variant
from fabir.text.sentences import sentences

_DROPPED = 0.3  # the probability that a sentence is dropped
_LONGEST = 380  # tokens of two passages together
_LURES = 2  # in one passage

Span = tuple[int, int]


def dropped(
    source: Source, questions: Sequence[Question], generator: np.random.Generator
) -> list[Variant]:
    """Each sentence without an answer is dropped with a probability of 0.3, at least one of them.

    Questions share a passage as long as half of its sentences have none of their answers.
    """
    text = source.passage.text

    def fits(chosen: list[Question]) -> bool:
        units = _units(text, chosen)
        free = _without_answers(units, chosen)
        few = len(chosen) > 1 and 2 * len(free) < len(units)
        return len(units) > 1 and len(free) > 0 and not few

    chosen = _together(questions, fits)
    if not chosen:
        return []
    units = _units(text, chosen)
    free = _without_answers(units, chosen)
    drawn = generator.random(len(free)) < _DROPPED
    if not drawn.any():
        drawn[generator.integers(len(free))] = True
    if drawn.all() and len(free) == len(units):
        drawn[generator.integers(len(free))] = False
    gone = {unit for unit, drop in zip(free, drawn, strict=True) if drop}
    return _variants(text, [unit for unit in units if unit not in gone], chosen)


def moved(
    source: Source, questions: Sequence[Question], generator: np.random.Generator
) -> list[Variant]:
    """The sentences in another order; those that one answer runs over stay together."""
    text = source.passage.text
    chosen = _together(questions, lambda some: len(_units(text, some)) > 1)
    if not chosen:
        return []
    units = _units(text, chosen)
    order = generator.permutation(len(units))
    while (np.diff(order) == 1).all():
        order = generator.permutation(len(units))
    return _variants(text, [units[index] for index in order], chosen)


def joined(
    source: Source, questions: Sequence[Question], generator: np.random.Generator
) -> list[Variant]:
    """Another passage of the article before or behind this one, at most 380 tokens together.

    The other passage has none of the questions, which it may answer otherwise.
    """
    text = source.passage.text
    article = source.article
    short = article.lengths + article.lengths[source.place] <= _LONGEST
    places = [p for p in np.flatnonzero(short).tolist() if article.passages[p].text != text]

    def others(chosen: list[Question]) -> list[int]:
        asking = set().union(*map(article.others.asking, chosen))
        return [place for place in places if place not in asking]

    answerable = [question for question in questions if question.answers]
    chosen = _together(answerable, lambda some: bool(others(some)))
    if not chosen:
        return []
    found = others(chosen)
    other = article.passages[found[generator.integers(len(found))]].text
    pieces: list[Span | str] = [(0, len(text)), other]
    if generator.random() < 0.5:
        pieces.reverse()
    return _variants(text, pieces, chosen)


def lure(
    source: Source, questions: Sequence[Question], generator: np.random.Generator
) -> list[Variant]:
    """The answer's sentence once more at a random place, with other names and numbers.

    The answer's text does not occur in it. Two such sentences at most are put into one passage;
    questions that are answered in the same sentence share one.
    """
    text = source.passage.text
    answerable = [question for question in questions if question.answers]
    units = _units(text, answerable)
    lures: dict[Span, str] = {}
    chosen: list[Question] = []
    for question in answerable:
        unit = next(unit for unit in units if _holds(unit, question.answers[0]))
        if unit not in lures and len(lures) == _LURES:
            continue
        sentence = lures.get(unit) or _lure(source, text[slice(*unit)], generator)
        lowered = sentence.lower()
        if sentence and not any(a.text.strip().lower() in lowered for a in question.answers):
            lures[unit] = sentence
            chosen.append(question)
    pieces: list[Span | str] = list(units)
    for sentence in lures.values():
        pieces.insert(generator.integers(len(pieces) + 1), sentence)
    return _variants(text, pieces, chosen)


def _lure(source: Source, sentence: str, generator: np.random.Generator) -> str:
    """The sentence with each name and number exchanged where there is another one, or ""."""
    avoid = words_of(source.passage.text)
    others: dict[str, str] = {}
    exchanges = []
    for entity in source.entities(sentence):
        if entity.text not in others:
            other = source.other_entity(entity.kind, avoid, generator)
            if other is None:
                continue
            others[entity.text] = other
            avoid |= words_of(other)
        exchanges.append((entity, others[entity.text]))
    return exchanged(sentence, exchanges) if exchanges else ""


def _units(text: str, questions: Iterable[Question]) -> list[Span]:
    """The sentences, those joined that one answer runs over; only white space lies between."""
    spans = sentences(text)
    for question in questions:
        spans += [(answer.start, answer.start + len(answer.text)) for answer in question.answers]
    units: list[Span] = []
    for start, end in sorted(spans):
        if units and start < units[-1][1]:
            units[-1] = (units[-1][0], max(end, units[-1][1]))
        else:
            units.append((start, end))
    return units


def _without_answers(units: list[Span], questions: Iterable[Question]) -> list[Span]:
    answers = [answer for question in questions for answer in question.answers]
    return [unit for unit in units if not any(_holds(unit, answer) for answer in answers)]


def _holds(unit: Span, answer: Answer) -> bool:
    return unit[0] <= answer.start < unit[1]


def _together(
    questions: Sequence[Question], fits: Callable[[list[Question]], bool]
) -> list[Question]:
    """Questions that fit together, the first ones first."""
    chosen: list[Question] = []
    for question in questions:
        if fits([*chosen, question]):
            chosen.append(question)
    return chosen


def _variants(
    text: str, pieces: Sequence[Span | str], questions: Iterable[Question]
) -> list[Variant]:
    """The questions about a passage made of parts of `text` and new sentences."""
    built = _Built.of(text, pieces)
    return [
        Variant(built.text, replace(question, answers=built.answers(question), plausible=()))
        for question in questions
    ]


@dataclass(frozen=True)
class _Built:
    """A passage made of pieces; each part of the old text has its old and its new start."""

    text: str
    parts: list[tuple[Span, int]]

    @classmethod
    def of(cls, text: str, pieces: Sequence[Span | str]) -> "_Built":
        new: list[str] = []
        parts = []
        length = 0
        for piece in pieces:
            if not isinstance(piece, str):
                parts.append((piece, length))
                piece = text[slice(*piece)]
            new.append(piece)
            length += len(piece) + 1
        return cls(" ".join(new), parts)

    def answers(self, question: Question) -> tuple[Answer, ...]:
        return tuple(
            replace(answer, start=answer.start - part[0] + start)
            for answer in question.answers
            for part, start in self.parts
            if _holds(part, answer)
        )
