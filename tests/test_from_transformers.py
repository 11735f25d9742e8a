"""docs/from-transformers.md: its warnings, figures and table of answers are true.

tests/docs/test_pages.py runs its other programs.
"""

import re
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from scripts import load_script

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "from-transformers.md").read_text(encoding="utf-8")
FIGURES = (ROOT / "docs" / "how-good-and-how-fast.md").read_text(encoding="utf-8")
WARNING = re.compile(r"^```python\n([^`]*)```\n\n```\n([^`]*)```", re.MULTILINE)
SCORE = re.compile(r"\((\d\.\d\d)\)")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("benchmarks/from_transformers.py")


def row(page: str, name: str) -> list[str]:
    (line,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", page, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


def test_the_warnings_are_those_of_the_page() -> None:
    ((program, shown),) = WARNING.findall(PAGE)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(compile(program, "from-transformers.md", "exec"), {})
    assert "".join(f"{each.message}\n" for each in warned) == shown


def test_the_answers_are_those_of_the_bundled_models(script: ModuleType) -> None:
    made = script.filled(PAGE)
    assert SCORE.sub("", made) == SCORE.sub("", PAGE)
    scores = [[float(each) for each in SCORE.findall(page)] for page in (made, PAGE)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    assert len(scores[0]) == 40


def test_every_answer_that_is_expected_is_in_its_text(script: ModuleType) -> None:
    texts = {number: " ".join(text.split()) for number, text in script.TEXT.findall(PAGE)}
    rows = script.ROW.findall(PAGE)
    assert len(rows) == 20
    assert {number for number, *_ in rows} == texts.keys()
    for number, _, expected in rows:
        for answer in script.references(expected):
            assert answer in texts[number]


def test_the_figures_are_those_of_the_other_page() -> None:
    fast, accurate, _, distilbert = row(FIGURES, "SQuAD 1.1 dev, F1 / EM")
    squad1 = [cell.split(" / ")[0] for cell in (fast, accurate, distilbert)]
    assert row(PAGE, "SQuAD 1.1 dev, F1")[:3] == squad1
    squad2 = row(PAGE, "SQuAD 2.0 dev, F1")
    assert squad2[:2] == row(FIGURES, "with unanswerable questions (SQuAD 2.0), F1")[:2]
    fast, accurate, _, distilbert = row(FIGURES, "one question, ms, median")
    assert row(PAGE, "one question, ms, median")[:3] == [fast, accurate, distilbert]


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!https?:)([^)]+)\)", PAGE))))
def test_links_lead_somewhere(link: str) -> None:
    target, _, heading = link.partition("#")
    path = ROOT / "docs" / target if target else ROOT / "docs" / "from-transformers.md"
    assert path.exists()
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert not heading or heading in [each.lower().replace(" ", "-") for each in headings]


def test_the_scores_of_wrong_answers_are_as_said() -> None:
    wrong = re.findall(r"wrong: [^|]*\((\d\.\d\d)\)", PAGE)
    assert f"wrong answers here have {min(wrong)} to {max(wrong)}" in " ".join(PAGE.split())
