"""The report's table, from results that were never run."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fabir.studies.report import render
from fabir.studies.results import report
from factories import PUBLISHED, published_study

CONDITIONS = {
    "seed": 0,
    "network": {},
    "training": {},
    "date": "2026-01-01",
    "fabir": "1",
    "torch": "2",
    "processor": "x86_64",
    "cores": 2,
}
RESULTS = {
    "title": "Made up",
    "source": "nowhere",
    "base": "",
    "ranked": True,
    "budget": {"name": "short", "questions": 10000, "dev_questions": 0, "training": {"epochs": 6}},
    "data": {"train": "train.json", "dev": "dev.json", "vectors": "vectors.txt"},
    "paper": {"a": {"f1": 66.28}, "b": {"parameters": 1385198}, "c": {"f1": 50.0}},
    "majority": {"f1": 52.5, "exact": 52.5, "NoAns_f1": 100.0},
    "rows": {
        "b": [
            {"f1": 60.0, "exact": 55.5, "HasAns_f1": 58.25, "NoAns_f1": 61.75}
            | {"parameters": 1234567, "training_rate": 50.4, "answering_rate": 1200.0}
            | {"conditions": CONDITIONS | {"date": "2026-01-03", "training": {"clip": 3}}}
        ],
        "a": [
            {"f1": 65.0, "exact": 60.0, "HasAns_f1": 64.0, "NoAns_f1": 66.0}
            | {"parameters": 2345678, "training_rate": 20.0, "answering_rate": 80.0}
            | {"conditions": CONDITIONS | {"network": {"heads": 5}, "training": {"clip": 3}}}
        ],
    },
}


def test_the_table_follows_the_paper_and_says_what_is_missing() -> None:
    text = render(RESULTS)
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table == [
        "| row | F1 | paper's F1 | F1 difference | EM | HasAns F1 | NoAns F1 | parameters |"
        " paper's parameters | parameters / paper | training, questions/s |"
        " answering, questions/s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
        "| no answer to any question | 52.50 |  |  | 52.50 |  | 100.00 |  |  |  |  |  |",
        "| a | 65.00 | 66.28 | -1.28 | 60.00 | 64.00 | 66.00 | 2,345,678 |  |  | 20 | 80 |",
        "| b | 60.00 |  |  | 55.50 | 58.25 | 61.75 | 1,234,567 | 1,385,198 | 0.891 | 50 | 1,200 |",
    ]
    assert "Budget: at least 10,000 questions to train on, epochs 6." in text
    assert "Changed from the rows' configurations: clip 3 for b; heads 5, clip 3 for a." in text
    assert "Run on 2 cores of x86_64, torch 2, fabir 1; 2026-01-01 to 2026-01-03; seed 0.\n" in text
    nothing = render(RESULTS | {"rows": {}})
    assert "Changed" not in nothing
    assert "Run on" not in nothing
    assert text.endswith("Not run yet: c.\n")
    noted = render(RESULTS | {"notes": ["b was interrupted.", "a too."]})
    assert noted == f"{text}\nb was interrupted.\n\na too.\n"
    assert render(RESULTS) == text


def test_the_budget_is_described_whole() -> None:
    budget = RESULTS["budget"] | {"network": {"init": "matching"}, "vocabulary": {"word_count": 3}}
    text = render(RESULTS | {"budget": budget})
    assert "to train on, epochs 6, init matching, word_count 3." in text


def test_a_setting_that_no_rows_network_has_is_not_in_the_budget() -> None:
    budget = RESULTS["budget"] | {"network": {"init": "matching", "heads": 4}}
    config = {"network": {"heads": 4}}
    rows = {
        name: [run | {"conditions": run["conditions"] | {"config": config}} for run in runs]
        for name, runs in RESULTS["rows"].items()
    }
    text = render(RESULTS | {"budget": budget, "rows": rows})
    assert "to train on, epochs 6, heads 4." in text
    rows["a"] = RESULTS["rows"]["a"]  # does not say what it has
    text = render(RESULTS | {"budget": budget, "rows": rows})
    assert "to train on, epochs 6, init matching, heads 4." in text


def runs(*f1: float) -> list[dict[str, Any]]:
    measured = [{"f1": each, "exact": each - 10, "epochs": 6.0} for each in f1]
    return [
        each | {"conditions": CONDITIONS | {"seed": seed}} for seed, each in enumerate(measured)
    ]


def test_rows_are_compared_with_a_base_and_their_order_with_the_papers() -> None:
    paper = {
        "a": {"f1": 75.0},
        "b": {"f1": 73.5},
        "c": {"f1": 74.0},
        "d": {"f1": 70.25, "epochs": 9},
    }
    text = render(
        RESULTS
        | {"base": "a", "paper": paper, "majority": {}}
        | {"rows": {"a": runs(60, 62), "b": runs(50, 54), "c": runs(50, 52), "d": runs(40)}}
    )
    header, _, _, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert header == (
        "| row | F1 | paper's F1 | F1 difference | F1 against a | paper's F1 against a | EM |"
        " epochs | paper's epochs | epochs / paper |"
    )
    assert rows == [
        "| a | 61.00 ± 1.41 | 75.0 | -14.00 |  |  | 51.00 ± 1.41 |  |  |  |",
        "| b | 52.00 ± 2.83 | 73.5 | -21.50 | -9.00 ± 1.41 | -1.50 | 42.00 ± 2.83 |  |  |  |",
        "| c | 51.00 ± 1.41 | 74.0 | -23.00 | -10.00 ± 0.00 | -1.00 | 41.00 ± 1.41 |  |  |  |",
        "| d | 40.00 | 70.25 | -30.25 | -20.00 | -4.75 | 30.00 | 6 | 9 | 0.667 |",  # over seed 0
    ]
    # Our order is a, b, c, d, the paper's a, c, b, d: 1 - 6 * (1 + 1) / (4 * 15)
    assert "Rank correlation (Spearman) of our F1 with the paper's: 0.80 over 4 rows." in text
    assert "Means over several seeds" in text
    assert "; 2026-01-01; seed 0, 1." in text


def test_rows_with_the_same_score_share_the_mean_of_their_ranks() -> None:
    paper = {name: {"f1": float(ord(name))} for name in "abcd"}
    rows = {name: runs(f1) for name, f1 in zip("abcd", (40, 50, 50, 60), strict=True)}
    text = render(RESULTS | {"paper": paper, "rows": rows})
    # Our ranks are 1, 2.5, 2.5 and 4: 4.5 / sqrt(4.5 * 5)
    assert "with the paper's: 0.95 over 4 rows." in text


def test_a_time_that_one_seed_lacks_is_the_others() -> None:
    several = runs(50, 60)
    several[0]["training_rate"] = 40.0
    rows = {"a": several}
    assert "| a | 55.00 ± 7.07 | 66.28 | -11.28 | 45.00 ± 7.07 | 40 |" in render(
        RESULTS | {"rows": rows, "majority": {}}
    )


def test_hours_that_were_not_enough_are_named() -> None:
    text = render(RESULTS | {"paper": {"a": {"hours_until_77": 3.0}}, "majority": {}})
    assert "| hours until F1 77 | paper's hours until F1 77 |" in text
    assert "| not reached | 3 |" in text


def test_hours_that_were_enough_for_some_seeds_say_for_how_many() -> None:
    several = runs(50, 60)
    several[0]["hours_until_77"] = 2.0
    paper = {"a": {"hours_until_77": 3.0}}
    text = render(RESULTS | {"paper": paper, "rows": {"a": several}, "majority": {}})
    assert "| 2.00 (1 of 2) | 3 |" in text


def test_a_gpu_has_no_cores() -> None:
    (run,) = runs(50)
    machine = {"processor": "NVIDIA H200", "torch": "2.11", "fabir": "1"}
    conditions = {key: value for key, value in run["conditions"].items() if key != "cores"}
    run["conditions"] = conditions | machine
    text = render(RESULTS | {"rows": {"a": [run]}, "majority": {}})
    assert "Run on NVIDIA H200, torch 2.11, fabir 1;" in text


def test_an_order_of_equals_says_nothing() -> None:
    paper = {name: {"f1": 50.0} for name in "abc"}
    rows = {name: runs(number) for number, name in enumerate("abc")}
    assert "Rank correlation" not in render(RESULTS | {"paper": paper, "rows": rows})


@pytest.mark.parametrize("results", PUBLISHED, ids=[path.parent.name for path in PUBLISHED])
def test_a_published_report_is_what_its_results_make(results: Path, tmp_path: Path) -> None:
    shutil.copy(results, tmp_path)
    page = report(published_study(results), tmp_path)
    assert page.read_text(encoding="utf-8") == (results.parent / page.name).read_text(
        encoding="utf-8"
    )
    ours, published = (
        json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / results.name, results)
    )
    assert ours == published


def test_there_are_published_reports() -> None:
    assert PUBLISHED


def test_an_order_is_no_papers_if_the_study_says_so() -> None:
    rows = {name: runs(number) for number, name in enumerate("abc")}
    results = RESULTS | {"paper": {n: {"f1": float(ord(n))} for n in "abc"}, "rows": rows}
    assert "1.00 over 3 rows" in render(results)
    assert "Rank correlation" not in render(results | {"ranked": False})
