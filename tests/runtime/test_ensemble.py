"""Several models as one: the normalised geometric mean of what each says alone."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from asking import spans
from fabir.answer.passages import PassageCache
from fabir.answer.predictor import Predictor
from fabir.data.batches import Batch, collate
from fabir.errors import InputError
from fabir.readers import registered
from fabir.runtime.base import Model, load_model, logits
from fabir.runtime.ensemble import Ensemble
from fabir.runtime.locate import BUNDLED
from fabir.runtime.onnx_model import OnnxModel
from fabir.runtime.settings import Confidence
from fabir.runtime.torch_model import TorchModel
from fabir.text.tokens import tokenise
from fabir.text.vocabulary import NO_ANSWER, Vocabulary, WordTable
from factories import EXAMPLES, WORD_DIM, small_config, small_reader, small_vocabulary

PAIRS = [(question, passage) for question, passage, _, _ in EXAMPLES]
LONG = [(question, f"{passage} {passage} {passage}") for question, passage in PAIRS]
OTHER = "abbey", "the", "from", "only-here", "william"
WORDS = [*small_vocabulary().trained, *small_vocabulary().fixed, *OTHER, "Zhu", "é", "RAIN"]


@pytest.fixture(autouse=True)
def _full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchModel, "bfloat16", False)


def other_reader(name: str = "bidaf", *, no_answer: bool = False) -> TorchModel:
    """Of another network, width of word vectors, and vocabulary than `small_reader`."""
    torch.manual_seed(1)
    vocabulary = Vocabulary(
        trained=("rain", *[NO_ANSWER] * no_answer),
        fixed=OTHER,
        characters="tefW1é",
        max_characters=3,
    )
    config = small_config(registered(name).config())
    model = TorchModel.build(name, config, vocabulary, torch.randn(5, WORD_DIM + 3).half().float())
    model.network.eval()
    return model


def probabilities(model: Model, pairs: list[tuple[str, str]]) -> list[np.ndarray]:
    """Of each pair [2, words] the model's own probabilities of start and end."""
    table = WordTable(model.vocabulary)
    found = []
    for question, passage in pairs:
        words = tokenise(passage).words
        batch = collate(
            table, [table.number(words)], [table.number(tokenise(question).words)], [0], model.steps
        )
        length = len(words) + len(table.before)
        sides = np.stack(logits(model, batch)[:2])[:, 0, :length].astype(np.float64)
        found.append(np.exp(sides) / np.exp(sides).sum(axis=1, keepdims=True))
    return found


@pytest.mark.parametrize("no_answer", [False, True])
def test_probabilities_are_the_normalised_geometric_mean(no_answer: bool) -> None:
    models = [small_reader(no_answer=no_answer), other_reader(no_answer=no_answer)]
    models.append(small_reader("qanet", no_answer=no_answer))
    said = [probabilities(model, PAIRS) for model in models]
    for row, mean in enumerate(probabilities(Ensemble(models), PAIRS)):
        expected = np.prod([each[row] for each in said], axis=0) ** (1 / 3)
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(mean, expected, rtol=1e-4, atol=1e-7)


def test_the_mean_holds_over_all_windows_of_a_passage() -> None:
    """The score of an answer is its probability under the mean of whole passages' probabilities."""
    models = [small_reader(), other_reader()]
    question, passage = LONG[0]
    cut = Predictor(Ensemble(models), window=20, stride=15)
    (answer,) = cut.answer(question, passage)
    parts = PassageCache(20, 15).parts(passage)
    assert len(parts) > 2

    def of_windows(model: Model) -> np.ndarray:
        table = WordTable(model.vocabulary)
        asked = table.number(tokenise(question).words)
        sides = []
        for part in parts:
            batch = collate(table, [table.number(part.words)], [asked], [0], model.steps)
            sides.append(np.stack(logits(model, batch)[:2])[:, 0, : len(part.words)])
        joined = np.concatenate(sides, axis=1).astype(np.float64)
        return np.exp(joined) / np.exp(joined).sum(axis=1, keepdims=True)

    mean = np.sqrt(np.multiply(*map(of_windows, models)))
    mean /= mean.sum(axis=1, keepdims=True)
    words = [word.lower() for part in parts for word in part.words]
    ends = np.cumsum([len(part.words) for part in parts])
    said = [word.lower() for word in tokenise(answer.text).words]
    # Wherever the passage has these words, in one window, it says the same.
    places = [
        (first, last)
        for first in range(len(words))
        if words[first : (last := first + len(said) - 1) + 1] == said
        and not any(first < end <= last for end in ends)
    ]
    start, end = (
        side[list(place)].sum() for side, place in zip(mean, zip(*places, strict=True), strict=True)
    )
    assert len(places) > 1
    assert answer.score == pytest.approx(start * end, rel=1e-3)


def test_a_model_with_itself_says_what_it_says_alone() -> None:
    alone = Predictor(small_reader())
    assert spans(Predictor(Ensemble([small_reader(), small_reader()])), LONG) == spans(alone, LONG)
    fast = load_model(BUNDLED)
    readings = (Predictor(model).read_all(LONG, 3) for model in (fast, Ensemble([fast, fast])))
    for one, both in zip(*readings, strict=True):
        assert [(a.start, a.end) for a in both.answers] == [(a.start, a.end) for a in one.answers]
        assert both.no_answer == pytest.approx(one.no_answer, rel=1e-5)
        assert both.answers[0].score == pytest.approx(one.answers[0].score, rel=1e-5)


@given(st.lists(st.sampled_from(WORDS), min_size=1))
def test_each_model_reads_the_numbers_of_its_own_vocabulary(words: list[str]) -> None:
    seen: list[Batch[np.ndarray]] = []
    models = [small_reader(), other_reader()]
    for model in models:
        model.embed = lambda batch, questions_only: seen.append(batch)  # pyright: ignore
    ensemble = Ensemble(models)
    batches = []
    for model in (ensemble, *models):
        table = WordTable(model.vocabulary)
        number = table.number(words)
        batches.append(collate(table, [number], [number], [0], ensemble.steps))
    ensemble.embed(batches[0])
    for found, expected in zip(seen, batches[1:], strict=True):
        np.testing.assert_array_equal(found.words, expected.words)
        width = found.characters.shape[1]
        np.testing.assert_array_equal(found.characters, expected.characters[:, :width])
        assert not expected.characters[:, width:].any()
        np.testing.assert_array_equal(found.passage, expected.passage)


def test_questions_about_a_passage_that_was_read_before_have_the_same_answers() -> None:
    ensemble = Ensemble([small_reader(), other_reader(), load_model(BUNDLED)])
    fresh = [spans(Predictor(ensemble), [pair])[0] for pair in LONG]
    predictor = Predictor(ensemble)
    assert spans(predictor, LONG) == fresh
    assert spans(predictor, LONG[::-1]) == fresh[::-1]
    predictor.forget()
    assert spans(predictor, LONG) == fresh
    assert spans(pickle.loads(pickle.dumps(predictor)), LONG) == fresh


def test_models_of_two_tokenisers_are_refused() -> None:
    models = [small_reader(), small_reader()]
    models[1].vocabulary = replace(models[1].vocabulary, tokeniser="nltk")
    with pytest.raises(InputError, match="split texts by other tokenisers"):
        Ensemble(models)
    assert Ensemble(models[1:]).vocabulary.tokeniser == "nltk"


def with_head(threshold: float) -> TorchModel:
    config = replace(registered("crossconv").config(), no_answer_hidden=4)
    model = small_reader("crossconv", config)
    model.no_answer_threshold = threshold
    return model


def test_only_models_that_can_tell_say_that_there_is_no_answer() -> None:
    first, second, without = with_head(0.3), with_head(0.7), small_reader()
    with torch.no_grad():
        for weight in second.network.parameters():
            weight.mul_(1.1)
    assert without.no_answer_threshold == 1
    ensemble = Ensemble([first, without, second])
    assert ensemble.no_answer_threshold == 0.5
    table = WordTable(ensemble.vocabulary)
    question, passage = (table.number(tokenise(text).words) for text in PAIRS[0])
    batch = collate(table, [passage], [question], [0])
    said = (logits(Ensemble(models), batch).no_answer for models in ([first], [second]))
    one, two = (head for head in said if head is not None)
    assert not np.allclose(one, two)
    mean = logits(ensemble, batch).no_answer
    assert mean is not None
    np.testing.assert_allclose(mean, (one + two) / 2, rtol=1e-5)
    assert logits(Ensemble([without]), batch).no_answer is None
    assert Ensemble([without, without]).no_answer_threshold == 1


def test_weights_of_confidence_are_the_mean_of_those_that_there_are() -> None:
    first, second, third = small_reader(), small_reader(), small_reader()
    first.confidence = Confidence((1.0,) * 10, (4.0,) * 10)
    second.confidence = Confidence((3.0,) * 10)
    found = Ensemble([first, second, third]).confidence
    assert found == Confidence((2.0,) * 10, (4.0,) * 10)
    assert Ensemble([third, third]).confidence == Confidence()


def test_models_that_mean_no_answer_in_two_ways_are_refused() -> None:
    models = [small_reader(), small_reader(no_answer=True), small_reader()]
    with pytest.raises(InputError, match="number 2 of 3 can point to a place that means no answer"):
        Ensemble(models)
    with pytest.raises(InputError, match="no model: name one or more"):
        Predictor.load([])


def test_folders_are_loaded_as_one_model(tmp_path: Path) -> None:
    small_reader().save(tmp_path)
    ensemble = Predictor.load(["fast", tmp_path]).model
    assert isinstance(ensemble, Ensemble)
    assert [type(model) for model in ensemble.models] == [OnnxModel, TorchModel]
    assert isinstance(Predictor.load([tmp_path]).model, TorchModel)
    assert isinstance(Predictor.load(tmp_path).model, TorchModel)
