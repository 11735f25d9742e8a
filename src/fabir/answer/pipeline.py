"""A replacement for the question-answering pipeline of Hugging Face's transformers 4.

It takes the calls of that pipeline and gives results of the same form. The `Predictor` finds the
answers. `answer.pipeline_arguments` reads the arguments.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Unpack

from fabir.answer.merging import Answer, Reading
from fabir.answer.pipeline_arguments import (
    QUESTIONS,
    Call,
    Options,
    SquadExample,
    example,
    find_examples,
    ignored,
    split_options,
    tell,
    tell_ignored,
)
from fabir.answer.predictor import OnError, Predictor
from fabir.answer.transformers_models import explain, find_candidate, is_transformers
from fabir.errors import InputError
from fabir.runtime.base import Model
from fabir.runtime.locate import find_folder, is_on_hub
from fabir.runtime.store import copy_model
from fabir.text.tokens import Tokens, tokenise

_TASKS = None, "question-answering", "extractive-question-answering"
_USED = "task", "model", "revision", "strict", "options"  # arguments of `pipeline`


def pipeline(
    task: str | None = "question-answering",
    model: Any = None,
    config: Any = None,
    tokenizer: Any = None,
    feature_extractor: Any = None,
    image_processor: Any = None,
    processor: Any = None,
    framework: str | None = None,
    revision: str | None = None,
    use_fast: bool | None = None,
    token: str | bool | None = None,
    device: Any = None,
    device_map: Any = None,
    dtype: Any = None,
    trust_remote_code: bool | None = None,
    model_kwargs: dict[str, Any] | None = None,
    pipeline_class: Any = None,
    *,
    strict: bool = False,
    **options: Unpack[Options],
) -> "QuestionAnsweringPipeline":
    """A question-answering pipeline: existing code only has to change its import.

    Every argument of `transformers.pipeline` is taken. One warning names those without effect,
    which are all but `task`, `model`, `revision` and the options.

    fabir cannot run a model of transformers. The bundled model "fast" answers in its place, with a
    warning. Which model is one of transformers is decided in this order:

    1. A folder is, if its `config.json` says so.
    2. "fast" and "accurate" are bundled models of fabir.
    3. A name is, if its part after the owner has an architecture of transformers in it, such as
       "bert" or "electra", and not "fabir". The network is not used. If such a name is a model of
       fabir after all, pass `Predictor.from_pretrained(name)`.
    4. Any other "owner/name" is looked up on the Hugging Face hub, or in its cache, which needs
       `fabir[hub]`. Its `config.json` decides. If it cannot be had, as without a network or with
       `HF_HUB_OFFLINE`, that is an error: a model that may be fabir's is never replaced.

    Args:
        task: "question-answering" is the only one
        model: a model's folder or name, a bundled one's or one on the hub; a model, or a
            Predictor; the bundled "fast" if None
        revision: of a model of fabir on the hub
        strict: raise an InputError instead of every warning about a model of transformers or about
            arguments without effect, also in later calls
        options: defaults of every call, see `QuestionAnsweringPipeline`

    Raises:
        InputError: another task, no such model, or see `strict`.
    """
    unused = {name: value for name, value in locals().items() if name not in _USED}
    if task not in _TASKS:
        raise InputError(f"fabir's pipeline does question-answering, not {task!r}")
    kept, names = split_options(options)
    named = isinstance(model, str | Path)
    if named:
        find_folder(model)  # which refuses one that cannot be looked at
    found, foreign = model, is_transformers(model)
    if not foreign and named:
        found = find_candidate(model, revision)
        foreign = is_transformers(found)
    if foreign:
        tell(explain(model, strict), strict)
        found = None
    if found is None or not is_on_hub(model):
        unused["revision"] = revision
    tell_ignored(ignored(unused) + names, strict)
    return QuestionAnsweringPipeline(_predictor(found), strict, **kept)


def _predictor(model: Any) -> Predictor:
    if isinstance(model, Predictor):
        return model
    if model is None or isinstance(model, Path):
        return Predictor.load(model)
    if not hasattr(model, "vocabulary"):
        kind = type(model).__name__
        raise InputError(f"model is a folder, a name, a model or a Predictor, not {kind}")
    return Predictor(model)


class Device(str):
    """The name of a device, with the `type` that torch's devices have."""

    @property
    def type(self) -> str:
        return str(self)


class QuestionAnsweringPipeline:
    """Answers with dicts of `score`, `start`, `end` and `answer`.

    A question's result is one dict if it has one answer, as with `top_k=1`, else a list of dicts.
    One question returns its result, also if it is in a list. Several questions return a list of
    results, and so does a dict of lists. A generator returns a generator, whose answers come as
    soon as they can: see `Predictor.answer_all`. So does a dataset in torch's sense, with
    `__getitem__` and `__len__` only, or of torch's class. A blank context has the empty answer.

    Options of a call, or of all calls:
        top_k: answers at most, with different texts that do not overlap (1)
        handle_impossible_answer: whether an answer may be empty (False). The empty answer's score
            is the no-answer probability, `Reading.no_answer`. It comes first if the Predictor gives
            no answer, by its `threshold` or the model's own rule. Its score and those of spans
            need not sum to 1. Without this option every answer is a span
        max_answer_len: words of an answer at most (15)
        max_question_len: words of a question that are read (64)
        max_seq_len: words of a window of the context (400)
        doc_stride: words that two windows share (a quarter of `max_seq_len`)
        on_error: "return" gives the exception in place of the result of a question that cannot be
            answered. "raise" raises it, after the results before it if a generator was given

    Lengths that are not given are those of the Predictor; the figures in brackets are its defaults.
    Any other option is ignored, and one warning names all of them.
    """

    task = "question-answering"
    # What the pipeline of transformers had besides, and has no meaning here.
    feature_extractor = image_processor = processor = modelcard = framework = None
    device_placement = nullcontext

    def __init__(
        self, predictor: Predictor, strict: bool = False, **options: Unpack[Options]
    ) -> None:
        self.predictor = predictor
        self._strict = strict
        self._options, names = split_options(options)
        tell_ignored(names, strict)
        self._resized = lru_cache(maxsize=4)(self._resize)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options), (self.predictor, self._strict)

    def __repr__(self) -> str:
        return f"<QuestionAnsweringPipeline of {self.model!r}>"

    @property
    def model(self) -> Model:
        """The model of fabir that answers."""
        return self.predictor.model

    @property
    def device(self) -> Any:
        """Where the model is: "cpu", or of a model in torch its device."""
        network = getattr(self.model, "network", None)
        return Device("cpu") if network is None else next(network.parameters()).device

    def tokenizer(self, text: str) -> Tokens:
        """The words of a text, as the model reads them, and their places."""
        return tokenise(text, self.model.vocabulary.tokeniser)

    @staticmethod
    def create_sample(
        question: str | list[str], context: str | list[str]
    ) -> SquadExample | list[SquadExample]:
        """An example for a call, or of lists a list of them."""
        pairs = find_examples((), {"question": question, "context": context})
        samples = [SquadExample(*example(each, n)) for n, each in enumerate(pairs, 1)]
        return samples if isinstance(question, list) else samples[0]

    def save_pretrained(self, save_directory: str | os.PathLike[str], **unused: Any) -> None:
        """Write the model's files into a folder, which `pipeline(model=folder)` loads again.

        Raises:
            InputError: the model consists of several, or `save_directory` is a file.
        """
        tell_ignored(ignored(unused), self._strict)
        target = Path(save_directory)
        if target.exists() and not target.is_dir():
            raise InputError(f"cannot save to {target}: it is no folder")
        model: Any = self.model
        if hasattr(model, "save_pretrained"):
            model.save_pretrained(target)
        elif not hasattr(model, "folder"):
            raise InputError("an ensemble cannot be saved: save each of its models")
        elif model.folder.resolve() != target.resolve():
            copy_model(
                model.folder,
                target,
                no_answer_threshold=model.no_answer_threshold,
                calibration=model.calibration,
                confidence=model.confidence,
            )

    def __call__(self, *arguments: Any, **named: Unpack[Call]) -> Any:
        """Answer `question=` from `context=`, each a text or a list.

        Dicts or objects with both are accepted too: as arguments, as one list, or as `data=` or
        `X=`.

        Raises:
            InputError: an argument is not a question, or an option does not fit. If a dict lacks a
                key, it is a KeyError too.
        """
        questions = {name: value for name, value in named.items() if name in QUESTIONS}
        options, names = split_options({k: v for k, v in named.items() if k not in QUESTIONS})
        given = find_examples(arguments, questions)
        tell_ignored(names, self._strict)
        options = self._options | options
        if not isinstance(given, list):
            return self._answers(given, **options)
        if len(given) == 1 and isinstance(given[0], list):
            return list(self._answers(given[0], **options))
        results = list(self._answers(given, **options))
        return results[0] if len(results) == 1 else results

    predict = transform = __call__  # scikit-learn's names

    def _answers(
        self,
        given: Iterable[Any],
        top_k: int = 1,
        handle_impossible_answer: bool = False,
        on_error: OnError = "raise",
        **sizes: int,
    ) -> Iterator[Any]:
        predictor = self._resized(**sizes) if sizes else self.predictor
        for reading in predictor.read_items(given, example, top_k, on_error):
            if isinstance(reading, Exception):
                yield reading
                continue
            found = list(reading.answers)
            if handle_impossible_answer or not found:
                found = _with_empty(reading, bool(predictor.given(reading)))[:top_k]
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
        kept = old.window - old.stride if max_seq_len is None else window // 4
        shared = kept if doc_stride is None else doc_stride
        if shared >= window:
            default = ", its default" if max_seq_len is None else ""
            raise InputError(f"doc_stride {shared} must be less than max_seq_len {window}{default}")
        return Predictor(
            old.model,
            window=window,
            stride=window - shared,
            max_words=max_answer_len or old.max_words,
            max_question=max_question_len or old.max_question,
            memory=old.memory,
            threshold=old.threshold,
        )


def _with_empty(reading: Reading, given: bool) -> list[Answer]:
    """The answers and the empty one: before all if no answer is given, else after the best."""
    empty = Answer("", 0, 0, reading.no_answer)
    if not given:
        return [empty, *reading.answers]
    best, *others = reading.answers
    return [best, *sorted([*others, empty], key=lambda answer: -answer.score)]
