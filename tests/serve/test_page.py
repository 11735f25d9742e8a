"""The page in a real browser: Chromium, driven by its own driver."""

import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from collection import write_collection
from fabir.search.index import Index
from factories import ABBEY
from serving import running

pytest.importorskip("selenium")
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    documents, index = (tmp_path_factory.mktemp(name) for name in ("documents", "index"))
    write_collection(documents)
    Index.build([documents], index)
    with running("--index", index) as service:
        yield f"{service.url}/"


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for each in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield browser
    browser.quit()


class Page:
    """The page as it stands in the browser; nothing may be complained of in its console."""

    def __init__(self, browser: webdriver.Chrome) -> None:
        self.browser = browser

    def __getitem__(self, name: str) -> Any:
        return self.browser.find_element(By.ID, name)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def run(self, script: str) -> Any:
        return self.browser.execute_script(f"return {script}")

    def wait(self, happened: Callable[[], Any]) -> None:
        WebDriverWait(self.browser, 120).until(lambda _: happened())

    def fill(self, question: str, passage: str) -> None:
        for name, text in (("question", question), ("passage", passage)):
            self.browser.execute_script(
                "document.getElementById(arguments[0]).value = arguments[1]", name, text
            )

    def ask(self) -> None:
        self["go"].click()
        self.wait(lambda: "answer" in self["said"].text or self["wrong"].text)

    def media(self, width: int, scheme: str) -> None:
        scheme_is = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme_is)
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture
def page(chromium: webdriver.Chrome, url: str) -> Iterator[Page]:
    page = Page(chromium)
    page.media(1200, "light")
    chromium.get(url)
    page.wait(lambda: page["from-index"].is_enabled())
    yield page
    assert chromium.get_log("browser") == []


def test_an_example_is_answered_in_place(page: Page) -> None:
    assert page["question"].get_attribute("value")
    page.ask()
    assert page.all(".answer b")[0].text == "1847"
    assert page.all("mark")[0].text.startswith("1847")
    assert page["heading"].is_displayed()
    assert page["guess"].text == ""
    assert len(page.all("mark")) == len(page.all(".answer")) == 3
    assert page["text"].text.startswith("The harbour of Brennick")
    loaded = page.run("performance.getEntriesByType('resource').map(each => each.name)")
    assert all(each.startswith("http://127.0.0.1") for each in loaded)
    Select(page["example"]).select_by_visible_text("Library")
    assert "borrow" in page["question"].get_attribute("value")


def test_markup_is_text_and_offsets_are_right_behind_any_character(page: Page) -> None:
    passage = (
        f"\U0001f30a <script>document.title = 'in'</script><b>{ABBEY}</b> <img src=x onerror=x>"
    )
    page.fill("<i>When was the abbey founded?", passage)
    Select(page["top-k"]).select_by_visible_text("1")
    page.ask()
    assert [each.text for each in page.all("mark")] == ["1082"]
    assert page["text"].text == passage
    assert page.run("document.title") == "fabir: ask a text"
    assert page.all("#text b, #text img, #text script") == []


def test_by_keyboard_alone(page: Page) -> None:
    page["question"].send_keys(Keys.ENTER)
    page.wait(lambda: page.all(".answer"))
    page.run("document.getElementById('answers').replaceChildren()")
    page["passage"].send_keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: page.all(".answer"))
    page["go"].send_keys(Keys.TAB * 3)
    first = page.all(".answer")[0]
    assert page.browser.switch_to.active_element == first
    first.send_keys(Keys.ENTER)
    assert page.browser.switch_to.active_element == page.all("mark")[0]


def test_the_index_is_asked(page: Page) -> None:
    page["from-index"].click()
    assert not page["passage"].is_displayed()
    page["question"].clear()
    page["question"].send_keys("When was the first kite of the valley flown?")
    page.ask()
    assert page.all("mark")[0].text == "1871"
    assert "kites.md" in page.all("#answers p")[0].text
    page["explain"].click()
    page.wait(lambda: page["view"].is_displayed())


def test_a_withheld_answer_is_a_guess_that_stands_back(page: Page) -> None:
    def answer(score: float, no_answer: float, **place: Any) -> None:
        """Let the service withhold "1082", whatever its model says."""
        start = ABBEY.index("1082")
        guess = {"text": "1082", "start": start, "end": start + 4, "score": score, **place}
        found = {"answers": [], "no_answer": no_answer, "best_guess": guess}
        page.browser.execute_script(
            "window.fetch = async () => new Response(JSON.stringify(arguments[0]))", found
        )
        page["go"].click()
        page.wait(lambda: page["said"].text and "Reading" not in page["said"].text)

    page.fill("When was the abbey founded?", ABBEY)
    answer(0.12, 0.84)
    assert page["said"].text == "Probably not in the text (84 %)."
    assert page["guess"].text == "Best guess: \u201c1082\u201d"
    assert [each.text for each in page.all("mark.guess")] == ["1082"]
    assert page.all(".answer, mark.best") == []
    assert not page["heading"].is_displayed()
    answer(0.6, 0.4)
    assert page["said"].text == "No answer is sure enough."
    assert page["guess"].text == "Best guess: \u201c1082\u201d (score 60.0 %)"
    page["from-index"].click()
    answer(0.12, 0.88, passage=ABBEY, document="abbey.md", page=None, line=3)
    assert page["said"].text == "Probably not in the documents (88 %)."
    assert page["guess"].text == "Best guess: \u201c1082\u201d, abbey.md, line 3"


def test_an_answer_that_is_probably_wrong_is_given_with_doubt(page: Page) -> None:
    start = ABBEY.index("1082")
    place = {"document": "abbey.md", "page": None, "line": 3, "heading": None, "copies": []}
    passage = {"passage": ABBEY, "passage_start": start, "passage_end": start + 4}
    page["from-index"].click()
    page["question"].send_keys("When was the abbey burnt?")
    for score, doubt in ((0.12, ". Probably not in the documents (88 %)."), (0.6, "")):
        answer = {"text": "1082", "score": score, "sentence": ABBEY, **place, **passage}
        found = {"answers": [answer], "no_answer": 1 - score, "best_guess": None}
        page.browser.execute_script(
            "window.fetch = async () => new Response(JSON.stringify(arguments[0]))", found
        )
        page["go"].click()
        page.wait(lambda: page["said"].text and "Reading" not in page["said"].text)
        assert re.fullmatch(r"1 answer in \d+ ms" + re.escape(doubt), page["said"].text)


def test_what_is_refused_is_said(page: Page) -> None:
    page.fill(" ", ABBEY)
    page.ask()
    assert "question: it is empty" in page["wrong"].text
    assert not page["results"].is_displayed()
    page.browser.get_log("browser")  # it notes the status 422


def test_the_attention_is_shown_in_a_frame_that_can_do_nothing(page: Page) -> None:
    page.fill("When was the abbey founded?", ABBEY)
    page.ask()
    page["explain"].click()
    page.wait(lambda: page["view"].is_displayed())
    page.browser.switch_to.frame(page["view"])
    page.wait(lambda: page.all("#choice option"))
    assert page["question"].text == "When was the abbey founded?"
    assert page.run("getComputedStyle(document.querySelector('canvas')).display") == "block"
    page.browser.switch_to.default_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1200])
def test_it_fits_and_is_readable(page: Page, width: int, scheme: str) -> None:
    page.media(width, scheme)
    page.ask()
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    brightness = (
        "['color', 'backgroundColor'].map(each => getComputedStyle(document.body)[each]"
        ".match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 765)"
    )
    ink, paper = page.run(brightness)
    assert abs(ink - paper) > 0.8
    assert (paper < 0.2) == (scheme == "dark")
