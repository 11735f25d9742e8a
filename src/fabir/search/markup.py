"""The visible text of an HTML page, one paragraph per block element, without scripts."""

import html
import re

# Every alternative matches up to its end or to the end of the page, so the time is linear.
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<raw>script|style|template|noscript|svg|iframe|object|title)\b.*?(?:</(?P=raw)[^>]*>|\Z)"
    r"|</?(?P<tag>[a-z][a-z0-9]*)(?:[^\"'>]|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*+(?:>|\Z)"
    r"|<[!?/][^>]*(?:>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^>]*>(.*?)(?:</title|\Z)", re.DOTALL | re.IGNORECASE)
_INLINE = """a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q
    rp rt ruby s samp small span strike strong sub sup time tt u var wbr"""
_INLINE_TAGS = frozenset(_INLINE.split())
_LINE, _BLOCK = "\f", "\f\f"  # form feeds mark breaks; those of the page are removed first


def read_markup(page: str) -> tuple[str, str]:
    """The title of a page, empty if it has none, and its text."""
    title = _TITLE.search(page)
    text = html.unescape(_MARKUP.sub(_as_break, page.replace(_LINE, " ")))
    blocks = (map(_one_line, block.split(_LINE)) for block in text.split(_BLOCK))
    paragraphs = ("\n".join(filter(None, lines)) for lines in blocks)
    return _one_line(html.unescape(title[1])) if title else "", "\n\n".join(
        filter(None, paragraphs)
    )


def _as_break(markup: re.Match[str]) -> str:
    tag = (markup["tag"] or "").lower()
    if tag == "br":
        return _LINE
    if tag in ("td", "th"):
        return " "
    return _BLOCK if tag and tag not in _INLINE_TAGS else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
