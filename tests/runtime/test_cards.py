"""The heads of model cards, and what lies in the repository's folder of trained readers."""

import re
from pathlib import Path

import pytest

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.runtime.cards import Trained, find_trained, read_scores
from fabir.runtime.locate import BUNDLED_MODELS
from fabir.training.rows import describe

ROOT = Path(__file__).parents[2]
TRAINED = ROOT / "trained"
PAGE = ROOT / "docs" / "how-good-and-how-fast.md"
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
    "card",
    [
        *("# no head\n", "---\nlicense: mit\n---\n", "---\nmodel-index: []\n---\n"),
        "---\nmodel-index: [{results: [{metrics: [{type: f1, value: high}]}]}]\n---\n",
    ],
)
def test_a_model_whose_card_has_no_scores_is_listed(tmp_path: Path, card: str) -> None:
    model(tmp_path / "a", card)
    assert [each.scores for each in find_trained(tmp_path)] == [{}]


def test_a_head_that_is_not_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"README.md: the head is not YAML"):
        read_scores(model(tmp_path / "a", "---\na: [\n---\n"))
    (model(tmp_path / "b", "") / "README.md").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"README.md: not UTF-8 text"):
        read_scores(tmp_path / "b")


def figures(path: Path, row: str, column: int | None = None) -> list[str]:
    """The numbers in the row of a table that begins with `row`, of all its cells or one."""
    line = next(each for each in path.read_text("utf-8").split("\n") if each.startswith(f"| {row}"))
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    return re.findall(r"\d[\d,.]*", " ".join(cells if column is None else [cells[column]]))


def alike(rounded: list[str], exact: list[str]) -> bool:
    pairs = zip(rounded, exact, strict=True)
    return all(abs(float(short) - float(whole)) < 0.051 for short, whole in pairs)


@pytest.mark.parametrize(("column", "name"), [(0, "fast"), (1, "accurate")])
def test_the_figures_of_a_bundled_card_are_those_of_the_documentation(
    column: int, name: str
) -> None:
    card = BUNDLED_MODELS / name / "README.md"
    squad = figures(card, "SQuAD 1.1 dev")
    scores = read_scores(card.parent)
    assert [float(score) for score in squad] == [scores["f1"], scores["exact_match"]]
    assert alike(figures(PAGE, "SQuAD 1.1 dev", column), squad)
    assert alike(figures(PAGE, "other text", column), figures(card, "Reddit"))
    assert alike(figures(PAGE, "with unanswerable", column), figures(card, "SQuAD 2.0"))
    held = [figures(card, f"held-back {each}")[0] for each in ("documents", "tables")]
    assert alike(figures(PAGE, "documents and tables", column), held)
    weights = describe(name)[0].parameters
    assert figures(card, "weights")[0] == f"{weights:,}"
    assert figures(PAGE, "weights", column) == [f"{weights / 1e6:.2f}"]


def test_the_size_on_the_card_of_fast_is_that_of_its_files() -> None:
    fast = next(each for each in find_trained(BUNDLED_MODELS) if each.folder.name == "fast")
    words = sum(path.stat().st_size for path in BUNDLED_MODELS.iterdir() if path.is_file())
    card = figures(fast.folder / "README.md", "size")
    assert card == [f"{size / 1e6:.1f}" for size in (fast.size, words)]


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
