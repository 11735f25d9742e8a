"""One answer explained, and its page."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from browser import Chrome, Keys, Page, chromium, needs_axe, needs_chromium
from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.explain.maps import Map
from fabir.explain.page import Explanation, explain, most_telling, titles, write_page
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


def test_a_question_with_bytes_that_are_no_text_is_shown(tmp_path: Path) -> None:
    write_page(explain(small_reader(), "Where caf\udce9 rain?", RAIN), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>Where caf\N{REPLACEMENT CHARACTER} rain?</title>" in text


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
    names = [each["title"] for each in stored["maps"]]
    assert stored["first"] < len(names)
    for name, each in zip(titles(found.maps), found.maps, strict=True):
        packed = stored["maps"][names.index(name)]
        weights = np.frombuffer(base64.b64decode(packed["weights"]), np.uint8) / 255
        weights = weights.reshape(len(packed["rows"]), len(packed["columns"])) * packed["largest"]
        np.testing.assert_allclose(
            weights.T if packed["turned"] else weights, each.weights, atol=0.005
        )


def test_maps_are_named_in_words() -> None:
    maps = explain(small_reader("a3"), QUESTION, RAIN).maps
    names = titles(maps)
    assert len(set(names)) == len(names)
    assert {"passage reads itself, head 1", "question reads itself, head 4"} <= set(names)
    assert {"passage reads question", "question reads passage"} <= set(names)
    layers = titles(explain(small_reader("crossconv"), QUESTION, RAIN).maps)
    assert "question reads passage, layer 4 of 4" in layers
    for name, each in zip(names, maps, strict=True):
        assert name.startswith(each.texts[0])


def test_the_first_map_is_that_in_which_a_question_word_meets_the_answer() -> None:
    def between(*weights: list[float]) -> Map:
        return Map(
            "layer", 0, ("question", "passage"), ["When", "?"], ["in", "1902"], np.array(weights)
        )

    itself = Map("own", 0, ("passage", "passage"), ["in", "1902"], ["in", "1902"], np.eye(2))
    elsewhere, there = between([0.9, 0.1], [0.8, 0.2]), between([0.4, 0.6], [1.0, 0.0])
    other_way = Map("layer", 0, ("passage", "question"), there.columns, there.rows, np.eye(2) / 2)
    assert most_telling([itself, elsewhere, there, other_way], 1) == 2
    assert most_telling([itself], 1) == most_telling([], 0) == 0


@pytest.mark.parametrize(
    ("question", "passage"), [(" ", RAIN), (QUESTION, "\n"), (QUESTION, "\u200b")]
)
def test_blank_texts_are_refused(question: str, passage: str) -> None:
    with pytest.raises(InputError, match="is empty"):
        explain(small_reader(), question, passage)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium() as browser:
        yield browser


def opened(browser: Chrome, folder: Path, found: Explanation) -> Page:
    write_page(found, folder / "page.html")
    page = Page(browser)
    page.media()
    browser.get((folder / "page.html").as_uri())
    return page


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("name", ["a3", "bidaf", "crossconv"])
def test_cells_have_their_values(browser: Chrome, tmp_path: Path, name: str) -> None:
    """By arrow keys and by a click, which a tap is too."""
    found = explain(small_reader(name), QUESTION, RAIN)
    page = opened(browser, tmp_path, found)
    names = titles(found.maps)
    for option in page.all("#choice option"):
        option.click()
        title = option.text[0].lower() + option.text[1:]
        each = found.maps[names.index(title)]
        turned = each.texts == ("question", "passage")
        weights = each.weights.T if turned else each.weights
        page["map"].send_keys(Keys.ARROW_UP * weights.shape[0], Keys.HOME, Keys.ARROW_DOWN)
        assert page["cell"].text == said(each, *((0, 1) if turned else (1, 0)))
        assert page["cell-tip"].text == page["cell"].text
        page["map"].send_keys(Keys.ARROW_RIGHT)
        assert page["cell"].text == said(each, 1, 1)
        x, y, size = page.run("[...placed(2, 0), side]")
        corner = page["map"].size
        page.click_at(
            page["map"], x + size / 2 - corner["width"] / 2, y + size / 2 - corner["height"] / 2
        )
        assert page["cell"].text == said(each, *((0, 2) if turned else (2, 0)))
    assert browser.get_log("browser") == []


def said(each: Map, row: int, column: int) -> str:
    """A cell's words and its weight, as it is after it was stored in 255 steps."""
    largest = each.weights.max()
    weight = round(each.weights[row, column] / largest * 255) / 255 * largest
    share = f"{100 * weight:.1f}" if 0.001 <= weight < 0.0995 else f"{100 * weight:.0f}"
    return f"\u201c{each.rows[row]}\u201d reads \u201c{each.columns[column]}\u201d with {share} %"


@pytest.mark.slow
@needs_chromium
def test_words_have_their_probabilities(browser: Chrome, tmp_path: Path) -> None:
    found = explain(small_reader(), QUESTION, RAIN)
    page = opened(browser, tmp_path, found)
    best = int(found.start.argmax())
    assert page["word"].text.startswith(f"\u201c{found.words[best]}\u201d starts the answer with ")
    page.all("#words span")[3].click()
    assert page["word"].text.startswith(f"\u201c{found.words[3]}\u201d")
    assert page["word-tip"].text == page["word"].text
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert page["word"].text.startswith(f"\u201c{found.words[4]}\u201d")
    label = browser.switch_to.active_element.get_attribute("aria-label")
    assert label
    assert label.startswith(f"{found.words[4]}: starts the answer with ")


@pytest.mark.slow
@needs_chromium
@needs_axe
@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1200, "light")])
@pytest.mark.parametrize("threshold", [0, 1])
def test_it_fits_and_is_accessible(
    browser: Chrome, tmp_path: Path, width: int, scheme: str, threshold: float
) -> None:
    page = opened(browser, tmp_path, explain(small_reader(), QUESTION, RAIN, threshold=threshold))
    page.media(width, scheme)
    assert page["none"].is_displayed() == bool(threshold)
    page["map"].send_keys(Keys.ARROW_DOWN)
    assert page.fits()
    assert page.accessibility_violations() == []


def test_it_shows_the_words_that_the_predictor_reads() -> None:
    passage = "Monday 9 to 17\nTuesday 10 to 18\nRoom\t214 B"
    model = small_reader()
    found = explain(model, "When is it open on Tuesday?", passage)
    assert " ".join(found.words) == "Monday 9 to 17 ; Tuesday 10 to 18 ; Room , 214 B"
    assert found.answers == Predictor(model).answer("When is it open on Tuesday?", passage, 5)
