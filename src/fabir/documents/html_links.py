"""What the links of an HTML page lead to: those to pages beside it, to letters of an index or to
its own parts are navigation."""

from dataclasses import dataclass

from selectolax.lexbor import LexborNode

_BESIDE = frozenset(["next", "prev", "previous"])  # relations of pages
_MAX_LINKS = 300  # characters of a line of links to the pages beside
_PER_LETTER = 8  # the same for each link to a letter of an index


@dataclass(slots=True)
class Links:
    """The links in a paragraph.

    beside: whether one leads to the next or the previous page
    letters: how many lead to letters of an index
    contents: whether all of the text leads to places of the document
    """

    beside: bool = False
    letters: int = 0
    contents: bool = True

    def navigate(self, length: int, listed: bool) -> bool:
        """Whether a paragraph of so many characters, perhaps an item of a list, is navigation."""
        return (
            (self.beside and length <= _MAX_LINKS)
            or (self.letters > 2 and length <= _PER_LETTER * self.letters)
            or (self.contents and listed)
        )


def leads_beside(link: LexborNode) -> bool:
    """Whether a link leads to the next or the previous page."""
    attributes = link.attributes
    to = (attributes.get("rel") or "").lower().split()
    key = (attributes.get("accesskey") or "").lower()
    return key in ("n", "p") or not _BESIDE.isdisjoint(to)


def begins_word(link: LexborNode) -> bool:
    """Whether a link is no part of the word before it, so that style sheets set it apart."""
    first = link.text().lstrip()[:1]
    return first.isupper() or first.isdigit()


def is_letter(link: LexborNode) -> bool:
    """Whether a link leads to a letter of an index."""
    text = link.text().replace("\u00ad", "").strip()
    return (link.attributes.get("href") or "").startswith("#") and len(text) == 1 and text.isalpha()
