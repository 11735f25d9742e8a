"""Rows and columns that a question names have support, other words have none."""

import numpy as np
import pytest

from fabir.answer.layout import Layout, find_layout
from fabir.text.lines import divide

ALIGNED = """\
Fabrics

name   Width   metresLeft
Alpaca twill   133 cm   117.8
Irish linen   275 cm   13.5
Taffeta   112 cm   250.6
"""
RECORDS = """\
name: Alpaca twill
Width: 133 cm

name: Irish linen
Width: 275 cm
"""


def layout_of(text: str) -> Layout:
    layout = find_layout(text, divide(text).unwrapped)
    assert layout is not None
    return layout


def supported(text: str, question: str) -> dict[str, float]:
    """What each piece of a text has."""
    layout = layout_of(text)
    pieces = [text[piece.start : piece.end] for piece in layout.pieces]
    return dict(zip(pieces, layout.support(question).tolist(), strict=False))


def best(text: str, question: str) -> str:
    found = supported(text, question)
    return max(found, key=found.__getitem__)


@pytest.mark.parametrize("text", [ALIGNED, RECORDS])
def test_the_cell_of_a_named_row_and_column_has_most(text: str) -> None:
    assert best(text, "What is the width of Irish linen?") == "275 cm"
    assert best(text, "How wide is it? The width of Alpaca twill!") == "133 cm"


def test_names_of_columns_may_be_short() -> None:
    table = "site   lat   long   lead\nMarl   57.2   11.9   Ann Holm\nTern   58.1   12.4   Bo Frey"
    assert best(table, "What is the latitude of Tern?") == "58.1"
    assert best(table, "At which longitude is Marl?") == "11.9"
    assert best(table, "Who leads Tern?") == "Bo Frey"


def test_names_are_words_in_any_spelling() -> None:
    assert best(ALIGNED, "How many metres are left of taffeta?") == "250.6"
    assert best("item_no: 3\nis_crossing: gorge", "What does it cross?") == "gorge"


DATED = "day\tvisitors\n1854-11-{}\t12\n1854-12-{}\t15\n1855-12-{}\t9\n"


@pytest.mark.parametrize(
    "dated", [DATED.format("02", "02", "02"), "day\tvisitors\n2.11.1854\t12\n2.12.1854\t15"]
)
def test_a_date_in_digits_has_the_name_of_its_month(dated: str) -> None:
    assert best(dated, "How many visitors came in December 1854?") == "15"
    assert best(dated, "How many visitors came on 2 November 1854?") == "12"


def test_a_date_of_a_question_has_it_too() -> None:
    named = "day\tvisitors\nNovember 2\t14\nDecember 2\t15"
    assert best(named, "How many visitors came on 1854-12-02?") == "15"


def test_cells_between_tabs_may_be_empty() -> None:
    table = "\tname\twidth\tcare\n\tIrish linen\t\tcold\n\tTaffeta\t112 cm\thot"
    assert best(table, "What care does Irish linen need?") == "cold"
    assert best(table, "What is the width of taffeta?") == "112 cm"


def test_names_above_a_blank_line_of_marks_are_names() -> None:
    table = "\tname \twidth\t\n   \n\tIrish linen \t275 cm\t\n\tTaffeta \t112 cm\t"
    assert best(table, "What is the width of taffeta?") == "112 cm"


def test_a_row_counts_words_by_how_few_rows_have_them() -> None:
    lines = "The red house was built in 1901.\nThe red barn was built in 1880.\nRed paint."
    found = supported(lines, "When was the red barn built?")
    assert sorted(found, key=found.__getitem__)[-1].startswith("The red barn")


def test_lines_with_one_label_are_no_record() -> None:
    chat = "Ann: Where is the key?\nBo: In the drawer.\nAnn: Which drawer of the desk?"
    found = supported(chat, "What is in the drawer of the desk?")
    assert found["Ann: Which drawer of the desk?"] > found["Bo: In the drawer."] > 0


def test_wrapped_lines_are_one_piece() -> None:
    text = (
        "A paragraph that is long enough to be wrapped goes on\nin its next line.\n\nAnother one."
    )
    assert len(layout_of(text).pieces) == 2


def test_a_single_record_has_columns_alone() -> None:
    found = supported("name: Irish linen\nwidth: 275 cm", "What is the width of Irish linen?")
    assert found["275 cm"] > 0 == found["Irish linen"]


@pytest.mark.parametrize("text", ["Irish linen is 275 cm wide.", "", "\n \n\t\n"])
def test_one_line_has_no_layout(text: str) -> None:
    assert find_layout(text, divide(text).unwrapped) is None


def test_words_are_placed_in_their_pieces() -> None:
    layout = layout_of(RECORDS)
    starts = np.array([RECORDS.index(word) for word in ("name", "twill", "Width", "133", "Irish")])
    assert layout.place(starts).tolist() == [-1, 0, -1, 1, 2]


def test_words_of_no_piece_have_no_support() -> None:
    assert layout_of(ALIGNED).support("What is the name of Fabrics?")[-1] == 0
