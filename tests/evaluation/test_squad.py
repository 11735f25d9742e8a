"""The official metrics: by hand, and against a second implementation of the published rules."""

import json
import re
import string
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.errors import InputError
from fabir.evaluation.squad import (
    evaluate,
    evaluate_by_halves,
    exact_match,
    f1,
    read_na_prob,
    read_predictions,
)

References = dict[str, list[str]]


def dataset(references: References, version: str) -> Dataset:
    """Questions by id with their answers' texts; in 2.0 data no text means no answer."""
    v2 = version != "1.1"
    questions = tuple(
        Question(id, "?", tuple(Answer(text, 0) for text in texts), impossible=v2 and not texts)
        for id, texts in references.items()
    )
    return Dataset((Passage("passage", "", questions),), version)


def test_a_missing_value_is_no_answer_and_other_values_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    data = dataset({"a": ["rain"], "b": []}, "2.0")
    for missing in (None, float("nan"), pandas.NA):
        given: Any = {"a": "rain", "b": missing}
        assert evaluate(data, given)["exact"] == 100
    assert evaluate(dataset({"a": ["nan"]}, "1.1"), {"a": "nan"})["exact"] == 100
    wrong: Any = {"a": 3, "b": ""}
    with pytest.raises(InputError, match="prediction for 'a': expected a text, got int"):
        evaluate(data, wrong)
    for arguments in (("data.json", {}), (data, [("a", "rain")])):
        with pytest.raises(InputError, match="a Dataset and a dict of predicted texts"):
            evaluate(*arguments)  # pyright: ignore[reportArgumentType]


def test_a_threshold_is_chosen_on_the_other_half_of_the_articles() -> None:
    """Articles a and c have the best threshold 0.3, article b 0.6."""
    asked = {"a": [("rain", 0.3), ("", 0.4)], "b": [("rain", 0.6), ("", 0.8)], "c": [("", 0.5)]}
    passages, given, chances = [], {}, {}
    for title, questions in asked.items():
        ids = [f"{title}{place}" for place in range(len(questions))]
        texts = [text for text, _ in questions]
        made = dataset(
            {id: [text] if text else [] for id, text in zip(ids, texts, strict=True)}, "2.0"
        )
        passages.append(replace(made.passages[0], title=title))
        given |= dict.fromkeys(ids, "rain")
        chances |= {id: chance for id, (_, chance) in zip(ids, questions, strict=True)}
    data = Dataset(tuple(passages), "2.0")
    # At 0.6 those of a and c without an answer get one; at 0.3 that of b with one gets none.
    assert evaluate(data, given, chances)["best_f1"] == 80.0
    assert evaluate_by_halves(data, given, chances) == {"f1": 40.0, "exact": 40.0}
    with pytest.raises(InputError, match="one article alone"):
        evaluate_by_halves(replace(data, passages=data.passages[:1]), given, chances)


# A second implementation, of the rules as published, one question at a time.


def plain(text: str) -> list[str]:
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(?:a|an|the)\b", " ", kept).split()


def overlap(prediction: list[str], reference: list[str], v2: bool) -> float:
    if v2 and not (prediction and reference):
        return int(prediction == reference)
    same = 0
    left = Counter(reference)
    for word in prediction:
        if left[word] > 0:
            left[word] -= 1
            same += 1
    if same == 0:
        return 0
    precision, recall = same / len(prediction), same / len(reference)
    return 2 * precision * recall / (precision + recall)


def rules_v1(references: References, predictions: dict[str, str]) -> dict[str, Any]:
    exact, partial = 0, 0.0
    for id, texts in references.items():
        if id in predictions:
            words = plain(predictions[id])
            exact += any(words == plain(text) for text in texts)
            partial += max(overlap(words, plain(text), v2=False) for text in texts)
    total = len(references)
    return {"exact": 100.0 * exact / total, "f1": 100.0 * partial / total, "total": total}


def rules_v2(
    references: References,
    predictions: dict[str, str],
    na_prob: dict[str, float] | None,
    na_threshold: float,
) -> dict[str, Any]:
    scores: dict[str, dict[str, float]] = {"exact": {}, "f1": {}}
    for id, texts in references.items():
        golds = [plain(text) for text in texts if plain(text)] or [[]]
        words = plain(predictions[id])
        scores["exact"][id] = int(words in golds)
        scores["f1"][id] = max(overlap(words, gold, v2=True) for gold in golds)
    groups = {
        "": list(references),
        "HasAns_": [id for id in references if references[id]],
        "NoAns_": [id for id in references if not references[id]],
    }
    result: dict[str, Any] = {}
    for prefix, ids in groups.items():
        if not ids:
            continue
        for name, raw in scores.items():
            kept = [
                float(not references[id])
                if (na_prob or {}).get(id, 0.0) > na_threshold
                else raw[id]
                for id in ids
            ]
            result[f"{prefix}{name}"] = 100.0 * sum(kept) / len(ids)
        result[f"{prefix}total"] = len(ids)
    for name, raw in scores.items() if na_prob is not None else ():
        assert na_prob is not None
        # For each number of answers, by rising probability; the first of equal scores wins.
        order = sorted(na_prob, key=na_prob.__getitem__)
        track: list[float] = [len(groups["NoAns_"])]
        for id in order:
            gain = raw[id] if references[id] else -bool(predictions[id])
            track.append(track[-1] + gain)
        best = track.index(max(track))
        result[f"best_{name}"] = 100.0 * track[best] / len(references)
        result[f"best_{name}_thresh"] = 0.0 if best == 0 else na_prob[order[best - 1]]
    return result


texts = st.lists(
    st.sampled_from(
        ["the", "A", "cat", "Cat!", "dog", "it's", "its", "-", "an", "İ", "—", "\u2003"]
    ),
    max_size=5,
).map(" ".join)


@st.composite
def cases(draw: st.DrawFn, least: int) -> tuple[References, dict[str, str], dict[str, float]]:
    """References (at least `least` each), predictions and probabilities in another order."""
    ids = [f"q{number}" for number in range(draw(st.integers(1, 8)))]
    references = {id: draw(st.lists(texts, min_size=least, max_size=3)) for id in ids}
    predictions = {
        id: draw(st.sampled_from(golds) | texts | st.just("") if golds else texts | st.just(""))
        for id, golds in references.items()
    }
    shuffled = draw(st.permutations(ids))
    return references, predictions, {id: draw(st.sampled_from([0.0, 0.3, 1.0])) for id in shuffled}


@given(case=cases(least=1), missing=st.booleans())
def test_version_1_1_follows_the_rules(
    case: tuple[References, dict[str, str], dict[str, float]], missing: bool
) -> None:
    references, predictions, _ = case
    if missing:
        predictions.popitem()
    result = evaluate(dataset(references, "1.1"), predictions)
    assert list(result.items()) == list(rules_v1(references, predictions).items())


@given(case=cases(least=0), threshold=st.sampled_from([-1.0, 0.0, 0.3, 1.0]), given_=st.booleans())
def test_version_2_0_follows_the_rules(
    case: tuple[References, dict[str, str], dict[str, float]], threshold: float, given_: bool
) -> None:
    references, predictions, probabilities = case
    na_prob = probabilities if given_ else None
    result = evaluate(dataset(references, "v2.0"), predictions, na_prob, threshold)
    wanted = rules_v2(references, predictions, na_prob, threshold)
    assert list(result.items()) == list(wanted.items())


def test_scores_by_hand() -> None:
    assert exact_match("The Broncos!", ["Denver Broncos", "broncos"]) == 1
    assert exact_match("Broncos", ["Denver Broncos"]) == 0
    # two of three predicted words are right, two of four wanted ones found: 2 * 2/3 * 1/2 / (7/6)
    assert f1("red green blue", ["red green big house", "nothing"]) == pytest.approx(4 / 7)
    assert f1("red red", ["red"]) == pytest.approx(2 / 3)  # a word counts as often as it occurs
    assert f1("the", ["an"]) == 1
    assert f1("the", ["an"], both_empty=0) == 0
    assert f1("the", ["cat"]) == 0


def test_version_1_1_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    data = dataset({"a": ["red"], "b": ["the red house"], "c": ["x"], "d": ["the"]}, "1.1")
    predictions = {"a": "Red.", "b": "house", "d": "a", "unknown": "ignored"}
    # a: 1, 1; b: 0, 2/3; c: missing; d: equal when normalised, but no common word
    result = evaluate(data, predictions)
    assert result == {"exact": 50.0, "f1": pytest.approx(100 * (1 + 2 / 3) / 4), "total": 4}
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "1 questions have no prediction and count as wrong ('c')" in printed.err


def test_version_2_0_by_hand() -> None:
    data = dataset({"a": ["red"], "b": ["the red house"], "n": [], "m": []}, "v2.0")
    predictions = {"a": "red", "b": "house", "n": "", "m": "wrong"}
    result = evaluate(data, predictions)
    assert list(result) == [
        "exact", "f1", "total", "HasAns_exact", "HasAns_f1", "HasAns_total",
        "NoAns_exact", "NoAns_f1", "NoAns_total",
    ]  # fmt: skip
    assert (result["exact"], result["HasAns_exact"], result["NoAns_f1"]) == (50.0, 50.0, 50.0)
    assert result["HasAns_f1"] == pytest.approx(100 * (1 + 2 / 3) / 2)

    na_prob = {"a": 0.1, "b": 0.6, "n": 0.9, "m": 0.5}
    result = evaluate(data, predictions, na_prob, na_threshold=0.4)
    assert (result["exact"], result["HasAns_exact"], result["NoAns_exact"]) == (75.0, 50.0, 100.0)
    # nothing answered: 2 of 4; up to a: 3; up to m: 2; up to b: 2 exact, 2 2/3 in F1
    assert (result["best_exact"], result["best_exact_thresh"]) == (75.0, 0.1)
    assert (result["best_f1"], result["best_f1_thresh"]) == (75.0, 0.1)


def test_plausible_answers_are_never_right() -> None:
    tempting = Question("q", "?", (), impossible=True, plausible=(Answer("red", 0),))
    data = Dataset((Passage("red", "", (tempting,)),), "v2.0")
    assert evaluate(data, {"q": "red"})["exact"] == 0.0
    assert evaluate(data, {"q": ""})["exact"] == 100.0


def test_a_missing_prediction_is_wrong_in_version_2_0_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = dataset({"a": ["red"], "n": [], "m": []}, "v2.0")
    result = evaluate(data, {"a": "red", "n": ""}, {"a": 0.0, "n": 0.0, "m": 1.0}, 0.5)
    assert (result["exact"], result["NoAns_exact"]) == (pytest.approx(200 / 3), 50.0)
    assert result["best_exact"] == pytest.approx(200 / 3)
    assert "'m'" in capsys.readouterr().err


def test_an_impossible_question_makes_it_version_2_0() -> None:
    question = Question("q", "?", (), impossible=True)
    assert "NoAns_exact" in evaluate(Dataset((Passage("x", "", (question,)),), ""), {"q": ""})


def test_what_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(InputError, match="no questions"):
        evaluate(dataset({}, "1.1"), {})
    with pytest.raises(InputError, match="'q' has no reference answers"):
        evaluate(dataset({"q": []}, "1.1"), {"q": ""})
    unlabelled = Passage("x", "", (Question("q", "?", ()),))
    with pytest.raises(InputError, match="'q' has no reference answers"):
        evaluate(Dataset((unlabelled,), "v2.0"), {"q": ""})
    with pytest.raises(InputError, match=r"SQuAD 2\.0"):
        evaluate(dataset({"q": ["x"]}, "1.1"), {"q": ""}, {"q": 0.0})
    with pytest.raises(InputError, match="'q'"):
        evaluate(dataset({"q": ["x"]}, "v2.0"), {"q": ""}, {})


def test_predictions_and_probabilities_are_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"q1": "red", "q2": ""}')
    assert read_predictions(path) == {"q1": "red", "q2": ""}
    path.write_text('{"q1": 0.5, "q2": 1}')
    assert read_na_prob(path) == {"q1": 0.5, "q2": 1.0}
    for content, problem in [
        ("[]", "expected an object of question ids, got list"),
        ('{"q1": null}', "'q1': expected a string, got NoneType"),
        ('{"q1": ', "not valid JSON"),
    ]:
        path.write_text(content)
        with pytest.raises(InputError, match=problem):
            read_predictions(path)
    for value in ["true", '"0.5"', "NaN", "Infinity", "1" + "0" * 400]:
        path.write_text(json.dumps({"q1": 0})[:-2] + value + "}")
        with pytest.raises(InputError, match="'q1': expected a number"):
            read_na_prob(path)
