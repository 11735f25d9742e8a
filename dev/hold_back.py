"""Divides a SQuAD file by articles, so that probabilities are fitted on what training has not seen.

    python dev/hold_back.py train-v2.0.json --train part.json.gz --held held.json.gz [--every 20]

Every 20th article that has unanswerable questions is held back, the others are written to --train.
"""

import argparse
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from fabir.data.squad import read_squad, write_squad


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("data", type=Path)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--held", type=Path, required=True)
    parser.add_argument("--every", type=int, default=20)
    options = parser.parse_args()
    data = read_squad(options.data, "skip")
    articles = [tuple(group) for _, group in groupby(data.passages, key=lambda each: each.title)]
    full = [
        number
        for number, article in enumerate(articles)
        if any(question.impossible for passage in article for question in passage.questions)
    ]
    held = set(full[options.every - 1 :: options.every])
    for path, wanted in ((options.train, False), (options.held, True)):
        chosen = [
            passage
            for number, article in enumerate(articles)
            if (number in held) == wanted
            for passage in article
        ]
        part = replace(data, passages=tuple(chosen))
        write_squad(part, path)
        print(f"{path}: {len(part)} questions")


if __name__ == "__main__":
    main()
