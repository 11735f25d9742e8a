import json
from pathlib import Path

from fabir.training.metrics import FILE, forget_metrics, hours_until, log_metrics, median_rate


def steps(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / FILE).read_text().splitlines()]


def test_each_evaluation_is_a_line_of_json(tmp_path: Path) -> None:
    log_metrics(tmp_path, step=5, f1=71.25)
    log_metrics(tmp_path, step=10, f1=72.5)
    first, second = (tmp_path / FILE).read_text().splitlines()
    assert json.loads(first) == {"step": 5, "f1": 71.25}
    assert json.loads(second) == {"step": 10, "f1": 72.5}


def test_a_resumed_run_forgets_what_it_will_do_again(tmp_path: Path) -> None:
    for step in (5, 10, 15):
        log_metrics(tmp_path, step=step)
    forget_metrics(tmp_path, 10)
    assert steps(tmp_path) == [5, 10]
    log_metrics(tmp_path, step=15)
    assert steps(tmp_path) == [5, 10, 15]
    forget_metrics(tmp_path, 0)
    assert steps(tmp_path) == []


def test_a_line_cut_short_is_no_obstacle(tmp_path: Path) -> None:
    log_metrics(tmp_path, step=5)
    with open(tmp_path / FILE, "a") as file:
        file.write('{"step": 10, "f')
    forget_metrics(tmp_path, 10)
    assert steps(tmp_path) == [5]


def test_no_file_is_no_obstacle(tmp_path: Path) -> None:
    forget_metrics(tmp_path, 3)
    assert not list(tmp_path.iterdir())


def test_the_hours_until_a_score(tmp_path: Path) -> None:
    for seconds, f1 in ((1800, 76.9), (3600, 77.2), (5400, 78.0)):
        log_metrics(tmp_path, step=seconds, seconds=seconds, epoch=1.0, loss=1.0, f1=f1)
    assert hours_until(tmp_path, 77) == {"hours_until_77": 1.0}
    assert hours_until(tmp_path, 78) == {"hours_until_78": 1.5}  # as good is enough
    assert hours_until(tmp_path, 79) == {}


def test_the_rate_is_that_of_undisturbed_stretches(tmp_path: Path) -> None:
    for step, seconds in (4, 9.0), (8, 11.0), (12, 13.0), (16, 3613.0), (20, 3615.0):
        log_metrics(tmp_path, step=step, seconds=seconds)
    assert median_rate(tmp_path) == 2.0
