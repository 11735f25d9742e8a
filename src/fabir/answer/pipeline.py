"""A replacement for the question-answering pipeline of Hugging Face's transformers 4.

Arguments and results are those of that pipeline. The `Predictor` finds the answers.
"""

import reprlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import GeneratorType
from typing import Any

from fabir.answer.predictor import Answer, OnError, Predictor
from fabir.errors import InputError
from fabir.runtime.base import Model

Example = tuple[str, str]  # question and context

# Options that count words.
_SIZES = "doc_stride", "max_answer_len", "max_question_len", "max_seq_len"
# Options without effect: answers are always whole words, and batches form themselves.
_IDLE = "padding", "align_to_words", "batch_size", "num_workers"
_LEAST = {"top_k": 1, "doc_stride": 0} | dict.fromkeys(_SIZES[1:], 1)
_OPTIONS = {"top_k", "topk", "handle_impossible_answer", "on_error", *_SIZES, *_IDLE}


def pipeline(
    task: str = "question-answering",
    model: "str | Path | Model | Predictor | None" = None,
    *,
    tokenizer: Any = None,
    device: Any = None,
    framework: Any = None,
    revision: str | None = None,
    **options: Any,
) -> "QuestionAnsweringPipeline":
    """A question-answering pipeline: existing code only has to change its import.

    Args:
        task: "question-answering" is the only one
        model: a model's folder or name, a bundled one's or one on the hub; a model, or a
            Predictor; the bundled "fast" if None
        tokenizer, device, framework: ignored
        revision: of a model on the hub
        options: defaults of every call, see `QuestionAnsweringPipeline`

    Raises:
        InputError: another task, or no such model.
    """
    if task not in ("question-answering", "extractive-question-answering"):
        raise InputError(f"fabir's pipeline does question-answering, not {task!r}")
    if model is None or isinstance(model, str | Path):
        model = Predictor.from_pretrained(model or "bundled", revision=revision)
    predictor = model if isinstance(model, Predictor) else Predictor(model)
    return QuestionAnsweringPipeline(predictor, **options)


class QuestionAnsweringPipeline:
    """Answers with dicts of `score`, `start`, `end` and `answer`.

    A question's result is one dict if it has one answer, as with `top_k=1`, else a list of dicts.
    One question returns its result, also if it is in a list. Several questions return a list of
    results. A generator returns a generator, whose answers come as soon as they can: see
    `Predictor.answer_all`. A blank context has the empty answer.

    Options of a call, or of all calls:
        top_k: answers at most, which do not overlap (1)
        handle_impossible_answer: whether an answer may be empty (False). The empty answer's score
            is the no-answer probability, `Reading.no_answer`. It comes first if that is above the
            best span's score. Without this option every answer is a span: neither the model's
            no-answer threshold nor the `threshold` of a Predictor applies
        max_answer_len: words of an answer at most (15)
        max_question_len: words of a question that are read (64)
        max_seq_len: words of a window of the context (400)
        doc_stride: words that two windows share (a quarter)
        on_error: "return" gives the exception in place of the result of a question that cannot be
            answered. "raise" raises it, after the results before it if a generator was given
        padding, align_to_words, batch_size, num_workers: ignored
    """

    task = "question-answering"

    def __init__(self, predictor: Predictor, **options: Any) -> None:
        self.predictor = predictor
        self._options = _checked(options)
        self._resized = lru_cache(maxsize=4)(self._resize)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options), (self.predictor,)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Answer `question=` from `context=`, each a text or a list.

        Dicts or objects with both are accepted too: as arguments, as one list, or as `data=` or
        `X=`.

        Raises:
            ValueError, KeyError: an argument is not a question, or an option does not fit.
        """
        options = self._options | _checked({k: named.pop(k) for k in _OPTIONS & named.keys()})
        given = _given(arguments, named)
        if isinstance(given, GeneratorType):
            return self._answers(given, **options)
        results = list(self._answers(given, **options))
        return results[0] if len(results) == 1 else results

    def _answers(
        self,
        given: Iterable[Any],
        top_k: int = 1,
        handle_impossible_answer: bool = False,
        on_error: OnError = "raise",
        **sizes: int,
    ) -> Iterator[Any]:
        predictor = self._resized(**sizes) if sizes else self.predictor
        for reading in predictor.read_items(given, _example, top_k, on_error):
            if isinstance(reading, Exception):
                yield reading
                continue
            found = list(reading.answers)
            if handle_impossible_answer or not found:
                found.append(Answer("", 0, 0, reading.no_answer))
                found = sorted(found, key=lambda answer: -answer.score)[:top_k]
            results = [
                {"score": a.score, "start": a.start, "end": a.end, "answer": a.text} for a in found
            ]
            yield results[0] if len(results) == 1 else results

    def _resize(
        self,
        doc_stride: int | None = None,
        max_answer_len: int | None = None,
        max_question_len: int | None = None,
        max_seq_len: int | None = None,
    ) -> Predictor:
        """A predictor of the same model with other windows or lengths of answers."""
        old = self.predictor
        window = old.window if max_seq_len is None else max_seq_len
        shared = window // 4 if doc_stride is None else doc_stride
        if not 0 <= shared < window:
            raise InputError(
                f"doc_stride {shared} must be at least 0 and less than max_seq_len {window}"
            )
        return Predictor(
            old.model,
            window=window,
            stride=window - shared,
            max_words=max_answer_len or old.max_words,
            max_question=max_question_len or old.max_question,
        )


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are set and have an effect, under their present names."""
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown:
        raise InputError(f"the pipeline has no option {unknown[0]}: {', '.join(sorted(_OPTIONS))}")
    said = {k: v for k, v in options.items() if v is not None and k not in _IDLE}
    if "topk" in said:
        warnings.warn("topk is deprecated, use top_k instead", UserWarning, stacklevel=3)
        topk = said.pop("topk")
        said.setdefault("top_k", topk)
    for name, least in _LEAST.items():
        value = said.get(name, least)
        if type(value) is not int or value < least:
            raise InputError(f"{name} must be a whole number, at least {least}, not {value!r}")
    return said


def _given(arguments: tuple[Any, ...], named: dict[str, Any]) -> Iterable[Any]:
    """The examples in a call's arguments."""
    if arguments or not named.keys().isdisjoint({"data", "X"}):
        _checked(dict.fromkeys(named.keys() - {"data", "X"}))
    if len(arguments) == 2 and all(isinstance(each, str) for each in arguments):
        return [{"question": arguments[0], "context": arguments[1]}]
    if arguments or "data" in named or "X" in named:
        given: Any = arguments or [named.get("data", named.get("X"))]
        if len(given) == 1 and isinstance(given[0], Iterable) and not isinstance(given[0], Mapping):
            given = given[0]
        return given if isinstance(given, GeneratorType) else list(given)
    if named.keys() != {"question", "context"}:
        raise InputError("name a question and a context, and nothing else but options")
    return _paired(named["question"], named["context"])


def _paired(question: Any, context: Any) -> list[dict[str, Any]]:
    if isinstance(question, str):
        question = [question]
    contexts = [context] * len(question) if isinstance(context, str) else context
    if not isinstance(question, list | tuple) or not isinstance(contexts, list | tuple):
        raise InputError("question and context are texts, or lists of texts")
    if len(question) != len(contexts):
        raise InputError(
            f"{len(question)} questions and {len(contexts)} contexts: give one context for each"
        )
    return [{"question": q, "context": c} for q, c in zip(question, contexts, strict=True)]


def _example(given: Any, number: int) -> Example:
    """Question and context of a dict, or of an object such as transformers' SquadExample."""
    if isinstance(given, Mapping):
        if not {"question", "context"} <= given.keys():
            raise KeyError(f'question {number} is a dict with the keys "question" and "context"')
        question, context = given["question"], given["context"]
    else:
        question, context = (getattr(given, f"{n}_text", None) for n in ("question", "context"))
    for name, text in (("question", question), ("context", context)):
        if not isinstance(text, str) or not text:
            raise InputError(
                f"question {number}: `{name}` is a text that is not empty, not {reprlib.repr(text)}"
            )
    return str(question), str(context)
