"""The page's scripts do what Python does: split texts, look words up, and choose answers."""

import random
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from fabir import Predictor
from fabir.answer.layout import find_layout
from fabir.answer.passages import PassageCache
from fabir.data.batches import Batch, SpanLogits, Steps
from fabir.export.web import write_scripts
from fabir.runtime.locate import BUNDLED
from fabir.runtime.settings import NEUTRAL, UNCALIBRATED, Calibration, Confidence
from fabir.runtime.store import VOCABULARY, path_of, read_settings, read_vocabulary
from fabir.text.lines import divide
from fabir.text.units import visible_tokens
from fabir.text.vocabulary import NO_ANSWER, Vocabulary, WordTable
from node import needs_node, run_module
from unicode_texts import make_text

pytestmark = needs_node


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's scripts and no model."""
    folder = tmp_path_factory.mktemp("scripts")
    assert len(list(write_scripts(folder))) > 5
    return folder


@pytest.fixture(scope="module")
def texts() -> list[str]:
    chance = random.Random(0)
    made = [make_text(chance, 2000 if i % 1000 == 0 else 20) for i in range(10_000)]
    return [*made, "", "\u2800", "\x01 \u0301\u3164"]


def places_of(text: str) -> dict[int, int]:
    """From offsets in JavaScript, which counts some characters twice, to those in Python."""
    sizes = accumulate((1 + (ord(each) > 0xFFFF) for each in text), initial=0)
    return {offset: place for place, offset in enumerate(sizes)}


@pytest.mark.slow
def test_texts_of_all_scripts_have_the_same_windows(scripts: Path, texts: list[str]) -> None:
    script = 'import { windowsOf } from "./passages.js"; result = given.map(windowsOf);'
    passages = PassageCache(400, 300)
    several = 0
    for text, found in zip(texts, run_module(scripts, script, texts), strict=True):
        place = places_of(text)
        parts = passages.parts(text)
        several += len(parts) > 1
        assert [each["words"] for each in found] == [part.words for part in parts], text
        for each, part in zip(found, parts, strict=True):
            assert [place[offset] for offset in each["starts"]] == part.starts.tolist(), text
            assert [place[offset] for offset in each["ends"]] == part.ends.tolist(), text
            lines = None if part.lines is None else part.lines.tolist()
            assert each.get("lines") == lines, text
            alone = None if part.punctuation is None else part.punctuation.tolist()
            assert each.get("punctuation") == alone, text
            pieces = None if part.pieces is None else part.pieces.tolist()
            assert each.get("pieces") == pieces, text
    assert several > 5


TABLES = [
    "Lakes\n\nName   max_depth   Fish\nArdmore   41.6 m   trout\nUpper Twin   56 m   whitefish",
    "\tName\tarea\t\n      \n\tTaffeta\t\t \n\tIrish linen\t275 cm\t \n\tThree\tcells",
    "Name: Sailcloth\nmainColour: moss\n\nName: Taffeta\nmainColour: İndigo 𝔘𝔫𝔦𝔠𝔬𝔡𝔢\nUse:\n",
    "day\tset\n1854-12-01\t3 Irish\n2.12.1854\t4 linen\n1854/12/3\t5\nin 9-12-1854\t6 area",
    "site   lat   col\nTwin   57.2   red\nTaffeta   58.1   moss",
    "Ann: Where is Bo?\nBo: Here.\nAnn: The colour is Irish.\n\nOne paragraph about a Twin.",
]


def test_layouts_support_the_same_words(scripts: Path, texts: list[str]) -> None:
    question = (
        "What is the max depth of Upper Twin, the main colour of Taffeta, Irish linen's area, and "
        "set on 2 December? Its latitude?"
    )
    chance = random.Random(2)
    some = [(text, " ".join(chance.choices(text.split() or ["x"], k=3))) for text in texts[:2000]]
    cases = [*((text, question) for text in TABLES), *some]
    script = """
    import { findLayout } from "./layout.js";
    result = given.map(([text, question]) => {
      const layout = findLayout(text);
      return layout ? [...layout.support(question)] : null;
    });
    """
    supported = 0
    for (text, asked), found in zip(cases, run_module(scripts, script, cases), strict=True):
        layout = find_layout(text, divide(text).unwrapped)
        expected = None if layout is None else layout.support(asked)
        assert found == (None if expected is None else pytest.approx(expected, abs=1e-6)), text
        supported += expected is not None and expected.any()
    assert supported > 500


def test_questions_have_the_same_words(scripts: Path, texts: list[str]) -> None:
    script = """
    import { visibleTokens } from "./units.js";
    result = given.map((text) => visibleTokens(text).words);
    """
    some = texts[:2000]
    found = run_module(scripts, script, some)
    assert found == [visible_tokens(text).words for text in some]


def test_words_have_the_same_rows(scripts: Path, texts: list[str]) -> None:
    vocabulary = read_vocabulary(BUNDLED)
    words = sorted({word for text in texts[:3000] for word in visible_tokens(text).words})
    words += [word.title() for word in vocabulary.fixed[::100]]
    script = """
    import { Vocabulary } from "./vocabulary.js";
    const vocabulary = new Vocabulary(JSON.parse(read(given.path)));
    result = given.words.map((word) => vocabulary.look(word));
    """
    path = path_of(BUNDLED, VOCABULARY)
    found = run_module(scripts, script, {"path": str(path.absolute()), "words": words})
    table = WordTable(vocabulary)
    types = table.number(words)
    assert [each["row"] for each in found] == table.rows(types).tolist()
    letters = [row[row > 0].tolist() for row in table.characters(types)]
    assert [each["characters"] for each in found] == letters


def test_vectors_of_words_are_read(scripts: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    halves = np.array([0, -0.0, 1, -2.5, 65504, 6e-8, 1e-5, 0.1, 1 / 3], np.float16)
    arrays = {
        "rows": random.integers(-127, 128, (3, 5)).astype(np.int8),
        "scales": np.concatenate([halves, random.normal(size=100).astype(np.float16)]),
        "trained": random.normal(size=(2, 5)).astype(np.float32),
    }
    save_file(arrays, tmp_path / "words.safetensors", {"made": "by hand"})
    script = """
    import { readTensors } from "./safetensors.js";
    const bytes = read(given), buffer = bytes.buffer.slice(bytes.byteOffset).slice(0, bytes.length);
    result = Object.entries(readTensors(buffer)).map(([name, { shape, at }]) => {
      const size = shape.reduce((a, b) => a * b);
      return [name, shape, Array.from({ length: size }, (_, i) => at(i))];
    });
    """
    found = run_module(scripts, script, str(tmp_path / "words.safetensors"))
    assert {name for name, _, _ in found} == arrays.keys()
    for name, shape, values in found:
        assert tuple(shape) == arrays[name].shape
        np.testing.assert_array_equal(values, arrays[name].ravel().astype(np.float64))


STEPS = Steps(8, 4, 1, 1)


@dataclass
class Drawn:
    """A model whose logits are drawn at random, and kept."""

    vocabulary: Vocabulary
    confidence: Confidence
    head: bool
    no_answer_threshold: float = 0.5
    calibration: Calibration = NEUTRAL
    steps: Steps = STEPS
    batch_words: int = 1
    parallel: int = 1
    made: list[SpanLogits[np.ndarray]] = field(default_factory=list)

    def embed(self, batch: Batch[np.ndarray], questions_only: bool = False) -> Any:
        return None

    def encode(self, batch: Batch[np.ndarray], vectors: Any) -> np.ndarray:
        return np.zeros((*batch.passage.shape, 1), np.float32)

    def answer(self, batch: Batch[np.ndarray], vectors: Any, encoded: Any) -> SpanLogits:
        random = np.random.default_rng(len(self.made))
        # Many are equal, as whole numbers, so that the order of equal answers matters too.
        start, end = random.normal(0, 4, (2, *batch.passage.shape)).round().astype(np.float32)
        start[batch.passage == 0] = end[batch.passage == 0] = -1e30
        none = random.normal(size=1).astype(np.float32) if self.head else None
        self.made.append(SpanLogits(start, end, none))
        return self.made[-1]

    def clear(self) -> None:
        """Nothing is kept that a text changes."""


CALIBRATED = read_settings(BUNDLED, ()).confidence


@pytest.mark.parametrize(
    ("confidence", "head", "place"),
    [
        (CALIBRATED, True, False),
        (UNCALIBRATED, True, False),
        (CALIBRATED, False, True),
        (UNCALIBRATED, False, True),
        (UNCALIBRATED, False, False),
    ],
)
def test_the_same_answers_are_chosen(
    scripts: Path, confidence: Confidence, head: bool, place: bool
) -> None:
    chance = random.Random(1)
    passages = [make_text(chance, 1500 if i % 10 == 0 else 60) for i in range(30)]
    passages = [each for each in passages if not each.isspace()]
    cases, expected = [], []
    vocabulary = Vocabulary((NO_ANSWER,) * place, (), "", 0)
    for i, passage in enumerate(passages):
        model, top_k = Drawn(vocabulary, confidence, head), (1, 3, 10)[i % 3]
        question = passage.split()[-1]
        (reading,) = Predictor(model).read_all([(question, passage)], top_k)
        expected.append(reading)
        logits = [[None if x is None else x.ravel().tolist() for x in each] for each in model.made]
        cases.append([question, passage, top_k, logits])
    script = """
    import { foundIn, merge } from "./answers.js";
    import { windowsOf } from "./passages.js";
    const { cases, confidence, first } = given;
    result = cases.map(([question, passage, topK, logits]) => {
      const windows = windowsOf(passage).map((part, i) => {
        const [start, end] = logits[i].slice(0, 2).map((each) => Float32Array.from(each));
        const support = part.layout?.support(question);
        return foundIn(part, { start, end, none: logits[i][2]?.[0] }, first, support);
      });
      return merge(windows, topK, confidence);
    });
    """
    about = {"cases": cases, "confidence": asdict(confidence), "first": int(place)}
    found = run_module(scripts, script, about)
    for passage, each, reading in zip(passages, found, expected, strict=True):
        where = places_of(passage)
        spans = [(where[answer["start"]], where[answer["end"]]) for answer in each["answers"]]
        assert spans == [(answer.start, answer.end) for answer in reading.answers]
        scores = [answer["score"] for answer in each["answers"]]
        assert scores == pytest.approx([answer.score for answer in reading.answers], abs=1e-6)
        assert each["noAnswer"] == pytest.approx(reading.no_answer, abs=1e-6)
