"""The heads of model cards, and what lies in the repository's folder of trained readers."""

from pathlib import Path

import pytest

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.runtime.cards import Trained, find_trained, read_scores
from fabir.runtime.locate import BUNDLED_MODELS

TRAINED = Path(__file__).parents[2] / "trained"
IN_REPOSITORY = find_trained(TRAINED)
HEAD = """---
license: mit
model-index:
- name: a
  results:
  - metrics:
    - {type: f1, value: 61.5}
    - {type: exact_match, value: 50}
---
# A

---
"""
MIB = 2**20


def model(folder: Path, card: str | None) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if card is not None:
        (folder / "README.md").write_text(card)
    return folder


def test_models_are_found_with_size_and_scores(tmp_path: Path) -> None:
    with_card = model(tmp_path / "b", HEAD)
    without = model(tmp_path / "a", None)
    (tmp_path / "no-model").mkdir()
    (tmp_path / "words.safetensors").write_text("shared")
    found = find_trained(tmp_path, tmp_path / "nothing")
    assert [(each.folder, each.size) for each in found] == [
        (without, 2),
        (with_card, 2 + len(HEAD)),
    ]
    assert [each.scores for each in found] == [{}, {"f1": 61.5, "exact_match": 50}]


@pytest.mark.parametrize(
    "card", ["# no head\n", "---\nlicense: mit\n---\n", "---\nmodel-index: []\n---\n"]
)
def test_a_model_whose_card_has_no_scores_is_listed(tmp_path: Path, card: str) -> None:
    model(tmp_path / "a", card)
    assert [each.scores for each in find_trained(tmp_path)] == [{}]


def test_a_head_that_is_not_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"README.md: the head is not YAML"):
        read_scores(model(tmp_path / "a", "---\na: [\n---\n"))


def test_the_bundled_cards_have_scores() -> None:
    found = {each.folder.name: each.scores for each in find_trained(BUNDLED_MODELS)}
    assert found.keys() == {"fast", "accurate"}
    assert found["fast"]["f1"] < found["accurate"]["f1"]


@pytest.mark.parametrize("trained", IN_REPOSITORY, ids=lambda each: each.folder.name)
def test_a_trained_reader_answers_is_small_and_has_its_card(trained: Trained) -> None:
    assert trained.size <= 6 * MIB
    assert {"f1", "exact_match"} <= trained.scores.keys()
    assert f"--reader trained/{trained.folder.name}" in (trained.folder / "README.md").read_text()
    answer = Predictor.load(trained.folder, threshold=0).answer(
        "Where did Ada Lovelace live?", "Ada Lovelace, who was born in 1815, lived in London."
    )
    assert answer[0].text == "London"


def test_all_trained_readers_together_are_small() -> None:
    files = [path for path in TRAINED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 40 * MIB
