"""Rows to answer, for tests of bulk runs. No tests here."""

import json
from pathlib import Path

from factories import EXAMPLES


def write_rows(path: Path, count: int) -> Path:
    """`count` questions in a .jsonl file, of all lengths, some about the passage before."""
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            question, passage, *_ = EXAMPLES[number // 2 % len(EXAMPLES)]
            context = " ".join([passage] * (1 + number // 3 % 4)) + f" Row {number // 3}."
            row = {"id": f"q{number}", "question": question, "context": context}
            file.write(json.dumps(row) + "\n")
    return path
