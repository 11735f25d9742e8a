"""Measures how much of a reader's self-attention rests on the answer (the ladder's Figure 3).

    python dev/self_attention.py MODEL dev-v1.1.json [--questions 300] [--plot FILE.png]

In self-attention a passage's words read each other. The table has the weight that they give to
the answer's words, as a multiple of an even share, and to those of another question's answer. It
has words in the answer, up to ten words beside it and further away. One question of each passage
is asked. The picture has the words around the first one's answer.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fabir.answer.predictor import Predictor
from fabir.data.squad import read_squad
from fabir.explain.maps import Map
from fabir.explain.page import explain
from fabir.plots import new_figure, save
from fabir.runtime.torch_model import TorchModel
from fabir.text.vocabulary import WordTable

_BESIDE = 10  # words
_AROUND = 12  # words in the picture, on either side of the answer


class Case(NamedTuple):
    """A question, and the positions of its answer's words and of another question's."""

    question: str
    passage: str
    answer: list[int]
    other: list[int]


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    model = TorchModel.load(options.model)
    found: dict[str, list[list[float]]] = defaultdict(list)
    for case in islice(cases(model, options.data), options.questions):
        for each in explain(model, case.question, case.passage).maps:
            if each.texts != ("passage", "passage"):
                continue
            if options.plot:
                draw(each, case, options.plot)
                options.plot = None
            for place, rows in readers(case.answer, len(each.rows)).items():
                name = f"{each.module}, head {each.head} | {place}"
                words = case.answer, case.other
                found[name].append([multiple_of_even(each.weights[rows], of) for of in words])
    print("module | words that read | the answer | another question's answer | questions")
    for name, shares in found.items():
        answer, other = np.mean(shares, axis=0)
        print(f"{name} | {answer:.2f} | {other:.2f} | {len(shares)}")


def cases(model: TorchModel, data: Path) -> Iterator[Case]:
    """One for each passage that is read at once and has answers apart from each other, shuffled."""
    predictor = Predictor(model)
    before = len(WordTable(model.vocabulary).before)
    passages = list(read_squad(data).passages)
    random.Random(0).shuffle(passages)
    for passage in passages:
        parts = predictor.parts(passage.text)
        asked = [question for question in passage.questions if question.answers]
        if len(parts) != 1 or not asked:
            continue
        first, *others = (
            [
                before + place
                for place, (start, end) in enumerate(
                    zip(parts[0].starts, parts[0].ends, strict=True)
                )
                if start < answer.start + len(answer.text) and end > answer.start
            ]
            for answer in (question.answers[0] for question in asked)
        )
        if apart := [other for other in others if not set(first) & set(other)]:
            yield Case(asked[0].text, passage.text, first, apart[0])


def readers(answer: list[int], length: int) -> dict[str, list[int]]:
    """Positions of a passage by their distance from the answer; places without any are left out."""
    beside = range(answer[0] - _BESIDE, answer[-1] + _BESIDE + 1)
    rest = [place for place in range(length) if place not in answer]
    places = {
        "in the answer": answer,
        "beside it": [place for place in rest if place in beside],
        "further away": [place for place in rest if place not in beside],
    }
    return {name: rows for name, rows in places.items() if rows}


def multiple_of_even(weights: np.ndarray, words: list[int]) -> float:
    """The mean weight of these columns, as a multiple of what even attention gives to each."""
    return float(weights[:, words].mean() * weights.shape[1])


def draw(each: Map, case: Case, path: Path) -> None:
    """Weights around the answer; each column has those of one word, as in the paper."""
    part = slice(max(0, case.answer[0] - _AROUND), case.answer[-1] + _AROUND + 1)
    words = each.rows[part]
    figure = new_figure(6.4, 6.4)
    axes = figure.subplots()
    image = axes.imshow(each.weights[part, part].T, cmap="Greys")
    axes.set_xticks(range(len(words)), words, rotation=90)
    axes.set_yticks(range(len(words)), words)
    axes.set(title=case.question, xlabel="word that reads", ylabel="word that is read")
    for place, label in enumerate(axes.get_yticklabels()):
        label.set_fontweight("bold" if place + part.start in case.answer else "normal")
    figure.colorbar(image, label="weight", shrink=0.7)
    save(figure, path)


if __name__ == "__main__":
    main()
