"""Chromium, driven by its own driver, and axe-core in it. No tests here.

axe-core is an npm package under the Mozilla Public License 2.0. It is in the user's cache once
`python tests/browser.py` has fetched it.
"""

import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from fabir.data.download import Collection, download
from fabir.files import cache_folder

pytest.importorskip("selenium")
from selenium import webdriver
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

__all__ = ["Chrome", "Keys", "Page", "Select", "chromium", "needs_axe", "needs_chromium"]

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NOWHERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
AXE = "axe-core-4.14.1.tgz"
_AXE = {
    "axe-core": Collection(
        url="https://registry.npmjs.org/axe-core/-/",
        licence="axe-core is licensed under the MPL 2.0 (Deque Systems, Inc.)",
        files={AXE: "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"},
    )
}
_CACHE = cache_folder("tests")  # the user's: the tests' own cache comes later

needs_chromium = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"
)
needs_axe = pytest.mark.skipif(
    not (_CACHE / AXE).exists(), reason="needs axe-core: run python tests/browser.py once"
)


@cache
def _axe() -> str:
    with tarfile.open(_CACHE / AXE) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@contextmanager
def chromium() -> Iterator[Chrome]:
    """A browser that finds this computer alone."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for each in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", NOWHERE):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(options=options, service=Service(DRIVER))
    browser.set_script_timeout(300)
    try:
        yield browser
    finally:
        browser.quit()


class Page:
    """The page as it stands in the browser: `page[id]` is an element."""

    def __init__(self, browser: Chrome) -> None:
        self.browser = browser

    def __getitem__(self, name: str) -> WebElement:
        return self.browser.find_element(By.ID, name)

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return [each.text for each in self.all(selector)]

    def run(self, script: str, *given: Any) -> Any:
        """The value of an expression in JavaScript; `given` are its `arguments`."""
        return self.browser.execute_script(f"return {script}", *given)

    def wait(self, happened: Callable[[], Any]) -> None:
        WebDriverWait(self.browser, 120, 0.05).until(lambda _: happened())

    def fill(self, **texts: str) -> None:
        """Set fields by their ids."""
        for name, text in texts.items():
            self.run("document.getElementById(arguments[0]).value = arguments[1]", name, text)

    def click_at(self, element: WebElement, right: float, below: float) -> None:
        """Click at a place, in pixels from the element's centre."""
        action = ActionChains(self.browser)
        action.move_to_element_with_offset(element, round(right), round(below)).click().perform()

    def media(self, width: int = 1200, scheme: str = "light") -> None:
        scheme_is = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme_is)
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def fits(self) -> bool:
        """Whether nothing scrolls sideways."""
        return self.run("document.documentElement.scrollWidth <= innerWidth")

    def accessibility_violations(self, part: str = "html") -> list[str]:
        """What axe-core finds in the elements that the selector `part` names, by all its rules,
        best practices too; frames are not entered."""
        self.browser.execute_script(_axe())
        options = "{iframes: false, resultTypes: ['violations']}"  # it describes these nodes alone
        found = self.browser.execute_async_script(
            f"axe.run({part!r}, {options}).then(arguments[0], error => arguments[0](`${{error}}`))"
        )
        return [
            f"{each['id']}: {node['html']}"
            for each in found["violations"]
            for node in each["nodes"]
        ]


if __name__ == "__main__":
    download("axe-core", _CACHE, _AXE)
