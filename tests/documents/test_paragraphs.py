"""Paragraphs of tables, whatever the format of their document."""

import pytest

from fabir.documents.paragraphs import Paragraph, TextBuilder, table_paragraphs


def made(*rows: list[str]) -> list[str]:
    """The paragraphs of a table, whose cells have a paragraph for each of their lines."""
    cells = [[[Paragraph(line) for line in text.split("\n")] for text in row] for row in rows]
    return [each.text for each in table_paragraphs(cells) if each.text]


def test_a_table_in_one_row_is_read_row_by_row() -> None:
    labels, before, after = (
        "\nIncome\nTax\nLevies\n",
        "€\n24,960\n1,872\n0",
        "€\n26,100\n1,472\n9\n\n",
    )
    assert made(["", "2006", "2007"], [labels, before, after]) == [
        "Income\n2006: € 24,960\n2007: € 26,100",
        "Tax\n2006: 1,872\n2007: 1,472",
        "Levies\n2006: 0\n2007: 9",
    ]


def test_a_name_that_is_too_long_for_each_row_stands_whole_at_the_end() -> None:
    name = "Sails " + "x" * 300 + " the end"
    rows = [[[Paragraph(text)] for text in row] for row in (["Mill", name], ["Wick", "4"])]
    first, last = [each.text for each in table_paragraphs(rows, 1)]
    assert first.endswith("x: 4")
    assert last == name


def test_cells_with_several_lines_stay_whole() -> None:
    for row in (
        ["Wick\nMarl\nHolm", "1911\n1934", "3"],  # of uneven heights
        ["Wick\nby the\nriver", "Ada\nBerg\nof Corm", "3\nor\nmore"],  # without values
        ["Berg", "12 Mill Lane\nCorm\nStrand", "3"],  # one cell alone
        ["Wick\nMarl", "1911\n1934", "3\n4"],  # of two lines
    ):
        found = made(["Mill", "Built", "Sails"], row)
        assert len(found) == 1
        assert all("\n".join(text.split("\n")[1:]) in found[0] for text in row)


def headings(*paragraphs: Paragraph) -> list[str]:
    """Those of a document to which the paragraphs are added one by one."""
    builder = TextBuilder()
    for each in paragraphs:
        builder.add([each])
    document = builder.document("")
    return [document.text[start:end] for start, end in document.headings]


def test_a_bold_line_above_text_is_a_heading() -> None:
    assert headings(
        Paragraph("The valley", heading=True),
        Paragraph("Mills", bold=True),
        Paragraph("Two are left."),
        Paragraph("Who keeps them?", bold=True),
        Paragraph("Mill: Wick\nKeeper: Ida Holm", row=True),
        Paragraph("Sails", heading=True, bold=True),
        Paragraph("They have four."),
    ) == ["The valley", "Mills", "Who keeps them?", "Sails"]


@pytest.mark.parametrize(
    "text", ["Closed.", "Name:", "Wick,", "1911", "Wick\nMarl", "a long line " * 8]
)
def test_other_bold_paragraphs_are_none(text: str) -> None:
    assert headings(Paragraph(text, bold=True), Paragraph("Two are left.")) == []


def test_a_bold_line_above_bold_text_is_none() -> None:
    lines = [Paragraph(text, bold=True) for text in ("Ida Holm", "12 Mill Lane", "Corm")]
    assert headings(*lines, Paragraph("Dear Ida,")) == ["Corm"]
    assert headings(*lines) == headings(*lines, Paragraph("Mills", heading=True))[:-1] == []
    rows = Paragraph("Mill: Wick", bold=True, row=True)
    assert headings(rows, Paragraph("Two are left.")) == []
