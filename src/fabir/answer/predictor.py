"""The `Predictor`: it takes questions and passages, and returns answers."""

import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from fabir.answer.batching import BatchedModel, Window
from fabir.answer.merging import Answer, Found, Reading, merge
from fabir.answer.passages import PassageCache
from fabir.answer.threshold import check_threshold
from fabir.errors import InputError
from fabir.memory_allocator import prepare_to_answer
from fabir.runtime.base import Model, load_model
from fabir.runtime.locate import find_model
from fabir.runtime.memory import BUDGET
from fabir.text.tokens import tokenise

__all__ = ["Answer", "Predictor", "Reading"]


class Predictor:
    """Answers questions with a model. Several threads may share it.

    It works in forked processes. A pickle or copy consists of its model and its options. An
    exported model is then loaded again from its folder; a model in torch travels with its weights.

    Args:
        model: a trained model
        window: words of a window; a longer passage is divided into overlapping windows
        stride: words from one window's beginning to the next
        max_words: words of the longest answer (FABIR eq. 19)
        memory: bytes of the passage cache, and again as many of the cache of spellings
        threshold: least score of an answer that is given, from 0 to 1; 0 always answers. If None,
            the model's own rule decides: no answer if `Reading.no_answer` is above the model's
            `no_answer_threshold`
    """

    def __init__(
        self,
        model: Model,
        *,
        window: int = 400,
        stride: int = 300,
        max_words: int = 15,
        memory: int = BUDGET,
        threshold: float | None = None,
    ) -> None:
        if max_words < 1:
            raise InputError(f"an answer has at least 1 word, not {max_words}")
        self.threshold = check_threshold(threshold)
        self._passages = PassageCache(window, stride, memory)
        prepare_to_answer()
        self.model = model
        self.window, self.stride, self.max_words = window, stride, max_words
        self._batched = BatchedModel(model, self._passages, max_words)

    def __reduce__(self) -> tuple[Any, ...]:
        names = "window", "stride", "max_words", "threshold"
        options = {name: getattr(self, name) for name in names}
        return partial(type(self), **options), (self.model,)

    @property
    def reader(self) -> Model:
        """The former name of `model`."""
        warnings.warn("Predictor.reader is called model now", DeprecationWarning, stacklevel=2)
        return self.model

    @classmethod
    def load(
        cls, folder: str | Path | None = None, *, threshold: float | None = None, **options: int
    ) -> "Predictor":
        """Load the model in `folder`, or the bundled model.

        `folder` may also be "bundled", or "owner/name" on the Hugging Face hub. An exported model
        needs no torch.
        """
        return cls(load_model(find_model(folder)), threshold=threshold, **options)

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        *,
        revision: str | None = None,
        threshold: float | None = None,
        **options: int,
    ) -> "Predictor":
        """The same as `load`, under Hugging Face's name; `revision` is one of the hub's."""
        return cls(load_model(find_model(name, revision)), threshold=threshold, **options)

    def answer(self, question: str, passage: str, top_k: int = 1) -> list[Answer]:
        """At most `top_k` answers that do not overlap, best first.

        The list is empty for a blank passage, or if no answer is given (see `threshold`).
        `read_all` has the best spans also then.

        Raises:
            ValueError: a blank question, or `top_k` below 1.
        """
        return next(self.answer_all([(question, passage)], top_k))

    def answer_all(
        self, pairs: Iterable[tuple[str, str]], top_k: int = 1
    ) -> Iterator[list[Answer]]:
        """Answer (question, passage) pairs, in their order, a few thousand windows at a time.

        Questions about one passage share its encoding. Later calls share it too, as long as the
        passage cache has room. Chunks of more than 65,536 words are not cached.
        """
        yield from map(self.given, self.read_all(pairs, top_k))

    def read_all(self, pairs: Iterable[tuple[str, str]], top_k: int = 1) -> Iterator[Reading]:
        """The same as `answer_all`, but each result has the best spans, given or not, and the
        no-answer probability."""
        if top_k < 1:
            raise InputError(f"top_k must be at least 1, not {top_k}")
        passages: list[str] = []
        found: list[list[Found]] = []
        confidence = self.model.confidence
        first = 0  # the number of passages[0] among all pairs

        def all_windows() -> Iterator[Window]:
            for number, (question, passage) in enumerate(pairs):
                passages.append(passage)
                found.append([])
                yield from self._windows(number, question, passage)

        stream = all_windows()
        chunks = iter(lambda: list(islice(stream, self._batched.chunk)), [])
        started = ((chunk, self._batched.read(chunk, top_k)) for chunk in chunks)
        end: tuple[list[Window], Iterator[Found]] = [], iter(())
        # While other threads run the model on a chunk, this one makes the next chunk.
        for (chunk, results), _ in pairwise(chain(started, [end])):
            for window, result in zip(chunk, results, strict=True):
                found[window.pair - first].append(result)
            done = chunk[-1].pair - first  # the last pair may have more windows in the next chunk
            for _ in range(done):
                yield merge(passages.pop(0), found.pop(0), top_k, confidence)
            first += done
        for passage, results in zip(passages, found, strict=True):
            yield merge(passage, results, top_k, confidence)

    def given(self, reading: Reading, threshold: float | None = None) -> list[Answer]:
        """The answers of a reading that are given, best first.

        Args:
            threshold: another one than the predictor's

        Raises:
            InputError: `threshold` is not from 0 to 1.
        """
        threshold = self.threshold if threshold is None else check_threshold(threshold)
        if threshold is None:
            return reading.given(self.model.no_answer_threshold)
        return [answer for answer in reading.answers if answer.score >= threshold]

    def forget(self) -> None:
        """Empty all caches. Later scores may differ in their last digits only.

        Call it after a change of the weights of `model`: passages are cached as it encoded them.
        """
        self._batched.clear()

    def _windows(self, number: int, question: str, passage: str) -> Iterator[Window]:
        asked = tokenise(question).words
        if not asked:
            raise InputError(f"question {number + 1} is empty: ask something")
        for part in self._passages.parts(passage):
            yield Window(number, asked, part)
