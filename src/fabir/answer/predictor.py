"""The `Predictor`: it takes questions and passages, and returns answers."""

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, overload

from fabir.answer.batching import BatchedModel, Window
from fabir.answer.checks import check_kind, check_whole
from fabir.answer.merging import Answer, Reading
from fabir.answer.passages import Part, PassageCache
from fabir.answer.streaming import Stream
from fabir.answer.threshold import check_threshold
from fabir.errors import InputError, InputWarning
from fabir.runtime.base import Model, load_model
from fabir.runtime.ensemble import load_ensemble
from fabir.runtime.locate import find_model
from fabir.runtime.memory import BUDGET
from fabir.text.units import is_blank, visible_tokens

__all__ = ["Answer", "Predictor", "Reading"]

T = TypeVar("T")
Pairs = Iterable[tuple[str, str]]
OnError = Literal["raise", "return"]


class Predictor:
    """Answers questions with a model. Several threads may share it.

    It works in forked processes. A pickle or copy consists of its model and its options. An
    exported model is then loaded again from its folder; a model in torch travels with its weights.

    Args:
        model: a trained model
        window: words of a window; a longer passage is divided into overlapping windows
        stride: words from one window's beginning to the next
        max_words: words of the longest answer (FABIR eq. 19), before its ends become whole units
        max_question: words of a question that are read; a longer one is cut, with a warning
        memory: bytes of the passage cache, and again as many of the cache of spellings
        threshold: from 0 to 1; an answer is given if its score and the probability that the
            passage has an answer, 1 - `Reading.no_answer`, are both at least this; 0 always
            answers. If None, the model's own rule decides: no answer if `Reading.no_answer` is
            above the model's `no_answer_threshold`
    """

    def __init__(
        self,
        model: Model,
        *,
        window: int = 400,
        stride: int = 300,
        max_words: int = 15,
        max_question: int = 64,
        memory: int = BUDGET,
        threshold: float | None = None,
    ) -> None:
        if not hasattr(model, "vocabulary"):
            kind = type(model).__name__
            raise InputError(f"a Predictor has a model, not {kind}: Predictor.load loads one")
        self.max_words = check_whole("max_words", max_words)
        self.max_question = check_whole("max_question", max_question)
        self.window = check_whole("window", window, None)
        self.stride = check_whole("stride", stride, None)
        self.memory = check_whole("memory", memory, 0)
        self.threshold = check_threshold(threshold)
        self._passages = PassageCache(
            self.window, self.stride, self.memory, model.vocabulary.tokeniser
        )
        self.model = model
        self._batched = BatchedModel(model, self._passages, self.max_words)

    def __reduce__(self) -> tuple[Any, ...]:
        names = "window", "stride", "max_words", "max_question", "memory", "threshold"
        options = {name: getattr(self, name) for name in names}
        return partial(type(self), **options), (self.model,)

    def __repr__(self) -> str:
        return f"<Predictor of {self.model!r}>"

    @classmethod
    def load(
        cls,
        folder: str | Path | Sequence[str | Path | None] | None = None,
        *,
        threshold: float | None = None,
        **options: int,
    ) -> "Predictor":
        """Load the model in `folder`, or the bundled model "fast".

        `folder` may also be "fast" or "accurate", or "owner/name" on the Hugging Face hub. Several
        of them answer with the mean of what they say: see `fabir.runtime.ensemble.Ensemble`. An
        exported model needs no torch.

        Raises:
            InputError: a model cannot be found or loaded, or an option does not fit.
        """
        several = isinstance(folder, Iterable) and not isinstance(folder, str)
        folders: Any = folder if several else [folder]
        return cls(load_ensemble(folders), threshold=threshold, **options)

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
        """At most `top_k` answers with different texts that do not overlap, best first.

        The list is empty for a blank passage, or if no answer is given (see `threshold`).
        `read_all` has the best spans also then.

        Raises:
            ValueError: a blank question, or `top_k` below 1.
        """
        return next(self.answer_all([(question, passage)], top_k))

    @overload
    def answer_all(
        self, pairs: Pairs, top_k: int = 1, *, on_error: Literal["raise"] = "raise"
    ) -> Iterator[list[Answer]]: ...

    @overload
    def answer_all(
        self, pairs: Pairs, top_k: int = 1, *, on_error: Literal["return"]
    ) -> Iterator[list[Answer] | Exception]: ...

    def answer_all(
        self, pairs: Pairs, top_k: int = 1, *, on_error: OnError = "raise"
    ) -> Iterator[Any]:
        """Answer (question, passage) pairs, in their order.

        A list or tuple is read a few thousand windows at a time. Any other iterable is read ahead
        in a thread of its own, and while it waits, all pairs that have come are answered. At most
        64 pairs are taken before the first answer. Later as many may be ahead of their answers as
        have been answered, at most 6,144. Pass a list if the iterable must stay in its thread, as
        a cursor of sqlite3 must. If you stop early, pairs that were taken ahead are lost.

        Questions about one passage share its encoding. Later calls share it too, as long as the
        passage cache has room. Chunks of more than 65,536 words are not cached.

        Args:
            on_error: what to do about a pair that is not a question and a passage, or whose
                question is blank. "raise" gives the answers to all pairs before it and then raises
                an InputError. "return" gives the error in place of its answers, and goes on

        Raises:
            InputError: see `on_error`; the message has the pair's number, counted from 1. Or
                `top_k` is below 1.
        """
        readings = self.read_items(pairs, _checked, top_k, on_error)
        return (each if isinstance(each, Exception) else self.given(each) for each in readings)

    @overload
    def read_all(
        self, pairs: Pairs, top_k: int = 1, *, on_error: Literal["raise"] = "raise"
    ) -> Iterator[Reading]: ...

    @overload
    def read_all(
        self, pairs: Pairs, top_k: int = 1, *, on_error: Literal["return"]
    ) -> Iterator[Reading | Exception]: ...

    def read_all(
        self, pairs: Pairs, top_k: int = 1, *, on_error: OnError = "raise"
    ) -> Iterator[Any]:
        """The same as `answer_all`, but each result has the best spans, given or not, and the
        no-answer probability."""
        return self.read_items(pairs, _checked, top_k, on_error)

    def read_items(
        self,
        items: Iterable[T],
        pair_of: Callable[[T, int], tuple[str, str]],
        top_k: int = 1,
        on_error: OnError = "raise",
    ) -> Iterator[Reading | Exception]:
        """The same as `read_all`, for items of any kind.

        Args:
            pair_of: the question and passage of an item, from the item and its number, counted
                from 1. An exception of it is the item's error
        """
        top_k = check_whole("top_k", top_k)
        if on_error not in get_args(OnError):
            raise InputError(f"on_error is one of {', '.join(get_args(OnError))}, not {on_error!r}")

        def windows_of(item: T, number: int) -> tuple[str, list[Window]]:
            question, passage = pair_of(item, number + 1)
            return passage, self._windows(number, question, passage)

        results = Stream(windows_of, self._batched, top_k, self.model.confidence).read(items)
        return results if on_error == "return" else _raising(results)

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
        if reading.no_answer > 1 - threshold:
            return []
        return [answer for answer in reading.answers if answer.score >= threshold]

    def work(self, pairs: Pairs) -> int:
        """How much there is to read: the words of all windows of all pairs, about.

        It splits the passages into windows, which a reading soon afterwards finds in the cache.

        Raises:
            InputError: a question is blank.
        """
        return sum(self._batched.work(self._windows(n, *pair)) for n, pair in enumerate(pairs))

    def parts(self, passage: str) -> list[Part]:
        """The windows of a passage as the model reads them; a blank passage has none."""
        return self._passages.parts(passage)

    def forget(self) -> None:
        """Empty all caches. Later scores may differ in their last digits only.

        Call it after a change of the weights of `model`: passages are cached as it encoded them.
        """
        self._batched.clear()

    def _windows(self, number: int, question: str, passage: str) -> list[Window]:
        asked = visible_tokens(question, self.model.vocabulary.tokeniser).words
        if not asked or is_blank(question):
            raise InputError(f"question {number + 1} is empty: ask something")
        if len(asked) > self.max_question:
            message = f"a question is longer than {self.max_question} words: the rest is not read"
            warnings.warn(f"{message} (max_question)", InputWarning, stacklevel=2)
        words = asked[: self.max_question]
        parts = self.parts(passage)
        layout = parts[0].layout if parts else None
        support = None if layout is None else layout.support(question)
        return [
            Window(number, words, part, None if support is None else support[part.pieces])
            for part in parts
        ]


def _raising(results: Generator[T | Exception]) -> Iterator[T]:
    with closing(results):
        for each in results:
            if isinstance(each, Exception):
                raise each
            yield each


def _checked(pair: Any, number: int) -> tuple[str, str]:
    """The question and passage of a pair, by its number."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        kind = type(pair).__name__
        raise InputError(f"question {number} is not a pair of question and passage: {kind}")
    for name, text in zip(("question", "passage"), pair, strict=True):
        check_kind(f"the {name} of question {number}", text, str)
    return pair[0], pair[1]
