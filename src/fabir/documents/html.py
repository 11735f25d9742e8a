"""Reads HTML pages: their text as a browser shows it, without style sheets and scripts.

selectolax parses as browsers do. What is left out is no text of the page: hidden elements, the
choices of a form that are not chosen, the text that stands in for pictures and players, and
navigation. Headers and footers of the site are at the end. "10<sup>6</sup>" reads 10^6,
"H<sub>2</sub>O" H2O.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from fabir.documents.base import MAX_BYTES, Document, Report, check_size, telling_title, title_of
from fabir.documents.encodings import decode
from fabir.documents.html_links import Links, begins_word, is_letter, leads_beside
from fabir.documents.html_lists import Lists
from fabir.documents.html_menus import Menus
from fabir.documents.html_tables import Table
from fabir.documents.paragraphs import EXPONENT, Paragraph, TextBuilder
from fabir.errors import InputError

MAX_DEPTH = 10_000  # of elements in each other; the parser takes a second for them
_MAX_TABLES = 20  # tables in each other; tables further in are read as blocks
_SNIFFED = 4096  # bytes that may declare a charset
_DECLARED = re.compile(
    rb"""<\?xml\b[^>]*\bencoding\s*=\s*["']([\w.:-]+)|<meta\b[^>]*\bcharset\s*=\s*["']?\s*([\w.:-]+)""",
    re.IGNORECASE,
)
_NESTING = re.compile(
    r"""<(/?)(?:address|article|aside|blockquote|center|details|dir|div|dl|fieldset|figure|font
    |footer|form|h[1-6]|header|main|menu|nav|ol|pre|section|span|table|ul)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_HIDES = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE
)
_BLOCK_STYLE = re.compile(
    r"(?:^|;)\s*display\s*:\s*(?:block|flex|flow-root|grid|list-item|table)\s*(?:[;!]|$)",
    re.IGNORECASE,
)
_SHOWN_INPUTS = frozenset(  # types of <input> whose value is shown as text
    ["", "date", "datetime-local", "email", "month", "number", "tel", "text", "time", "url", "week"]
)
_SPACE = re.compile(r"[^\S ]")
_SPACES = re.compile("  +")
_WITHIN_BOOK = re.compile(r"(?![A-Za-z][\w+.-]*:|//).")  # a link to a place of the book
_SOFT_HYPHEN = "\u00ad"

_UNSEEN = """annotation annotation-xml audio canvas datalist defs desc embed head iframe metadata
    noembed noframes noscript object script style template title video"""
_PHRASES = """a abbr acronym b bdi bdo big br button cite code data del dfn em font i img input ins
    kbd label mark math mfrac mi mn mo mover mrow ms mstyle msqrt msub msubsup msup mtext munder
    munderover nobr optgroup option picture q rb rp rt ruby s samp select semantics small span
    strike strong sub sup time tspan tt u var wbr"""
_NOT_SHOWN, _INLINE = frozenset(_UNSEEN.split()), frozenset(_PHRASES.split())
_APART = frozenset(  # inline, with space around
    ["button", "mi", "mn", "mo", "ms", "mtext", "option"]
)
_FRAMES = frozenset(["footer", "header"])
_COUNTERS = {
    **dict.fromkeys(["h1", "h2", "h3", "h4", "h5", "h6"], "heading"),
    **dict.fromkeys(["listing", "plaintext", "pre", "textarea", "xmp"], "pre"),
    **dict.fromkeys(["article", "aside", "main", "section"], "section"),
    **dict.fromkeys(["blockquote", "details", "figure"], "part"),
    **dict.fromkeys(_FRAMES, "frame"),
    **dict.fromkeys(["b", "strong"], "bold"),
    "li": "item",
    "nav": "nav",
    "thead": "thead",
}
_COUNTED = frozenset(_COUNTERS.values())
_NAVIGATION_ROLES = frozenset(["menu", "menubar", "navigation", "search"])
_NAVIGATION_NAMES = frozenset(  # ids and classes
    [
        *("breadcrumb", "breadcrumbs", "nav", "navbar", "navigation"),
        *("nav-panel", "navfooter", "navheader", "toc"),  # of Texinfo and DocBook
    ]
)
_PERMALINKS = frozenset("¶#§🔗")
_FRAME_ROLES = frozenset(["banner", "contentinfo"])


class Page(NamedTuple):
    """title: that of the <title> element or else the first <h1>; empty if there is none"""

    title: str
    paragraphs: list[Paragraph]


def read_html(path: Path, report: Report) -> Iterator[Document]:
    check_size(path)
    page = read_page(decode_html(path.read_bytes(), report.lost), report.alive)
    text = TextBuilder()
    text.add(page.paragraphs)
    yield text.document(title_of(path, page.title))


def decode_html(data: bytes, lost: Callable[[str], None] | None = None) -> str:
    """The markup of a page that may declare its charset. See `encodings.decode`."""
    found = _DECLARED.search(data[:_SNIFFED])
    return decode(data, (found[1] or found[2]).decode("ascii") if found else "", lost)


def read_page(markup: str, alive: Callable[[], None] = lambda: None, of_book: bool = False) -> Page:
    """
    Args:
        of_book: whether it is one of several pages of one document; links between them are contents

    Raises:
        InputError: the page has too many elements in each other, or its tables too much text.
    """
    _check_depth(markup)
    tree = LexborHTMLParser(markup, scripting=True)
    body = tree.body
    if body is None:
        return Page(_title(tree), [])
    for navigation in False, True:  # a page may be nothing but navigation
        reader = _Reader(navigation, alive, of_book)
        reader.read(body)
        if reader.paragraphs or of_book:
            break
    title = _title(tree) or telling_title(reader.first_heading)
    return Page(title, reader.paragraphs)


def _title(tree: LexborHTMLParser) -> str:
    node = tree.css_first(":not(svg) > title")
    return telling_title(_clean(node.text())) if node else ""


def _check_depth(markup: str) -> None:
    depth = 0
    for tag in _NESTING.finditer(markup):
        depth = max(depth - 1, 0) if tag[1] else depth + 1
        if depth > MAX_DEPTH:
            raise InputError(f"refused: it has more than {MAX_DEPTH:,} elements in each other")


class _Reader:
    """Walks a tree, without recursion, and collects the paragraphs that are shown."""

    def __init__(self, navigation: bool, alive: Callable[[], None], of_book: bool) -> None:
        self._navigation, self._alive, self._of_book = navigation, alive, of_book
        self.paragraphs: list[Paragraph] = []  # of the page, or of the table cell that is open
        self.first_heading = ""
        self._pieces: list[str] = []  # of the paragraph that is open
        self._inside = dict.fromkeys(_COUNTED, 0)  # how many elements are open, by what they are
        self._tables: list[tuple[Table | None, int]] = []  # and headings that are open around it
        self._lists, self._menus = Lists(), Menus()
        self._begun = False  # whether the main content has
        self._frame: list[LexborNode] = []  # headers and footers of the site
        self._length = 0
        self._bold = True  # whether all of its text is
        self._links = Links()  # in it
        self._leads = False  # whether a link to a place of the document is open
        self._raised = False  # whether the next text begins a <sup>
        self._after_link = False  # whether nothing stands after the last link

    def read(self, body: LexborNode) -> None:
        self._walk(body)
        self._menus.outside = True
        for node in self._frame:
            self._walk(node)
        if self._begun and not self._navigation:
            self.paragraphs = self._menus.without(self.paragraphs)

    def _walk(self, root: LexborNode) -> None:
        open_elements = [("", root.iter(include_text=True))]
        while open_elements:
            tag, children = open_elements[-1]
            for node in children:
                kind = node.tag
                if kind == "-text":
                    self._add(node.text_content or "")
                elif kind and kind != "-comment" and self._is_shown(kind, node):
                    if not self._inside["pre"]:
                        kind = _shown_as(kind, node)
                    self._begin(kind, node)
                    open_elements.append((kind, node.iter(include_text=True)))
                    break
            else:
                open_elements.pop()
                self._end(tag)

    def _is_shown(self, tag: str, node: LexborNode) -> bool:
        if tag in _NOT_SHOWN:
            return False
        attributes = node.attributes
        role = attributes.get("role") or "" if attributes else ""
        if "hidden" in attributes or _HIDES.search(attributes.get("style") or ""):
            return False
        if tag == "option" and "selected" not in attributes:
            return False
        if tag == "dialog" and "open" not in attributes:
            return False
        if tag == "a" and (attributes.get("href") or "").startswith("#"):
            return _clean(node.text()) not in _PERMALINKS
        if tag == "nav" or role in _NAVIGATION_ROLES or _is_called_navigation(tag, node):
            inside = self._navigation or self._inside["nav"]
            return bool(inside) or _has(node, "article, h1, main")
        if tag in _FRAMES or role in _FRAME_ROLES:
            inside = any(self._inside[each] for each in ("section", "part", "item", "frame"))
            of_card = self._begun and (tag == "header" or role == "banner")  # below the title
            inside = inside or self._tables or of_card
            if not inside and not _has(node, "article, h1, h2, h3, h4, h5, h6, main, section"):
                self._frame.append(node)
                return False
        return True

    def _begin(self, tag: str, node: LexborNode) -> None:
        if tag not in _INLINE:
            self._cut()
            self._lists.begin(tag, node)
            self._begin_table_part(tag, node)
            if tag in ("article", "main"):
                self._begin_content()
        elif tag == "a":
            self._begin_link(node)
        elif tag == "br":
            self._pieces.append("\n")
        elif tag == "sup":
            self._raised = True
        elif tag == "input":
            self._add(f" {_value(node)} ")
        elif tag in _APART:
            self._begin_apart(node)
        if counted := _COUNTERS.get(tag):
            self._inside[counted] += 1

    def _begin_apart(self, node: LexborNode) -> None:
        if not _is_second(node, "msup"):
            self._pieces.append("/ " if _is_second(node, "mfrac") else " ")
            return
        self._raised = True
        while self._pieces and self._pieces[-1] == " ":
            self._pieces.pop()

    def _begin_link(self, node: LexborNode) -> None:
        self._links.beside |= leads_beside(node)
        self._links.letters += is_letter(node)
        target = node.attributes.get("href") or ""
        self._leads = bool(_WITHIN_BOOK.match(target)) if self._of_book else target[:1] == "#"
        if target:
            self._menus.begin_link()
        if self._after_link and not self._inside["pre"] and begins_word(node):
            self._pieces.append(" ")

    def _end(self, tag: str) -> None:
        if tag == "sup":
            self._raised = False
        elif tag == "a":
            self._leads = self._menus.in_link = False
            self._after_link = True
        if tag not in _INLINE:
            self._cut()
            if tag == "h1" and self.paragraphs and self.paragraphs[-1].heading:
                self.first_heading = self.first_heading or self.paragraphs[-1].text
                self._begin_content()
            elif tag == "main":
                self._menus.outside = True
            self._lists.end(tag)
            self._end_table_part(tag)
        elif tag in _APART:
            self._pieces.append(" ")
        if counted := _COUNTERS.get(tag):
            self._inside[counted] -= 1

    def _begin_content(self) -> None:
        self._begun, self._menus.outside = True, False

    def _begin_table_part(self, tag: str, node: LexborNode) -> None:
        if tag == "table":
            layout = (node.attributes.get("role") or "") in ("none", "presentation")
            new = len(self._tables) < _MAX_TABLES
            table = Table(self.paragraphs, layout) if new else None
            self._tables.append((table, self._inside["heading"]))
            self._inside["heading"] = 0
        elif self._tables and (table := self._tables[-1][0]):
            if tag == "tr":
                table.begin_row(in_head=self._inside["thead"] > 0)
            elif tag in ("td", "th"):
                self.paragraphs = table.begin_cell(tag == "th", node.attributes)

    def _end_table_part(self, tag: str) -> None:
        if not self._tables or tag not in ("table", "td", "th"):
            return
        table, headings = self._tables.pop() if tag == "table" else self._tables[-1]
        if tag == "table":
            self._inside["heading"] = headings
        if table is None:
            return
        self.paragraphs = table.outer
        if tag == "table":
            outside = self._tables[-1][0] if self._tables else None
            for paragraph in table.paragraphs():
                self._append(paragraph)
                if outside:
                    outside.layout = True

    def _add(self, text: str) -> None:
        self._after_link = False
        if self._raised and text.strip():
            self._raised = False
            after_word = bool(self._pieces) and self._pieces[-1][-1:].strip() != ""
            if after_word and EXPONENT.fullmatch(text.strip()):
                self._pieces.append("^")
        if text.strip():
            self._bold &= self._inside["bold"] > 0
            self._links.contents &= self._leads or not any(map(str.isalnum, text))
            self._menus.add(text)
        if self._inside["pre"]:
            self._pieces.append(text)
        elif self._pieces or not text.isspace():
            self._pieces.append(text.replace("\n", " "))

    def _cut(self) -> None:
        """End a paragraph."""
        if not self._pieces:
            return
        text = "".join(self._pieces).replace(_SOFT_HYPHEN, "")
        self._pieces.clear()
        bold, self._bold = self._bold, True
        links, self._links = self._links, Links()
        if self._inside["pre"]:
            text = "\n".join(map(str.rstrip, text.split("\n"))).strip("\n")
        else:
            text = "\n".join(filter(None, map(_clean, text.split("\n"))))
        if text and self._tables and (table := self._tables[-1][0]):
            table.note_links(links.contents and not self._navigation)
        listed = self._inside["item"] and not self._tables and not self._inside["heading"]
        if text and (self._navigation or not links.navigate(len(text), bool(listed))):
            text = self._lists.take() + text
            self._append(Paragraph(text, self._inside["heading"] > 0, bold))
            can_be = not (self._tables or self._inside["section"] or self._inside["heading"])
            self._menus.end_paragraph(len(self.paragraphs) - 1 if can_be else None)
        else:
            self._menus.end_paragraph(None)

    def _append(self, paragraph: Paragraph) -> None:
        if not paragraph.text:
            return
        self.paragraphs.append(paragraph)
        self._length += len(paragraph.text)
        if self._length > 2 * MAX_BYTES:  # cells are counted again as parts of rows
            raise InputError(f"more than {MAX_BYTES >> 20} million characters: split it")
        self._alive()


def _shown_as(tag: str, node: LexborNode) -> str:
    """The tag; that of a block if its style makes one of it."""
    style = node.attributes.get("style") if tag in _INLINE else None
    return "div" if style and _BLOCK_STYLE.search(style) else tag


def _is_called_navigation(tag: str, node: LexborNode) -> bool:
    if tag in _INLINE:
        return False
    attributes = node.attributes
    names = f"{attributes.get('id') or ''} {attributes.get('class') or ''}".lower().split()
    return not _NAVIGATION_NAMES.isdisjoint(names)


def _is_second(node: LexborNode, tag: str) -> bool:
    """Whether it is the exponent of MathML's `msup`, or the denominator of its `mfrac`."""
    before = node.prev
    while before is not None and (before.tag or "-").startswith("-"):
        before = before.prev
    parent = node.parent
    return before is not None and parent is not None and parent.tag == tag


def _value(field: LexborNode) -> str:
    """What a field of a form shows."""
    kind = field.attributes.get("type") or ""
    return (field.attributes.get("value") or "") if kind.lower() in _SHOWN_INPUTS else ""


def _has(node: LexborNode, selector: str) -> bool:
    return node.css_first(selector) is not None


def _clean(text: str) -> str:
    return _SPACES.sub(" ", _SPACE.sub(" ", text.replace(_SOFT_HYPHEN, ""))).strip()
