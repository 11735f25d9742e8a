"""Normalises answers before they are compared, as the official SQuAD scripts do."""

import re
import string

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single spaces.

    This is what the official SQuAD scripts do.
    """
    text = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())
