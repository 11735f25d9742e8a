"""An analysis as files."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from fabir import plots
from fabir.errors import InputError
from fabir.evaluation import report
from fabir.evaluation.breakdown import GROUPINGS, UNKNOWN_WORDS
from fabir.evaluation.report import check_report, report_again, write_report
from factories import analysed
from tiny import dataset

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


PUBLISHED = Path(__file__).parents[2] / "dev" / "results" / "breakdown"


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw plots fast."""
    monkeypatch.setattr(plots, "_DPI", 30)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plot is drawn: each is an empty file."""
    monkeypatch.setattr(report, "save", lambda _, path: path.touch())


def test_files_are_the_same_from_what_was_stored(tmp_path: Path) -> None:
    analysis = analysed(dataset(), **{"one <b>": 2, "other": 5})
    page = write_report(analysis, tmp_path / "first")
    stored = json.loads((tmp_path / "first" / "analysis.json").read_text())
    write_report(stored, tmp_path / "second")
    names = {path.name for path in (tmp_path / "first").iterdir()}
    assert names == {
        *(f"{each.name.replace(' ', '-')}.png" for each in (*GROUPINGS, *UNKNOWN_WORDS)),
        *("calibration.png", "calibration.csv", "analysis.json", "groups.csv"),
        *("questions.csv", "report.html"),
    }
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    (tmp_path / "second" / "groups.csv").unlink()
    assert report_again(tmp_path / "second") == tmp_path / "second" / "report.html"
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    text = page.read_text(encoding="utf-8")
    assert "one &lt;b&gt;" in text
    assert "<b>" not in text


@pytest.mark.parametrize(
    "content",
    [
        *("[]", '{"readers": {}}', '{"readers": [1], "questions": [], "worst": []}'),
        '{"readers": {"a": {}}, "questions": [], "worst": []}',
    ],
)
def test_what_is_no_analysis_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"cannot read .*analysis.json"):
        report_again(tmp_path)
    (tmp_path / "analysis.json").write_text(content)
    with pytest.raises(InputError, match=r"analysis.json is no whole analysis"):
        report_again(tmp_path)


@pytest.mark.parametrize("name", ["analysis.json", "questions.csv", "report.html"])
def test_files_of_others_are_not_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"data": []}')
    with pytest.raises(InputError, match=rf"{name} is (of no report|no whole analysis)"):
        check_report(tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_the_published_breakdown_is_what_its_numbers_make(tmp_path: Path) -> None:
    shutil.copy(PUBLISHED / "analysis.json", tmp_path)
    report_again(tmp_path)
    assert (tmp_path / "groups.csv").read_bytes() == (PUBLISHED / "groups.csv").read_bytes()
    page = (tmp_path / "report.html").read_text()
    assert "<p>10,570 questions. " in page
    assert "Worst" not in page  # its questions are not published
    assert not (tmp_path / "questions.csv").exists()


@pytest.mark.usefixtures("undrawn")
def test_tables_hold_what_was_measured(tmp_path: Path) -> None:
    data = dataset()
    analysis = analysed(data, one=2)
    write_report(analysis, tmp_path)
    with open(tmp_path / "groups.csv", encoding="utf-8", newline="") as file:
        (everything,) = [row for row in csv.DictReader(file) if row["group"] == "all"]
    mean, lower, upper = analysis["readers"]["one"]["all"]["f1"]
    assert [everything[key] for key in ("f1", "f1_lower", "f1_upper")] == [
        str(value) for value in (mean, lower, upper)
    ]
    with open(tmp_path / "questions.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [question.id for _, question in data.questions]
    assert [row["one: answer"] for row in rows[:3]] == ["zzz", "zzz", rows[2]["references"]]
    assert {row["one: unknown question words"] for row in rows} <= {"0", "1", "2", "> 2"}


@pytest.mark.usefixtures("undrawn")
def test_calibration_and_no_answer_are_tables_too(tmp_path: Path) -> None:
    analysis = analysed(dataset(), one=2)
    write_report(analysis, tmp_path)
    curve = analysis["readers"]["one"]["calibration"]["curve"]
    with open(tmp_path / "calibration.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1:] == [["one", *map(str, point)] for point in curve]
    assert not (tmp_path / "no-answer.csv").exists()
    counts = {"has, given": 1234, "has not, given": 5}
    analysis["readers"]["one"]["no_answer"] = counts
    page = write_report(analysis, tmp_path).read_text(encoding="utf-8")
    with open(tmp_path / "no-answer.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["reader", *counts], ["one", "1234", "5"]]
    assert '<tr><th scope="row">one</th><td>1,234</td><td>5</td></tr>' in page


@pytest.mark.usefixtures("undrawn")
def test_the_page_names_what_it_shows(tmp_path: Path) -> None:
    analysis = {"data": "a&b.json", **analysed(dataset(), one=2, other=5)}
    page = write_report(analysis, tmp_path).read_text(encoding="utf-8")
    assert "<title>Analysis of one, other on a&amp;b.json</title>" in page
    contents = dict(re.findall(r'<a href="#([^"]*)">([^<]*)</a>', page))
    assert contents == dict(re.findall(r'<h2 id="([^"]*)">([^<]*)</h2>', page))
    assert list(contents.values())[:2] == ["All questions", "By answer length"]
    assert list(contents.values())[-2:] == ["Calibration", "Worst questions"]


@pytest.mark.usefixtures("undrawn")
def test_other_readers_are_compared_with_the_first(tmp_path: Path) -> None:
    analysis = analysed(dataset(), one=2, other=5)
    analysis["readers"]["other"]["difference"]["f1"] = [-0.5, -1.25, 0.25]
    text = write_report(analysis, tmp_path).read_text(encoding="utf-8")
    section = text.partition("All questions</h2>")[2].partition("<h2")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</", line) for line in section.split("<tr>")[1:]]
    assert rows[0] == ["reader", "F1", "EM", "F1 above one", "EM above one"]
    assert rows[1][3:] == ["-", "-"]
    assert rows[2][3] == "-0.50 [-1.25, +0.25]"


def test_a_report_needs_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_report(tmp_path)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match=r"needs Jinja: pip install 'fabir\[plots\]'"):
        check_report(tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_groups_that_only_one_model_has_are_shown(tmp_path: Path) -> None:
    analysis = analysed(dataset(), one=2, other=5)
    group = analysis["readers"]["one"]["all"]
    for name, labels in (("one", "01"), ("other", "12")):
        groups = {label: {**group, "count": 1200 + int(label)} for label in labels}
        analysis["readers"][name]["groups"]["unknown question words"] = groups
    analysis["readers"]["other"]["groups"]["unknown question words"]["1"]["count"] = 7
    text = write_report(analysis, tmp_path).read_text(encoding="utf-8")
    section = text.partition("By unknown question words</h2>")[2].partition("<h2")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</", line) for line in section.split("<tr>")[2:]]
    assert [row[:2] for row in rows] == [
        ["0", "1,200 / 0"],
        ["1", "1,201 / 7"],
        ["2", "0 / 1,202"],
    ]
    assert [[cell == "-" for cell in row[2:]] for row in rows] == [
        [False, False, True, True],
        [False] * 4,
        [True, True, False, False],
    ]


@pytest.mark.usefixtures("undrawn")
def test_an_analysis_without_groups_of_unknown_words_is_shown_without_them(tmp_path: Path) -> None:
    analysis = analysed(dataset(), one=2)
    for each in UNKNOWN_WORDS:
        del analysis["readers"]["one"]["groups"][each.name]
        for row in analysis["questions"]:
            del row["readers"]["one"][each.name]
    page = write_report(analysis, tmp_path)
    assert "unknown" not in page.read_text(encoding="utf-8")
    with open(tmp_path / "questions.csv", encoding="utf-8", newline="") as file:
        assert not any("unknown" in name for name in next(csv.reader(file)))
