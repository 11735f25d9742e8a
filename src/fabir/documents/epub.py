"""Reads EPUB books: their chapters in reading order, as one document."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from fabir.documents.archives import Archive, text_in, value
from fabir.documents.base import Document, Report, title_of
from fabir.documents.html import decode_html, read_page
from fabir.documents.paragraphs import TextBuilder
from fabir.errors import InputError

_MAX_TITLE = 1000  # characters
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# In XHTML these may have no end tag; as HTML they would take in all that follows.
_NO_END = re.compile(r"<(iframe|noscript|script|style|textarea|title)\b([^<>]*)/>")


def read_epub(path: Path, report: Report) -> Iterator[Document]:
    """
    Raises:
        InputError: the file is no EPUB, its chapters are encrypted, or it is too large.
    """
    text = TextBuilder()
    with Archive(path) as archive:
        title, chapters = _package(archive)
        encrypted = _encrypted(archive)
        for chapter in chapters:
            if chapter in encrypted:
                raise InputError("its chapters are encrypted (DRM)")
            if chapter not in archive:
                report.lost(f"{chapter} is named as a chapter, but is not there")
                continue
            with archive.open(chapter) as file:
                markup = _NO_END.sub(r"<\1\2></\1>", decode_html(file.read(), report.lost))
            text.add(read_page(markup, report.alive).paragraphs)
    yield text.document(title_of(path, title))


def _package(archive: Archive) -> tuple[str, list[str]]:
    """The title, and the names of the chapters in reading order."""
    if _CONTAINER not in archive:
        raise InputError(f"not an EPUB: it has no {_CONTAINER}")
    root = next(archive.elements(_CONTAINER, {"rootfile"}), None)
    name = value(root, "full-path")
    title, files, order = "", {}, []
    for element in archive.elements(name, {"dc:title", "item", "itemref"}):
        if element.tag == "item":
            if "html" in element.get("media-type", ""):
                link = unquote(element.get("href", "")).partition("#")[0]
                folder = posixpath.dirname(name)
                files[element.get("id")] = posixpath.normpath(posixpath.join(folder, link))
        elif element.tag == "itemref":
            order.append(element.get("idref"))
        else:
            title = title or text_in(element)[:_MAX_TITLE]
    return title, [files[key] for key in dict.fromkeys(order) if key in files]


def _encrypted(archive: Archive) -> set[str]:
    """Names of encrypted members; fonts are often the only ones."""
    if _ENCRYPTION not in archive:
        return set()
    found = archive.elements(_ENCRYPTION, {"CipherReference"})
    return {unquote(each.get("URI", "")) for each in found}
