"""What all plots share."""

from pathlib import Path

import pytest

from fabir.errors import InputError
from fabir.plots import add_legend, check_plot, legend_name, new_figure, save, short_names, style


def test_lines_differ_in_colour_and_in_more() -> None:
    seen = [style(number) for number in range(28)]
    for key in ("marker", "linestyle"):
        assert len({(each["color"], each[key]) for each in seen}) == 28


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["bundled"], ["bundled"]),
        (["runs/a", "runs/b"], ["a", "b"]),
        (["runs/one/fabir", "runs/two/fabir", "x"], ["one/fabir", "two/fabir", "runs/x"]),
        ([], []),
    ],
)
def test_names_are_as_long_as_is_needed(
    folders: list[str], names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path / "runs" if "x" in folders else tmp_path)
    assert short_names([Path(folder) for folder in folders]) == names


def test_a_folder_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="runs/a is named twice"):
        short_names([Path("runs/a"), Path("runs/b/../a")])


def test_names_in_a_legend_are_those_of_the_folders(tmp_path: Path) -> None:
    figure = new_figure(4, 3)
    axes = figure.subplots()
    for name in ("_run", "x$^$y", "runs/a_b"):
        axes.plot([1, 2], [1, 2], label=legend_name(name))
    add_legend(figure, axes)
    save(figure, tmp_path / "plot.svg")
    assert len(figure.legends[0].get_texts()) == 3


@pytest.mark.parametrize("kind", ["jpg", "webp", "pgf", "svgz", "txt", ""])
def test_other_files_than_plots_are_refused_before_the_work(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match="cannot draw"):
        check_plot(tmp_path / f"plot.{kind}")


def test_the_ending_of_a_plot_may_be_in_capitals(tmp_path: Path) -> None:
    save(new_figure(1, 1), tmp_path / "PLOT.PNG")
    assert (tmp_path / "PLOT.PNG").read_bytes().startswith(b"\x89PNG")
