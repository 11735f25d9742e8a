"""Which answers of a model are given when its answers to a data set are scored, and its name."""

from dataclasses import replace
from pathlib import Path

import pytest

from fabir.answer.files import predictions
from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.data import squad
from fabir.data.dataset import Dataset, Passage, Question
from fabir.evaluation.model import given_by, model_names
from factories import small_reader

FOUND = {"one": Reading([Answer("rain", 0, 4, 0.6)], 0.7)}


@pytest.fixture
def data() -> Dataset:
    question = Question("one", "What falls?", (squad.Answer("rain", 0),))
    return Dataset((Passage("t", "rain falls", (question,)),), "1.1")


@pytest.fixture
def predictor() -> Predictor:
    model = small_reader()
    model.no_answer_threshold = 0.5
    return Predictor(model)


def test_every_question_of_data_with_answers_is_answered(
    predictor: Predictor, data: Dataset
) -> None:
    assert predictions(FOUND, predictor.given) == {"one": ""}
    assert predictions(FOUND, given_by(predictor, data)) == {"one": "rain"}


def test_the_model_decides_where_a_question_may_have_no_answer(
    predictor: Predictor, data: Dataset
) -> None:
    passage = data.passages[0]
    unknown = replace(passage.questions[0], answers=())
    to_predict = Dataset((replace(passage, questions=(unknown,)),), "1.1")
    for each in (to_predict, replace(data, version="v2.0")):
        assert predictions(FOUND, given_by(predictor, each)) == {"one": ""}


def test_a_threshold_holds_for_all_data(predictor: Predictor, data: Dataset) -> None:
    strict = Predictor(predictor.model, threshold=0.4)
    assert predictions(FOUND, given_by(strict, data)) == {"one": ""}


@pytest.mark.parametrize(
    ("models", "names"),
    [
        ([None], ["fast"]),
        (["fast", "accurate"], ["fast", "accurate"]),
        (["runs/mine"], ["mine"]),
        (["runs/accurate"], ["runs/accurate"]),
        (["fast", "runs/fast", "runs/mine"], ["fast", "runs/fast", "runs/mine"]),
    ],
)
def test_no_other_model_has_the_name_of_a_bundled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: list[str | None], names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "fast", "accurate"):
        Path("runs", name).mkdir(parents=True)
    assert model_names(models) == names
