"""A data set of variants of the questions of another one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from fabir.data.checks import check_seed
from fabir.data.dataset import Dataset, Passage, Question
from fabir.data.variants.near_words import NearWords
from fabir.data.variants.passages import dropped, joined, lure, moved
from fabir.data.variants.questions import entity, other, question
from fabir.data.variants.sources import Article, Corpus, Source, Variant
from fabir.errors import InputError
from fabir.progress import track
from fabir.text.vectors import Vectors

Maker = Callable[[Source, Sequence[Question], np.random.Generator], list[Variant]]

_MAKERS: dict[str, Maker] = {
    "other": other,
    "dropped": dropped,
    "moved": moved,
    "joined": joined,
    "lure": lure,
    "question": question,
    "entity": entity,
}
KINDS = tuple(_MAKERS)
_SHARING = 5  # questions about one changed passage


@dataclass(frozen=True)
class Varied:
    """The variants, how many there are of each kind, and how many questions have none."""

    data: Dataset
    counts: dict[str, int]
    without: int


def vary(
    dataset: Dataset,
    *,
    kinds: Sequence[str] = KINDS,
    copies: int = 1,
    vectors: Vectors | None = None,
    seed: int = 0,
) -> Varied:
    """`copies` variants of each question of `dataset`, without the questions, as SQuAD 2.0 data.

    The kinds that suit a question are equally probable. Up to five questions about one passage take
    the same kind if it suits them, and share a changed passage. Ids get the kind appended, and the
    copy's number if there are several. An unlabelled question has no variants: it has no answer and
    is not marked as unanswerable. Without `vectors` the kind `question` only drops words. Only
    `seed` determines the result.

    Raises:
        InputError: an unknown kind, a wrong number, or no question suits any of the kinds.
    """
    _check(kinds, copies, seed)
    maker_of = {kind: _MAKERS[kind] for kind in KINDS if kind in kinds}
    near_words = NearWords(vectors) if vectors is not None and "question" in kinds else None
    corpus = Corpus(dataset, near_words)
    generator = np.random.default_rng(seed)
    counts = dict.fromkeys(maker_of, 0)
    varied: set[str] = set()
    passages: list[Passage] = []
    articles = [list(group) for _, group in groupby(dataset.passages, key=lambda p: p.title)]
    for passages_of in track(articles, "making variants"):
        article = Article(passages_of, corpus)
        made: dict[str, list[Question]] = {}  # the questions of each text
        for kind, copy, variant in _variants(article, maker_of, copies, generator):
            counts[kind] += 1
            varied.add(variant.question.id)
            id = f"{variant.question.id}-{kind}" + (f"-{copy}" if copies > 1 else "")
            made.setdefault(variant.text, []).append(replace(variant.question, id=id))
        title = passages_of[0].title
        passages += [Passage(text, title, tuple(asked)) for text, asked in made.items()]
    if not passages:
        raise InputError(f"no question suits: {', '.join(maker_of)}; choose other kinds")
    return Varied(Dataset(tuple(passages), "v2.0"), counts, len(dataset) - len(varied))


def _check(kinds: Sequence[str], copies: int, seed: int) -> None:
    unknown = [kind for kind in kinds if kind not in _MAKERS]
    if unknown or not kinds:
        raise InputError(f"unknown kind {', '.join(unknown)!r}: choose among {', '.join(KINDS)}")
    if copies < 1:
        raise InputError(f"the number of copies must be at least 1, not {copies}")
    check_seed(seed)


def _variants(
    article: Article, maker_of: dict[str, Maker], copies: int, generator: np.random.Generator
) -> Iterator[tuple[str, int, Variant]]:
    """Yield the kind, the copy's number and the variant."""
    for place, passage in enumerate(article.passages):
        source = Source(article, place)
        labelled = [asked for asked in passage.questions if asked.labelled]
        for copy in range(1, copies + 1):
            for first in range(0, len(labelled), _SHARING):
                waiting = labelled[first : first + _SHARING]
                for kind, variant in _of_group(source, waiting, maker_of, generator):
                    yield kind, copy, variant


def _of_group(
    source: Source,
    waiting: list[Question],
    maker_of: dict[str, Maker],
    generator: np.random.Generator,
) -> Iterator[tuple[str, Variant]]:
    """Yield a variant of each question, of the first kind that suits it in a random order.

    So each kind that suits a question is as probable as the others, and questions share kinds.
    """
    kinds = list(maker_of)
    for index in generator.permutation(len(kinds)):
        made = True
        while waiting and made:
            made = maker_of[kinds[index]](source, waiting, generator)
            for variant in made:
                yield kinds[index], variant
            done = {variant.question.id for variant in made}
            waiting = [question for question in waiting if question.id not in done]
