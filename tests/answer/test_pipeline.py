"""Code for the question-answering pipeline of transformers 4 runs with one import changed."""

import pickle
import re
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import IterableDataset

from fabir import pipeline
from fabir.answer.pipeline import QuestionAnsweringPipeline
from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.errors import InputError, InputWarning
from fabir.runtime.ensemble import Ensemble
from fabir.runtime.locate import BUNDLED
from factories import ABBEY, RAIN, small_reader

QUESTION = "What pulls the drops?"


@dataclass
class SquadExample:
    """The attributes of transformers' SquadExample that the pipeline needs."""

    question_text: str
    context_text: str


@pytest.fixture(scope="module")
def ask() -> QuestionAnsweringPipeline:
    return pipeline("question-answering", model=small_reader(), device=-1)


def test_one_answer_is_a_dict(ask: QuestionAnsweringPipeline) -> None:
    result = ask(question=QUESTION, context=RAIN)
    assert list(result) == ["score", "start", "end", "answer"]
    assert result["answer"] == RAIN[result["start"] : result["end"]]
    (best,) = ask.predictor.answer(QUESTION, RAIN)
    assert (result["score"], result["start"]) == (best.score, best.start)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), {"question": [QUESTION], "context": [RAIN]}),
        ((QUESTION, RAIN), {}),
        (({"question": QUESTION, "context": RAIN},), {}),
        (([{"question": QUESTION, "context": RAIN}],), {}),
        ((SquadExample(QUESTION, RAIN),), {}),
        (([SquadExample(QUESTION, RAIN)],), {"align_to_words": True}),
        (([{"question": QUESTION, "context": RAIN, "id": 3, "answers": {}}],), {}),
        ((), {"data": {"question": QUESTION, "context": RAIN}}),
        ((), {"X": [SquadExample(QUESTION, RAIN)], "padding": None, "max_question_len": 9}),
        ((QUESTION, RAIN), {"top_k": np.int64(1), "max_answer_len": np.int32(15)}),
    ],
)
def test_one_question_however_it_is_given(
    ask: QuestionAnsweringPipeline, arguments: Any, named: dict[str, Any]
) -> None:
    assert ask(*arguments, **named) == ask(question=QUESTION, context=RAIN)


def test_a_dict_of_lists_gives_a_list(ask: QuestionAnsweringPipeline) -> None:
    result = ask(QUESTION, RAIN)
    assert ask({"question": [QUESTION], "context": [RAIN]}) == [result]
    rows = {"id": [1, 2], "question": [QUESTION, QUESTION], "context": RAIN}
    assert ask(rows) == ask([rows]) == [result, result]


class Rows:
    """A dataset in torch's sense, which knows no other end than its length."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Any:
        return self.rows[row % len(self.rows)]


def test_a_dataset_in_torchs_sense_is_read_as_a_generator(ask: QuestionAnsweringPipeline) -> None:
    pairs = [{"question": QUESTION, "context": text} for text in (RAIN, ABBEY)]
    results = ask(Rows(pairs))
    assert isinstance(results, types.GeneratorType)
    assert list(results) == ask(pairs)
    assert list(ask(Rows([SquadExample(QUESTION, RAIN)]))) == [ask(QUESTION, RAIN)]


def test_a_stream_of_torch_is_read_as_a_generator(ask: QuestionAnsweringPipeline) -> None:
    class Stream(IterableDataset[dict[str, str]]):
        def __iter__(self) -> Iterator[dict[str, str]]:
            yield {"question": QUESTION, "context": RAIN}

    results = ask(Stream())
    assert isinstance(results, types.GeneratorType)
    assert list(results) == [ask(QUESTION, RAIN)]


def test_samples(ask: QuestionAnsweringPipeline) -> None:
    sample = ask.create_sample(QUESTION, RAIN)
    assert ask(sample) == ask(QUESTION, RAIN)
    assert ask.create_sample([QUESTION, QUESTION], RAIN) == [sample, sample]
    with pytest.raises(InputError, match="questions: 2, contexts: 1"):
        ask.create_sample([QUESTION, QUESTION], [RAIN])


def test_one_warning_names_all_arguments_without_effect(ask: QuestionAnsweringPipeline) -> None:
    idle: dict[str, Any] = {"truncation": True, "batch_size": 8, "topK": 3, "padding": None}
    with pytest.warns(InputWarning) as warned:
        found = ask(QUESTION, RAIN, **idle)
    assert found == ask(QUESTION, RAIN)
    (one,) = warned
    assert str(one.message).startswith(
        "arguments without effect in fabir: truncation, batch_size, topK; see docs/"
    )
    assert one.filename == __file__
    loading: dict[str, Any] = {"device_map": "auto", "use_fast": False, "dtype": "auto"}
    with pytest.warns(InputWarning) as warned:
        pipeline(None, small_reader(), "c", "t", torch_dtype="half", padding=True, **loading)
    (one,) = warned
    assert str(one.message).startswith(
        "arguments without effect in fabir: config, tokenizer, use_fast, device_map, "
    )
    assert one.filename == __file__
    for model in (None, "fast", BUNDLED, small_reader(), Predictor(small_reader())):
        with pytest.warns(InputWarning, match="without effect in fabir: revision; see"):
            pipeline(model=model, revision="626af31")


@pytest.mark.parametrize("device", [-1, "cpu", torch.device("cpu"), None])
def test_what_is_done_anyway_costs_no_warning(device: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask = pipeline(model=small_reader(), device=device, dtype="auto", align_to_words=True)
        ask(QUESTION, RAIN, padding=None)


def test_strict_refuses_what_a_warning_would_tell() -> None:
    with pytest.raises(InputError, match="without effect in fabir: revision"):
        pipeline(model="fast", revision="626af31", strict=True)
    with pytest.raises(InputError, match="without effect in fabir: tokenizer, padding"):
        pipeline(model=small_reader(), tokenizer="any", padding=True, strict=True)
    ask = pickle.loads(pickle.dumps(pipeline(model=small_reader(), strict=True, top_k=2)))
    assert len(ask(QUESTION, RAIN)) == 2
    with pytest.raises(InputError, match="without effect in fabir: truncation"):
        ask(QUESTION, RAIN, truncation=True)


def test_attributes(ask: QuestionAnsweringPipeline) -> None:
    assert ask.model is ask.predictor.model
    assert (ask.task, str(ask.device), ask.device.type) == ("question-answering", "cpu", "cpu")
    assert ask.tokenizer("It rains.").words == ["It", "rains", "."]
    assert ask.framework is ask.modelcard is ask.feature_extractor is None
    bundled = pipeline()
    assert (bundled.device, bundled.device.type) == ("cpu", "cpu")
    with ask.device_placement():
        pair = {"question": QUESTION, "context": RAIN}
        assert ask.predict(pair) == ask.transform(pair) == ask(pair)


def test_what_is_printed_of_a_model_is_one_short_line() -> None:
    model = small_reader()
    assert re.fullmatch(r"<TorchModel: \w+, [\d,]+ weights, [\d,]+ words>", repr(model))
    several = pipeline(model=Ensemble([model, model]))
    assert repr(several) == f"<QuestionAnsweringPipeline of <Ensemble of {model!r}, {model!r}>>"
    fast = Predictor.load()
    assert re.fullmatch(r"<OnnxModel fast: crossconv, [\d,]+ words>", repr(fast.model))
    assert repr(fast) == f"<Predictor of {fast.model!r}>"


def test_a_saved_model_is_loaded_again(ask: QuestionAnsweringPipeline, tmp_path: Path) -> None:
    ask.save_pretrained(tmp_path / "torch")
    assert pipeline(model=tmp_path / "torch")(QUESTION, RAIN) == ask(QUESTION, RAIN)
    bundled = pipeline()
    with pytest.warns(InputWarning, match="safe_serialization"):
        bundled.save_pretrained(str(tmp_path / "onnx"), safe_serialization=True)
    saved = pipeline(model=tmp_path / "onnx")
    assert saved(QUESTION, RAIN) == bundled(QUESTION, RAIN)
    saved.save_pretrained(tmp_path / "onnx")
    assert pipeline(model=tmp_path / "onnx")(QUESTION, RAIN) == bundled(QUESTION, RAIN)
    saved.model.no_answer_threshold = 0.25
    saved.save_pretrained(tmp_path / "changed")
    assert Predictor.load(tmp_path / "changed").model.no_answer_threshold == 0.25
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="it is no folder"):
        ask.save_pretrained(tmp_path / "file")
    with pytest.raises(InputError, match="an ensemble cannot be saved"):
        pipeline(model=Ensemble([small_reader(), small_reader()])).save_pretrained(tmp_path)


def test_several_questions_give_a_list(ask: QuestionAnsweringPipeline) -> None:
    questions = [QUESTION, "Where does rain fall from?"]
    results = ask(question=questions, context=RAIN)
    assert [type(result) for result in results] == [dict, dict]
    both = [RAIN, ABBEY]
    pairs = [{"question": q, "context": c} for q, c in zip(questions, both, strict=True)]
    assert ask(question=questions, context=both) == ask(pairs) == ask(*pairs)
    lazily = ask(pair for pair in pairs)
    assert isinstance(lazily, types.GeneratorType)
    assert list(lazily) == ask(pairs)


def test_several_answers_give_a_list(ask: QuestionAnsweringPipeline) -> None:
    results = ask(question=QUESTION, context=RAIN, top_k=3)
    assert len(results) == 3
    assert results[0] == pytest.approx(ask(question=QUESTION, context=RAIN))
    with pytest.warns(UserWarning, match="topk is deprecated"):
        assert ask(question=QUESTION, context=RAIN, topk=3) == results
    one_word = ask(question="What?", context="Rain", top_k=3)
    assert one_word["answer"] == "Rain"


def test_options_of_the_pipeline_go_for_every_call() -> None:
    ask = pipeline(model=small_reader(), top_k=2)
    assert len(ask(QUESTION, RAIN)) == 2
    assert isinstance(ask(QUESTION, RAIN, top_k=1), dict)


def test_lengths(ask: QuestionAnsweringPipeline) -> None:
    for result in ask(QUESTION, RAIN, top_k=5, max_answer_len=1):
        assert len(result["answer"].split()) == 1
    long = " ".join([RAIN, ABBEY] * 20)
    windows: dict[str, Any] = {"max_seq_len": 50, "doc_stride": 20}
    narrow = ask(question=QUESTION, context=long, **windows)
    other = Predictor(ask.predictor.model, window=50, stride=30)
    assert narrow["score"] == pytest.approx(other.answer(QUESTION, long)[0].score)
    with pytest.raises(ValueError, match=r"doc_stride 128 must be less than max_seq_len 10$"):
        ask(question=QUESTION, context=long, max_seq_len=10, doc_stride=128)
    with pytest.raises(ValueError, match="doc_stride 512 must be less than max_seq_len 400, its"):
        ask(question=QUESTION, context=long, doc_stride=512)


def test_lengths_that_are_not_given_are_those_of_the_predictor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Predictor(small_reader(), window=20, stride=5, memory=0)
    ask, long = pipeline(model=own), " ".join([RAIN, ABBEY] * 20)
    read = []
    encode = own.model.encode
    monkeypatch.setattr(
        own.model, "encode", lambda *given: read.append(len(given[0].passage)) or encode(*given)
    )
    expected = ask(QUESTION, long)
    windows = read.copy()
    for _ in range(2):  # no memory: it is read again
        read.clear()
        assert ask(QUESTION, long, max_answer_len=15) == expected
        assert read == windows


EMPTY = {"start": 0, "end": 0, "answer": ""}


class Certain:
    """In place of a Predictor: "Rain" with the score, and the no-answer probability, it is told."""

    def __init__(self, score: float, no_answer: float) -> None:
        self.reading = Reading(
            [Answer("Rain", 0, 4, score), Answer("falls", 5, 10, 0.01)], no_answer
        )

    def read_items(self, items: Iterable[Any], _: Any, top_k: int, on_error: str) -> Any:
        for _ in items:
            yield replace(self.reading, answers=self.reading.answers[:top_k])

    def given(self, reading: Reading) -> list[Answer]:
        return reading.given(0.5)


def ask_certain(score: float, no_answer: float, **options: Any) -> Any:
    predictor: Any = Certain(score, no_answer)
    return QuestionAnsweringPipeline(predictor, **options)(QUESTION, "Rain falls.")


def test_the_empty_answer_is_first_if_the_predictor_gives_no_answer() -> None:
    impossible = {"handle_impossible_answer": True}
    assert ask_certain(0.9, 0.6, **impossible) == {"score": 0.6, **EMPTY}
    assert ask_certain(0.2, 0.3, **impossible)["answer"] == "Rain"
    results = ask_certain(0.6, 0.3, **impossible, top_k=3)
    assert [each["answer"] for each in results] == ["Rain", "", "falls"]
    assert results[1] == {"score": 0.3, **EMPTY}
    results = ask_certain(0.3, 0.6, **impossible, top_k=2)
    assert [each["answer"] for each in results] == ["", "Rain"]


def test_without_the_option_no_answer_is_empty_however_likely_that_would_be() -> None:
    assert ask_certain(0.01, 0.99)["answer"] == "Rain"
    assert [each["answer"] for each in ask_certain(0.01, 0.99, top_k=3)] == ["Rain", "falls"]
    model = small_reader(no_answer=True)
    model.no_answer_threshold = 0.0
    strict = Predictor(model, threshold=1.0)
    assert strict.answer(QUESTION, RAIN) == []
    assert pipeline(model=strict)(QUESTION, RAIN)["answer"] != ""


def test_the_score_of_the_empty_answer_is_the_no_answer_probability() -> None:
    predictor = Predictor(small_reader(no_answer=True))
    qa = pipeline(model=predictor, handle_impossible_answer=True)
    results = qa(QUESTION, RAIN, top_k=100)
    reading = next(predictor.read_all([(QUESTION, RAIN)]))
    (empty,) = [each for each in results if not each["answer"]]
    assert empty == {"score": pytest.approx(reading.no_answer, rel=1e-3), **EMPTY}
    strict = pipeline(model=Predictor(predictor.model, threshold=1), handle_impossible_answer=True)
    assert strict(QUESTION, RAIN) == empty
    lenient = pipeline(model=Predictor(predictor.model, threshold=0), handle_impossible_answer=True)
    assert lenient(QUESTION, RAIN)["answer"] != ""


def test_a_blank_context_has_no_answer_but_the_empty_one() -> None:
    always = pipeline(model=small_reader(), handle_impossible_answer=True)
    assert always(QUESTION, " ") == {"score": 1.0, **EMPTY}
    assert always(QUESTION, " ", handle_impossible_answer=False) == {"score": 1.0, **EMPTY}
    pairs = [{"question": QUESTION, "context": context} for context in (RAIN, " \n", RAIN)]
    spans = pipeline(model=small_reader())
    assert [bool(result["answer"]) for result in spans(pairs)] == [True, False, True]
    assert spans(QUESTION, " ", top_k=3) == {"score": 1.0, **EMPTY}


def test_a_question_that_cannot_be_answered_costs_no_other_its_answer(
    ask: QuestionAnsweringPipeline,
) -> None:
    good = {"question": QUESTION, "context": RAIN}
    found = ask([good, {"question": QUESTION, "context": None}, {}, good], on_error="return")
    assert found[0] == found[3] == ask(good)
    assert isinstance(found[1], InputError)
    assert "question 2: `context` is a text" in str(found[1])
    assert isinstance(found[2], KeyError)
    results = ask(pair for pair in (good, good, {"question": " ", "context": RAIN}, good))
    assert [next(results), next(results)] == [found[0], found[0]]
    with pytest.raises(InputError, match="question 3 is empty"):
        next(results)


def test_words_of_a_question_beyond_its_limit_are_not_read(ask: QuestionAnsweringPipeline) -> None:
    with pytest.warns(InputWarning, match="longer than 2 words"):
        found = ask(QUESTION, RAIN, max_question_len=2)
    assert found == pytest.approx(ask("What pulls", RAIN))


@pytest.mark.parametrize(
    ("arguments", "named", "error", "message"),
    [
        ((), {}, ValueError, "name a question and a context"),
        ((), {"question": "Who?"}, ValueError, r"context=\.\.\.; given: question$"),
        ((), {"questions": "Who?", "contexts": RAIN}, ValueError, "name a question and a context"),
        ((QUESTION,), {}, ValueError, "one text is not enough"),
        ((QUESTION,), {"context": RAIN}, ValueError, "as arguments and also by name: context"),
        ((), {"question": b"Who?", "context": RAIN}, ValueError, "are texts, or lists of texts"),
        (
            (),
            {"data": [], "question": "Who?", "context": RAIN},
            ValueError,
            "given: data, question",
        ),
        ((["Who?", "When?"], [RAIN, ABBEY]), {}, ValueError, "a SquadExample, not list"),
        (([(QUESTION, RAIN)] * 2,), {}, ValueError, "question 1 is a dict .*, not tuple"),
        (({"question": ["Who?"], "context": []},), {}, ValueError, "questions: 1, contexts: 0"),
        (({"question": ["Who?"]},), {}, KeyError, '^the dict of .* without the key "context"$'),
        (([{"question": ["Who?"]}],), {}, InputError, 'without the key "context"$'),
        (({"question": 3, "context": RAIN},), {}, ValueError, "`question` is a text"),
        ((3,), {}, ValueError, "a SquadExample, not int"),
        ((), {"question": ["Who?"], "context": []}, ValueError, "questions: 1, contexts: 0"),
        (({"question": "Who?"},), {}, KeyError, '^question 1 is a dict without the key "context"$'),
        (({"context": RAIN},), {}, InputError, '^question 1 is a dict without the key "question"$'),
        ((), {"question": "", "context": RAIN}, ValueError, "`question` is a text"),
        ((), {"question": "Who?", "context": None}, ValueError, "are texts, or lists"),
        ((), {"question": None, "context": RAIN}, ValueError, "are texts, or lists"),
        ((QUESTION, RAIN), {"top_k": 0}, ValueError, "top_k must be a whole number, at least 1"),
        ((QUESTION, RAIN), {"top_k": True}, ValueError, "top_k must be a whole number"),
        ((QUESTION, RAIN), {"doc_stride": -1}, ValueError, "doc_stride must be .* at least 0"),
        ((QUESTION, RAIN), {"top_k": 2.0}, ValueError, "top_k must be a whole number"),
        ((QUESTION, RAIN), {"max_seq_len": 384.0}, ValueError, "max_seq_len must be"),
        ((QUESTION, RAIN), {"on_error": "ignore"}, ValueError, "on_error is one of raise, return"),
        ((QUESTION, RAIN), {"max_answer_len": 0}, ValueError, "max_answer_len must be"),
    ],
)
def test_what_makes_no_question_is_refused(
    ask: QuestionAnsweringPipeline, arguments: Any, named: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        ask(*arguments, **named)


def test_a_data_frame_is_told_the_way(ask: QuestionAnsweringPipeline) -> None:
    frame = pytest.importorskip("pandas").DataFrame({"question": ["Who?"], "context": [RAIN]})
    with pytest.raises(InputError, match=r"a DataFrame goes to fabir\.answer_frame"):
        ask(frame)


def test_models_and_tasks(tmp_path: Path) -> None:
    small_reader().save(tmp_path)
    found = [pipeline(model=model)(QUESTION, RAIN) for model in (tmp_path, str(tmp_path))]
    assert found[0] == found[1]
    predictor = Predictor.load(tmp_path)
    assert pipeline(model=predictor).predictor is predictor
    with pytest.raises(InputError, match="not 'summarization'"):
        pipeline("summarization")
    with pytest.raises(InputError, match="a model or a Predictor, not int"):
        pipeline(model=3)
    idle: dict[str, Any] = {"top_q": 3}
    with pytest.warns(InputWarning, match="without effect in fabir: top_q"):
        pipeline(model=predictor, **idle)


def test_the_module_does_not_hide_the_function() -> None:
    import fabir
    import fabir.answer.pipeline

    assert fabir.pipeline is fabir.answer.pipeline.pipeline
    assert "fabir.pipeline" not in sys.modules
