"""What stands beside each other on pages of PDF files: labels, addresses, lists."""

from pathlib import Path

import pytest

from collection import write_pdf_pages
from pdf_pages import BOLD, at, lines, read, text_of

pytest.importorskip("pypdfium2")
SELLER = "Holm Lamps", "4 Harbour Road", "Corm 2417"
BUYER = "Otto Berg", "7 Mill Lane", "Second floor, on the left", "Harle 9031"


def blocks(*columns: tuple[str, ...], lefts: tuple[float, ...] = (50, 300)) -> str:
    """Blocks of lines beside each other, one written after the other."""
    return "".join(lines(left, 120, *each) for left, each in zip(lefts, columns, strict=True))


def test_addresses_beside_each_other_are_read_one_by_one(tmp_path: Path) -> None:
    text = text_of(tmp_path, blocks(SELLER, BUYER))
    assert text == "\n\n".join(["\n".join(SELLER), "\n".join(BUYER)])


def test_names_above_addresses_go_with_them(tmp_path: Path) -> None:
    names = at(50, 106, "Seller", font="F2") + at(300, 106, "Buyer", font="F2")
    text = text_of(tmp_path, names + blocks(SELLER, BUYER), fonts=BOLD)
    seller, buyer = text.index("Seller"), text.index("Buyer")
    assert seller < text.index("Holm Lamps") < text.index("Corm 2417") < buyer
    assert buyer < text.index("Otto Berg") < text.index("Harle 9031")


def test_a_block_whose_lines_are_not_level_is_apart(tmp_path: Path) -> None:
    left = lines(50, 100, "Order 417", "Paid on the first of May", "Sent", step=16)
    right = lines(300, 104, "Keep this paper", "and the box", "for a year")
    assert text_of(tmp_path, left + right) == (
        "Order 417\nPaid on the first of May\nSent\n\nKeep this paper and the box for a year"
    )


def test_labels_and_values_that_are_written_column_by_column_stay_together(tmp_path: Path) -> None:
    text = text_of(tmp_path, blocks(("Order:", "Date:", "Clerk:"), ("4179", "7 May 1902", "Holm")))
    assert text == "Order: 4179\nDate: 7 May 1902\nClerk: Holm"


SLIP = (
    ("Customer", "Bayside Wholesale"),
    ("Invoice Number", "INV-0046"),
    ("Amount Due", "273.13"),
    ("Due Date", "Jun 3, 2013"),
)
SLIP_TEXT = (
    "Customer   Bayside Wholesale\nInvoice Number: INV-0046\nAmount Due: 273.13\n"
    "Due Date: Jun 3, 2013"
)


def slip(labels: str, left: float = 330) -> str:
    """The rows of SLIP, with this font for the labels."""
    return "".join(
        at(left, 100 + 14 * number, label, font=labels)
        + at(left + 110, 100 + 14 * number, value, font="F1")
        for number, (label, value) in enumerate(SLIP)
    )


@pytest.mark.parametrize("font", ["F1", "F2"])
def test_values_of_many_kinds_have_labels_and_no_name_of_a_column(
    tmp_path: Path, font: str
) -> None:
    assert text_of(tmp_path, slip(font), fonts=BOLD) == SLIP_TEXT


@pytest.mark.parametrize("down", [104, 110])
def test_labels_and_values_beside_an_address(tmp_path: Path, down: float) -> None:
    address = ("To: Orange Lamps", "23 Main Street", "Central City", "MARINEVILLE 12123", "USA")
    text = text_of(tmp_path, lines(60, down, *address) + slip("F2"), fonts=BOLD)
    assert text.startswith("To: Orange Lamps")
    assert text.endswith(f"USA\n\n{SLIP_TEXT}")


def test_labels_and_numbers(tmp_path: Path) -> None:
    rows = (("Charges", "$4.11"), ("Credits", "$0.00"), ("Total", "$4.11"))
    content = "".join(
        at(50, 100 + 14 * number, label) + at(400, 100 + 14 * number, value)
        for number, (label, value) in enumerate(rows)
    )
    assert text_of(tmp_path, content) == "Charges: $4.11\nCredits: $0.00\nTotal: $4.11"


def test_labels_with_dots_to_write_on_stay(tmp_path: Path) -> None:
    rows = ("Keeper:", "." * 20), ("Town:", "." * 20), ("Order:", "4179")
    form = "".join(
        at(50, 100 + 14 * number, label) + at(200, 100 + 14 * number, value)
        for number, (label, value) in enumerate(rows)
    )
    assert text_of(tmp_path, form) == "Keeper:\nTown:\nOrder: 4179"


def test_terms_and_their_meanings(tmp_path: Path) -> None:
    terms = (
        ("LRM", "Linear Reference Method"),
        ("NID", "National Identifier of a line"),
        ("NHN", "National Hydro Network, which is a map of all"),
    )
    content = "".join(
        at(50, 100 + 14 * number, term) + at(120, 100 + 14 * number, meaning)
        for number, (term, meaning) in enumerate(terms)
    )
    content += at(120, 142, "rivers and lakes")
    assert text_of(tmp_path, content) == (
        "LRM: Linear Reference Method\nNID: National Identifier of a line\n"
        "NHN: National Hydro Network, which is a map of all rivers and lakes"
    )


COMMANDS = (
    ("squeeze \\(arr\\)", "remove singleton dimensions."),
    ("ndims \\(arr\\)", "number of dimensions in the array."),
    ("permute \\(arr, p\\)", "permute the dimensions of an array."),
    ("ipermute \\(arr, p\\)", "array inverse permutation."),
)


def test_terms_in_small_letters_are_read_across(tmp_path: Path) -> None:
    content = at(50, 100, "Arrays", font="F2") + "".join(
        at(50, 112 + 10.5 * number, term, size=8) + at(130, 112 + 10.5 * number, meaning, size=8)
        for number, (term, meaning) in enumerate(COMMANDS)
    )
    write_pdf_pages(tmp_path / "a.pdf", [content], fonts=BOLD)
    found = read(tmp_path / "a.pdf")
    labelled = "\n".join(": ".join(each).replace("\\", "") for each in COMMANDS)
    assert found.text == f"Arrays\n\n{labelled}"
    assert [found.text[begin:end] for begin, end in found.headings] == ["Arrays"]


@pytest.mark.parametrize("marks", [("1.", "2.", "3."), ("1", "2", "3"), ("a\\)", "b\\)", "c\\)")])
def test_a_list_stays_a_list(tmp_path: Path, marks: tuple[str, ...]) -> None:
    items = "Oil the wheel of the mill.", "Open the sluice.", "Note the level of 4 feet."
    content = "".join(
        at(50, 100 + 14 * number, mark) + at(90, 100 + 14 * number, item)
        for number, (mark, item) in enumerate(zip(marks, items, strict=True))
    )
    text = text_of(tmp_path, content)
    assert [line.split() for line in text.split("\n")] == [
        [mark.replace("\\", ""), *item.split()] for mark, item in zip(marks, items, strict=True)
    ]


def test_a_table_of_contents_stays_as_it_is(tmp_path: Path) -> None:
    titles = ("Kites", "3"), ("Bridges", "9"), ("Towers", "14")
    content = "".join(
        at(50, 100 + 14 * number, title) + at(500, 100 + 14 * number, page)
        for number, (title, page) in enumerate(titles)
    )
    assert text_of(tmp_path, content) == "Kites   3\nBridges   9\nTowers   14"


def test_lines_with_labels_do_not_run_on(tmp_path: Path) -> None:
    content = lines(50, 100, "Order: 41790000000000000", "Sent: 7 May 1902")
    assert text_of(tmp_path, content) == "Order: 41790000000000000\nSent: 7 May 1902"


def test_words_are_whole_in_cells(tmp_path: Path) -> None:
    names = at(50, 106, "Station", font="F2") + at(300, 106, "Use", font="F2")
    cells = at(50, 120, "Torvald") + lines(300, 120, "It is the meteoro-", "logical station.")
    text = text_of(tmp_path, names + cells, fonts=BOLD)
    assert text == "Station: Torvald\nUse: It is the meteorological station."
