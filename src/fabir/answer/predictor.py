"""Questions and passages in, answers out: the one way from text through a reader back to text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fabir.answer.spans import top_spans
from fabir.answer.windows import Candidate, select_distinct, windows
from fabir.data.batches import collate
from fabir.errors import InputError
from fabir.reader import Reader
from fabir.text.tokens import tokenise
from fabir.text.vocabulary import Forms

BUNDLED = Path(__file__).parent.parent / "pretrained"
MOST_FORMS = 500_000  # spellings remembered between calls
CHUNK = 2048  # windows that are sorted by length together
BATCH_TOKENS = 8192  # padded passage words of one pass through the network


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of the passage: `text == passage[start:end]`.

    `score` is the probability of its first word times that of its last, over the whole passage.
    """

    text: str
    start: int
    end: int
    score: float


class _Window(NamedTuple):
    """A part of a passage, asked one question."""

    pair: int
    question: np.ndarray  # forms
    passage: np.ndarray  # forms
    starts: list[int]  # character offsets of the words
    ends: list[int]


class _Found(NamedTuple):
    """What a window's logits say: candidates, and the mass of all starts and of all ends."""

    candidates: list[Candidate]
    start_mass: float
    end_mass: float


class Predictor:
    """Answers questions with a reader.

    Args:
        reader: a trained reader
        window: words of a passage read at once; longer ones are read in overlapping windows
        stride: words from one window's beginning to the next
        max_words: words of the longest answer (FABIR eq. 19)
    """

    def __init__(
        self, reader: Reader, *, window: int = 400, stride: int = 300, max_words: int = 15
    ) -> None:
        if max_words < 1:
            raise InputError(f"an answer has at least 1 word, not {max_words}")
        windows(0, window, stride)  # checks both
        self.reader = reader
        self.window, self.stride, self.max_words = window, stride, max_words
        self._network = reader.network.eval()
        self._forms = Forms(reader.vocabulary)
        self._encode = lru_cache(maxsize=64)(self._encode_text)

    @classmethod
    def load(cls, folder: str | Path | None = None, **options: int) -> "Predictor":
        """The reader in `folder`, or the one that comes with fabir."""
        return cls(Reader.load(folder or BUNDLED), **options)

    def answer(self, question: str, passage: str, top_k: int = 1) -> list[Answer]:
        """At most `top_k` answers that do not overlap, best first; none in a blank passage.

        Raises:
            ValueError: a blank question, or `top_k` below 1.
        """
        return next(self.answer_all([(question, passage)], top_k))

    def answer_all(
        self, pairs: Iterable[tuple[str, str]], top_k: int = 1
    ) -> Iterator[list[Answer]]:
        """Answer (question, passage) pairs, in their order, a few thousand windows at a time.

        Consecutive questions about one passage share its tokens.
        """
        if top_k < 1:
            raise InputError(f"top_k must be at least 1, not {top_k}")
        passages: list[str] = []
        found: list[list[_Found]] = []
        first = 0  # the number of passages[0] among all pairs

        def all_windows() -> Iterator[_Window]:
            for number, (question, passage) in enumerate(pairs):
                passages.append(passage)
                found.append([])
                yield from self._windows(number, question, passage)

        stream = all_windows()
        while chunk := list(islice(stream, CHUNK)):
            for window, result in zip(chunk, self._read(chunk, top_k), strict=True):
                found[window.pair - first].append(result)
            done = chunk[-1].pair - first  # this one may have more windows to come
            for _ in range(done):
                yield _merge(passages.pop(0), found.pop(0), top_k)
            first += done
        for passage, results in zip(passages, found, strict=True):
            yield _merge(passage, results, top_k)

    def _encode_text(self, text: str) -> tuple[np.ndarray, list[int], list[int]]:
        tokens = tokenise(text)
        return self._forms.number(tokens.words), tokens.starts, tokens.ends

    def _windows(self, number: int, question: str, passage: str) -> Iterator[_Window]:
        if len(self._forms) > MOST_FORMS:
            self._forms = Forms(self.reader.vocabulary)
            self._encode.cache_clear()
        asked = self._encode(question)[0]
        if not len(asked):
            raise InputError(f"question {number + 1} is empty: ask something")
        forms, starts, ends = self._encode(passage)
        for begin, end in windows(len(forms), self.window, self.stride):
            yield _Window(number, asked, forms[begin:end], starts[begin:end], ends[begin:end])

    def _read(self, chunk: list[_Window], top_k: int) -> list[_Found]:
        """Batches of similar length, within a budget of padded words; results in order."""
        order = sorted(range(len(chunk)), key=lambda i: len(chunk[i].passage), reverse=True)
        results: dict[int, _Found] = {}
        while order:
            size = max(1, BATCH_TOKENS // len(chunk[order[0]].passage))
            part, order = order[:size], order[size:]
            results.update(
                zip(part, self._read_batch([chunk[i] for i in part], top_k), strict=True)
            )
        return [results[i] for i in range(len(chunk))]

    @torch.inference_mode()
    def _read_batch(self, batch: list[_Window], top_k: int) -> Iterator[_Found]:
        device = next(self._network.parameters()).device
        tensors = collate(self._forms, [w.passage for w in batch], [w.question for w in batch])
        with torch.autocast(device.type, torch.bfloat16, enabled=_has_bf16(device)):
            logits = self._network(tensors.to(device))
        # One answer needs one span; more are cut from a list in which neighbours crowd.
        wanted = 1 if top_k == 1 else 20 * top_k
        spans = top_spans(logits.start, logits.end, max_words=self.max_words, k=wanted)
        masses = torch.stack([side.logsumexp(dim=1) for side in logits], dim=1).tolist()
        columns = (spans.start.tolist(), spans.end.tolist(), spans.score.tolist())
        for window, mass, *rows in zip(batch, masses, *columns, strict=True):
            candidates = [
                Candidate(window.starts[start], window.ends[end], score)
                for start, end, score in zip(*rows, strict=True)
                if score > float("-inf")
            ]
            yield _Found(candidates, *mass)


def _merge(passage: str, windows_found: list[_Found], top_k: int) -> list[Answer]:
    """The best answers of a passage's windows; logits compare, so their masses add up."""
    if not windows_found:
        return []
    start_mass = np.logaddexp.reduce([found.start_mass for found in windows_found])
    end_mass = np.logaddexp.reduce([found.end_mass for found in windows_found])
    candidates = (candidate for found in windows_found for candidate in found.candidates)
    return [
        Answer(
            passage[c.start : c.end], c.start, c.end, float(np.exp(c.score - start_mass - end_mass))
        )
        for c in select_distinct(candidates, top_k)
    ]


def _has_bf16(device: torch.device) -> bool:
    """Whether bfloat16 is quicker than float32 there: nearly twice on CPUs that know it."""
    if device.type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return device.type == "cuda" and torch.cuda.is_bf16_supported()
