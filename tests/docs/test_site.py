"""The documentation site is built strictly, has every page in its navigation, and no dead link."""

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("zensical")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_script", ROOT / "dev" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages(navigation: Any) -> list[str]:
    if isinstance(navigation, str):
        return [navigation]
    parts = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for part in parts for page in pages(part)]


def test_it_is_built_without_a_dead_link(script: ModuleType, tmp_path: Path) -> None:
    site = script.build(tmp_path)
    assert (site / "index.html").exists()
    assert "probability that it is right" in (site / "api" / "index.html").read_text("utf-8")
    (site / "start" / "index.html").write_text('<a href="../gone/">x</a><a href="#gone">y</a>')
    found = script.dead_links(site)
    assert {"start/index.html: ../gone/", "start/index.html: #gone"} <= set(found)


def test_a_link_out_of_the_pages_leads_to_the_repository(script: ModuleType) -> None:
    page = DOCS / "results" / "speed.md"
    made = script.site_links(page, "[a](../../dev/LOG.md#x) [b](readers.md) [c](https://a.example)")
    address = "https://github.com/fabir-qa/fabir/blob/main/dev/LOG.md#x"
    assert made == f"[a]({address}) [b](readers.md) [c](https://a.example)"
    with pytest.raises(SystemExit, match=r"results/speed\.md: no file gone\.md"):
        script.site_links(page, "[d](gone.md)")


def test_every_page_is_in_the_navigation_once() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    shown = pages(config["project"]["nav"])
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(shown) == sorted(there)
