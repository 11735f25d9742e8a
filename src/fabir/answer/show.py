"""Answers as text on a terminal, or as JSON."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from fabir.answer.predictor import Answer, Reading
from fabir.answer.threshold import best_guess
from fabir.terminal import on_terminal, print_json, printable

if TYPE_CHECKING:
    from rich.text import Text

_AROUND = 60  # characters of the passage shown on either side of an answer


def show_json(question: str, passage: str, answers: list[Answer], reading: Reading) -> None:
    """One JSON object on stdout: the question, the given answers with offsets into the passage, the
    no-answer probability, and the best guess if no answer is given."""
    guess = best_guess(reading, answers)
    record = {
        "question": question,
        "answers": [asdict(answer) for answer in answers],
        "no_answer": reading.no_answer,
        "best_guess": guess and asdict(guess),
    }
    print_json(record)


def show_text(question: str, passage: str, answers: list[Answer], reading: Reading) -> None:
    """Print each given answer on its own line; on a terminal also its score and its context."""
    if not on_terminal():
        for answer in answers:
            print(on_one_line(answer.text))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for answer in answers:
        begin, end = max(0, answer.start - _AROUND), answer.end + _AROUND
        before = "…" * (begin > 0) + passage[begin : answer.start]
        after = passage[answer.end : end] + "…" * (end < len(passage))
        console.print(
            Text(on_one_line(answer.text), "bold"), f"  {answer.score:.0%}, from {answer.start}"
        )
        console.print(marked(before, answer.text, after))


def show_withheld(answers: list[Answer], reading: Reading) -> None:
    """If no answer is given, say so on stderr."""
    if guess := best_guess(reading, answers):
        line = withheld_line(reading.no_answer, on_one_line(guess.text), guess.score, "text")
        print(line, file=sys.stderr)
    elif not answers:
        print("the model finds no answer in the passage", file=sys.stderr)


def withheld_line(no_answer: float, guess: str, score: float, where: str) -> str:
    """One line that says that no answer is given, with the best guess.

    Args:
        no_answer: probability that there is none
        where: the noun for the place where it may be missing
    """
    if no_answer >= 0.5:
        found = f"probably not in the {where} ({100 * no_answer:.0f} %)"
        return f'{found}; best guess: "{guess}"'  # a score is the chance if there is an answer
    none = f", no answer {100 * no_answer:.0f} %" if no_answer > 1 - score + 1e-6 else ""
    return f'no answer is sure enough (best: "{guess}", score {score:.2f}{none})'


def marked(before: str, answer: str, after: str) -> "Text":
    """An answer, marked, between the text around it, for a terminal."""
    from rich.text import Text

    around = ((spaced(before), "dim"), (spaced(answer), "reverse"), (spaced(after), "dim"))
    return Text.assemble("  ", *around)


def on_one_line(text: str) -> str:
    """The text on one line, without white space at its ends and control characters."""
    return printable(" ".join(text.split()))


def spaced(text: str) -> str:
    """The text on one line, of the same length, without control characters."""
    return printable("".join(" " if character.isspace() else character for character in text))
