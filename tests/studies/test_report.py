"""The report's table, from results that were never run."""

from fabir.studies.report import render

RESULTS = {
    "title": "Made up",
    "source": "nowhere",
    "budget": {"name": "short", "questions": 10000, "dev_questions": 0, "training": {"epochs": 6}},
    "data": {"train": "train.json", "dev": "dev.json", "vectors": "vectors.txt"},
    "machine": {
        "fabir": "1",
        "torch": "2",
        "processor": "x86_64",
        "cores": 2,
        "date": "2026-01-01",
    },
    "training": {"a": {"clip": 3}, "c": {"clip": 3}},
    "paper": {"a": {"f1": 66.28}, "b": {}, "c": {"f1": 50.0}},
    "majority": {"f1": 52.5, "exact": 52.5, "NoAns_f1": 100.0},
    "rows": {
        "b": {"f1": 60.0, "exact": 55.5, "HasAns_f1": 58.25, "NoAns_f1": 61.75}
        | {"parameters": 1234567, "training_rate": 50.4, "answering_rate": 1200.0},
        "a": {"f1": 65.0, "exact": 60.0, "HasAns_f1": 64.0, "NoAns_f1": 66.0}
        | {"parameters": 2345678, "training_rate": 20.0, "answering_rate": 80.0},
    },
}


def test_the_table_follows_the_paper_and_says_what_is_missing() -> None:
    text = render(RESULTS)
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table == [
        "| row | F1 | paper's F1 | F1 difference | EM | HasAns F1 | NoAns F1 | parameters |"
        " training, questions/s | answering, questions/s |",
        "|---|---|---|---|---|---|---|---|---|---|",
        "| no answer to any question | 52.50 |  |  | 52.50 |  | 100.00 |  |  |  |",
        "| a | 65.00 | 66.3 | -1.3 | 60.00 | 64.00 | 66.00 | 2,345,678 | 20 | 80 |",
        "| b | 60.00 |  |  | 55.50 | 58.25 | 61.75 | 1,234,567 | 50 | 1,200 |",
    ]
    assert "Budget: at least 10,000 questions to train on, epochs 6." in text
    assert "Except clip 3 for a, c." in text
    assert "Except" not in render(RESULTS | {"training": {}})
    assert text.endswith("Not run yet: c.\n")
    assert render(RESULTS) == text
