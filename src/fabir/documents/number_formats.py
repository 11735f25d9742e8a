"""Numbers, dates and times as a spreadsheet shows them, by the code of the cell's number format."""

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

# Codes that files name by number only.
BUILT_IN = {
    "1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00", "9": "0%", "10": "0.00%",
    "14": "y-m-d", "15": "y-m-d", "16": "m-d", "17": "y-m", "18": "h:m", "19": "h:m:s",
    "20": "h:m", "21": "h:m:s", "22": "y-m-d h:m", "37": "#,##0", "38": "#,##0",
    "39": "#,##0.00", "40": "#,##0.00", "45": "m:s", "46": "[h]:m:s", "47": "m:s",
}  # fmt: skip
EPOCH, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)  # day 0
_LITERAL = r'"[^"]*"|\\.'
_PARTS = re.compile(rf"(?P<literal>{_LITERAL})|(?P<digits>[#0?][#0?,]*(?:\.[#0?]*)?)|(?P<other>.)")


class _Format(NamedTuple):
    """What a code says of numbers; `digits` is empty if they are shown in full."""

    before: str = ""
    digits: str = ""
    after: str = ""
    date: bool = False
    time: bool = False
    elapsed: bool = False


def shown(number: str, code: str, epoch: datetime = EPOCH) -> str:
    """A cell's number as text. Dates are shown as 2024-05-31; text that is no number stays.

    Args:
        code: the format's code, such as "0.0%" or "dd/mm/yyyy"; empty if it has none
        epoch: day 0 of the workbook's dates
    """
    try:
        exact = float(number)
        form = _parsed(code)
        if form.date or form.time:
            return _moment(exact, form, epoch)
        if form.digits:
            return _rounded(exact, form)
        return f"{exact:.15g}"
    except (ValueError, OverflowError):
        return number


def _rounded(number: float, form: _Format) -> str:
    whole, _, decimals = form.digits.partition(".")
    if "%" in form.after:
        number *= 100
    text = f"{number:{',' if ',' in whole else ''}.{len(decimals)}f}"
    if decimals.strip("0"):
        text = text.rstrip("0").rstrip(".")
    sign = "-" if text.startswith("-") else ""
    return f"{sign}{form.before}{text.removeprefix('-')}{form.after}".strip()


def _moment(number: float, form: _Format, epoch: datetime) -> str:
    seconds = round(number * 86400)
    if form.elapsed:
        minutes, second = divmod(seconds, 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{second:02}" if second else "")
    if epoch == EPOCH and 0 < number < 60:
        seconds += 86400  # Excel takes 1900 for a leap year
    moment = epoch + timedelta(seconds=seconds)
    time = f"{moment:%H:%M:%S}".removesuffix(":00")
    if not form.date:
        return time
    return f"{moment:%Y-%m-%d}" + (f" {time}" if form.time and seconds % 86400 else "")


@lru_cache(1024)
def _parsed(code: str) -> _Format:
    code = code.split(";")[0][:200]
    code = re.sub(r"\[\$([^\]-]*)[^\]]*\]", r'"\1"', code)  # currencies, with a language
    elapsed = bool(re.search(r"\[[hms]+\]", code, re.IGNORECASE))
    code = re.sub(r"\[(?![hms]+\])[^\]]*\]|[_*].", "", code, flags=re.IGNORECASE)
    bare = re.sub(_LITERAL, "", code).lower()
    if re.fullmatch(r".*(general|standard|@|e[+-]|\?/|#/|0/|,\.|,[^#0?]*$).*|", bare):
        return _Format()
    if re.search("[ymdhs]", bare):
        time = bool(re.search("[hs]", bare))
        return _Format(date=bool(re.search("[yd]", bare)) or not time, time=time, elapsed=elapsed)
    before, digits, after = "", "", ""
    for part in _PARTS.finditer(code):
        literal = (part["literal"] or "").strip('"').removeprefix("\\") + (part["other"] or "")
        if part["digits"] and not digits:
            digits = part["digits"]
        elif digits:
            after += literal
        else:
            before += literal
    return _Format(before, digits, after)
