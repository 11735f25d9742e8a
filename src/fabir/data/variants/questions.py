"""Variants with a changed question: asked elsewhere, words dropped or replaced, a name exchanged.

Each function takes some questions about the passage of `source` and returns a variant of each one
that suits.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from fabir.data.dataset import Question
from fabir.data.variants.entities import exchanged, words_of
from fabir.data.variants.near_words import NearWords
from fabir.data.variants.sources import Source, Variant

_SIMILAR = 3  # other passages that one is drawn from
_FEWEST = 4  # words that a question must have beside its question words, to lose one
_MANY = 8  # words with which a question may lose two
# White space comes before and after, or the end of a clause: no half of a name is dropped.
_WORD = re.compile(r"(?<!\S)[^\W_]+(?:[-'’][^\W_]+)*(?=[?,;]?(?:\s|$))")
_QUESTION_WORD_LIST = "what which who whom whose when where why how many much"
_QUESTION_WORDS = frozenset(_QUESTION_WORD_LIST.split())
# These carry a question's sense or its grammar. Their neighbours say something else.
_FIXED_WORD_LIST = """
    a about after all also an and another any are as at be because been before being between both
    but by can either even just me my neither now off once out own same since so such too up while
    himself herself itself themselves him us we
    could did do does during each first for from had has have he her his if in into is it its last
    least less more most no not of on one only or other our over second she should some than that
    the their them then there these they third this those through to two under until was were will
    with without would you your north south east west
"""
_FIXED_WORDS = frozenset(_FIXED_WORD_LIST.split()) | _QUESTION_WORDS


def other(
    source: Source, questions: Sequence[Question], generator: np.random.Generator
) -> list[Variant]:
    """The question with one of the three most similar other passages of the article that have none
    of its answers: unanswerable. Questions take the same one where they can."""
    made = []
    taken: set[int] = set()
    for question in questions:
        if question.answers:
            places = list(islice(source.article.others.ranked(question, source.place), _SIMILAR))
            if places:
                places = [place for place in places if place in taken] or places
                place = places[generator.integers(len(places))]
                taken.add(place)
                text = source.article.passages[place].text
                made.append(Variant(text, _unanswerable(question, question.text)))
    return made


def question(
    source: Source, questions: Sequence[Question], generator: np.random.Generator
) -> list[Variant]:
    """One or two words of the question dropped, or replaced by near words if there are vectors."""
    near_words = source.article.corpus.near_words
    made = []
    for asked in questions:
        words = [
            match for match in _WORD.finditer(asked.text) if match[0].lower() not in _QUESTION_WORDS
        ]
        if asked.answers and len(words) >= _FEWEST:
            count = 1 + int(len(words) >= _MANY and generator.random() < 0.5)
            places = sorted(generator.permutation(len(words))[:count])
            text = asked.text
            for place in reversed(places):
                text = _changed(text, words[place], near_words, generator)
            made.append(
                Variant(source.passage.text, replace(asked, text=text.strip(), plausible=()))
            )
    return made


def entity(
    source: Source, questions: Sequence[Question], generator: np.random.Generator
) -> list[Variant]:
    """A name or number of the question exchanged for one not in the passage: unanswerable."""
    made = []
    for question in questions:
        found = source.entities(question.text)
        avoid = words_of(source.passage.text) | words_of(question.text)
        for index in generator.permutation(len(found)):
            other = source.other_entity(found[index].kind, avoid, generator)
            if other is not None:
                text = exchanged(question.text, [(found[index], other)])
                made.append(Variant(source.passage.text, _unanswerable(question, text)))
                break
    return made


def _unanswerable(question: Question, text: str) -> Question:
    return Question(question.id, text, (), impossible=True)


def _changed(
    text: str, word: re.Match[str], near_words: NearWords | None, generator: np.random.Generator
) -> str:
    """The question without a word, or as probably with a near word in its place."""
    start, end = word.span()
    near = near_words.near(word[0]) if near_words and _replaceable(word[0]) else []
    near = [other for other in near if _replaceable(other)]
    if near and generator.random() < 0.5:
        return text[:start] + near[generator.integers(len(near))] + text[end:]
    before = text[:start].rstrip()
    return before + (text[end:] if before else text[end:].lstrip())


def _replaceable(word: str) -> bool:
    """Names, numbers and words of grammar are not replaced: the question would be another one."""
    return word.islower() and word.isalpha() and word not in _FIXED_WORDS
