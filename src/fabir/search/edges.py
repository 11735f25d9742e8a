"""Where an answer begins and ends: brackets in pairs, whole names, no numbers of headings."""

import re

from fabir.search.terms import words

_BRACKETS = "()", "[]", "<>"
_REST_OF_NAME = re.compile(r"(?:[._](?:[a-z0-9]\w*|[A-Z0-9]{2,5}\b)|\(\))+")  # no next sentence
_BEGINNING_OF_NAME = re.compile(r"(?:[^\W\d_][^\W_]*[._])+\Z")
_LONGEST = 100  # characters of a name before an answer
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,8}\.?\s+(?=[A-Z]{4}|[A-Z][a-z]{2})")


def pair_brackets(text: str, start: int, end: int) -> tuple[int, int]:
    """The same offsets without a bracket at an end that has no partner, or with its partner.

    A partner just behind the characters `start` to `end` is added.
    """
    for opening, closing in _BRACKETS:
        inside = text[start:end]
        missing = inside.count(opening) - inside.count(closing)
        if missing == 1 and text[end : end + 1] == closing:
            end += 1
        elif missing == 1 and inside[0] == opening and len(inside) > 1:
            start += 1
        elif missing == -1 and inside[-1] == closing and len(inside) > 1:
            end -= 1
    inside = text[start:end]
    return end - len(inside.lstrip()), start + len(inside.rstrip())


def whole_name(text: str, start: int, end: int) -> tuple[int, int]:
    """The offsets of an answer with the rest of a name in which it would begin or end, such as
    "java.util", "multi-user.target" or "run()"."""
    rest = _REST_OF_NAME.match(text, end) if text[end - 1 : end].isalnum() else None
    before = max(0, start - _LONGEST)
    first = text[start : start + 1]
    begun = _BEGINNING_OF_NAME.search(text[before:start]) if first.islower() else None
    return before + begun.start() if begun else start, rest.end() if rest else end


def after_number(text: str, start: int, end: int, question: str) -> int:
    """Where an answer begins without the number of its heading or item: "4.2 Termination".

    If the rest has only words of the question, the number is what it asks for.
    """
    found = _NUMBER.match(text, start, end)
    if not found or text[text.rfind("\n", 0, start) + 1 : start].strip():
        return start
    rest = text[found.end() : end]
    return start if set(words(rest)) <= set(words(question)) else found.end()
