"""One answer explained, and its page."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.explain.page import explain, write_page
from factories import ABBEY, RAIN, small_reader

QUESTION = "Where does rain fall from?"


def test_probabilities_and_answers_are_the_predictors() -> None:
    model = small_reader()
    found = explain(model, QUESTION, RAIN, top_k=3)
    assert found.answers == Predictor(model).answer(QUESTION, RAIN, top_k=3)
    for side in (found.start, found.end):
        assert len(side) == len(found.words)
        assert side.sum() == pytest.approx(1, abs=1e-5)
    pairs = np.outer(found.start, found.end)
    spans = np.triu(pairs) - np.triu(pairs, 15)  # of at most 15 words
    # The predictor's scores are in bfloat16.
    assert found.answers[0].score == pytest.approx(spans.max(), rel=0.05)


def test_of_a_long_passage_it_shows_where_the_best_answer_is() -> None:
    model = small_reader()
    passage = " ".join([RAIN] * 30 + [ABBEY] * 30)
    found = explain(model, QUESTION, passage)
    assert len(found.words) == 400
    assert found.answers[0].text.split()[0] in found.words


def test_a_page_needs_nothing_beside_it(tmp_path: Path) -> None:
    passage = f"</script><b>{RAIN}</b> & so on"
    found = explain(small_reader(), "Where <i>does</i> rain fall?", passage)
    write_page(found, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in text
    assert "<title>Where &lt;i&gt;does&lt;/i&gt; rain fall?</title>" in text
    stored = json.loads(re.findall(r'json" id="data">(.*?)</script>', text, re.DOTALL)[0])
    assert stored["words"] == found.words
    assert len(stored["maps"]) == len(found.maps)
    for packed, each in zip(stored["maps"], found.maps, strict=True):
        weights = np.frombuffer(base64.b64decode(packed["weights"]), np.uint8) / 255
        np.testing.assert_allclose(
            weights.reshape(each.weights.shape) * packed["largest"], each.weights, atol=0.005
        )


@pytest.mark.parametrize(
    ("question", "passage"), [(" ", RAIN), (QUESTION, "\n"), (QUESTION, "\u200b")]
)
def test_blank_texts_are_refused(question: str, passage: str) -> None:
    with pytest.raises(InputError, match="is empty"):
        explain(small_reader(), question, passage)
