"""The explanation of one answer: attention maps and distributions, and an HTML page of them."""

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import count
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import torch

from fabir.answer.predictor import Answer, Predictor
from fabir.data.batches import Steps, collate, round_up
from fabir.errors import InputError
from fabir.explain.maps import SENTINEL, Map, Side, attention_maps, recorded
from fabir.files import replacing
from fabir.runtime.torch_model import TorchModel
from fabir.terminal import printable
from fabir.text.units import visible_tokens
from fabir.text.vocabulary import WordTable

_NO_ANSWER = "(no answer)"


@dataclass(frozen=True)
class Explanation:
    """The explanation of an answer.

    Args:
        question, passage: the texts
        words: the words that the model reads in one window of the passage, with marks of its
            layout, see `fabir.text.lines.divide`; after the no-answer position if the model has one
        asked: the question's words
        start, end: probability that the answer starts and ends at each of `words`, of the network
            alone: its passage's layout counts in `answers` only
        answers: the best answers of the whole passage; none if none is given
        maps: attention maps, in the order of the network
    """

    question: str
    passage: str
    words: list[str]
    asked: list[str]
    start: np.ndarray
    end: np.ndarray
    answers: list[Answer]
    maps: list[Map]


@torch.inference_mode()
def explain(
    model: TorchModel,
    question: str,
    passage: str,
    top_k: int = 5,
    threshold: float | None = None,
) -> Explanation:
    """Answer a question, and explain the window that holds the best span.

    Args:
        threshold: see `Predictor`

    Raises:
        InputError: a blank question or passage, or `threshold` is not from 0 to 1.
    """
    predictor = Predictor(model, threshold=threshold)
    asked = visible_tokens(question, model.vocabulary.tokeniser).words[: predictor.max_question]
    if not asked:
        raise InputError("the question is empty: ask something")
    parts = predictor.parts(passage)
    if not parts:
        raise InputError("the passage is empty: there is nothing to answer from")
    reading = next(predictor.read_all([(question, passage)], top_k))
    best = reading.answers[0]
    part = max(parts, key=lambda each: min(best.start - each.starts[0], each.ends[-1] - best.end))
    table = WordTable(model.vocabulary)
    text = table.number(part.words)
    words = [_NO_ANSWER] * len(table.before) + part.words
    # Lengths identify the texts of a map. So the passage is padded if its length equals that of the
    # question, or a multiple of it by a number of heads.
    alike = {len(asked) * heads + more for heads in range(1, 17) for more in (-1, 0, 1)}
    step = next(s for s in count(1) if round_up(len(words), s) not in alike)
    batch = collate(table, [text], [table.number(asked)], [0], Steps(step, 1, 1, 1))
    padded = [*words, *[""] * (batch.passage.shape[1] - len(words))]
    network = model.network.float().eval()
    with recorded(network) as found:
        logits = network(batch.tensors())
    place: Any = getattr(model.config, "sentinel_place", "before")
    sides = Side("question", asked, place), Side("passage", padded, place)
    maps = attention_maps(found, sides)
    start, stop = (side[0, : len(words)].softmax(dim=0).numpy() for side in logits[:2])
    answers = predictor.given(reading)
    return Explanation(question, passage, words, asked, start, stop, answers, maps)


def write_page(explanation: Explanation, path: Path) -> None:
    """Write a page of one file. An InputError says why it cannot be written."""
    with replacing(path) as temporary:
        temporary.write_text(page_of(explanation), encoding="utf-8")


def page_of(explanation: Explanation) -> str:
    """The HTML of a page of one file."""
    maps = sorted(explanation.maps, key=lambda each: each.texts[0] == each.texts[1])
    answer = int(explanation.start.argmax())
    data = {
        "question": explanation.question,
        "words": explanation.words,
        "start": explanation.start.round(4).tolist(),
        "end": explanation.end.round(4).tolist(),
        "answers": [asdict(answer) for answer in explanation.answers],
        "maps": [
            {"title": title, **_packed(each, answer)}
            for title, each in zip(titles(maps), maps, strict=True)
        ],
        "first": most_telling(maps, answer),
    }
    template = files("fabir.explain").joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=html.escape(printable(explanation.question)),
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def titles(maps: Sequence[Map]) -> list[str]:
    """What each map shows, such as "question reads passage, layer 2 of 4, head 1"."""
    modules: dict[tuple[str, str], list[str]] = {}
    for each in maps:
        if each.module not in (same := modules.setdefault(each.texts, [])):
            same.append(each.module)
    return [_title(each, modules[each.texts]) for each in maps]


def _title(each: Map, modules: list[str]) -> str:
    reader, read = each.texts
    title = f"{reader} reads {'itself' if read == reader else read}"
    if len(modules) > 1:
        title += f", layer {modules.index(each.module) + 1} of {len(modules)}"
    return title + (f", head {each.head}" if each.head else "")


def most_telling(maps: Sequence[Map], answer: int) -> int:
    """Number of the map between the texts in which a question word and the answer's first word have
    the largest weight; 0 if there is none between them.

    Args:
        answer: number of the answer's first word in the passage
    """

    def weight(number: int) -> float:
        each = maps[number]
        if each.texts[0] == each.texts[1]:
            return 0.0
        return float(_passage_first(each)[2][_row(each, answer)].max())

    return max(range(len(maps)), key=weight, default=0)


def _passage_first(each: Map) -> tuple[list[str], list[str], np.ndarray]:
    """Rows, columns and weights, with the longer text in the rows if there are two."""
    if each.texts == ("question", "passage"):
        return each.columns, each.rows, each.weights.T
    return each.rows, each.columns, each.weights


def _row(each: Map, answer: int) -> int:
    """The row of `_passage_first` that the answer's first word has; the first one without it."""
    rows = _passage_first(each)[0]
    return answer + (rows[0] == SENTINEL) if "passage" in each.texts else 0


def _packed(each: Map, answer: int) -> dict[str, object]:
    """Weights as bytes, scaled so that the largest is 255."""
    rows, columns, weights = _passage_first(each)
    largest = float(weights.max()) or 1.0
    scaled = np.rint(weights / largest * 255).astype(np.uint8)
    return {
        "module": each.module or "network",
        "texts": each.texts,
        "turned": weights is not each.weights,
        "rows": rows,
        "columns": columns,
        "row": _row(each, answer),
        "largest": round(largest, 4),
        "weights": base64.b64encode(scaled.tobytes()).decode(),
    }
