"""The page of an analysis in Chromium."""

from pathlib import Path

import pytest

from browser import Page, chromium, needs_axe, needs_chromium
from fabir import plots
from fabir.evaluation.report import write_report
from factories import analysed
from tiny import dataset

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


@pytest.mark.slow
@needs_chromium
@needs_axe
def test_the_page_is_accessible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "_DPI", 30)
    analysis = {"data": "dev.json", **analysed(dataset(), one=2, other=5)}
    analysis["readers"]["one"]["no_answer"] = {"has, given": 1, "has not, given": 5}
    path = write_report(analysis, tmp_path)
    with chromium() as browser:
        page = Page(browser)
        for width in (1200, 375):
            page.media(width)
            browser.get(path.as_uri())
            assert page.accessibility_violations() == []
            assert page.fits()
