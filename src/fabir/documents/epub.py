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

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OEB = "text/x-oeb1-document"  # HTML of old books
# In XHTML an empty element may have no end tag; as HTML some would take in all that follows.
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_NO_END = re.compile(rf"<(?!(?:{_VOID})\b)([A-Za-z][\w:.-]*)(\s[^<>]*)?/>")
_DECLARATIONS = re.compile(r"(<!DOCTYPE[^<>\[]*)\[[^\[\]]*\]\s*(?=>)", re.IGNORECASE)


def read_epub(path: Path, report: Report) -> Iterator[Document]:
    """
    Raises:
        InputError: the file is no EPUB, its chapters are encrypted, or it is too large.
    """
    text = TextBuilder()
    with Archive(path) as archive:
        archive.enter(_CONTAINER)
        title, chapters = _package(archive, report)
        encrypted = _encrypted(archive)
        for chapter in chapters:
            if chapter in encrypted:
                raise InputError("its chapters are encrypted (DRM)")
            if chapter not in archive:
                report.lost(f"{chapter} is named as a chapter, but is not there")
                continue
            with archive.open(chapter) as file:
                markup = _as_html(decode_html(file.read(), report.lost))
            text.add(read_page(markup, report.alive, of_book=True).paragraphs)
    yield text.document(title_of(path, title))


def _as_html(markup: str) -> str:
    """Markup of XML as HTML would have it."""
    return _NO_END.sub(r"<\1\2></\1>", _DECLARATIONS.sub(r"\1", markup, count=1))


def _package(archive: Archive, report: Report) -> tuple[str, list[str]]:
    """The title, and the names of the chapters in reading order."""
    if _CONTAINER not in archive:
        raise InputError(f"not an EPUB: it has no {_CONTAINER}")
    root = next(archive.elements(_CONTAINER, {"rootfile"}), None)
    name = value(root, "full-path")
    title, files, others, order = "", {}, {}, []
    for element in archive.elements(name, {"dc:title", "item", "itemref"}):
        if element.tag == "item":
            kind, link = element.get("media-type", ""), unquote(element.get("href", ""))
            if kind.endswith("xml") or "html" in kind or kind == _OEB:
                path = posixpath.join(posixpath.dirname(name), link.partition("#")[0])
                files[element.get("id")] = posixpath.normpath(path)
            elif not kind.startswith("image/"):
                others[element.get("id")] = f"{link} is not read: {kind}"
        elif element.tag == "itemref":
            order.append(element.get("idref"))
        else:
            title = title or text_in(element)
    keys = list(dict.fromkeys(order))
    for key in keys:
        if key in others:
            report.lost(others[key])
    return title, [files[key] for key in keys if key in files]


def _encrypted(archive: Archive) -> set[str]:
    """Names of encrypted members; fonts are often the only ones."""
    if _ENCRYPTION not in archive:
        return set()
    found = archive.elements(_ENCRYPTION, {"CipherReference"})
    return {unquote(each.get("URI", "")) for each in found}
