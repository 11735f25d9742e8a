"""Answers as text on a terminal, or as JSON."""

import json
import sys
from dataclasses import asdict

from fabir.answer.predictor import Answer

_AROUND = 60  # characters of the passage shown on either side of an answer


def show_json(question: str, passage: str, answers: list[Answer]) -> None:
    """One JSON object on stdout: the question, and answers with offsets into the passage."""
    record = {"question": question, "answers": [asdict(answer) for answer in answers]}
    print(json.dumps(record, ensure_ascii=False))


def show_text(question: str, passage: str, answers: list[Answer]) -> None:
    """Print each answer on its own line; on a terminal also its score and its context."""
    if not _on_terminal():
        for answer in answers:
            print(" ".join(answer.text.split()))
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


def _on_terminal() -> bool:
    return sys.stdout.isatty()
