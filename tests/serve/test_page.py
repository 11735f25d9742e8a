"""The page in a real browser."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from browser import Chrome, Keys, Page, Select, chromium, needs_axe, needs_chromium
from collection import KITES, write_collection
from fabir.runtime.locate import BUNDLED
from fabir.runtime.store import WEIGHTS, copy_model
from fabir.search.index import Index
from fabir.serve.page import PAGE, POLICY
from factories import ABBEY
from serving import running

pytestmark = [pytest.mark.slow, needs_chromium]
QUESTION = "When was the first kite of the valley flown?"
TOKEN = "the-token"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with an index."""
    documents, index = (tmp_path_factory.mktemp(name) for name in ("documents", "index"))
    write_collection(documents)
    Index.build([documents], index)
    with running("--index", index) as service:
        yield f"{service.url}/"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a token, without an index, and with a model that is only exported."""
    folder = tmp_path_factory.mktemp("guarded")
    copy_model(BUNDLED, folder / "model")
    (folder / "model" / WEIGHTS).unlink()
    (folder / "tokens").write_text(TOKEN)
    with running("--reader", folder / "model", "--token-file", folder / "tokens") as service:
        yield f"{service.url}/"


@pytest.fixture
def page(browser: Chrome, url: str) -> Iterator[Page]:
    """The page of the service with an index; nothing may be complained of in its console."""
    page = Page(browser)
    page.media()
    visit(page, url)
    yield page
    assert browser.get_log("browser") == []


def visit(page: Page, url: str) -> None:
    """Open a page as from elsewhere, and wait until it knows the service."""
    page.browser.get("about:blank")
    page.browser.get(url)
    page.wait(lambda: page.run("health.status"))


def settle(page: Page) -> None:
    page.wait(lambda: page["wrong"].text or page["said"].text not in ("", "Reading …"))


def ask(page: Page, **fields: str) -> None:
    page.fill(**fields)
    page["go"].click()
    settle(page)


def ask_passage(page: Page, question: str, passage: str) -> None:
    page.all("[value=passage]")[0].click()
    ask(page, question=question, passage=passage)


def requests_of(page: Page, path: str) -> int:
    script = (
        "performance.getEntriesByType('resource').filter(each => each.name.endsWith(arguments[0]))"
    )
    return page.run(f"{script}.length", path)


def test_with_an_index_it_begins_with_the_documents(page: Page) -> None:
    assert page["from-index"].is_selected()
    assert not page["passage"].is_displayed()
    assert not page["example"].is_displayed()
    assert page["question"].get_attribute("value") == ""
    assert page["question"].get_attribute("placeholder")
    page["question"].send_keys(QUESTION, Keys.ENTER)
    settle(page)
    assert page.texts("mark")[0] == "1871"
    loaded = page.run("performance.getEntriesByType('resource').map(each => each.name)")
    assert all(each.startswith("http://127.0.0.1") for each in loaded)
    page.fill(question="")
    page.all("[value=passage]")[0].click()
    assert page["question"].get_attribute("value") == "When was the lighthouse built?"
    Select(page["example"]).select_by_visible_text("Library")
    page["from-index"].click()
    assert page["question"].get_attribute("value") == ""


def test_a_passage_is_answered_in_place(page: Page) -> None:
    page.all("[value=passage]")[0].click()
    page["go"].click()
    settle(page)
    assert page.texts(".answer b")[0] == "1847"
    assert page.texts("mark")[0].startswith("1847")
    assert page["heading"].is_displayed()
    assert page["guess"].text == ""
    assert len(page.all("mark")) == len(page.all(".answer")) == 3
    assert page["text"].text.startswith("The harbour of Brennick")


def test_the_example_is_that_of_the_passage(page: Page) -> None:
    def example() -> str:
        return Select(page["example"]).first_selected_option.text

    page.all("[value=passage]")[0].click()
    assert example() == "Harbour"
    page["passage"].send_keys(" And so on.")
    assert example() == "none"
    Select(page["example"]).select_by_visible_text("Bread")
    assert (page["passage"].get_attribute("value") or "").startswith("Bread dough")
    ask_passage(page, "What falls?", "Rain falls.")
    assert example() == "none"
    page.browser.refresh()
    settle(page)
    assert example() == "none"
    assert page["passage"].get_attribute("value") == "Rain falls."


def test_an_answer_links_to_its_document(page: Page) -> None:
    ask(page, question=QUESTION)
    link = page.all("#answers a")[0]
    assert link.text == "kites.md, line 3"
    link.click()
    page.wait(lambda: page.all("#document-text mark"))
    assert page["name"].text == "kites.md"
    assert page["document-text"].text == KITES.strip()
    mark = page.all("#document-text mark")[0]
    assert mark.text == "1871"
    assert page.browser.switch_to.active_element == mark
    assert not page["form"].is_displayed()
    assert not page["results"].is_displayed()
    page.browser.back()
    page.wait(lambda: page["results"].is_displayed())
    assert requests_of(page, "/ask") == 1
    page.browser.forward()
    page.wait(lambda: page["name"].is_displayed())
    page["back"].click()
    page.wait(lambda: page.all("#answers mark")[0].is_displayed())
    assert requests_of(page, "/ask") == 1


def test_a_document_that_has_changed_or_gone_is_said(page: Page, url: str) -> None:
    visit(page, f"{url}#document=kites.md&start=64&answer=1999")
    page.wait(lambda: "changed" in page["about"].text)
    assert page.all("#document-text mark") == []
    visit(page, f"{url}#document=/etc/passwd")
    settle(page)
    assert page["wrong"].text == "the index has no document of this name"
    page.browser.get_log("browser")  # it notes the status 404


def test_an_address_asks_again_and_the_way_back_works(page: Page, url: str) -> None:
    Select(page["top-k"]).select_by_visible_text("1")
    ask(page, question=QUESTION)
    first = page.browser.current_url
    assert first.startswith(f"{url}#question=When+was")
    ask_passage(page, "When was the abbey founded?", ABBEY)
    second = page.browser.current_url
    page.browser.back()
    page.wait(lambda: page.all("#answers a"))
    assert page["question"].get_attribute("value") == QUESTION
    page.browser.forward()
    page.wait(lambda: page["text"].text == ABBEY)
    page.browser.execute_script("history.go(-2)")
    page.wait(lambda: not page["results"].is_displayed())
    for address, answer in ((first, "1871"), (second, "1082")):
        visit(page, address)
        settle(page)
        assert page.texts(".answer b") == [answer]


def test_an_address_made_by_hand_is_left_by_one_step_back(page: Page, url: str) -> None:
    visit(page, f"{url}#question={QUESTION.replace(' ', '%20')}")
    settle(page)
    assert page.texts(".answer b")[0] == "1871"
    page.browser.back()
    page.wait(lambda: page.browser.current_url == "about:blank")


def test_a_passage_that_is_too_long_is_not_cut(page: Page) -> None:
    page.all("[value=passage]")[0].click()
    page["passage"].click()
    page.run("document.execCommand('insertText', false, 'Rain fell. '.repeat(10000))")
    ask(page, question="What fell?")
    assert page["wrong"].text == "passage: it has more than 100,000 characters"
    (complaint,) = page.browser.get_log("browser")  # of the browser itself
    assert "422" in complaint["message"]


def test_a_long_passage_is_in_the_history_but_not_in_the_address(page: Page) -> None:
    long = f"{ABBEY}{' The monks sang.' * 200}"
    Select(page["top-k"]).select_by_visible_text("1")
    ask_passage(page, "When was the abbey founded?", long)
    address = page.browser.current_url
    assert "monks" not in address
    page["from-index"].click()
    ask(page, question=QUESTION)
    page.browser.back()
    page.wait(lambda: page["text"].is_displayed() and page["text"].text == long)
    visit(page, address)
    settle(page)
    assert page["said"].text == "The address does not hold the passage: paste it, then ask."
    assert page["question"].get_attribute("value") == "When was the abbey founded?"


def test_markup_is_text_and_offsets_are_right_behind_any_character(page: Page) -> None:
    passage = (
        f"\U0001f30a <script>document.title = 'in'</script><b>{ABBEY}</b> <img src=x onerror=x>"
    )
    Select(page["top-k"]).select_by_visible_text("1")
    ask_passage(page, "<i>When was the abbey founded?", passage)
    assert page.texts("mark") == ["1082"]
    assert page["text"].text == passage
    assert page.run("document.title") == "fabir: ask a text"
    assert page.all("#text b, #text img, #text script") == []


def test_a_text_runs_in_the_direction_of_its_script(page: Page) -> None:
    ask_passage(page, "Who?", "بنيت المنارة عام 1847 على يد كلارا.")
    script = "[passage, text].map(each => getComputedStyle(each).direction)"
    assert page.run(script) == ["rtl", "rtl"]


def test_without_scripts_it_says_what_it_needs(browser: Chrome, url: str) -> None:
    switch = "Emulation.setScriptExecutionDisabled"
    browser.execute_cdp_cmd(switch, {"value": True})
    try:
        browser.get(url)
        assert "This page needs JavaScript" in Page(browser).texts("body")[0]
    finally:
        browser.execute_cdp_cmd(switch, {"value": False})


def test_by_keyboard_alone(page: Page) -> None:
    assert page.texts("kbd") == ["Ctrl", "Enter"]
    page.all("[value=passage]")[0].click()
    page["passage"].send_keys(Keys.CONTROL, Keys.ENTER)
    settle(page)
    page["go"].send_keys(Keys.TAB * 3)
    first = page.all(".answer")[0]
    assert page.browser.switch_to.active_element == first
    first.send_keys(Keys.ENTER)
    assert page.browser.switch_to.active_element == page.all("mark")[0]


def answer_with(page: Page, found: dict[str, Any]) -> None:
    """Let the service answer so, whatever its model says."""
    script = "window.fetch = async () => new Response(JSON.stringify(arguments[0]))"
    page.browser.execute_script(script, found)
    page["go"].click()
    settle(page)


def test_a_withheld_answer_is_a_guess_that_stands_back(page: Page) -> None:
    start = ABBEY.index("1082")

    def withhold(score: float, no_answer: float, **place: Any) -> None:
        guess = {"text": "1082", "start": start, "end": start + 4, "score": score, **place}
        answer_with(page, {"answers": [], "no_answer": no_answer, "best_guess": guess})

    page.all("[value=passage]")[0].click()
    page.fill(question="When was the abbey founded?", passage=ABBEY)
    withhold(0.12, 0.84)
    assert page["said"].text == "Probably not in the text (84 %)."
    assert page["guess"].text == "Best guess: \u201c1082\u201d"
    assert page.texts("mark.guess") == ["1082"]
    assert page.all(".answer, mark.best") == []
    assert not page["heading"].is_displayed()
    withhold(0.6, 0.4)
    assert page["said"].text == "No answer is sure enough."
    assert page["guess"].text == "Best guess: \u201c1082\u201d (score 60.0 %)"
    page["from-index"].click()
    place = {"document": "abbey.md", "page": None, "line": 3, "heading": None}
    withhold(0.12, 0.88, passage=ABBEY, passage_start=start, passage_end=start + 4, **place)
    assert page["said"].text == "Probably not in the documents (88 %)."
    assert page["guess"].text == "Best guess: \u201c1082\u201d"
    assert page.texts("#answers a, #answers mark") == ["abbey.md, line 3", "1082"]
    assert page.texts("mark.guess") == ["1082"]
    assert not page["heading"].is_displayed()
    assert not page["whole"].is_displayed()
    answer_with(page, {"answers": [], "no_answer": 1, "best_guess": None})
    assert page["said"].text == "The model finds no answer in the documents."
    assert page["guess"].text == page["answers"].text == ""
    assert not page["attention"].is_displayed()


def test_an_answer_that_is_probably_wrong_is_given_with_doubt(page: Page) -> None:
    start = ABBEY.index("1082")
    place = {"document": "abbey.md", "page": None, "line": 3, "heading": None, "copies": []}
    passage = {"passage": ABBEY, "passage_start": start, "passage_end": start + 4}
    row = place | {"document": "fees.ods#Visitors!7", "line": 7}
    page.fill(question="When was the abbey burnt?")
    for score, doubt in ((0.12, ". Probably not in the documents (88 %)."), (0.6, "")):
        answer = {"text": "1082", "score": score, "sentence": ABBEY, **place, **passage}
        answer_with(page, {"answers": [answer], "no_answer": 1 - score, "best_guess": None})
        assert re.fullmatch(r"1 answer in \d+ ms" + re.escape(doubt), page["said"].text)
    answer = {"text": "1082", "score": 0.6, "sentence": ABBEY, **row, **passage}
    answer_with(page, {"answers": [answer], "no_answer": 0.4, "best_guess": None})
    assert page.texts("#answers a") == ["fees.ods, sheet Visitors, row 7"]


def test_what_is_refused_is_said(page: Page) -> None:
    ask_passage(page, " ", ABBEY)
    assert "question: it is empty" in page["wrong"].text
    assert not page["results"].is_displayed()
    page.browser.get_log("browser")  # it notes the status 422


def test_the_page_asks_for_a_token_and_keeps_it(browser: Chrome, guarded: str) -> None:
    page = Page(browser)
    visit(page, guarded)
    assert not page["sources"].is_displayed()
    assert page["question"].get_attribute("value") == "When was the lighthouse built?"
    page["go"].click()
    page.wait(page["token"].is_displayed)
    assert browser.switch_to.active_element == page["token"]
    page["token"].send_keys("another", Keys.ENTER)
    page.wait(lambda: page["wrong"].text == "The service does not know this token.")
    page["token"].send_keys(TOKEN, Keys.ENTER)
    page.wait(lambda: page.texts(".answer b"))
    assert page.texts(".answer b")[0] == "1847"
    assert not page["token"].is_displayed()
    assert not page["attention"].is_displayed()  # the model is only exported
    assert "attention" not in page.all("main")[0].text
    browser.get_log("browser")  # it notes the status 401
    browser.refresh()
    page.wait(lambda: page.texts(".answer b"))
    assert page.run("sessionStorage.length") == 1
    assert page.run("localStorage.length") == 0
    assert browser.get_log("browser") == []


class OnlyThePage(BaseHTTPRequestHandler):
    """A proxy whose service is gone: it has the page in its cache."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/" else 502)
        self.send_header("content-type", "text/html")
        self.send_header("content-security-policy", POLICY)
        self.end_headers()
        self.wfile.write(PAGE.encode() if self.path == "/" else b"<h1>Bad Gateway</h1>")

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def test_a_proxy_that_answers_itself_is_said(browser: Chrome) -> None:
    page = Page(browser)
    with ThreadingHTTPServer(("127.0.0.1", 0), OnlyThePage) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        browser.get(f"http://127.0.0.1:{server.server_port}/")
        settle(page)
        server.shutdown()
    said = "What answers here is not fabir (status 502). Is a proxy before it?"
    assert page["wrong"].text == said
    assert not page["form"].is_displayed()  # which form it has is not known
    browser.get_log("browser")  # it notes the status 502


def test_the_attention_is_shown_in_a_frame_that_can_do_nothing(page: Page) -> None:
    ask_passage(page, "When was the abbey founded?", ABBEY)
    said = page["said"].text
    page["explain"].click()
    page.wait(lambda: page["view"].is_displayed() and page["view"].size["height"] > 300)
    assert page["said"].text == said
    page.wait(lambda: page["drawing"].text == "")
    page.run("document.getElementById('view').scrollIntoView()")
    page.browser.switch_to.frame(page["view"])
    assert page["question"].text == "When was the abbey founded?"
    shown = Select(page["choice"]).first_selected_option.text
    assert re.fullmatch(r"Question reads passage, layer \d of 4", shown)
    assert "reads \u201c1082\u201d with " in page["cell"].text
    page.wait(lambda: page.run("document.documentElement.scrollHeight <= innerHeight"))
    assert not page["answers"].is_displayed()
    page.browser.switch_to.default_content()


@needs_axe
@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1200, "light")])
def test_every_state_fits_and_is_accessible(
    page: Page, guarded: str, width: int, scheme: str
) -> None:
    def check() -> None:
        assert page.fits()
        assert page.accessibility_violations() == []

    page.media(width, scheme)
    check()
    ask(page, question=QUESTION)
    check()
    page.all("#answers a")[0].click()
    page.wait(lambda: page.all("#document-text mark"))
    check()
    page["back"].click()
    ask(page, question="Who wrote Hamlet?")
    check()
    ask_passage(page, "When was the abbey founded?", ABBEY)
    page["explain"].click()
    page.wait(lambda: page["view"].size["height"] > 300)
    check()
    page.browser.switch_to.frame(page["view"])
    check()
    page.browser.switch_to.default_content()
    visit(page, guarded)
    page.browser.execute_script("sessionStorage.clear()")
    page["go"].click()
    page.wait(page["token"].is_displayed)
    check()
    page.browser.get_log("browser")  # it notes the status 401


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable(page: Page, scheme: str) -> None:
    page.media(390, scheme)
    assert page.fits()
    brightness = (
        "['color', 'backgroundColor'].map(each => getComputedStyle(document.body)[each]"
        ".match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 765)"
    )
    ink, paper = page.run(brightness)
    assert abs(ink - paper) > 0.8
    assert (paper < 0.2) == (scheme == "dark")
