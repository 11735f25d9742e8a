"""Takes running headers and footers, page numbers and footnotes off pages."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from statistics import median

from fabir.documents.page_layout import Line, Page, Word, is_prose, pieces_of, rows

_SMALL = 0.92  # a footnote's letters are smaller, in those of most text
_LARGE = 1.15  # letters of a heading such as "Question 2", whose number is not the page's
_EDGE = 3  # rows at the top and at the bottom of a page that may be a running header or footer
_OFTEN = 0.3  # least share of the pages that a running header is on
_CHAPTER = 5  # pages of a chapter whose title is a running header, each at most two apart
_SAME_PLACE = 3.0  # points between the places of a running header
_NEAR = 3.0  # the same for one of the same words that counts pages, in line heights
_NOTE = re.compile(r"[\d*†‡§¶¹²³]")
_NUMBER = re.compile(r"(?<![\d.,])(?<!\d-)[0-9]{1,9}(?!\d|[.,]\d)")
_COUNT = "\0"  # stands for a number that counts pages
PAGE_NUMBER = re.compile(r"(?:page|seite|of|von|[\W\d_])*", re.IGNORECASE)
# Such a number apart from the words of a line, as in "Report   3" or "Page 3 of 9 | Report".
_COUNTED = re.compile(
    r"(?:^|\s{3,}|\s*[|·•]\s*)(?:page\s+|seite\s+)?[-–]?\s?\0\s?[-–]?(?:\s*(?:of|von|/)\s*\d+)?"
    r"(?:$|\s{3,}|\s*[|·•]\s*)",
    re.IGNORECASE,
)
_LEAST_NUMBERED = 20  # lines of a page with numbers in its margin

_OnPage = tuple[int, Line]  # index of a page, and a line on it


def take_running_lines(pages: Sequence[Page]) -> list[list[str]]:
    """Remove running headers and footers from pages; returns for each page what is to be kept."""
    edges = [(number, line) for number, page in enumerate(pages) for line in _edge_lines(page)]
    least = max(2, _OFTEN * len(pages))
    kept: list[list[str]] = [[] for _ in pages]
    running: set[int] = set()
    known: set[str] = set()
    sizes = [line.size for page in pages for column in page.columns for line in column]
    large = _LARGE * median(sizes or [0.0])
    for group in chain(_same_text(edges, least), _same_count(edges, least)):
        for number, line, text in group:
            words = _COUNTED.sub("   ", text).strip()
            if id(line) in running or (_COUNT in words and line.size > large):
                continue
            running.add(id(line))
            if text not in known and not (_COUNT in text and PAGE_NUMBER.fullmatch(text)):
                kept[number].append(line.text if _COUNT in words else words)
            known.add(text)
    for page, texts in zip(pages, kept, strict=True):
        columns = ([line for line in each if id(line) not in running] for each in page.columns)
        if any(rest := [column for column in columns if column]):
            page.columns = rest
        else:
            texts.clear()  # the page has nothing else
    return kept


def _edge_lines(page: Page) -> Iterator[Line]:
    """The lines of the first and of the last rows."""
    found = list(rows(chain.from_iterable(page.columns)))
    count = max(1, min(_EDGE, len(found) // 4))
    for number, row in enumerate(found):
        if number < count or number >= len(found) - count:
            yield from (line for line in row if line.joint is None)


def _same_text(edges: Sequence[_OnPage], least: float) -> Iterator[list[tuple[int, Line, str]]]:
    """Lines of one text at one place on many pages, but for numbers that count pages.

    Yields page, line and text, in which `_COUNT` stands for such a number.
    """
    groups: dict[str, list[_OnPage]] = {}
    for number, line in edges:
        groups.setdefault(_NUMBER.sub("#", line.text), []).append((number, line))
    for group in groups.values():
        top = median(line.top for _, line in group)
        far = _NEAR * group[0][1].size if _are_counted(group) else _SAME_PLACE
        group = [(number, line) for number, line in group if abs(line.top - top) < far]
        step = _page_step(group, len(group) / 2)
        texts = [_without_count(number, line, step) for number, line in group]
        pages: dict[str, set[int]] = {text: set() for text in texts}
        for (number, _), text in zip(group, texts, strict=True):
            pages[text].add(number)
        often = {text for text, each in pages.items() if len(each) >= least or _is_chapter(each)}
        yield [
            (number, line, text)
            for (number, line), text in zip(group, texts, strict=True)
            if text in often
        ]


def _is_chapter(pages: Iterable[int]) -> bool:
    """Whether there are as many pages as in a chapter, one after another or every second one."""
    length, last = 0, -3
    for page in sorted(pages):
        length = length + 1 if page - last <= 2 else 1
        last = page
        if length == _CHAPTER:
            return True
    return False


def _same_count(edges: Sequence[_OnPage], least: float) -> Iterator[list[tuple[int, Line, str]]]:
    """Lines at one place on many pages, of any text with a number that counts pages."""
    groups: dict[int, list[_OnPage]] = {}
    for number, line in edges:
        groups.setdefault(round(line.top / _SAME_PLACE), []).append((number, line))
    for group in groups.values():
        step = _page_step(group, max(3, least))
        texts = ((number, line, _without_count(number, line, step)) for number, line in group)
        yield [each for each in texts if each[2] != each[1].text]


def _are_counted(group: Sequence[_OnPage]) -> bool:
    """Whether all lines have the number of their page apart from their other words."""
    step = _page_step(group, len(group))
    return all(_COUNTED.search(_without_count(number, line, step)) for number, line in group)


def _page_step(group: Sequence[_OnPage], least: float) -> int | None:
    """The most usual difference between a number in a line and that of its page, if usual."""
    steps = Counter(
        step
        for page, line in group
        for step in {int(number) - page for number in _NUMBER.findall(line.text)}
    )
    step, count = steps.most_common(1)[0] if steps else (0, 0)
    return step if count >= least and count > 1 else None


def _without_count(page: int, line: Line, step: int | None) -> str:
    for number in _NUMBER.finditer(line.text):
        if int(number[0]) - page == step:
            return f"{line.text[: number.start()]}{_COUNT}{line.text[number.end() :]}"
    return line.text


def _go_on(last: Line, after: Sequence[Line]) -> bool:
    """Whether the next part of a page is of the same column: just below its last line."""
    return (
        bool(after)
        and last.top < after[0].top < last.bottom + last.size
        and min(last.right, after[0].right) > max(last.left, after[0].left)
    )


def take_footnotes(page: Page, size: float) -> list[list[Line]]:
    """Remove the footnotes below the columns of a page, and return them."""
    found = []
    for column, after in zip(page.columns, [*page.columns, []][1:], strict=True):
        if not column or column[-1].joint is not None or _go_on(column[-1], after):
            continue
        begin = len(column)
        while begin and column[begin - 1].size < _SMALL * size:
            begin -= 1
        if begin and any(_NOTE.match(line.text) for line in column[begin : begin + 1]):
            found.append(column[begin:])
            del column[begin:]
    return found


def without_line_numbers(words: list[Word]) -> list[Word]:
    """Words of a page without numbers of its lines in the margin, as courts want them: 1, 2, 3 and
    so on, left of everything else, before lines of prose or where a line is blank."""
    text = min((word.left for word in words if not word.text.isdecimal()), default=0.0)
    margin = sorted((word for word in words if word.right < text), key=lambda word: word.top)
    counted = [word.text for word in margin] == [str(n + 1) for n in range(len(margin))]
    if not counted or len(margin) < _LEAST_NUMBERED:
        return words
    rest = [word for word in words if word.right >= text]
    blank = any(
        all(each.bottom <= word.top or each.top >= word.bottom for each in rest) for word in margin
    )
    return rest if blank or is_prose(list(pieces_of(rest))) else words
