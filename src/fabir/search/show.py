"""Prints found answers, for people or for programs."""

import re
import sys
from dataclasses import asdict
from pathlib import Path

from fabir.answer.show import marked, on_one_line, withheld_line
from fabir.search.asker import UNSURE, Found, Result, sentence_around
from fabir.terminal import on_terminal, print_json

_HYPHEN = re.compile(r"\u00ad|(?<=[^\W\d_])-[ \t]*\r?\n[ \t]*(?=[^\W\d_A-Z])")
_ROW = re.compile(r"(.*\.(?:xls[xm]|ods))#(.*)!(\d+)", re.IGNORECASE | re.DOTALL)  # of a workbook


def show_json(question: str, result: Result) -> None:
    """Print one JSON object: the question, and all fields of `Result`."""
    print_json({"question": question, **asdict(result)})


def show_text(question: str, result: Result) -> None:
    """Print one line per answer: text, place and score. On a terminal, print its sentence too."""
    if not on_terminal():
        for answer in result.answers:
            print(_columns(answer))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for answer in result.answers:
        title = Text(_plain(answer.text), "bold")
        where = Text(f"  {answer.score:.0%}, {place(answer)}", f"link {Path(answer.path).as_uri()}")
        console.print(title, where, soft_wrap=True)
        begin, end = sentence_around(answer.passage, answer.passage_start, answer.passage_end)
        before = answer.passage[begin : answer.passage_start]
        after = answer.passage[answer.passage_end : end]
        console.print(marked(before, answer.text, after))


def show_row(question: str, result: Result) -> None:
    """Print a line per answer: question, text, place and score. Without answers these are empty."""
    for columns in [_columns(answer) for answer in result.answers] or ["\t\t"]:
        print(f"{_plain(question)}\t{columns}")


def show_doubt(result: Result) -> None:
    """If no answer is given, or only one that is probably wrong, say so on stderr."""
    if guess := result.best_guess:
        text = _plain(guess.text)
        print(withheld_line(result.no_answer, text, guess.score, "documents"), file=sys.stderr)
    elif not result.answers:
        print("the model finds no answer in the documents", file=sys.stderr)
    elif result.answers[0].score < UNSURE:
        print(f"probably not in the documents ({100 * result.no_answer:.0f} %)", file=sys.stderr)


def place(answer: Found) -> str:
    """The place of an answer, for people."""
    where = answer.document
    if row := _ROW.fullmatch(where):
        where = f"{row[1]}, sheet {row[2]}, row {row[3]}"
    elif answer.page is not None:
        where += f", page {answer.page}"
    elif answer.line is not None:
        where += f", line {answer.line}"
    elif answer.heading:
        where += f", under {_plain(answer.heading)}"
    elif answer.paragraph is not None:
        where += f", paragraph {answer.paragraph}"
    return f"{where} (and {len(answer.copies)} more)" if answer.copies else where


def _columns(answer: Found) -> str:
    """Text, place and score of an answer, separated by tabs."""
    return f"{_plain(answer.text)}\t{place(answer)}\t{answer.score:.2f}"


def _plain(text: str) -> str:
    """The text on one line, as it would be printed without hyphens at line ends."""
    text = _HYPHEN.sub("", text)
    return on_one_line(text)
