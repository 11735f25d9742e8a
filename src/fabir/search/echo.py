"""Text that repeats a question is no evidence: lists of questions, mails that ask.

A question with its answer behind it, as in a list of frequent questions, is evidence.
"""

import re

from fabir.documents.list_numbers import IN_BRACKETS, NUMBER
from fabir.search.terms import Language, words
from fabir.text.lines import unwrap_lines
from fabir.text.sentences import sentences

_SHARE = 0.6  # of a question's content words from which a sentence repeats it
_MARKED = re.compile(
    rf"^[ \t]*(?:#{{1,6}}|[-*+•>]|{IN_BRACKETS})(?=[ \t])"
    r"|^[ \t]*(?:[-=*_~][ \t]*){3,}$"  # of lines
    r"|(?<!\w)(?P<mark>\*{1,3})(?=[^\s*])(?P<inner>[^*]{1,200})(?<=\S)(?P=mark)(?!\w)"  # of words
    r"|(?<=\])\((?=[^()\s]*[/#.])[^()\s]+\)|\s<[^<>`\s]+>(?=`_)"  # the target of a link
    r"|`{1,3}"
    r"|^[ \t]*\.\. (?:image|figure|include|contents|toctree|highlight)::.*$"  # directives of RST
    r"|^[ \t]+:(?:align|alt|class|depth|figwidth|height|maxdepth|name|scale|target|width):.*$"
    r"|^[ \t]*[|+](?=.*[-=]{3})[-=+|: \t]+$",  # between the rows of a table
    re.MULTILINE,
)
_ROW = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)  # of a table in Markdown or reStructuredText
_BAR = re.compile(r"(?<!\\) ?\|")
_ASKED = (
    rf"(?:(?:#{{1,6}}|[-*+•>–]|\(?\w{{1,3}}[.)]|{NUMBER}"  # an item or a heading
    r"|Q(?:uestion)?\s?\d*[:.])\s*+)?"
    r"\b(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|does|did|can)\b"
)
_ASKS = re.compile(rf"\s*+{_ASKED}", re.IGNORECASE)
_NUMBER = re.compile(NUMBER)
_BEFORE = re.compile(rf"\W*(?:{NUMBER})?\W*")  # what a line has before its text
_WISHES = re.compile(
    r"\b(?:(?:like|love|want|wish|need) to know|wonder(?:ed|ing)?|(?:you|any\w+|some\w+) knows?"
    r"|tell me)\b",
    re.IGNORECASE,
)
_CLOSES = re.compile(  # a letter
    r"(?:yours|sincerely|cheers|(?:(?:best|kind|warm) )?(?:regards|wishes|greetings)"
    r"|(?:(?:many|with) )?thanks|thank you)\b\D{0,40}$",
    re.IGNORECASE,
)
_MAY_ASK = re.compile(rf"\?|(?:^\s*+|\n[^\S\n]*+){_ASKED}|{_WISHES.pattern}", re.IGNORECASE)
# Of a call or a command: quoted, and nothing that is quoted stands behind it, as its answer would.
_ARGUMENT = re.compile(
    r"""(?:(?<=[(\[{=])["'][^"'\n]*\?["']|["'][^"'\n]*\?["'](?=[ \t]+-))(?=[^"'\n]*$)""",
    re.MULTILINE,
)
_QUESTION_WORDS = frozenset(
    ["who", "whom", "whose", "what", "when", "where", "which", "why", "how", "many", "much"]
)
_CHOICE = frozenset(["or", "between", "which"])


def blank_marks(text: str) -> str:
    """Replace the marks of headings, items, emphasis and tables by spaces. The length stays.

    Numbers without brackets stay: questions ask for "4.2" and "step 3", but seldom for "(b)". A tab
    stands between the cells of a table: no answer goes over it.
    """
    blank = _MARKED.sub(_blank, text)
    return _ROW.sub(_part_cells, blank) if "|" in blank else blank


def _part_cells(row: re.Match[str]) -> str:
    """A row with tabs in place of bars. A tab right behind a word divides, so a space before a bar
    stands behind the tab."""
    return _BAR.sub(lambda bar: "\t".ljust(len(bar[0])), row[0])


def _blank(match: re.Match[str]) -> str:
    if not match["mark"]:
        return " " * len(match[0])
    around = " " * len(match["mark"])
    return around + match["inner"] + around


def blank_echoes(text: str, question: str, language: Language) -> str:
    """Replace sentences, and arguments of calls and commands, that only repeat the question by
    spaces. The length stays the same."""
    if not _MAY_ASK.search(text):
        return text
    asked = {language.stem(word) for word in language.content_words(question)}

    def repeats(part: str) -> bool:
        return len(asked & {language.stem(word) for word in words(part)}) >= _SHARE * len(asked)

    blank = text
    for argument in _ARGUMENT.finditer(text):
        if repeats(argument[0]):
            blank = _without(blank, *argument.span())
    spans = sentences(unwrap_lines(text))
    spans = [span for span in spans if not _NUMBER.fullmatch(text, *span)]
    parts = [text[start:end] for start, end in spans]
    for number, (start, end) in enumerate(spans):
        part = parts[number]
        if not _is_question(part):
            continue
        if repeats(part) and not _is_answered(text, start, parts, number):
            blank = _without(blank, start, end)
    return blank


def _without(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _is_question(sentence: str) -> bool:
    unfinished = _ASKS.match(sentence) and sentence[-1] not in ".!:"
    return sentence.endswith("?") or bool(unfinished or _WISHES.search(sentence))


def _is_answered(text: str, start: int, parts: list[str], number: int) -> bool:
    """Whether a question begins a line, and no question and no end of a letter follows."""
    begins = _BEFORE.fullmatch(text, text.rfind("\n", 0, start) + 1, start)
    after = parts[number + 1] if number + 1 < len(parts) else ""
    followed = after and not _is_question(after) and not _CLOSES.match(after)
    wishes = _WISHES.search(parts[number])
    return bool(begins and followed and _ASKS.match(parts[number])) and not wishes


def repeats_question(answer: str, question: str) -> bool:
    """Whether an answer has nothing but words of the question, question words and punctuation.

    A question that offers its answers, such as "Is it a cat or a dog?", is no such case.
    """
    asked = set(words(question))
    said = set(words(answer))
    return said <= asked | _QUESTION_WORDS and not (said and asked & _CHOICE)
