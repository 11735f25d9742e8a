"""The numbers of an analysis, on invented answers."""

import json
from collections import Counter
from dataclasses import replace
from math import hypot

import numpy as np
import pytest

from fabir.data.dataset import Answer, Dataset
from fabir.errors import InputError
from fabir.evaluation.analysis import analyse, calibration_of, check_answered, summary
from fabir.evaluation.breakdown import GROUPINGS, UNKNOWN_WORDS
from fabir.evaluation.squad import evaluate
from fabir.text.tokens import tokenise
from fabir.text.vocabulary import Vocabulary
from factories import analysed, reading, readings, small_vocabulary
from tiny import dataset


def test_the_means_are_those_of_the_official_metric() -> None:
    data = dataset()
    result = analysed(data, good=0, bad=4)
    total = len(data)
    for name, wrong in (("good", 0), ("bad", 4)):
        texts = {row["id"]: row["readers"][name]["answer"] for row in result["questions"]}
        official = evaluate(data, texts)
        everything = result["readers"][name]["all"]
        assert everything["count"] == total
        assert everything["f1"][0] == pytest.approx(official["f1"], abs=0.01)
        assert everything["exact"][0] == pytest.approx(100 * (total - wrong) / total, abs=0.01)
        mean, lower, upper = everything["f1"]
        assert lower <= mean <= upper
    assert result["readers"]["good"]["all"]["f1"] == [100, 100, 100]


def test_groups_share_out_all_questions() -> None:
    data = dataset()
    measured = analysed(data, one=3)["readers"]["one"]
    for grouping in (*GROUPINGS, *UNKNOWN_WORDS):
        groups = measured["groups"][grouping.name]
        assert sum(group["count"] for group in groups.values()) == len(data)
        assert list(groups) == [label for label in grouping.labels if label in groups]
        mean = sum(group["count"] * group["f1"][0] for group in groups.values()) / len(data)
        assert mean == pytest.approx(measured["all"]["f1"][0], abs=0.02)


def test_groups_of_unknown_words_are_those_of_each_model() -> None:
    data = dataset()
    words = [word for _, each in data.questions for word in tokenise(each.text.lower()).words]
    all_words = Vocabulary((), tuple(dict.fromkeys(words)), "", 8)
    vocabularies = {"wide": all_words, "narrow": Vocabulary((), ("?",), "", 8)}
    found = {name: readings(data, 2) for name in vocabularies}
    result = analyse(data, found, dict.fromkeys(found, 1.0), vocabularies)
    groups = {name: result["readers"][name]["groups"]["unknown question words"] for name in found}
    assert list(groups["wide"]) == ["0"]
    assert groups["wide"]["0"]["count"] == len(data)
    expected = Counter(len(tokenise(each.text).words) - 1 for _, each in data.questions)
    assert groups["narrow"]["2"]["count"] == expected[2]
    assert groups["narrow"]["> 2"]["count"] == sum(expected[n] for n in expected if n > 2)
    labels = [row["readers"]["narrow"]["unknown question words"] for row in result["questions"]]
    assert labels.count("2") == expected[2]


def test_calibration_is_the_gap_between_said_and_right() -> None:
    data = dataset()
    measured = analysed(data, good=0)["readers"]["good"]["calibration"]
    assert measured["error"] == pytest.approx(0.2)  # confidence 0.8, always right
    assert {tuple(point) for point in measured["curve"]} == {(0.8, 1.0)}


def test_a_calibration_curve_by_hand() -> None:
    """Twenty shuffled answers; those with a confidence above one half are right."""
    order = np.random.default_rng(0).permutation(20)
    sure = (order + 1) / 20
    curve = calibration_of(sure, sure > 0.5)
    said = [(2 * pair + 1.5) / 20 for pair in range(10)]
    assert curve["curve"] == [[round(s, 4), float(s > 0.5)] for s in said]
    gaps = [1 - s if s > 0.5 else s for s in said]
    assert curve["error"] == pytest.approx(sum(gaps) / 10, abs=1e-4)


def test_right_is_what_a_score_promises() -> None:
    """A score is the probability of an F1 of at least 0.5, if there is an answer."""
    data = dataset()
    passage = data.passages[0]
    question = replace(passage.questions[0], answers=(Answer("a b c", 0),))
    data = Dataset((replace(passage, text="a b c d e", questions=(question,)),), "1.1")
    found = {"one": {question.id: reading("b c d e", 0.8, no_answer=0.25)}}
    vocabularies = {"one": small_vocabulary()}
    curve = analyse(data, found, {"one": 1.0}, vocabularies)["readers"]["one"]["calibration"]
    assert curve["curve"] == [[0.8, 1.0]]  # F1 is 2 / 3: "a" does not count
    data = replace(data, version="v2.0")
    curve = analyse(data, found, {"one": 1.0}, vocabularies)["readers"]["one"]["calibration"]
    assert curve["curve"] == [[0.6, 1.0]]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_an_interval_is_that_of_a_share_of_many(share: float) -> None:
    right = np.zeros((400, 2))
    right[: round(400 * share)] = 100
    mean, lower, upper = summary(right)["exact"]
    half = 196 * (share * (1 - share) / 400) ** 0.5
    assert mean == pytest.approx(100 * share)
    assert mean - lower == pytest.approx(half, rel=0.15)
    assert upper - mean == pytest.approx(half, rel=0.15)


def test_a_difference_is_over_the_same_questions() -> None:
    """Two wrong answers of four are shared: half the variance of questions that are not paired."""
    data = dataset()
    measured = analysed(data, first=3, better=1, same=3)["readers"]
    assert "difference" not in measured["first"]
    assert measured["same"]["difference"]["f1"] == [0, 0, 0]
    gain, lower, upper = measured["better"]["difference"]["exact"]
    assert gain == pytest.approx(200 / len(data), abs=0.01)
    assert 0 <= lower < gain < upper
    alone = [measured[name]["all"]["exact"] for name in ("first", "better")]
    apart = hypot(*(above - below for _, below, above in alone))
    assert upper - lower < 0.85 * apart


def test_the_worst_questions_are_wrong_ones_and_the_surest_first() -> None:
    data = dataset()
    found = readings(data, wrong=3)
    ids = list(found)
    found[ids[1]] = reading("zzz", 0.99)
    result = analyse(data, {"one": found}, {"one": 1.0}, {"one": small_vocabulary()})
    named = [result["questions"][number]["id"] for number in result["worst"]]
    assert named[0] == ids[1]
    assert set(named[:3]) == set(ids[:3])


def test_answers_that_are_held_back_are_counted() -> None:
    data = dataset()
    passage = data.passages[0]
    first, *others = passage.questions
    silent = type(first)(first.id, first.text, (), impossible=True)
    passage = type(passage)(passage.text, passage.title, (silent, *others))
    data = Dataset((passage, *data.passages[1:]), "v2.0")
    found = {question.id: reading("zzz", 0.5, no_answer=0.1) for _, question in data.questions}
    found[first.id] = reading("zzz", 0.5, no_answer=0.9)
    vocabularies = {"one": small_vocabulary()}
    measured = analyse(data, {"one": found}, {"one": 0.5}, vocabularies)["readers"]["one"]
    assert measured["no_answer"] == {
        "has, given": len(data) - 1,
        "has, not given": 0,
        "has not, given": 0,
        "has not, not given": 1,
    }
    assert measured["all"]["exact"][0] == pytest.approx(100 / len(data), abs=0.01)


def test_an_analysis_is_the_same_again_and_plain() -> None:
    first, second = (analysed(dataset(), one=2, other=5) for _ in range(2))
    assert first == second == json.loads(json.dumps(first))


def test_nothing_to_analyse_is_said() -> None:
    with pytest.raises(InputError, match="nothing to analyse"):
        analyse(Dataset((), "1.1"), {"one": {}}, {"one": 1.0}, {"one": small_vocabulary()})
    with pytest.raises(InputError, match="nothing to analyse"):
        analyse(dataset(), {}, {}, {})
    unlabelled = [replace(q, answers=()) for q in dataset().passages[0].questions]
    passage = replace(dataset().passages[0], questions=tuple(unlabelled))
    data = Dataset((passage,), "1.1")
    with pytest.raises(InputError, match="no question of the file has an answer"):
        analyse(data, {"one": {}}, {"one": 1.0}, {"one": small_vocabulary()})
    some = replace(data, passages=(*dataset().passages[1:], passage))
    with pytest.raises(
        InputError, match=r"question '.*' has no reference answers to evaluate with"
    ):
        check_answered(some)
