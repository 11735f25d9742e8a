"""Answers as the official SQuAD scripts compare them, and words without content."""

import re
import string

# Words without content, which occur in most passages.
_STOP_WORDS = """
    a also an and are as at be been being but by can could did do does for from had has have he her
    his how i if in into is it its many may might much name no not of on or our s she should such t
    than that the their then there these they this to was we were what when where which who whom
    whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single spaces.

    This is what the official SQuAD scripts do.
    """
    text = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())
