"""Fits a model's calibration, by which `fabir ask` ranks and withholds answers: `calibration` in
its config.json, see `fabir.runtime.settings.Calibration`.

    python benchmarks/calibration.py --train train-v1.1.json [--documents FILE.json ...]
        [--questions 1600] [--collections 400] [--reader DIR] [--save]

Questions are asked of one whole and of many small collections. The whole collection has all
passages of the file but every second one of those that are asked about. A small one has 1 to 50
documents of random articles. Half the time they are cut to a few sentences, and half the time their
title is a heading in the text. A small collection is asked three kinds of question:

- answered: a question about one of its documents
- lacking: of ten questions about other passages of its articles, and of ten about other articles,
  the one that the search scores highest
- renamed: a question about one of its documents, with names of other articles in place of its names

These are the shortest questions of their passages, because people ask their own notes in few words.
`--documents` names SQuAD 2.0 files of documents and tables, such as dev/make_documents.py holds
back. They are one more collection, which lacks every second document that is asked about, and the
answers of the unanswerable questions.

All kinds of one collection have equal weight; so have the whole, the small ones and the documents.
A question that finds no passage has no answer to judge and counts for nothing.

`lead` is the middle of those with the best F1 on the answered questions. `bias`, `search`, `reader`
and `unknown_name` are a logistic regression; its target is whether the best answer is right, with
an F1 of at least 0.5. `answerable` is the share that another one gives to the probability of an
answer, beside the answer's score. `least` is three in a hundred. Use the training set, so that the
dev set remains unseen.
"""

import argparse
import math
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from retrieval import write_passages

from fabir import Predictor, read_squad
from fabir.data.dataset import Dataset, Passage, Question, joined
from fabir.evaluation.calibration import RIGHT, logistic_regression
from fabir.evaluation.squad import f1
from fabir.progress import track
from fabir.runtime.locate import find_model
from fabir.runtime.settings import FURTHEST, Calibration
from fabir.runtime.store import change_settings
from fabir.search.asker import Asker, highest_score
from fabir.search.index import Index
from fabir.text.sentences import sentences

SPANS = 2  # of a passage: the first may only repeat the question
LARGEST = 50  # documents of a small collection
SENTENCES = 3  # of a document that is cut
TRIED = 10  # questions of which one is asked
NAME = re.compile(r"(?<!^)\b[A-Z]\w+")  # not the first word
WHOLE = "whole: answered", "whole: lacking"
SMALL = "small: answered", "small: lacking", "small: renamed"
DOCUMENTS = "documents: answered", "documents: lacking"
GROUPS = WHOLE, SMALL, DOCUMENTS
ANSWERED = tuple(group[0] for group in GROUPS)
LEADS = np.arange(0, 1.55, 0.1)
AS_GOOD = 0.003  # F1 as good as the best
LEAST = 0.03  # probability of an answer that is given


class Candidate(NamedTuple):
    """An answer from a search.

    highest: the best passage's search score
    unknown_name: whether the question has a name that the answer's document lacks
    lead: the search score of the answer's passage, minus `highest`
    certainty: the logarithm of the answer's score
    answerable: the logarithm of the probability that its passage has an answer
    right: whether F1 is at least 0.5
    """

    highest: float
    unknown_name: float
    lead: float
    certainty: float
    answerable: float
    right: float
    f1: float


class Asked(NamedTuple):
    """A question and what a search found. The best passage and the best answer are among these."""

    kind: str
    found: list[Candidate]


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--documents", type=Path, nargs="+", default=[], metavar="FILE.json")
    parser.add_argument("--questions", type=int, default=1600, help="to each large collection")
    parser.add_argument("--collections", type=int, default=400, help="small ones")
    parser.add_argument("--reader", type=Path, metavar="DIR")
    parser.add_argument("--save", action="store_true", help="write it into the model's folder")
    options = parser.parse_args()
    if options.questions < 2 or options.collections < 10:
        parser.error("--questions must be at least 2, --collections at least 10")
    data = read_squad(options.train, "keep")
    predictor = Predictor.load(options.reader)
    asked = [
        *ask_whole(data, predictor, options.questions, WHOLE),
        *ask_small(data, predictor, options.collections),
    ]
    if options.documents:
        documents = joined([read_squad(path) for path in options.documents])
        untitled = [replace(each, title="") for each in documents.passages]
        documents = replace(documents, passages=tuple(untitled))
        asked += ask_whole(documents, predictor, options.questions, DOCUMENTS)
    asked = [each for each in asked if each.found]
    fitted = fit(asked)
    was = predictor.model.calibration
    for name, new in asdict(fitted).items():
        print(f"{name:8}{new:8.3f}  (now {getattr(was, name)})")
    print(render(asked, fitted))
    if options.save:
        change_settings(find_model(options.reader), calibration=fitted)


def ask_whole(
    data: Dataset, predictor: Predictor, questions: int, kinds: tuple[str, str]
) -> Iterator[Asked]:
    """Ask `questions` spread over the data of a collection that lacks half of their passages."""
    asked = list(data.questions)[:: max(1, len(data) // questions)]
    missing = set(list(dict.fromkeys(passage for passage, _ in asked))[1::2])
    with tempfile.TemporaryDirectory() as name:
        index = build([each for each in data.passages if each not in missing], Path(name))
        for passage, question in track(asked, "asking", len(asked)):
            lacking = passage in missing or not question.answers
            yield ask(kinds[lacking], index, predictor, question)


def ask_small(data: Dataset, predictor: Predictor, collections: int) -> Iterator[Asked]:
    """Ask `collections` small collections of random passages."""
    chance = random.Random(0)
    articles: dict[str, list[Passage]] = defaultdict(list)
    for passage in data.passages:
        if passage.questions:
            articles[passage.title].append(passage)
    for number in range(1, collections + 1):
        size = round(LARGEST ** chance.random())
        chosen = chance.sample(sorted(articles), min(len(articles), chance.randint(1, size)))
        passages = [passage for title in chosen for passage in articles[title]]
        taken = chance.sample(passages, min(size, len(passages)))
        rest = [passage for passage in passages if passage not in taken]
        others = sorted(articles.keys() - set(chosen))
        others = chance.sample(others, min(TRIED, len(others)))
        near = list(map(shortest, chance.sample(rest, min(TRIED, len(rest)))))
        far = [shortest(chance.choice(articles[title])) for title in others]
        with tempfile.TemporaryDirectory() as name:
            yield from ask_one(taken, near, far, predictor, Path(name), chance)
        if number % 20 == 0 or number == collections:
            print(f"{number} of {collections} small collections", file=sys.stderr)


def ask_one(
    taken: list[Passage],
    near: list[Question],
    far: list[Question],
    predictor: Predictor,
    folder: Path,
    chance: random.Random,
) -> Iterator[Asked]:
    """Ask a small collection of `taken` about itself, and `near` and `far`, which it lacks."""
    documents = [cut(passage, chance) for passage in taken] if chance.random() < 0.5 else taken
    titled = chance.random() < 0.5
    index = build(documents if titled else list(map(headed, documents)), folder)
    names = [name for question in far for name in NAME.findall(question.text)]
    for document in chance.sample(documents, min(2, len(documents))):
        question = shortest(document)
        yield ask("small: answered", index, predictor, question)
        if names and NAME.search(question.text):
            yield ask("small: renamed", index, predictor, renamed(question, names, chance))
    for questions in (near, far):
        if questions:
            likeliest = max(questions, key=lambda each: best_match(index, each.text))
            yield ask("small: lacking", index, predictor, likeliest)


def build(passages: list[Passage], folder: Path) -> Index:
    write_passages(passages, folder / "passages.jsonl")
    return Index.build([folder / "passages.jsonl"], folder / "index", size=10**6)


def cut(passage: Passage, chance: random.Random) -> Passage:
    """Some sentences of a passage that answer one of its questions, with all that they answer."""
    answer = chance.choice(passage.questions).answers[0]
    end = answer.start + len(answer.text)
    spans = sentences(passage.text)
    having = [at for at, span in enumerate(spans) if span[0] < end and span[1] > answer.start]
    first = max(0, having[0] - chance.randrange(SENTENCES))
    last = max(having[-1], min(len(spans) - 1, first + chance.randrange(SENTENCES)))
    begin, stop = spans[first][0], spans[last][1]
    inside = [
        question
        for question in passage.questions
        for answer in question.answers[:1]
        if begin <= answer.start and answer.start + len(answer.text) <= stop
    ]
    return replace(passage, text=passage.text[begin:stop], questions=tuple(inside))


def headed(passage: Passage) -> Passage:
    heading = passage.title.replace("_", " ")
    return replace(passage, title="", text=f"{heading}\n\n{passage.text}")


def shortest(passage: Passage) -> Question:
    return min(passage.questions, key=lambda question: len(question.text.split()))


def renamed(question: Question, names: list[str], chance: random.Random) -> Question:
    text = NAME.sub(lambda _: chance.choice(names), question.text)
    return replace(question, text=text, answers=())


def ask(kind: str, index: Index, predictor: Predictor, question: Question) -> Asked:
    answers = [answer.text for answer in question.answers] or [""]
    return Asked(kind, candidates(index, predictor, question.text, answers))


def fit(asked: list[Asked]) -> Calibration:
    counts = Counter(kind for kind, _ in asked)
    size_of = {kind: len(group) for group in GROUPS for kind in group}
    shares = np.array([1 / counts[kind] / size_of[kind] for kind, _ in asked])
    weights = shares * len(asked) / shares.sum()
    found = best_lead(asked, 0.0)
    chosen = [best(each.found, found) for each in asked]
    inputs = [[*inputs_of(each, found), each.answerable] for each in chosen]
    *_, reader, answerable = regression(inputs, chosen, weights)
    found = best_lead(asked, max(0.0, answerable / reader))
    chosen = [best(each.found, found) for each in asked]
    inputs = [inputs_of(each, found) for each in chosen]
    bias, search, unknown, reader = regression(inputs, chosen, weights)
    found = replace(found, bias=bias, search=search, unknown_name=unknown, reader=reader)
    numbers = asdict(replace(found, least=LEAST))
    return Calibration(**{name: round(float(number), 3) for name, number in numbers.items()})


def inputs_of(candidate: Candidate, weights: Calibration) -> list[float]:
    return [1.0, candidate.highest, candidate.unknown_name, value(candidate, weights)]


def best_lead(asked: list[Asked], answerable: float) -> Calibration:
    """The weights with which the answered questions have the best F1.

    Many are as good: the middle of these is the surest.
    """
    tried = [Calibration(lead=lead, answerable=answerable) for lead in LEADS]
    kinds = {kind for kind, _ in asked} & set(ANSWERED)
    found = np.array([np.mean([quality(asked, kind, each) for kind in kinds]) for each in tried])
    return replace(tried[0], lead=float(LEADS[found >= found.max() - AS_GOOD].mean()))


def regression(
    inputs: list[list[float]], chosen: list[Candidate], weights: np.ndarray
) -> tuple[float, ...]:
    """Weights of the inputs for an answer being right."""
    right = np.array([each.right for each in chosen])
    return logistic_regression(np.array(inputs), right, weights)


def render(asked: list[Asked], calibration: Calibration) -> str:
    """How each kind of question fares: F1, and what the scores say beside what is right."""
    lines = [f"{'kind':20}{'questions':>10}{'F1':>7}{'right':>7}{'score':>7}{'withheld':>10}"]
    for kind in dict.fromkeys(kind for kind, _ in asked):
        chosen = [best(each.found, calibration) for each in asked if each.kind == kind]
        likely = np.array([likelihood(each, calibration) for each in chosen])
        right = np.mean([each.right for each in chosen])
        lines.append(
            f"{kind:20}{len(chosen):10}{quality(asked, kind, calibration):7.3f}{right:7.3f}"
            f"{likely.mean():7.3f}{(likely < calibration.least).mean():10.3f}"
        )
    return "\n".join(lines)


def likelihood(candidate: Candidate, calibration: Calibration) -> float:
    score, answerable = math.exp(candidate.certainty), math.exp(candidate.answerable)
    highest = candidate.highest
    own, unknown = highest + candidate.lead, bool(candidate.unknown_name)
    return calibration.likely(own, highest, score, 1 - answerable, unknown)


def quality(asked: list[Asked], kind: str, weights: Calibration) -> float:
    """Mean F1 of the best answers to the questions of a kind."""
    return float(np.mean([best(each.found, weights).f1 for each in asked if each.kind == kind]))


def candidates(
    index: Index, predictor: Predictor, question: str, answers: list[str]
) -> list[Candidate]:
    asker = Asker(index, predictor)
    passages = asker.search(question)
    readings = predictor.read_all(asker.pairs(question, passages), SPANS)
    found = asker.found(question, passages, readings)
    highest = highest_score(found)
    return [
        Candidate(
            highest,
            float(passage.lacks_name),
            -min(max(highest - passage.score, 0.0), FURTHEST),
            math.log(max(answer.score, 1e-30)),
            math.log(max(1 - reading.no_answer, 1e-30)),
            f1(answer.text, answers) >= RIGHT,
            f1(answer.text, answers),
        )
        for passage, reading in found
        for answer in reading.answers
    ]


def best_match(index: Index, question: str) -> float:
    return max((passage.score for passage in index.search(question, 1)), default=0.0)


def value(candidate: Candidate, weights: Calibration) -> float:
    read = candidate.certainty + weights.answerable * candidate.answerable
    return read + weights.lead * candidate.lead


def best(found: list[Candidate], weights: Calibration) -> Candidate:
    return max(found, key=lambda each: value(each, weights))


if __name__ == "__main__":
    main()
