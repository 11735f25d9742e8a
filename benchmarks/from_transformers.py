"""Answers of the bundled models for the table of docs/from-transformers.md, which has its texts.

    python benchmarks/from_transformers.py          # print the page with answers of these models
    python benchmarks/from_transformers.py --write  # write it

A row of the table is a text's number, a question and its true answers, "none" if there are none;
the other columns are computed.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabir import pipeline
from fabir.evaluation.squad import exact_match, f1

PAGE = Path(__file__).parents[1] / "docs" / "from-transformers.md"
MODELS = "fast", "accurate"
TEXT = re.compile(r"^### (\d+)\. .*?^```text\n(.*?)\n^```$", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \|.*$", re.MULTILINE)
_SUMS = re.compile(r"^\| \| right of \d+.*\n\| \| mean F1.*$", re.MULTILINE)


def filled(page: str) -> str:
    """The page with the models' answers in its table."""
    texts = dict(TEXT.findall(page))
    asked = [pipeline(model=name) for name in MODELS]
    scores: list[list[tuple[int, float]]] = [[] for _ in MODELS]

    def row(found: re.Match[str]) -> str:
        number, question, truth = found.groups()
        cells = []
        for qa, each in zip(asked, scores, strict=True):
            answer, score = _answer(qa, question, texts[number], truth)
            right = exact_match(answer, references(truth))
            each.append((right, f1(answer, references(truth))))
            cells.append(f"{'' if right else 'wrong: '}{answer or 'none'} ({score:.2f})")
        return f"| {number} | {question} | {truth} | {' | '.join(cells)} |"

    page = ROW.sub(row, page)
    rights = [str(sum(right for right, _ in each)) for each in scores]
    means = [f"{100 * sum(one for _, one in each) / len(each):.1f}" for each in scores]
    sums = f"| | right of {len(scores[0])} | | {' | '.join(rights)} |\n"
    return _SUMS.sub(lambda _: f"{sums}| | mean F1 | | {' | '.join(means)} |", page)


def _answer(qa: Callable[..., Any], question: str, text: str, truth: str) -> tuple[str, float]:
    may_be_empty = truth == "none"
    found = qa(question=question, context=text, handle_impossible_answer=may_be_empty)
    return " ".join(found["answer"].split()), found["score"]


def references(truth: str) -> list[str]:
    return [""] if truth == "none" else truth.split(" / ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    page = filled(PAGE.read_text(encoding="utf-8"))
    if parser.parse_args().write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
