"""The arguments that the question-answering pipeline of transformers 4 took: what each becomes.

`answer.pipeline` has the pipeline itself.
"""

import reprlib
import sys
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, TypedDict

from fabir.answer.checks import check_whole
from fabir.answer.predictor import OnError
from fabir.answer.transformers_models import PAGE
from fabir.errors import InputError, InputWarning

_LEAST = {  # of options that count
    "top_k": 1,
    "doc_stride": 0,
    **dict.fromkeys(("max_answer_len", "max_question_len", "max_seq_len"), 1),
}
QUESTIONS = "question", "context", "data", "X"  # arguments of a call that have its questions
_OPTIONS = {*_LEAST, "topk", "handle_impossible_answer", "on_error"}
# Values that ask for what happens anyway.
_ANYWAY = {
    "align_to_words": {"True"},
    "device": {"-1", "cpu"},
    "device_map": {"cpu"},
    "dtype": {"auto"},
    "torch_dtype": {"auto"},
}


class Options(TypedDict, total=False):
    """Options of `QuestionAnsweringPipeline`; those of the last group are ignored."""

    top_k: int | None
    topk: int | None
    handle_impossible_answer: bool | None
    max_answer_len: int | None
    max_question_len: int | None
    max_seq_len: int | None
    doc_stride: int | None
    on_error: OnError | None

    align_to_words: bool | None
    batch_size: int | None
    num_workers: int | None
    padding: bool | str | None
    torch_dtype: Any
    truncation: bool | str | None
    use_auth_token: str | bool | None


class Call(Options, total=False):
    """Named arguments of a call: questions and options."""

    question: str | Sequence[str]
    context: str | Sequence[str]
    data: Any
    X: Any


class MissingKeyError(InputError, KeyError):
    """A dict lacks its question or its context; the old pipeline raised a KeyError."""

    __str__ = Exception.__str__  # KeyError's has quotes around it


@dataclass(frozen=True)
class SquadExample:
    """A question and its context, under the names of transformers' SquadExample."""

    question_text: str
    context_text: str


def split_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The options that are set, checked and under their present names; the names of the others.

    Raises:
        InputError: an option is not a whole number, or too small.
    """
    said = {name: given[name] for name in _OPTIONS & given.keys() if given[name] is not None}
    if "topk" in said:
        warnings.warn("topk is deprecated, use top_k instead", UserWarning, stacklevel=3)
        topk = said.pop("topk")
        said.setdefault("top_k", topk)
    for name in _LEAST.keys() & said.keys():
        said[name] = check_whole(name, said[name], _LEAST[name])
    return said, ignored(given)


def ignored(given: Mapping[str, Any]) -> list[str]:
    """The names of arguments without effect; not of those that ask for what happens anyway."""
    return [
        name
        for name, value in given.items()
        if name not in _OPTIONS and value is not None and str(value) not in _ANYWAY.get(name, ())
    ]


def tell_ignored(names: list[str], strict: bool) -> None:
    """Name the arguments that are ignored, if there are any; see `tell`."""
    if names:
        tell(f"arguments without effect in fabir: {', '.join(names)}; see {PAGE}", strict, 4)


def tell(message: str, strict: bool, level: int = 3) -> None:
    """Warn whoever called the function that calls this one; with `strict`, refuse instead.

    Args:
        level: `stacklevel` of the warning

    Raises:
        InputError: `strict` is set.
    """
    if strict:
        raise InputError(message)
    warnings.warn(message, InputWarning, stacklevel=level)


def find_examples(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any] | Generator:
    """The examples in a call's arguments: a generator if they are read one after another.

    A dict of lists gives a list with one element, which is the list of its examples.

    Args:
        named: those of the arguments `QUESTIONS` that are given

    Raises:
        InputError: there are none, or two kinds of them.
    """
    if arguments and named:
        raise InputError(f"questions are given as arguments and also by name: {', '.join(named)}")
    if named.keys() == {"question", "context"}:
        return _paired(named["question"], named["context"])
    if not arguments and named.keys() not in ({"data"}, {"X"}):
        got = f"; given: {', '.join(named)}" if named else ""
        raise InputError(f"name a question and a context: question=..., context=...{got}")
    if len(arguments) == 2 and all(isinstance(each, str) for each in arguments):
        return _paired(*arguments)
    given: Any = arguments or tuple(named.values())
    if len(given) == 1:
        (given,) = given
    _refuse(given)
    if isinstance(given, GeneratorType):
        return given
    if _is_map_style(given):
        return (given[row] for row in range(len(given)))
    if _is_of_torch(given):
        return (each for each in given)
    several = isinstance(given, Iterable) and not isinstance(given, Mapping)
    examples = list(given) if several else [given]
    return [_unpacked(examples[0])] if len(examples) == 1 else examples


def _refuse(given: Any) -> None:
    if isinstance(given, str):
        raise InputError("one text is not enough: name a question and a context")
    if type(given).__name__ == "DataFrame":
        raise InputError("a DataFrame goes to fabir.answer_frame, not to a pipeline")


def example(given: Any, number: int) -> tuple[str, str]:
    """Question and context of a dict, or of an object such as transformers' SquadExample."""
    if isinstance(given, Mapping):
        for key in ("question", "context"):
            if key not in given:
                raise MissingKeyError(f'question {number} is a dict without the key "{key}"')
        question, context = given["question"], given["context"]
    elif hasattr(given, "question_text") and hasattr(given, "context_text"):
        question, context = given.question_text, given.context_text
    else:
        raise InputError(
            f'question {number} is a dict with the keys "question" and "context", '
            f"or a SquadExample, not {type(given).__name__}"
        )
    for name, text in (("question", question), ("context", context)):
        if not isinstance(text, str) or not text:
            raise InputError(
                f"question {number}: `{name}` is a text that is not empty, not {reprlib.repr(text)}"
            )
    return question, context


def _paired(question: Any, context: Any) -> list[Any]:
    if any(
        isinstance(each, bytes) or not isinstance(each, Sequence) for each in (question, context)
    ):
        raise InputError("question and context are texts, or lists of texts")
    questions = [question] if isinstance(question, str) else question
    contexts = [context] * len(questions) if isinstance(context, str) else context
    if len(questions) != len(contexts):
        raise InputError(
            f"questions: {len(questions)}, contexts: {len(contexts)}; give as many, or one context"
        )
    return [{"question": q, "context": c} for q, c in zip(questions, contexts, strict=True)]


def _unpacked(given: Any) -> Any:
    """A dict of lists as a list of dicts."""
    if isinstance(given, Mapping) and isinstance(given.get("question"), list | tuple):
        if "context" not in given:
            raise MissingKeyError('the dict of questions is without the key "context"')
        return _paired(given["question"], given["context"])
    return given


def _is_map_style(given: Any) -> bool:
    """Whether it has rows by number only, as most datasets of torch."""
    kind = type(given)
    has_rows = hasattr(kind, "__getitem__") and hasattr(kind, "__len__")
    return has_rows and not hasattr(kind, "__iter__")


def _is_of_torch(given: Any) -> bool:
    torch_data = sys.modules.get("torch.utils.data")  # not imported: nothing is a dataset of torch
    return torch_data is not None and isinstance(given, torch_data.Dataset)
