"""Numbers, dates and times as a spreadsheet shows them, by the code of the cell's number format."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

# Codes that files name by number only.
BUILT_IN = {
    "1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00", "9": "0%", "10": "0.00%",
    "14": "y-m-d", "15": "y-m-d", "16": "m-d", "17": "y-m", "18": "h:m", "19": "h:m:s",
    "20": "h:m", "21": "h:m:s", "22": "y-m-d h:m", "37": "#,##0", "38": "#,##0",
    "39": "#,##0.00", "40": "#,##0.00", "45": "m:s", "46": "[h]:m:s", "47": "m:s",
    # Of Chinese, Japanese and Korean files; the other numbers to 58 depend on the language.
    **dict.fromkeys(["27", "28", "29", "30", "31", "36"], "y-m-d"), "32": "h:m", "33": "h:m:s",
    **dict.fromkeys(["50", "51", "52", "53", "54", "57", "58"], "y-m-d"),
}  # fmt: skip
EPOCH, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)  # day 0
_LITERAL = r'"[^"]*"|\\.'
_SECTION = re.compile(rf"((?:{_LITERAL}|[^;])*);")
_PARTS = re.compile(rf"(?P<literal>{_LITERAL})|(?P<digits>[#0?][#0?,]*(?:\.[#0?]*)?)|(?P<other>.)")
_PLACES = re.compile(r"[#0?]*(?:\.[#0?]*)?")
_CONDITION = re.compile(r"\[([<>=]{1,2})(-?\d+(?:\.\d*)?)\]")
_ROUNDED = Context(prec=400, rounding=ROUND_HALF_UP)  # as spreadsheets do; floats have 309 digits
_COMPARE = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "<>": ne}


class _Format(NamedTuple):
    """What a section of a code says of numbers; they are shown in full if it has no parts.

    parts: literal texts and, at odd places, digits such as "#,##0.00"
    elapsed: "h", "m" or "s", the largest unit of an elapsed time; empty for a time of day
    limit: a comparison and a number, such as "<=" and 9999; empty if there is none
    """

    parts: tuple[str, ...] = ()
    date: bool = False
    time: bool = False
    elapsed: str = ""
    limit: tuple[str, float] | None = None

    @property
    def letters(self) -> str:
        return "".join(filter(str.isalpha, "".join(self.parts[::2])))


_FULL = _Format()


def shown(number: str, code: str, epoch: datetime = EPOCH) -> str:
    """A cell's number as text. Dates are shown as 2024-05-31; text that is no number stays.

    It is empty if the code hides the number. Negative numbers keep their sign, and zero is 0,
    unless the code hides them or has words for them.

    Args:
        code: the format's code, such as "0.0%" or "dd/mm/yyyy"; empty if it has none
        epoch: day 0 of the workbook's dates
    """
    try:
        form, exact = _chosen(_parsed(code), float(number))
        if form.date or form.time:
            return _moment(exact, form, epoch)
        if form.parts:
            return _filled(exact, form.parts)
        return f"{exact:.15g}"
    except (ValueError, ArithmeticError):
        return number


def _chosen(sections: tuple[_Format, ...], number: float) -> tuple[_Format, float]:
    """The section for a number, and the number without a sign that the section replaces."""
    first, *others = sections
    if not others and not first.limit:
        return first, number
    if any(each.limit for each in sections):
        fits = (each for each in sections if not each.limit or _holds(each.limit, number))
        return next(fits, _FULL), number
    if number < 0 and len(sections) > 1 and _tells_more(sections[1], first):
        return sections[1], -number
    if number == 0 and len(sections) > 2 and _tells_more(sections[2], first):
        return sections[2], number
    return first, number


def _holds(limit: tuple[str, float], number: float) -> bool:
    return _COMPARE[limit[0]](number, limit[1])


def _tells_more(section: _Format, first: _Format) -> bool:
    """Whether a section hides numbers, or has words that the first one lacks."""
    return section.parts == ("",) or section.letters not in ("", first.letters)


def _filled(number: float, parts: tuple[str, ...]) -> str:
    places = parts[1::2]
    if not places:
        return parts[0].strip()
    if "%" in "".join(parts[::2]):
        number *= 100
    sign, digits = "-" if number < 0 else "", _digits(abs(number), "".join(places))
    if len(places) == 1:
        return f"{sign}{parts[0]}{digits}{parts[2]}".strip()
    pairs = zip(parts[::2], [*_cut(digits, places), ""], strict=True)
    return (sign + "".join(text + digit for text, digit in pairs)).strip()


def _digits(number: float, places: str) -> str:
    """The digits of a number, as many as a code such as "#,##0.0#" says."""
    whole, _, decimals = places.partition(".")
    zeros = whole.count("0")
    comma = "," if "," in whole else ""
    rounded = Decimal(f"{number:.15g}").quantize(
        Decimal(1).scaleb(-len(decimals)), context=_ROUNDED
    )
    text = f"{rounded:{comma}f}"
    if decimals.strip("0"):
        text = text.rstrip("0").rstrip(".")
    if zeros < 2:
        return text
    front, point, behind = text.partition(".")
    front = front.replace(",", "").zfill(zeros)
    if comma:
        front = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", front)
    return front + point + behind


def _cut(digits: str, places: Sequence[str]) -> list[str]:
    """The digits for each part of a code such as "(000) 000-0000"; the first has what is left."""
    left, point, decimals = digits.partition(".")
    found = [point + decimals]
    for part in reversed(places[1:]):
        length = len(part.partition(".")[0])
        found[0] = left[-length:] + found[0]
        found.insert(0, "")
        left = left[:-length]
    return [left + found[0], *found[1:]]


def _moment(number: float, form: _Format, epoch: datetime) -> str:
    if form.elapsed:
        return ("-" if number < 0 else "") + _elapsed(round(abs(number) * 86400), form.elapsed)
    seconds = round(number * 86400)
    if epoch == EPOCH and 0 < number < 60:
        seconds += 86400  # Excel takes 1900 for a leap year
    moment = epoch + timedelta(seconds=seconds)
    time = f"{moment:%H:%M:%S}".removesuffix(":00")
    if not form.date:
        return time
    return f"{moment:%Y-%m-%d}" + (f" {time}" if form.time and seconds % 86400 else "")


def _elapsed(seconds: int, unit: str) -> str:
    minutes, second = divmod(seconds, 60)
    if unit == "s":
        return str(seconds)
    if unit == "m":
        return f"{minutes}:{second:02}"
    return f"{minutes // 60}:{minutes % 60:02}" + (f":{second:02}" if second else "")


@lru_cache(1024)
def _parsed(code: str) -> tuple[_Format, ...]:
    """The sections of a code: for positive and negative numbers and zero, or with conditions."""
    sections = _SECTION.findall(f"{code[:400]};")[:3] if code else []
    return tuple(map(_section, sections)) or (_FULL,)


def _section(code: str) -> _Format:
    found = _CONDITION.search(code)
    limit = (found[1], float(found[2])) if found and found[1] in _COMPARE else None
    code = re.sub(r"\[\$([^\]-]*)[^\]]*\]", r'"\1"', code)  # currencies, with a language
    counted = re.search(r"\[([hms])+\]", code, re.IGNORECASE)
    elapsed = counted[1].lower() if counted else ""
    code = re.sub(r"\[(?![hms]+\])[^\]]*\]|[_*].", "", code, flags=re.IGNORECASE)
    bare = re.sub(_LITERAL, "", code).lower()
    if re.search(r"general|standard|@|e[+-]|[#0?]/|,\.|[#0?],[^#0?]*$", bare):
        return _Format(limit=limit)
    if re.search("[ymdhs]", bare):
        time = bool(re.search("[hs]", bare))
        return _Format((), bool(re.search("[yd]", bare)) or not time, time, elapsed, limit)
    parts = [""]
    for part in _PARTS.finditer(code):
        literal = (part["literal"] or "").strip('"').removeprefix("\\")
        if part["digits"]:
            parts += part["digits"], ""
        else:
            parts[-1] += literal + (part["other"] or "")
    *places, last = parts[1::2] or [""]
    if places and not ("." not in "".join(places) and _PLACES.fullmatch("".join([*places, last]))):
        return _Format(limit=limit)
    return _Format(tuple(parts), limit=limit)
