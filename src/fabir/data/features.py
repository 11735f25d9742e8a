"""A SQuAD file as arrays: word types, character offsets and answer spans in tokens, cached on disk.

The cache depends on the text alone, so that it serves every vocabulary.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import numpy as np

from fabir.data.dataset import Answer, Dataset, Passage
from fabir.files import cache_folder, replacing, writing
from fabir.progress import track
from fabir.text.lines import divide
from fabir.text.tokens import TOKENISER, Tokeniser, Tokens, tokenise
from fabir.text.vocabulary import Vocabulary, WordTable

_VERSION = "5"

OnUnaligned = Literal["skip", "widen"]


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths in one array: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: np.ndarray
    offsets: np.ndarray

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)


def ragged(rows: list[list[int]] | list[np.ndarray]) -> Ragged:
    """Join integer rows into one array, int32."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    values = np.concatenate([np.asarray(row, np.int32) for row in rows]) if rows else []
    return Ragged(np.asarray(values, np.int32), offsets)


@dataclass(frozen=True)
class Features:
    """The questions of one file.

    passages, questions: numbers of spellings, per token
    starts, ends: character offsets of the passages' tokens, half-open
    passage_of: [questions] the passage of each question
    spans: per question its distinct answers as start, end, start, end ... in tokens, ends
        inclusive; without answers that do not fall on token borders, or with their whole tokens
    unaligned: [questions] answers that do not fall on token borders
    spellings: the distinct words
    """

    passages: Ragged
    questions: Ragged
    starts: Ragged
    ends: Ragged
    passage_of: np.ndarray
    spans: Ragged
    unaligned: np.ndarray
    spellings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Features: {len(self.questions):,} questions, {len(self.passages):,} passages>"

    def counts(self) -> dict[str, int]:
        """How often training sees each spelling: a passage counts once per question."""
        weights = np.bincount(self.passage_of, minlength=len(self.passages))
        per_token = np.repeat(weights, self.passages.lengths)
        seen = np.bincount(self.passages.values, per_token, len(self.spellings))
        seen += np.bincount(self.questions.values, minlength=len(self.spellings))
        return dict(zip(self.spellings, seen.astype(int).tolist(), strict=True))


def align(answer: Answer, tokens: Tokens) -> tuple[tuple[int, int] | None, bool]:
    """The first and last of the tokens that have a part of an answer, and whether it falls on their
    borders. Without such tokens it is None and False."""
    text = answer.text
    begin = answer.start + len(text) - len(text.lstrip())
    end = answer.start + len(text.rstrip())
    first, last = bisect_right(tokens.ends, begin), bisect_left(tokens.starts, end) - 1
    if begin >= end or last < first:
        return None, False
    return (first, last), (tokens.starts[first], tokens.ends[last]) == (begin, end)


def build_features(
    dataset: Dataset, on_unaligned: OnUnaligned = "skip", tokeniser: Tokeniser = "fabir"
) -> Features:
    """Tokenise a data set and align its answers. Lines are divided as when answering.

    `on_unaligned` says what happens to an answer that begins or ends inside a token: `skip` leaves
    it out, `widen` takes all of its first and last token.
    """
    numbers: dict[str, int] = {}
    passages, questions, starts, ends, spans = [], [], [], [], []
    passage_of: list[int] = []
    unaligned: list[int] = []

    def number(words: list[str]) -> list[int]:
        return [numbers.setdefault(word, len(numbers)) for word in words]

    for index, passage in enumerate(track(dataset.passages, "tokenising")):
        tokens = tokenise(divide(passage.text).text, tokeniser)
        passages.append(number(tokens.words))
        starts.append(tokens.starts)
        ends.append(tokens.ends)
        for found, missed in _aligned(passage, tokens, on_unaligned):
            spans.append(found)
            unaligned.append(missed)
        for question in passage.questions:
            questions.append(number(tokenise(question.text, tokeniser).words))
            passage_of.append(index)
    return Features(
        passages=ragged(passages),
        questions=ragged(questions),
        starts=ragged(starts),
        ends=ragged(ends),
        passage_of=np.asarray(passage_of, np.int32),
        spans=ragged(spans),
        unaligned=np.asarray(unaligned, np.int32),
        spellings=tuple(numbers),
    )


def _aligned(
    passage: Passage, tokens: Tokens, on_unaligned: OnUnaligned
) -> list[tuple[list[int], int]]:
    """The distinct spans of each question, flat, and how many of its answers are unaligned."""
    result = []
    for question in passage.questions:
        found = [align(answer, tokens) for answer in question.answers]
        kept = (span for span, exact in found if exact or on_unaligned == "widen")
        distinct = dict.fromkeys(span for span in kept if span)
        unaligned = sum(not exact for _, exact in found)
        result.append(([end for span in distinct for end in span], unaligned))
    return result


def load_features(
    dataset: Dataset,
    sources: Sequence[Path],
    cache: Path | None = None,
    on_unaligned: OnUnaligned = "skip",
    tokeniser: Tokeniser = "fabir",
) -> Features:
    """The features of `dataset`, which was read from `sources`; cached on disk.

    The key of the cache is made of the files' contents, the answers kept, how they are aligned, and
    the versions of tokeniser and format. A damaged entry is rebuilt.
    """
    digest = hashlib.sha256()
    for source in sources:
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    digest.update(repr((TOKENISER, _VERSION, len(dataset), dataset.bad_answers)).encode())
    digest.update(b"" if on_unaligned == "skip" else on_unaligned.encode())
    digest.update(b"" if tokeniser == "fabir" else tokeniser.encode())
    path = (cache or cache_folder("features")) / f"{digest.hexdigest()}.npz"
    try:
        return _read(path)
    except Exception:  # whatever a damaged archive raises, the entry can be rebuilt
        features = build_features(dataset, on_unaligned, tokeniser)
    with writing(path, wait=True), replacing(path) as temporary:
        _write(features, temporary)
    return features


def _write(features: Features, path: Path) -> None:
    arrays: dict[str, np.ndarray] = {}
    for field in fields(features):
        value = getattr(features, field.name)
        if isinstance(value, Ragged):
            arrays[f"{field.name}.values"] = value.values
            arrays[f"{field.name}.offsets"] = value.offsets
        elif isinstance(value, tuple):
            joined = "\n".join(value).encode("utf-8", "surrogatepass")
            arrays[field.name] = np.frombuffer(joined, np.uint8)
        else:
            arrays[field.name] = value
    with open(path, "wb") as file:
        np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]


def _read(path: Path) -> Features:
    with open(path, "rb") as file, np.load(file) as arrays:
        kinds = {field.name for field in fields(Features)}
        values = {
            name: Ragged(arrays[f"{name}.values"], arrays[f"{name}.offsets"])
            for name in kinds
            if f"{name}.values" in arrays
        }
        plain = {name: arrays[name] for name in kinds - values.keys()}
    spellings = plain.pop("spellings").tobytes().decode("utf-8", "surrogatepass")
    words = tuple(spellings.split("\n")) if spellings else ()
    return Features(**values, **plain, spellings=words)


def renumber(features: Features, vocabulary: Vocabulary) -> tuple[WordTable, Ragged, Ragged]:
    """Number the word types of a reader: the table, the passages and the questions."""
    table = WordTable(vocabulary)
    types = table.number(features.spellings)
    return (
        table,
        Ragged(types[features.passages.values], features.passages.offsets),
        Ragged(types[features.questions.values], features.questions.offsets),
    )
