"""Dates in digits, such as 1854-12-01, which questions have with the names of months."""

import re

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
may_have_date = re.compile(r"[0-9]([-/.])[0-9][0-9]?\1[0-9]").search  # faster than `_DATES`
_MONTH, _DAY = r"(?P<month>0?[1-9]|1[0-2])", r"(?P<day>0?[1-9]|[12][0-9]|3[01])"
_DATES = [  # 1854-12-01, 1854/12/01; 1.12.1854
    re.compile(rf"(?<![0-9])[0-9]{{4}}([-/]){_MONTH}\1{_DAY}(?![0-9])"),
    re.compile(rf"(?<![0-9.]){_DAY}\.{_MONTH}\.[0-9]{{4}}(?![0-9])"),
]


def name_months(text: str) -> str:
    """The text, and behind each date the name of its month, and its day without a 0 before it."""
    if may_have_date(text):
        for date in _DATES:
            text = date.sub(_with_names, text)
    return text


def _with_names(date: re.Match[str]) -> str:
    return f"{date[0]} {MONTHS[int(date['month']) - 1]} {int(date['day'])} "
