"""What a terminal shows: which characters are marked."""

from itertools import groupby

import pytest
from rich.console import Console
from rich.text import Text

from fabir.answer.predictor import Answer, Reading
from fabir.answer.show import marked, show_text

BEFORE, AFTER = (
    f"{'It rains. ' * 8}Drops fall because of ",
    f". They are round.{' So are peas.' * 9}",
)


def shown(text: Text) -> list[tuple[str, str]]:
    """The pieces that a terminal shows in one style, each with its style."""
    console = Console(force_terminal=True, color_system="standard", width=500)
    with console.capture() as capture:
        console.print(text)
    drawn = Text.from_ansi(capture.get().strip("\n"))
    styles = [str(drawn.get_style_at_offset(console, at)) for at in range(len(drawn))]
    groups = groupby(range(len(drawn)), key=styles.__getitem__)
    pieces = [(style, list(places)) for style, places in groups]
    return [(drawn.plain[places[0] : places[-1] + 1], style) for style, places in pieces]


def test_only_the_answer_is_marked() -> None:
    assert shown(marked("because of ", "the\nmoon", ". It is")) == [
        ("  ", "none"),
        ("because of ", "dim"),
        ("the moon", "reverse"),
        (". It is", "dim"),
    ]


@pytest.mark.parametrize(
    ("passage", "around"),
    [
        ("Because of gravity.", "Because of gravity."),
        (f"{BEFORE}gravity{AFTER}", f"…{BEFORE[-60:]}gravity{AFTER[:60]}…"),
    ],
)
def test_dots_stand_where_the_passage_goes_on(
    passage: str,
    around: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fabir.answer.show.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "500")
    start = passage.index("gravity")
    answer = Answer("gravity", start, start + 7, 0.9)
    show_text("Why?", passage, [answer], Reading([answer], 0.1))
    assert capsys.readouterr().out == f"gravity   90%, from {start}\n  {around}\n"
