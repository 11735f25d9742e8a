"""Probabilities that are fitted on held-back questions."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from fabir.answer.files import read_dataset
from fabir.answer.predictor import Predictor, Reading
from fabir.cli import main
from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.data.squad import read_squad, write_squad
from fabir.errors import InputError
from fabir.evaluation.calibration import (
    calibrate,
    expected_calibration_error,
    logistic_regression,
)
from fabir.evaluation.model import evaluate_model
from fabir.runtime.locate import BUNDLED
from fabir.runtime.settings import FEATURES
from fabir.runtime.store import copy_model
from fabir.runtime.torch_model import TorchModel
from factories import reading, small_reader

OWN = Path(__file__).parents[1] / "data_files" / "own-questions.json"


@pytest.fixture(scope="module")
def data() -> Dataset:
    """100 questions of ten articles, and as many that ask the next article's questions in vain."""
    passages = read_squad(OWN).passages
    asked = [
        replace(
            passage,
            questions=(
                *passage.questions,
                *(
                    replace(each, id=f"{each.id}-vain", answers=(), impossible=True)
                    for each in other.questions
                ),
            ),
        )
        for passage, other in zip(passages, (*passages[1:], passages[0]), strict=True)
    ]
    return Dataset(tuple(asked), "v2.0")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Predictor:
    """It answers with a question's first word, and "no" of a text of several lines. The second word
    is the feature `span` of that answer; the others are 0."""

    def read_all(pairs: Sequence[tuple[str, str]], top_k: int = 1) -> Iterator[Reading]:
        for question, text in pairs:
            answer, span = question.split()
            said = reading("no" if "\n" in text else answer, 0.5)
            yield replace(said, features=(1.0, float(span), *[0.0] * (len(FEATURES) - 2)))

    predictor = Predictor(small_reader())
    monkeypatch.setattr(predictor, "read_all", read_all)
    return predictor


def passage_for_told(title: str, answerable: Sequence[str], vain: Sequence[str] = ()) -> Passage:
    """Questions for `told`; "yes" is right, or nothing."""
    asked = [(text, (Answer("yes", 0),)) for text in answerable] + [(text, ()) for text in vain]
    questions = (
        Question(f"{title}-{number}", text, answers, impossible=not answers)
        for number, (text, answers) in enumerate(asked)
    )
    return Passage("yes", title, tuple(questions))


def test_the_regression_finds_the_coefficients_that_made_the_data() -> None:
    random = np.random.default_rng(0)
    inputs = np.stack([np.ones(50_000), *random.normal(size=(2, 50_000))], axis=1)
    wanted = np.array([-0.5, 2.0, -1.0])
    targets = random.random(50_000) < 1 / (1 + np.exp(-inputs @ wanted))
    found = logistic_regression(inputs, targets, np.ones(50_000))
    assert found == pytest.approx(wanted, abs=0.06)
    # A weight counts like copies of its row.
    some = inputs[:200], targets[:200]
    twice = [np.concatenate([each, each[:50]]) for each in some]
    weights = np.where(np.arange(200) < 50, 2.0, 1.0)
    assert logistic_regression(some[0], some[1], weights) == pytest.approx(
        logistic_regression(twice[0], twice[1], np.ones(250)), abs=1e-4
    )


def test_the_regression_does_not_leap_over_its_maximum() -> None:
    """Newton's steps grow without end here, unless they are halved."""
    score = np.array([453.87, -0.07, -87.90, 23.12, -2.22, -10.61])
    inputs, right = np.stack([np.ones(6), score], axis=1), np.array([0, 0, 1, 0, 0, 1])
    weights = np.array([0.63, 4.99, 10.51, 6.08, 21.38, 0.16])
    found = np.array(logistic_regression(inputs, right, weights))
    slope = inputs.T @ (weights * (right - 1 / (1 + np.exp(-inputs @ found)))) - 1e-3 * found
    assert np.abs(slope).max() < 1e-3


def test_the_calibration_error_of_a_small_example() -> None:
    said = np.array([0.1, 0.15, 0.9, 1.0])
    was = np.array([0.0, 1.0, 1.0, 1.0])
    # Two bins: 0.25 said and 1 of 2 came true; 1.9 said and 2 of 2 came true.
    assert expected_calibration_error(said, was, 2) == pytest.approx((0.75 + 0.1) / 4)
    assert expected_calibration_error(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0
    weights = np.array([1.0, 3.0, 2.0, 0.0])  # as if some were there several times
    wanted = expected_calibration_error(np.repeat(said, [1, 3, 2, 0]), np.repeat(was, [1, 3, 2, 0]))
    assert expected_calibration_error(said, was, weights=weights) == pytest.approx(wanted)


def test_calibrated_probabilities_tell_questions_apart(data: Dataset) -> None:
    predictor = Predictor.load()
    found = calibrate(predictor, data)
    assert len(found.confidence.score) == len(found.confidence.no_answer) == len(FEATURES)
    predictor.model.confidence = found.confidence
    pairs = [(question.text, passage.text) for passage, question in data.questions]
    readings = list(predictor.read_all(pairs))
    vain = np.array([question.impossible for _, question in data.questions])
    none = np.array([reading.no_answer for reading in readings])
    scores = np.array([reading.answers[0].score for reading in readings])
    assert none[vain].mean() > none[~vain].mean() + 0.15
    assert scores[~vain].mean() > scores[vain].mean() + 0.15
    assert 0 < found.no_answer_threshold < 1
    assert found.report["questions"] == len(data)
    for kind in ("score", "no_answer"):
        assert found.report[kind].keys() == {"passages", "articles"}
        assert all(0 <= error < 0.3 for error in found.report[kind].values())


def test_an_article_is_one_wherever_its_passages_stand(data: Dataset) -> None:
    passages = data.passages[:6]
    by_article = [replace(each, title=str(n // 2)) for n, each in enumerate(passages)]
    apart = [*by_article[::2], *by_article[1::2]]
    predictor = Predictor.load()
    reports = [
        calibrate(predictor, Dataset(tuple(each), "v2.0")).report for each in (by_article, apart)
    ]
    for kind in ("score", "no_answer"):
        assert reports[1][kind] == pytest.approx(reports[0][kind], rel=1e-3)


def test_the_command_writes_the_probabilities_into_the_folder(
    data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "reader"
    TorchModel.load(BUNDLED).save(folder)
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    half = len(data.passages) // 2
    for file, passages in zip(files, (data.passages[:half], data.passages[half:]), strict=True):
        write_squad(replace(data, passages=passages), file)
    main(["calibrate", str(folder), "--data", *map(str, files)])
    report = json.loads(capsys.readouterr().out)
    model = TorchModel.load(folder)  # its checksums are right
    assert model.no_answer_threshold == report["no_answer_threshold"]
    assert model.confidence == calibrate(Predictor(model), data).confidence
    model.save(tmp_path / "copy")
    assert TorchModel.load(tmp_path / "copy").confidence == model.confidence


def test_files_may_share_ids(
    data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As tables do, whose ids are the numbers of their rows."""
    reports = []
    for shared in (False, True):
        folder = tmp_path / f"reader-{shared}"
        copy_model(BUNDLED, folder)
        files = []
        for number, passages in enumerate((data.passages[:4], data.passages[4:8])):
            ids = map(str, count(1 if shared else 1000 * number + 1))
            asked = [
                replace(each, questions=tuple(replace(q, id=next(ids)) for q in each.questions))
                for each in passages
            ]
            files.append(tmp_path / f"{number}-{shared}.json")
            write_squad(Dataset(tuple(asked), "v2.0"), files[-1])
        main(["calibrate", str(folder), "--data", *map(str, files)])
        confidence = Predictor.load(folder).model.confidence
        reports.append((capsys.readouterr().out, confidence))
    assert reports[0] == reports[1]


@pytest.mark.parametrize("vain", [False, True])
def test_answers_that_are_all_right_are_refused(data: Dataset, vain: bool) -> None:
    """Unanswerable questions, which no answer is right for, do not count."""
    predictor = Predictor.load()
    right = []
    for passage in data.passages:
        asked = [each for each in passage.questions if not each.impossible]
        pairs = [(each.text, passage.text) for each in asked]
        kept = [
            replace(each, answers=(Answer(reading.answers[0].text, reading.answers[0].start),))
            for each, reading in zip(asked, predictor.read_all(pairs), strict=True)
        ]
        others = [each for each in passage.questions if each.impossible and vain]
        right.append(replace(passage, questions=(*kept[:2], *others)))
    # Each article's questions must be right in the article too: it is its only passage.
    with pytest.raises(InputError, match="all answers are right, or none is"):
        calibrate(predictor, replace(data, passages=tuple(right)))


def test_of_too_few_unanswerable_questions_only_the_score_is_fitted(
    data: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    passages = [
        replace(each, questions=tuple(q for q in each.questions if not q.impossible or not number))
        for number, each in enumerate(data.passages)
    ]
    predictor = Predictor.load()
    found = calibrate(predictor, replace(data, passages=tuple(passages)))
    assert found.confidence.no_answer == predictor.model.confidence.no_answer != ()
    assert found.no_answer_threshold == predictor.model.no_answer_threshold
    assert "the no-answer probability stays as it is" in capsys.readouterr().err
    everything = calibrate(predictor, data).confidence
    assert found.confidence.score == pytest.approx(everything.score, abs=0.01)


def test_unlabelled_questions_are_refused(data: Dataset) -> None:
    first, *others = data.passages
    asked = replace(first, questions=(Question("lacking", "Who?", ()), *first.questions))
    with pytest.raises(InputError, match="'lacking' has no reference answers"):
        calibrate(Predictor.load(), replace(data, passages=(asked, *others)))


def test_a_bundled_model_is_not_changed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["calibrate", "fast", "--data", "data.json"])
    assert "the bundled model fast is not changed" in capsys.readouterr().err


def test_without_unanswerable_questions_only_the_score_is_fitted() -> None:
    predictor = Predictor.load()
    found = calibrate(predictor, read_squad(OWN))
    assert len(found.confidence.score) == len(FEATURES)
    assert found.confidence.no_answer == predictor.model.confidence.no_answer != ()
    assert found.no_answer_threshold == predictor.model.no_answer_threshold
    assert "no_answer" not in found.report


def test_an_article_without_answered_questions_is_named(data: Dataset) -> None:
    one, other = data.passages[:2]
    vain = replace(other, questions=tuple(each for each in other.questions if each.impossible))
    with pytest.raises(InputError, match="every second article has an answer"):
        calibrate(Predictor.load(), replace(data, passages=(one, vain)))


def test_each_half_is_judged_by_what_the_other_one_taught(told: Predictor) -> None:
    passages = (
        passage_for_told("mostly right", ["yes 0"] * 9 + ["no 0"]),
        passage_for_told("mostly wrong", ["yes 0"] + ["no 0"] * 9),
    )
    report = calibrate(told, Dataset(passages, "1.1")).report
    assert report["score"] == pytest.approx({"passages": 0.8, "articles": 0.8}, abs=0.01)


def test_whole_articles_count_as_much_as_passages(
    told: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here all answers of passages are right, and those few of articles wrong."""
    monkeypatch.setattr("fabir.evaluation.calibration.LONG", 4)
    asked = passage_for_told("a", ["yes 0"] * 20), passage_for_told("b", ["yes 0"] * 20)
    more = passage_for_told("a", []), passage_for_told("b", [])  # of the same articles
    found = calibrate(told, Dataset((*asked, *more), "1.1"))
    assert found.confidence.score == pytest.approx([0.0] * len(FEATURES), abs=0.01)


@pytest.mark.parametrize(("more", "fewer", "highest"), [(8, 2, 0.795), (51, 50, 1.0)])
def test_the_threshold_is_the_highest_of_those_as_good(
    told: Predictor, more: int, fewer: int, highest: float
) -> None:
    """Where no answer has the chances 0.8 and 0.2, or where withholding gains less than 0.5."""
    answerable = ["yes 1"] * fewer + ["yes -1"] * (more - 1) + ["no -1"]
    vain = ["yes 1"] * more + ["yes -1"] * fewer
    passages = (passage_for_told(title, answerable, vain) for title in "ab")
    found = calibrate(told, Dataset(tuple(passages), "2.0"))
    assert found.no_answer_threshold == pytest.approx(highest)


@pytest.mark.slow
def test_the_threshold_withholds_few_where_f1_is_as_good(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor = Predictor.load()
    found = calibrate(predictor, data)
    predictor.model.confidence = found.confidence
    read = dict(read_dataset(predictor, data))  # once for all thresholds
    monkeypatch.setattr("fabir.evaluation.model.read_dataset", lambda *_: read)
    thresholds = np.linspace(0, 1, 21)
    f1s = np.array([evaluate_model(predictor, data, each)["f1"] for each in thresholds])
    chosen = evaluate_model(predictor, data, found.no_answer_threshold)["f1"]
    assert chosen > f1s.max() - 0.6
    assert (f1s[thresholds > found.no_answer_threshold + 0.03] < chosen + 0.5).all()


def test_articles_without_questions_are_refused(data: Dataset) -> None:
    empty = tuple(replace(passage, questions=()) for passage in data.passages)
    with pytest.raises(InputError, match="no question"):
        calibrate(Predictor.load(), replace(data, passages=empty))


def test_one_article_is_too_few(data: Dataset) -> None:
    with pytest.raises(InputError, match=r"two articles.*a column `title` before fabir convert"):
        calibrate(Predictor.load(), replace(data, passages=data.passages[:1]))
