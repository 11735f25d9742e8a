"""Answers as text on a terminal, or as JSON."""

import sys
from dataclasses import asdict

from fabir.answer.predictor import Answer, Reading
from fabir.answer.threshold import best_guess
from fabir.terminal import print_json

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
    if not _on_terminal():
        for answer in answers:
            print(_plain(answer.text))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for answer in answers:
        before = passage[max(0, answer.start - _AROUND) : answer.start]
        after = passage[answer.end : answer.end + _AROUND]
        context = Text("  …") + Text(" ".join(before.split("\n")), "dim")
        context += Text(answer.text, "reverse") + Text(" ".join(after.split("\n")) + "…", "dim")
        console.print(Text(answer.text, "bold"), f"  {answer.score:.0%}, from {answer.start}")
        console.print(context)


def show_withheld(answers: list[Answer], reading: Reading) -> None:
    """If no answer is given, say so on stderr."""
    if guess := best_guess(reading, answers):
        line = withheld_line(reading.no_answer, _plain(guess.text), guess.score, "text")
        print(line, file=sys.stderr)
    elif not answers:
        print("the reader finds no answer in the passage", file=sys.stderr)


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


def _plain(text: str) -> str:
    return " ".join(text.split())


def _on_terminal() -> bool:
    return sys.stdout.isatty()
