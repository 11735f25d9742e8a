"""The documentation site: it is built strictly, and has every page in its navigation.

It has no dead link, and axe-core finds nothing on any page.
"""

import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from browser import Page, chromium, needs_axe, needs_chromium
from scripts import load_script

pytest.importorskip("zensical")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("dev/site.py")


def pages(navigation: Any) -> list[str]:
    if isinstance(navigation, str):
        return [navigation]
    parts = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for part in parts for page in pages(part)]


@pytest.fixture(scope="module")
def site(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script.build(tmp_path_factory.mktemp("site"))


def test_it_is_built_whole(site: Path) -> None:
    assert (site / "index.html").exists()
    assert "probability that it is right" in (site / "api" / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("link", "dead"),
    [
        ("../gone/", True),
        ("#gone", True),
        ("../here/#there", False),
        ("https://a.example/gone", False),
        ("https://github.com/fabir-qa/fabir", False),
        ("https://github.com/fabir-qa/fabir/blob/main/gone.md", True),
        ("https://github.com/fabir-qa/fabir/blob/main/CONTRIBUTING.md", False),
        ("https://github.com/fabir-qa/fabir/blob/main/CONTRIBUTING.md#the-way-round", False),
        ("https://github.com/fabir-qa/fabir/blob/main/CONTRIBUTING.md#gone", True),
        ("https://github.com/fabir-qa/fabir/tree/main/docs", False),
        ("https://github.com/fabir-qa/fabir/tree/main/gone", True),
    ],
)
def test_dead_links_are_found(script: ModuleType, tmp_path: Path, link: str, dead: bool) -> None:
    for page, text in (("start", f'<a href="{link}">x</a>'), ("here", '<p id="there"></p>')):
        (tmp_path / page).mkdir()
        (tmp_path / page / "index.html").write_text(text)
    assert script.dead_links(tmp_path) == [f"start/index.html: {link}"] * dead


def test_a_link_out_of_the_pages_leads_to_the_repository(script: ModuleType) -> None:
    page = DOCS / "results" / "speed.md"
    made = script.site_links(page, "[a](../../dev/LOG.md#x) [b](fabir.md) [c](https://a.example)")
    address = "https://github.com/fabir-qa/fabir/blob/main/dev/LOG.md#x"
    assert made == f"[a]({address}) [b](fabir.md) [c](https://a.example)"
    with pytest.raises(SystemExit, match=r"results/speed\.md: no file gone\.md"):
        script.site_links(page, "[d](gone.md)")


def test_every_page_is_in_the_navigation_once() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    shown = pages(config["project"]["nav"])
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(shown) == sorted(there)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of the site, whose scripts a browser loads from a server only."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with chromium() as started:
        yield Page(started)


@pytest.mark.slow
@needs_chromium
@needs_axe
@pytest.mark.parametrize(
    "page", sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md")), ids=str
)
def test_axe_finds_nothing(page: Path, address: str, browser: Page) -> None:
    folder = page.parent if page.name == "README.md" else page.with_suffix("")
    browser.browser.get(f"{address}/{folder.as_posix()}/")
    assert browser.run("document.title") != "Error response"
    # What stands around the text is the same on every page.
    part = "html" if page == Path("README.md") else "article"
    assert browser.accessibility_violations(part) == []
