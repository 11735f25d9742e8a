"""A column of a page in parts that are read one by one: tables, labels, blocks, other rows.

What is clear becomes lines "name: cell". What is less clear stays as it is: the cells of a row with
wide spaces between them.
"""

import re
from collections.abc import Iterator, Sequence

from fabir.documents.page_bands import Band, Block, bands, groups, to_lines
from fabir.documents.page_layout import SAME_SIZE, Line
from fabir.documents.page_names import can_name
from fabir.documents.page_tables import cell_lines, find_table

_TERM = 20  # the most characters of a term in a glossary
_HEADS = 3  # the most rows above lines that stand beside each other
_RUN = 50  # the most rows of labels that are looked at together
_LABEL = re.compile(r"(?!\(?\w{1,3}[.)]$)[^=<>{}\\|]*[^\W\d_][^=<>{}\\|]*")  # no mark, no formula
_NUMBERED = re.compile(r"\(\d{1,3}\w?\)")  # of a formula


def parts(pieces: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines of a column in reading order.

    Args:
        pieces: of the column's lines, in the order of the file
    """
    found = list(bands(pieces))
    plain: list[Band] = []
    number = 0
    while number < len(found):
        apart: list[list[Line]] = []
        labelled: Sequence[Band] = []
        if table := find_table(found, number):
            read = table.parts()
        elif labelled := _labelled(found, number):
            read = _labels(labelled, found[number - 1] if number else [])
        elif len(apart := groups(found[number])) > 1:
            heads = _take_heads(apart, plain)
            both = zip(heads, apart, strict=True)
            read = (part for head, group in both for part in parts(head + group))
        else:
            plain.append(found[number])
            number += 1
            continue
        yield _lines_of(plain)
        yield from read
        plain = []
        number += table.length if table else max(1, len(labelled))
    yield _lines_of(plain)


def _lines_of(found: Sequence[Band]) -> list[Line]:
    return to_lines(piece for band in found for block in band for piece in block.pieces)


def _take_heads(apart: Sequence[list[Line]], plain: list[Band]) -> list[list[Line]]:
    """For each group of lines what stands above it alone in the last bands, which are removed.

    Of bands above the last one, each block begins or ends where a line of the group does.
    """
    heads: list[list[Line]] = [[] for _ in apart]
    sides = [Block(group) for group in apart]
    top = min(side.top for side in sides)
    for count, band in enumerate(plain[: -_HEADS - 1 : -1]):
        over = [_below(block, sides) for block in band]
        near = len(band) > 1 and top - band[0].bottom < band[0].size
        if not near or any(len(numbers) != 1 for numbers in over):
            break
        both = [(block, number) for block, [number] in zip(band, over, strict=True)]
        if count and not all(any(_is_aligned(b, line) for line in apart[n]) for b, n in both):
            break
        for block, number in both:
            heads[number] = block.pieces + heads[number]
        plain.pop()
        top = min(block.top for block in band)
    return heads


def _below(block: Block, sides: Sequence[Block]) -> list[int]:
    """The numbers of the sides that a block stands above."""
    return [
        number
        for number, side in enumerate(sides)
        if min(block.right, side.right) > max(block.left, side.left)
    ]


def _labelled(found: Sequence[Band], begin: int) -> Sequence[Band]:
    """Rows of a label and what it is for that begin with a band, if there are several."""
    for is_labelled, least in ((_is_labelled_value, 2), (_is_entry, 3)):
        end = begin
        while (
            end < min(begin + _RUN, len(found))
            and len(found[end]) == 2
            and _is_aligned(found[end][1], found[begin][1])
            and is_labelled(*found[end])
        ):
            end += 1
        labelled = found[begin:end]
        if len(labelled) >= least and not _are_contents(labelled):
            return labelled
    return []


def _is_aligned(block: Block, other: Block | Line) -> bool:
    return min(abs(block.left - other.left), abs(block.right - other.right)) < block.size / 4


def _is_labelled_value(label: Block, value: Block) -> bool:
    return (
        _can_label(label)
        and (value.is_value or label.text.endswith(":"))
        and not _NUMBERED.fullmatch(value.text)
    )


def _is_entry(term: Block, meaning: Block) -> bool:
    """Whether it is a short term with a longer text, as in a glossary."""
    return (
        _can_label(term)
        and len(term.text) <= _TERM
        and len(meaning.text) > len(term.text)
        and meaning.text[0].isalnum()
        and not meaning.is_value
    )


def _can_label(block: Block) -> bool:
    return len(block.lines) == 1 and can_name(block) and bool(_LABEL.fullmatch(block.text))


def _are_contents(labelled: Sequence[Band]) -> bool:
    """Whether it is a table of contents: with the numbers of pages in order."""
    numbers = [int(right.text) for _, right in labelled if re.fullmatch("[0-9]{1,6}", right.text)]
    return len(numbers) == len(labelled) and numbers == sorted(numbers)


def _labels(labelled: Sequence[Band], above: Band) -> Iterator[list[Line]]:
    """A line for each label and its value, or a paragraph for the first one below a heading."""
    first = labelled[0][0]
    is_heading = len(above) == 1 and (
        above[0].is_bold > first.is_bold or above[0].size > SAME_SIZE * first.size
    )
    joint = "\n\n" if is_heading else "\n"
    for label, value in labelled:
        if value.lines:
            yield cell_lines(label.text.rstrip(" :"), value.lines, joint)
        else:  # dots alone, to be filled in
            yield cell_lines("", label.lines, joint)
        joint = "\n"
