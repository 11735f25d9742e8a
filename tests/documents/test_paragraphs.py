"""Paragraphs of tables, whatever the format of their document."""

from fabir.documents.paragraphs import Paragraph, table_paragraphs


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
