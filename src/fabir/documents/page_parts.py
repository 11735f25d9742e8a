"""A column of a page in parts that are read one by one: tables, labels, blocks, other rows.

What is clear becomes lines "name: cell". What is less clear stays as it is: the cells of a row with
wide spaces between them.
"""

import re
from collections.abc import Iterator, Sequence

from fabir.documents.page_bands import Band, Block, bands, groups, to_lines
from fabir.documents.page_layout import Line
from fabir.documents.page_names import can_name
from fabir.documents.page_tables import cell_lines, find_table

_TERM = 20  # the most characters of a term in a glossary
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
            read = (_label(band) for band in labelled)
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
    """For each group of lines what stands above it alone in the last band, which is removed."""
    heads: list[list[Line]] = [[] for _ in apart]
    sides = [Block(group) for group in apart]
    above = plain[-1] if plain else []
    if len(above) < 2 or min(side.top for side in sides) - above[0].bottom > above[0].size:
        return heads
    for block in above:
        over = [
            head
            for head, side in zip(heads, sides, strict=True)
            if min(block.right, side.right) > max(block.left, side.left)
        ]
        if len(over) != 1:
            return [[] for _ in apart]
        over[0].extend(block.pieces)
    plain.pop()
    return heads


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


def _is_aligned(block: Block, other: Block) -> bool:
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


def _label(band: Band) -> list[Line]:
    label, value = band
    return cell_lines(label.text.rstrip(" :"), value.lines, "\n")
