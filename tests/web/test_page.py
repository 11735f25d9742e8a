"""The exported page in Chromium, with no network but the folder itself. It needs the npm package
onnxruntime-web in the cache, where `fabir export --web` puts it."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from browser import Keys, Page, chromium, needs_axe, needs_chromium
from fabir import Predictor
from fabir.data.squad import read_squad
from fabir.export.web import PACKAGE, write_page
from fabir.files import cache_folder
from fabir.runtime.locate import BUNDLED

RUNTIME = cache_folder("runtime")  # the user's: the tests' own cache comes later
OWN = Path(__file__).parents[1] / "data_files" / "own-questions.json"

pytestmark = [
    pytest.mark.slow,
    needs_chromium,
    pytest.mark.skipif(
        not (RUNTIME / PACKAGE).exists(),
        reason=f"needs {PACKAGE} in {RUNTIME}: run fabir export --web once",
    ),
]


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadingHTTPServer]:
    folder = tmp_path_factory.mktemp("page")
    assert write_page(BUNDLED, folder, RUNTIME) < 30e6
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def loaded(server: ThreadingHTTPServer) -> Iterator[Page]:
    """The page with its model."""
    with chromium() as browser:
        browser.get(f"http://127.0.0.1:{server.server_port}/")
        page = Page(browser)
        page.wait(lambda: page["go"].is_enabled() or page["wrong"].text)
        assert page["said"].text == "Ready."
        yield page


@pytest.fixture
def page(loaded: Page) -> Iterator[Page]:
    """The same; nothing may be complained of in the browser's console."""
    yield loaded
    assert loaded.browser.get_log("browser") == []


def ask(page: Page) -> None:
    page["go"].click()
    page.wait(page["go"].is_enabled)


def test_a_question_is_answered_in_place(page: Page) -> None:
    ask(page)
    assert page.texts(".answer b")[0] == "1847"
    text = page["passage"].get_attribute("value") or ""
    start = text.index("1847")
    assert page.texts(".answer .place")[0] == f"characters {start} to {start + 4}"
    assert page.texts("mark.best")[0].startswith("1847")
    assert len(page.all("mark")) == len(page.all(".answer")) == 3
    assert page["said"].text.startswith("3 answers in ")


def test_offsets_count_characters_and_markup_is_text(page: Page) -> None:
    passage = "\U0001f30a <b>Café\u0301</b> <script>document.title = 'in'</script>"
    passage += " The abbey was founded in 1082."
    page.fill(question="<i>When was the abbey founded?", passage=passage)
    ask(page)
    assert page.texts(".answer b")[0] == "1082"
    start = passage.index("1082")
    assert page.texts(".answer .place")[0] == f"characters {start} to {start + 4}"
    assert page.browser.title == "fabir: ask a text"
    assert page.all("#text b, #text script") == []


def test_a_question_that_is_cut_is_said(page: Page) -> None:
    passage = "The abbey was founded in 1082."
    for more, cut in (58, False), (59, True):
        page.fill(question="When was the abbey founded " + "exactly " * more + "?", passage=passage)
        ask(page)
        note = "The question is longer than 64 words: the rest was not read."
        assert (note in page["said"].text) is cut


def test_what_the_text_does_not_say_is_withheld(page: Page) -> None:
    question, passage = "Who painted the ceiling?", "The abbey was founded in 1082. It rained."
    (reading,) = Predictor.load().read_all([(question, passage)])
    assert reading.no_answer > 0.7
    page.fill(question=question, passage=passage)
    ask(page)
    assert page["said"].text == f"Probably not in the text ({100 * reading.no_answer:.0f} %)."
    guess = reading.answers[0].text
    assert page["guess"].text.startswith(f"Best guess: \u201c{guess}\u201d, characters ")
    assert page.texts("mark.guess") == [guess]
    assert page.all(".answer") == []
    assert not page["heading"].is_displayed()


@pytest.mark.parametrize(("question", "passage"), [(" ", "A text."), ("Why?", " ")])
def test_what_is_empty_is_said(page: Page, question: str, passage: str) -> None:
    page.fill(question=question, passage=passage)
    ask(page)
    assert "is empty" in page["wrong"].text
    assert not page["results"].is_displayed()


def test_one_question_is_asked_at_a_time(page: Page) -> None:
    page.fill(question="Who built the mill?", passage="The mill was built in 1902 by Otto Berg.")
    page.browser.execute_script("""
    const press = { key: "Enter", ctrlKey: true };
    const ask = () => document.forms[0].dispatchEvent(new KeyboardEvent("keydown", press));
    ask();
    document.getElementById("question").value = "When was the abbey founded?";
    document.getElementById("passage").value = "The abbey was founded in 1082.";
    ask();
    """)
    page.wait(lambda: page.all(".answer") and page["go"].is_enabled())
    assert "Otto Berg" in page.texts(".answer b")[0]
    page["passage"].send_keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: "1082" in page.texts(".answer b"))


def test_by_keyboard_alone(page: Page) -> None:
    page.fill(question="When was the abbey founded?", passage="The abbey was founded in 1082.")
    page["passage"].send_keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: page.all(".answer"))
    page.wait(page["go"].is_enabled)
    page["go"].send_keys(Keys.TAB * 2)
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.browser.switch_to.active_element.tag_name == "mark"


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1200, "light")])
def test_it_fits(page: Page, width: int, scheme: str) -> None:
    page.media(width, scheme)
    page.fill(question="When was the abbey founded?", passage="The abbey was founded in 1082.")
    ask(page)
    assert page.fits()


@needs_axe
def test_it_is_accessible(page: Page) -> None:
    page.fill(question="When was the abbey founded?", passage="The abbey was founded in 1082.")
    for question in ("When was the abbey founded?", "Who painted the ceiling?"):
        page.fill(question=question)
        ask(page)
        assert page.accessibility_violations() == []


def test_answers_are_those_of_python(page: Page) -> None:
    data = read_squad(OWN)
    pairs = [
        (question.text, passage.text) for passage in data.passages for question in passage.questions
    ]
    joined = "\n\n".join(passage.text for passage in data.passages)  # several windows
    pairs += [(question, joined) for question, _ in pairs[::20]]
    script = """
    const [pairs, done] = arguments;
    (async () => {
      const { Model } = await import("/model.js"), { Predictor } = await import("/predictor.js");
      const model = await Model.load((name) => fetch("/model/" + name));
      const predictor = new Predictor(model), found = [];
      for (const [question, text] of pairs) {
        const { answers: [best], noAnswer } = await predictor.read(question, text, 1);
        found.push([text.slice(best.start, best.end), best.score, noAnswer]);
      }
      done(found);
    })();
    """
    found = page.browser.execute_async_script(script, pairs)
    expected = list(Predictor.load().read_all(pairs))
    differ = sum(
        each[0] != reading.answers[0].text for each, reading in zip(found, expected, strict=True)
    )
    assert differ <= 2  # sums in another order may round to other 8 bits
    for (_, score, no_answer), reading in zip(found, expected, strict=True):
        assert score == pytest.approx(reading.answers[0].score, abs=0.1)
        assert no_answer == pytest.approx(reading.no_answer, abs=0.1)


def test_it_answers_when_the_server_is_gone(page: Page, server: ThreadingHTTPServer) -> None:
    server.shutdown()
    server.server_close()
    page.fill(
        question="Who wrote the report?", passage="The report was written by Maren Holt in 1998."
    )
    ask(page)
    assert page.texts(".answer b")[0] == "Maren Holt"
    loaded = "return performance.getEntriesByType('resource').map((each) => each.name)"
    assert all(each.startswith("http://127.0.0.1:") for each in page.browser.execute_script(loaded))
