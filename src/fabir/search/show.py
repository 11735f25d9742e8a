"""Prints found answers, for people or for programs."""

import sys
from dataclasses import asdict

from fabir.answer.show import withheld_line
from fabir.search.asker import Found, Result, sentence_around
from fabir.search.documents import printable
from fabir.terminal import print_json


def show_json(question: str, result: Result) -> None:
    """Print one JSON object: the question, and all fields of `Result`."""
    print_json({"question": question, **asdict(result)})


def show_text(question: str, result: Result) -> None:
    """Print one line per answer: its text and place. On a terminal, print its sentence too."""
    if not _on_terminal():
        for answer in result.answers:
            print(f"{_plain(answer.text)}\t{place(answer)}")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for answer in result.answers:
        title = Text(_plain(answer.text), "bold")
        console.print(title, Text(f"  {answer.score:.0%}, {place(answer)}"), soft_wrap=True)
        begin, end = sentence_around(answer.passage, answer.passage_start, answer.passage_end)
        before = answer.passage[begin : answer.passage_start]
        after = answer.passage[answer.passage_end : end]
        sentence = Text("  ") + Text(_spaced(before), "dim")
        sentence += Text(_spaced(answer.text), "reverse") + Text(_spaced(after), "dim")
        console.print(sentence)


def show_withheld(result: Result) -> None:
    """If no answer is given, say so on stderr."""
    if guess := result.best_guess:
        text = _plain(guess.text)
        print(withheld_line(result.no_answer, text, guess.score, "documents"), file=sys.stderr)
    elif not result.answers:
        print("no passage answers that", file=sys.stderr)


def place(answer: Found) -> str:
    """The place of an answer, for people."""
    if answer.page is not None:
        return f"{answer.document}, page {answer.page}"
    return answer.document if answer.line is None else f"{answer.document}, line {answer.line}"


def _plain(text: str) -> str:
    return printable(" ".join(text.split()))


def _spaced(text: str) -> str:
    """The text on one line, without stripping spaces at its ends."""
    return printable("".join(" " if character.isspace() else character for character in text))


def _on_terminal() -> bool:
    return sys.stdout.isatty()
