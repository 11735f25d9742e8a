"""dev/self_attention.py measures what its page says, on small texts."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fabir.data.squad import write_squad
from fabir.explain.page import explain
from factories import small_reader
from scripts import load_script
from tiny import dataset


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("dev/self_attention.py")


def test_words_are_told_apart_by_their_distance_from_the_answer(script: ModuleType) -> None:
    places = script.readers([11, 12], 30)
    assert places["in the answer"] == [11, 12]
    assert places["beside it"] == [*range(1, 11), *range(13, 23)]
    assert places["further away"] == [0, *range(23, 30)]
    assert set(script.readers([1], 5)) == {"in the answer", "beside it"}


def test_even_attention_is_one(script: ModuleType) -> None:
    assert script.multiple_of_even(np.full((2, 8), 1 / 8), [3, 4]) == pytest.approx(1)
    weights = np.array([[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    assert script.multiple_of_even(weights, [0]) == pytest.approx((2 + 1) / 2)


def test_the_words_of_a_case_are_those_of_its_answers(script: ModuleType, tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    write_squad(dataset(), data)
    model = small_reader("rnet", no_answer=True)  # a word stands before the passage
    answers = {
        question.text: question.answers[0].text
        for passage in dataset().passages
        for question in passage.questions
    }
    cases = list(script.cases(model, data))
    assert len(cases) == len({case.passage for case in cases}) > 3
    for case in cases:
        words = next(
            each.rows
            for each in explain(model, case.question, case.passage).maps
            if each.texts == ("passage", "passage")
        )
        told = "".join(words[place] for place in case.answer)
        assert told == answers[case.question].replace(" ", "")
        assert not set(case.answer) & set(case.other)


def test_an_untrained_reader_is_nearly_even(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small_reader("rnet").save(tmp_path / "model")
    data = tmp_path / "data.json"
    write_squad(dataset(), data)
    picture = tmp_path / "map.png"
    arguments = [tmp_path / "model", data, "--questions", "3", "--plot", picture]
    monkeypatch.setattr(sys, "argv", ["self_attention.py", *map(str, arguments)])
    script.main()
    _, *rows = capsys.readouterr().out.splitlines()
    assert {row.split(" | ")[1] for row in rows} == {"in the answer", "beside it", "further away"}
    for row in rows:
        _, _, answer, other, questions = row.split(" | ")
        assert float(answer) == pytest.approx(1, abs=0.3)
        assert float(other) == pytest.approx(1, abs=0.3)
        assert 1 <= int(questions) <= 3
    assert picture.read_bytes().startswith(b"\x89PNG")
