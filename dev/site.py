"""Builds the documentation site of docs/, and stops if a link or a reference leads nowhere.

python dev/site.py [FOLDER]   build/site by default: the pages are in FOLDER/site

Pages link to other files of the repository as GitHub needs it, such as ../dev/LOG.md. The site has
only the files of docs/, so it is built from a copy in which such links are addresses on GitHub.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GITHUB = "https://github.com/fabir-qa/fabir/blob/main/"
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


def dead_links(site: Path) -> list[str]:
    """Links within the site whose page, file or anchor does not exist: "page: link" for each."""
    site = site.resolve()
    pages = {
        path: LexborHTMLParser(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")
    }
    anchors = {
        path: {str(node.attributes["id"]) for node in page.css("[id]")}
        for path, page in pages.items()
    }
    dead = []
    for path, page in pages.items():
        for node in page.css("a[href], img[src], link[href], script[src]"):
            link = node.attributes.get("href") or node.attributes.get("src") or ""
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (
                parts.fragment and unquote(parts.fragment) not in anchors.get(target, set())
            ):
                dead.append(f"{path.relative_to(site)}: {link}")
    return dead


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
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site")))
