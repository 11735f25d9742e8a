"""Builds the documentation site of docs/, and stops if a link or a reference leads nowhere.

Links to this repository on GitHub are looked up in the working tree; other addresses are not asked.

python dev/site.py [FOLDER] [--demo]   build/site by default: the pages are in FOLDER/site

With --demo there is also FOLDER/site/demo, where the bundled model answers in the browser. GitHub
Pages, or any other server of files, can serve all of it.

Pages link to other files of the repository as GitHub needs it, such as ../dev/LOG.md. The site has
only the files of docs/, so it is built from a copy in which such links are addresses on GitHub.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown import markdown
from selectolax.lexbor import LexborHTMLParser

from fabir.export.web import write_page
from fabir.runtime.locate import BUNDLED

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GITHUB = "https://github.com/fabir-qa/fabir/blob/main/"
ON_GITHUB = re.compile(r"https://github\.com/fabir-qa/fabir/(?:blob|tree|raw)/main/([^#?]*)")
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)")


def site_links(page: Path, text: str) -> str:
    """`text` of `page` with addresses on GitHub for links to files outside docs."""

    def address(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(page.parent / link[1]))
        if not target.exists():
            raise SystemExit(f"{page.relative_to(ROOT)}: no file {link[1]}")
        if target.is_relative_to(DOCS):
            return link[1]
        return GITHUB + target.relative_to(ROOT).as_posix()

    return LINK.sub(address, text)


def copy_pages(folder: Path) -> None:
    """Copy the site's configuration and pages to `folder`, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    for page in DOCS.rglob("*.md"):
        text = site_links(page, page.read_text(encoding="utf-8"))
        (folder / "docs" / page.relative_to(DOCS)).write_text(text, encoding="utf-8")


@cache
def markdown_anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a Markdown file."""
    page = LexborHTMLParser(markdown(path.read_text("utf-8"), extensions=["fenced_code"]))
    found = Counter[str]()
    anchors: set[str] = set()
    for heading in page.css("h1, h2, h3, h4, h5, h6"):
        anchor = re.sub(r"[^\w -]", "", heading.text().lower()).replace(" ", "-")
        anchors.add(f"{anchor}-{found[anchor]}" if found[anchor] else anchor)
        found[anchor] += 1
    return anchors


def on_github(link: str) -> bool:
    """Whether an address in this repository on GitHub has its file, and the heading it names."""
    found = ON_GITHUB.match(link)
    if not found:
        return True
    path, anchor = ROOT / unquote(found[1]), unquote(urlsplit(link).fragment)
    if path.suffix != ".md" or not path.exists():
        return path.exists()
    return not anchor or anchor in markdown_anchors(path)


def dead_links(site: Path) -> list[str]:
    """Links whose page, file or anchor does not exist: "page: link" for each.

    Links within the site, and those to this repository on GitHub.
    """
    site = site.resolve()
    pages = {
        path: LexborHTMLParser(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")
    }
    anchors = {
        path: {str(node.attributes["id"]) for node in page.css("[id]")}
        for path, page in pages.items()
    }

    def leads_somewhere(path: Path, link: str) -> bool:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return on_github(link)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        anchor = unquote(parts.fragment)
        return target.exists() and (not anchor or anchor in anchors.get(target, set()))

    return [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        if path.name != "404.html"
        for node in page.css("a[href], img[src], link[href], script[src]")
        if not leads_somewhere(
            path, link := node.attributes.get("href") or node.attributes.get("src") or ""
        )
    ]


def build(folder: Path) -> Path:
    """Build the site below `folder`; returns the folder of its pages."""
    copy_pages(folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    if dead := dead_links(folder / "site"):
        raise SystemExit("\n".join(["dead links:", *dead]))
    return folder / "site"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--demo", action="store_true", help="with a page that answers")
    options = parser.parse_args()
    pages = build(options.folder)
    if options.demo:
        write_page(BUNDLED, pages / "demo")
    print(pages)
