"""Reads PDF files with PDFium: words and their places, values of forms, comments, the title."""

import ctypes
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import pairwise
from math import pi
from pathlib import Path
from typing import Any, NamedTuple

from fabir.documents.base import MAX_BYTES, Document, Report, check_size, title_of
from fabir.documents.page_columns import columns
from fabir.documents.page_edges import PAGE_NUMBER, without_line_numbers
from fabir.documents.page_layout import Box, Line, Page, Word, is_exponent, is_raised
from fabir.documents.page_parts import parts
from fabir.documents.running_text import run_on
from fabir.documents.tables import row_text
from fabir.errors import InputError

MAX_PAGES = 100_000
_BOLD = re.compile(b"bold|black|heavy|^(?:[A-Z]+[+])?CM[A-Z]*BX", re.IGNORECASE)
_SCANNED, _STAMPED = "has no text: scanned?", "has hardly any text: scanned?"
_FEW = 20  # letters of a stamp on a scanned page
# Least share of a page that the image of a scan covers: below a stamp, with a page number only.
_MOST, _PART = 0.8, 0.2
_SHIFT = 1.0  # points between a word and the same word drawn again
_SPREAD = 0.05  # least space between letters that are set apart, in the height of one
_SEEN = 4  # letters whose spaces are seen
_WIDER = 1.25  # most space within a word, in the space between its letters
_HYPHEN = "\x02"  # PDFium's sign for a hyphen at a line end
# TeX's ligatures, quotes and dashes, whose codes older fonts of bitmaps do not explain.
_CORK = dict(zip("\x10\x11\x15\x16\x1b\x1c\x1d\x1e\x1f", "“”–—ﬀﬁﬂﬃﬄ", strict=True))
_VOWEL = re.compile("[aeiou]", re.IGNORECASE)
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)

# Control characters, soft hyphens within words, signs of no width, characters that are none.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff\ufffe\uffff]|\xad(?!$)")


class _Glyphs(NamedTuple):
    """A word, and whether its font does not tell which letters it has."""

    word: Word
    unknown: bool


def read_pdf(path: Path, report: Report) -> Iterator[Document]:
    check_size(path)
    with closing(_open(path)) as pdf:
        if len(pdf) > MAX_PAGES:
            raise InputError(f"more than {MAX_PAGES:,} pages: split it")
        title = title_of(path, pdf.get_metadata_value("Title"))
        pages, losses, length = [], [], 0
        for number in range(len(pdf)):
            page, loss = _read_page(pdf, number)
            report.alive()
            pages.append(page)
            losses += [(number + 1, loss)] if loss else []
            length += sum(len(line.text) for column in page.columns for line in column)
            length += sum(map(len, page.notes))
            if length > MAX_BYTES:
                raise InputError(f"more than {MAX_BYTES >> 20} million characters: split it")
    found = run_on(pages)
    if not found.text and all(loss == _SCANNED for _, loss in losses):
        report.lost("no text: scanned?")
    else:
        for number, loss in losses:
            report.lost(f"page {number} {loss}")
    yield Document(found.text, title, pages=tuple(found.pages), headings=tuple(found.headings))


def _open(path: Path) -> Any:
    import pypdfium2
    import pypdfium2.raw as raw

    try:
        pdf = pypdfium2.PdfDocument(path.read_bytes())
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise InputError("needs a password: save a copy without one") from error
        raise InputError("cannot be read: broken, or no PDF") from error
    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)  # it reports forms that it lacks
    pdf.init_forms()
    return pdf


def _read_page(pdf: Any, number: int) -> tuple[Page, str]:
    """A page, and what is lost of it."""
    import pypdfium2

    try:
        page = pdf[number]
    except pypdfium2.PdfiumError:
        return Page([]), "cannot be read"
    with closing(page), closing(page.get_textpage()) as text:
        notes = list(_notes(pdf, page))
        glyphs = list(_visible(_glyphs(text.raw), page.get_bbox()))
        if glyphs and _is_unreadable(glyphs):
            return Page([], notes), "has glyph numbers in place of letters"
        said = " ".join(each.word.text for each in glyphs)
        share = 0.0 if notes or sum(map(str.isalpha, said)) >= _FEW else _image_share(page)
        if share and not glyphs:
            return Page([]), _SCANNED
        hardly_any = share > (_PART if PAGE_NUMBER.fullmatch(said) else _MOST)
        return Page(_columns(glyphs), notes), _STAMPED if hardly_any else ""


def _columns(glyphs: list[_Glyphs]) -> list[list[Line]]:
    """The page's columns of the most usual direction of reading, then those of the others."""
    directions: dict[int, list[Word]] = defaultdict(list)
    for word in _drawn_once(each.word for each in glyphs if each.word.text):
        directions[word.quarter].append(word)
    usual_first = sorted(directions.values(), key=len, reverse=True)
    read = map(without_line_numbers, usual_first)
    found = (part for words in read for column in columns(words) for part in parts(column))
    return [part for part in found if part]


def _visible(glyphs: Iterable[_Glyphs], area: Box) -> Iterator[_Glyphs]:
    """Words whose middle is within the page's visible area: left, bottom, right, top."""
    left, bottom, right, top = area
    areas = [_upright((left, -top, right, -bottom), quarter) for quarter in range(4)]
    for each in glyphs:
        word = each.word
        left, top, right, bottom = areas[word.quarter]
        across, down = (word.left + word.right) / 2, (word.top + word.bottom) / 2
        if left <= across <= right and top <= down <= bottom:
            yield each


def _drawn_once(words: Iterable[Word]) -> Iterator[Word]:
    """Words without those that are drawn again in the same place, as for bold or for shadows."""
    drawn: dict[tuple[str, int, int], Word] = {}  # by text and the point that a word begins in
    for word in words:
        x, y = int(word.left), int(word.top)
        near = (drawn.get((word.text, x + i, y + j)) for i in (-1, 0, 1) for j in (-1, 0, 1))
        if not any(b and abs(word.left - b.left) + abs(word.top - b.top) < _SHIFT for b in near):
            drawn[word.text, x, y] = word
            yield word


def _is_unreadable(glyphs: list[_Glyphs]) -> bool:
    """Whether most fonts do not tell their letters, and the numbers of their glyphs are no words.

    Many fonts without a table of letters number their glyphs like letters.
    """
    unknown = Counter(each.unknown for each in glyphs)
    text = "".join(each.word.text for each in glyphs if each.unknown)
    letters = sum(map(str.isalpha, text))
    return unknown[True] > unknown[False] and len(_VOWEL.findall(text)) <= letters / 5


def _glyphs(text_page: Any) -> Iterator[_Glyphs]:
    """The words of a page, in the order of the file. A raised number is a word of its own."""
    import pypdfium2.raw as raw

    text, places = "", []  # a word's letters, and their numbers among the page's characters
    # Words of scanned pages are stretched to what is seen. If the file has spaces, one of PDFium's
    # that is as narrow as those between the letters before it is none.
    has_spaces, spread = False, 0.0
    for number in range(raw.FPDFText_CountChars(text_page)):
        letter = _letter(raw, text_page, number)
        if letter == " ":
            if not raw.FPDFText_IsGenerated(text_page, number):
                has_spaces = True
            elif has_spaces and places:
                *within, here = _spaces(raw, text_page, [*places[-_SEEN:], number + 1])
                spread = min(within, default=spread)
                if spread > _SPREAD and 0 <= here <= _WIDER * spread:
                    continue
        if letter == _HYPHEN:
            yield _word(raw, text_page, text + "-", (places or [number])[0], number)
        elif not letter.isspace():
            text += letter
            places.append(number)
            continue
        elif text:
            yield from _words(raw, text_page, text, places)
        text, places = "", []
    if text:
        yield from _words(raw, text_page, text, places)


def _spaces(raw: Any, text_page: Any, letters: Sequence[int]) -> list[float]:
    """The spaces between letters of a line, in the height of the first one."""
    box, quarter = raw.FS_RECTF(), _quarter(raw, text_page, letters[0])
    sides = [_sides(raw, text_page, box, each, quarter) for each in letters]
    height = max(sides[0][3] - sides[0][1], 1.0)
    return [(right[0] - left[2]) / height for left, right in pairwise(sides)]


def _letter(raw: Any, text_page: Any, number: int) -> str:
    letter = chr(raw.FPDFText_GetUnicode(text_page, number))
    if letter in _CORK:
        around = (chr(raw.FPDFText_GetUnicode(text_page, max(0, number + by))) for by in (-1, 1))
        if any(each.isascii() and each.isalnum() for each in around):
            return _CORK[letter]
    return letter


def _words(raw: Any, text_page: Any, text: str, places: Sequence[int]) -> Iterator[_Glyphs]:
    found = _word(raw, text_page, text, places[0], places[-1])
    end = len(text)
    if end > 1 and text[-1].isdigit():
        box, place, quarter = raw.FS_RECTF(), found.word[1:5], found.word.quarter
        while end > 1 and is_raised(place, _sides(raw, text_page, box, places[end - 1], quarter)):
            end -= 1
    if is_exponent(text[end:], text[:end]):
        yield _word(raw, text_page, text[:end], places[0], places[end - 1])
        yield _word(raw, text_page, text[end:], places[end], places[-1])
    else:
        yield found


def _word(raw: Any, text_page: Any, text: str, first: int, last: int) -> _Glyphs:
    quarter = _quarter(raw, text_page, first)
    box, font, flags = raw.FS_RECTF(), ctypes.create_string_buffer(100), ctypes.c_int()
    sides = [_sides(raw, text_page, box, number, quarter) for number in (first, last)]
    lefts, tops, rights, bottoms = zip(*sides, strict=True)
    raw.FPDFText_GetFontInfo(text_page, first, font, len(font), flags)
    bold = bool(_BOLD.search(font.value))
    place = min(lefts), min(tops), max(rights), max(bottoms)
    unknown = raw.FPDFText_HasUnicodeMapError(text_page, first) == 1
    return _Glyphs(Word(_clean(text), *place, bold, quarter), unknown)


def _quarter(raw: Any, text_page: Any, number: int) -> int:
    """How often a character is turned by a quarter."""
    return round(raw.FPDFText_GetCharAngle(text_page, number) * 2 / pi) % 4


def _sides(raw: Any, text_page: Any, box: Any, number: int, quarter: int) -> Box:
    """Left, top, right and bottom of a character, after turning it upright."""
    raw.FPDFText_GetLooseCharBox(text_page, number, box)
    return _upright((box.left, -box.top, box.right, -box.bottom), quarter)


def _upright(box: Box, quarter: int) -> Box:
    for _ in range(quarter):
        left, top, right, bottom = box
        box = top, -right, bottom, -left
    return box


def _clean(text: str) -> str:
    """Ligatures as letters, pairs of surrogates as one character, no characters without a sign."""
    if text.isascii() and text.isprintable():
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _UNSEEN.sub("", whole.translate(_LIGATURES))


def _image_share(page: Any) -> float:
    """The share of the page that its largest image covers; 0 only if it has none."""
    import pypdfium2
    import pypdfium2.raw as raw

    width, height = page.get_size()
    share = 0.0
    for image in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=4):
        share = max(share, 1e-9)
        with suppress(pypdfium2.PdfiumError):
            left, bottom, right, top = image.get_bounds()
            across, down = min(right, width) - max(left, 0), min(top, height) - max(bottom, 0)
            if across > 0 and down > 0:
                share = max(share, across * down / (width * height))
    return share


def _notes(pdf: Any, page: Any) -> Iterator[str]:
    """Filled fields of forms as "name: value", and comments."""
    import pypdfium2.raw as raw

    fields: dict[str, None] = {}
    comments = []
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        if raw.FPDFAnnot_GetFlags(annotation) & raw.FPDF_ANNOT_FLAG_HIDDEN:
            pass
        elif kind == raw.FPDF_ANNOT_WIDGET:
            read = _field(pdf.formenv, annotation) if pdf.formenv else _loose_field(annotation)
            fields[read] = None
        elif kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP):
            comments.append(_string(raw.FPDFAnnot_GetStringValue, annotation, b"Contents"))
        raw.FPDFPage_CloseAnnot(annotation)
    yield from filter(str.strip, ["\n".join(filter(None, fields)), *comments])


def _field(form: Any, widget: Any) -> str:
    """A field's name and value. Empty if it has no value or is not ticked."""
    import pypdfium2.raw as raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, widget)
    get = raw.FPDFAnnot_GetFormFieldValue
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        if not raw.FPDFAnnot_IsChecked(form, widget):
            return ""
        get = raw.FPDFAnnot_GetFormFieldExportValue
    name = _string(raw.FPDFAnnot_GetFormFieldAlternateName, form, widget)
    name = name or _string(raw.FPDFAnnot_GetFormFieldName, form, widget)
    return _named(name, _string(get, form, widget))


def _loose_field(widget: Any) -> str:
    """The same for a field of no form: a page without the form that it was filled in."""
    import pypdfium2.raw as raw

    def get(key: bytes) -> str:
        return _string(raw.FPDFAnnot_GetStringValue, widget, key)

    value = get(b"AS").replace("Off", "") if get(b"FT") == "Btn" else get(b"V")
    return _named(get(b"TU") or get(b"T"), value)


def _named(name: str, value: str) -> str:
    if "[" in name:  # such as form1[0].page1[0].city[0]
        name = re.sub(r".*\.|\[\d+\]", "", name)
    return row_text([name], [value])


def _string(get: Callable[..., int], *arguments: Any) -> str:
    size = get(*arguments, None, 0)
    letters = (ctypes.c_ushort * (size // 2 + 1))()
    get(*arguments, letters, size)
    text = bytes(letters)[:size].decode("utf-16-le", "replace").rstrip("\0")
    return text.replace("\r\n", "\n").replace("\r", "\n")
