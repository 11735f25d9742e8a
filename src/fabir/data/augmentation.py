"""More training data from paraphrases of the passages (Yu et al. 2018, section 3).

`fabir.data.paraphrase` makes the paraphrases.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fabir.data.checks import check_seed
from fabir.data.convert import find
from fabir.data.dataset import Answer, Dataset, Passage
from fabir.errors import InputError
from fabir.progress import track
from fabir.text.sentences import sentences
from fabir.text.tokens import tokenise

_LONGER = 2  # a new answer has at most this many times the words of the old one, plus one


class Paraphraser(Protocol):
    """Says sentences in other words."""

    def paraphrase(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """For each sentence, in order, its paraphrases, one at least."""
        ...


@dataclass(frozen=True)
class Augmented:
    """The augmented data set, and how many answers were lost."""

    data: Dataset
    lost: int


def augment(
    dataset: Dataset,
    paraphraser: Paraphraser,
    *,
    threshold: float = 0.5,
    seed: int = 0,
) -> Augmented:
    """`dataset` with every sentence of its passages replaced by a paraphrase chosen at random.

    Where the paraphrase of an answer's sentence has the answer's words as they were, these are the
    new answer: at the place nearest to the old one, relative to the sentence. Else `find_again`
    looks for it. An answer is lost if it spans several sentences or its score is below `threshold`.
    A question that loses all its answers is dropped; one that has none is kept. The texts of
    questions do not change; their ids get "-paraphrase" appended.

    Raises:
        InputError: a threshold outside 0 to 1, a negative seed, or no question is kept; what the
            paraphraser raises.
    """
    if not 0 <= threshold <= 1:
        raise InputError(f"the threshold is between 0 and 1, not {threshold}")
    check_seed(seed)
    spans = [sentences(passage.text) for passage in dataset.passages]
    texts = [
        passage.text[start:end]
        for passage, found in zip(dataset.passages, spans, strict=True)
        for start, end in found
    ]
    distinct = list(dict.fromkeys(texts))
    made = track(paraphraser.paraphrase(distinct), "paraphrasing", len(distinct))
    paraphrases = dict(zip(distinct, made, strict=True))
    generator = np.random.default_rng(seed)
    passages, lost = [], 0
    for passage, found in zip(dataset.passages, spans, strict=True):
        candidates = [paraphrases[passage.text[start:end]] for start, end in found]
        chosen = [texts[generator.integers(len(texts))] for texts in candidates]
        rewritten = _Rewritten.of(passage.text, found, chosen)
        questions = []
        for question in passage.questions:
            answers = [rewritten.answer(answer, threshold) for answer in question.answers]
            kept = tuple(dict.fromkeys(answer for answer in answers if answer))
            lost += answers.count(None)
            if kept or not question.answers:
                id = f"{question.id}-paraphrase"
                questions.append(replace(question, id=id, answers=kept, plausible=()))
        if questions:
            passages.append(Passage(rewritten.text, passage.title, tuple(questions)))
    if not passages:
        raise InputError(
            f"no question is kept: {lost} answers were not found again in the paraphrases; a lower "
            "--threshold keeps more"
        )
    return Augmented(Dataset(tuple(passages), dataset.version), lost)


def find_again(answer: Sequence[str], words: Sequence[str]) -> tuple[int, int, float]:
    """The words of a paraphrase that are most similar to `answer`: first, last (inclusive), score.

    Each word is compared with the first and with the last word of the answer by the 2-grams of
    their characters (Dice's coefficient). The span with the largest sum is chosen. It has at most
    one word more than twice the answer's words. Of several with that sum the one whose number of
    words is nearest to the answer's wins, then the first and shortest. The score is the mean of the
    two coefficients, between 0 and 1.
    """
    first = np.array([_alike(answer[0], word) for word in words])
    last = np.array([_alike(answer[-1], word) for word in words])
    lengths = np.arange(1, min(len(words), _LONGER * len(answer) + 1) + 1)
    ends = np.arange(len(words))[:, None] + lengths - 1  # [starts, lengths]
    scores = first[:, None] + np.append(last, np.full(len(lengths), -np.inf))[ends]
    best = scores.max()
    off = np.where(scores == best, abs(lengths - len(answer)), np.inf)
    start, length = divmod(int(off.argmin()), len(lengths))
    return start, start + length, float(best) / 2


def _alike(one: str, other: str) -> float:
    """Dice's coefficient of the 2-grams of two words, their borders included."""
    ours, theirs = _bigrams(one), _bigrams(other)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def _bigrams(word: str) -> set[str]:
    bordered = f" {word.lower()} "
    return {bordered[i : i + 2] for i in range(len(bordered) - 1)}


@dataclass(frozen=True)
class _Rewritten:
    """A passage with its sentences replaced; white space between them stays as it was."""

    text: str
    old: list[tuple[int, int]]
    new: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str, old: list[tuple[int, int]], sentences: list[str]) -> "_Rewritten":
        pieces: list[str] = []
        new = []
        done = length = 0
        for (start, end), sentence in zip(old, sentences, strict=True):
            between = text[done:start]
            begin = length + len(between)
            new.append((begin, begin + len(sentence)))
            pieces += [between, sentence]
            done, length = end, begin + len(sentence)
        return cls("".join([*pieces, text[done:]]), old, new)

    def answer(self, answer: Answer, threshold: float) -> Answer | None:
        end = answer.start + len(answer.text)
        for (start, stop), (begin, close) in zip(self.old, self.new, strict=True):
            if start <= answer.start and end <= stop:
                share = (answer.start - start) / (stop - start)
                return self._within(answer.text, share, begin, close, threshold)
        return None

    def _within(
        self, answer: str, share: float, begin: int, close: int, threshold: float
    ) -> Answer | None:
        """The answer in a sentence, at the share `share` of it if it stands there unchanged."""
        sentence = self.text[begin:close]
        asked, tokens = tokenise(answer).words, tokenise(sentence)
        if not asked or not tokens.words:
            return None
        if same := find(answer, sentence, whole=True):
            near = min(same, key=lambda each: abs(each.start - share * len(sentence)))
            return Answer(near.text, begin + near.start)
        first, last, score = find_again(asked, tokens.words)
        if score < threshold:
            return None
        start, end = begin + tokens.starts[first], begin + tokens.ends[last]
        return Answer(self.text[start:end], start)
