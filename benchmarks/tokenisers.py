"""Tokenisers on SQuAD: aligned answers, words per passage, GloVe coverage, speed.

    python benchmarks/tokenisers.py --train FILE --dev FILE --vectors FILE [--output FOLDER]

The result is the Markdown table of docs/tokenisation.md; `--output` writes it as
FOLDER/tokenisers.json too. NLTK is in the extra `dev`; none of its downloads is needed.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nltk.tokenize import NLTKWordTokenizer
from nltk.tokenize.punkt import PunktSentenceTokenizer

from fabir.data.dataset import Dataset
from fabir.data.squad import read_squad
from fabir.files import replacing
from fabir.progress import track
from fabir.text.tokens import tokenise
from fabir.text.vectors import read_vectors

Spans = list[tuple[int, int]]

LETTERS = r"[^\W\d_]+"
NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?"
CLITIC = r"(?<=\w)['’](?:s|re|ve|ll|d|m)\b"
REST = r"[^\w\s]|_"
# FABIR's authors split NLTK's words at these characters, as BiDAF's authors do.
AUTHORS = re.compile("([-\u2212\u2014\u2013/~\"'\u201c\u2019\u201d\u2018\u00b0])")


def pattern(*alternatives: str) -> Callable[[str], Spans]:
    find = re.compile("|".join(alternatives)).finditer
    return lambda text: [match.span() for match in find(text)]


def nltk_words(text: str) -> Spans:
    return list(NLTKWordTokenizer().span_tokenize(text))


def nltk_sentences_words(text: str) -> Spans:
    # This sentence splitter is untrained, because the trained one is a download.
    sentences = PunktSentenceTokenizer().span_tokenize(text)
    return [
        (begin + start, begin + end)
        for begin, stop in sentences
        for start, end in nltk_words(text[begin:stop])
    ]


def nltk_split_further(text: str) -> Spans:
    spans = []
    for start, end in nltk_sentences_words(text):
        for piece in filter(None, AUTHORS.split(text[start:end])):
            spans.append((start, start + len(piece)))
            start += len(piece)
    return spans


def fabir_default(text: str) -> Spans:
    tokens = tokenise(text)
    return list(zip(tokens.starts, tokens.ends, strict=True))


HEADER = """\
| tokeniser | train aligned % | dev aligned, any % | dev aligned, first % | \
words a passage, train | dev | in GloVe % | million characters/s |
|---|---|---|---|---|---|---|---|"""

CANDIDATES: dict[str, Callable[[str], Spans]] = {
    "NLTK words": nltk_words,
    "NLTK sentences, words": nltk_sentences_words,
    "NLTK sentences, words, split as by FABIR's authors": nltk_split_further,
    "white space": pattern(r"\S+"),
    r"`\w+` or one sign": pattern(r"\w+|[^\w\s]"),
    "letters, digits or one sign": pattern(LETTERS, r"\d+", REST),
    "as before, 1,000 and 3.5 whole": pattern(LETTERS, NUMBER, REST),
    "as before, 's whole": pattern(LETTERS, NUMBER, CLITIC, REST),
    "as before, 1990s and 10th whole": pattern(
        LETTERS, rf"(?:{NUMBER}){LETTERS}", NUMBER, CLITIC, REST
    ),
    "fabir's `tokenise`": fabir_default,
}


@dataclass
class Figures:
    """Counts for one tokeniser on one file. `cut` counts the words that unaligned answers cut."""

    passages: int = 0
    characters: int = 0
    words: int = 0
    known: int = 0
    questions: int = 0
    first_aligned: int = 0
    any_aligned: int = 0
    seconds: float = 0.0
    cut: Counter[str] = field(default_factory=Counter)


def measure(split: Callable[[str], Spans], dataset: Dataset, known: set[str]) -> Figures:
    figures = Figures()
    for passage in dataset.passages:
        text = passage.text
        began = time.process_time()
        spans = split(text)
        figures.seconds += time.process_time() - began
        figures.passages += 1
        figures.characters += len(text)
        figures.words += len(spans)
        figures.known += sum(text[start:end].lower() in known for start, end in spans)
        starts, ends = {start for start, _ in spans}, {end for _, end in spans}
        for question in passage.questions:
            golds = [stripped(answer.text, answer.start) for answer in question.answers]
            aligned = [start in starts and end in ends for start, end in golds]
            figures.questions += 1
            figures.first_aligned += aligned[0]
            figures.any_aligned += any(aligned)
            if not aligned[0]:
                figures.cut[kind_cut(text, spans, golds[0])] += 1
    return figures


def stripped(answer: str, start: int) -> tuple[int, int]:
    """The span of an answer without white space around it."""
    return start + len(answer) - len(answer.lstrip()), start + len(answer.rstrip())


def kind_cut(text: str, spans: Spans, gold: tuple[int, int]) -> str:
    """The kind of word that the answer's border cuts: a number, letters, or another."""
    cut = [text[s:e] for s, e in spans if s < gold[0] < e or s < gold[1] < e]
    if not cut:
        return "other"
    word = cut[0].replace(",", "").replace(".", "")
    return "number" if word.isdigit() else "letters" if cut[0].isalpha() else "other"


def row(name: str, train: Figures, dev: Figures) -> str:
    words, seconds = train.words + dev.words, train.seconds + dev.seconds
    cells = [
        f"{100 * train.first_aligned / train.questions:.3f}",
        f"{100 * dev.any_aligned / dev.questions:.3f}",
        f"{100 * dev.first_aligned / dev.questions:.3f}",
        f"{train.words / train.passages:.1f}",
        f"{dev.words / dev.passages:.1f}",
        f"{100 * (train.known + dev.known) / words:.2f}",
        f"{(train.characters + dev.characters) / seconds / 1e6:.1f}",
    ]
    return " | ".join(["", name, *cells, ""]).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    for name in ("train", "dev", "vectors"):
        parser.add_argument(f"--{name}", required=True, metavar="FILE")
    parser.add_argument("--output", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    train, dev = read_squad(options.train), read_squad(options.dev)
    known = set(read_vectors(options.vectors).words)
    results = {
        name: {"train": measure(split, train, known), "dev": measure(split, dev, known)}
        for name, split in track(CANDIDATES.items(), "Tokenisers", len(CANDIDATES))
    }
    print(HEADER)
    for name, figures in results.items():
        print(row(name, figures["train"], figures["dev"]))
    print("\nWhat the unaligned first answers cut, fabir's `tokenise`:")
    for name, figures in results["fabir's `tokenise`"].items():
        unaligned = figures.questions - figures.first_aligned
        print(f"{name}: {unaligned} of {figures.questions} questions,", dict(figures.cut))
    if options.output:
        with replacing(options.output / "tokenisers.json") as temporary:
            temporary.write_text(json.dumps(results, indent=2, default=vars) + "\n")


if __name__ == "__main__":
    main()
