"""Texts that count as the same answer. Which words a reader knows is `fabir.text.vocabulary`."""

import re
import string

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single spaces.

    As the official SQuAD scripts do it.
    """
    text = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())
