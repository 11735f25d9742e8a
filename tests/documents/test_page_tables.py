"""Tables in PDF files: rows with the names of their columns, and what is no table."""

from pathlib import Path

import pytest

from collection import write_pdf_pages
from pdf_pages import BOLD, at, lines, pages_of, read, text_of

pytest.importorskip("pypdfium2")
STATIONS = (
    ("Wick", "1934", "Ida Holm"),
    ("Marl", "1911", "Nils Berg"),
    ("Torvald", "1874", "Anders Hallin"),
)
LEFTS = 50, 200, 300


def row(down: float, *cells: str, lefts: tuple[float, ...] = LEFTS, font: str = "F1") -> str:
    """Cells beside each other; an empty one is not written."""
    places = zip(lefts, cells, strict=False)
    return "".join(at(left, down, cell, font=font) for left, cell in places if cell)


def rows(down: float, *cells: tuple[str, ...], lefts: tuple[float, ...] = LEFTS) -> str:
    return "".join(row(down + 14 * each, *texts, lefts=lefts) for each, texts in enumerate(cells))


def paragraphs(folder: Path, *contents: str) -> list[str]:
    return text_of(folder, *contents, fonts=BOLD).split("\n\n")


def named(*names: str) -> list[str]:
    """The rows of STATIONS with these names."""
    return [
        "\n".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=True))
        for cells in STATIONS
    ]


def test_each_row_has_the_names_of_the_columns(tmp_path: Path) -> None:
    table = row(100, "Station", "Opened", "Keeper") + rows(114, *STATIONS)
    above = at(50, 60, "The stations of the valley are old.")
    assert paragraphs(tmp_path, above + table) == [
        "The stations of the valley are old.",
        *named("Station", "Opened", "Keeper"),
    ]


def test_tables_that_are_written_column_by_column(tmp_path: Path) -> None:
    columns = zip(LEFTS, ("Station", "Opened", "Keeper"), *STATIONS, strict=True)
    table = "".join(lines(left, 100, *texts) for left, *texts in columns)
    assert paragraphs(tmp_path, table) == named("Station", "Opened", "Keeper")


def test_bold_names_need_no_values_below(tmp_path: Path) -> None:
    table = row(100, "Station", "Town", font="F2") + rows(114, ("Wick", "Corm"), ("Marl", "Harle"))
    assert paragraphs(tmp_path, table) == [
        "Station: Wick\nTown: Corm",
        "Station: Marl\nTown: Harle",
    ]


def test_texts_without_bold_names_or_values_stay_as_they_are(tmp_path: Path) -> None:
    table = rows(100, ("Station", "Town"), ("Wick", "Corm"), ("Marl", "Harle"))
    assert text_of(tmp_path, table) == "Station   Town\nWick   Corm\nMarl   Harle"


NAMES = "Station", "Open in winter", "Notes"
MARKS = ("Wick", "yes", "On the hill"), ("Marl", "-", "By the mill"), ("Enger", "no", "Far away")


def test_names_above_a_column_of_marks(tmp_path: Path) -> None:
    assert paragraphs(tmp_path, row(100, *NAMES) + rows(114, *MARKS)) == [
        "\n".join(f"{name}: {cell}" for name, cell in zip(NAMES, cells, strict=True))
        for cells in MARKS
    ]


@pytest.mark.parametrize("first", [("Torvald", "no", "Old"), ("Torvald", "never opened", "old")])
def test_a_row_like_the_others_names_no_columns(tmp_path: Path, first: tuple[str, ...]) -> None:
    table = (first, *MARKS)
    text = "\n".join("   ".join(cells) for cells in table)
    assert text_of(tmp_path, rows(100, *table)) == text


def test_names_in_two_rows_and_a_column_of_labels_without_a_name(tmp_path: Path) -> None:
    lefts = 50, 200, 250, 300, 350
    table = (
        at(222, 100, "Men")
        + at(320, 100, "Women")
        + row(112, "", "1911", "1934", "1911", "1934", lefts=lefts)
        + rows(124, ("Wick", "7", "9", "4", "-"), ("Marl", "5", "8", "3", "6"), lefts=lefts)
    )
    assert paragraphs(tmp_path, table) == [
        "Wick\nMen 1911: 7\nMen 1934: 9\nWomen 1911: 4\nWomen 1934: -",
        "Marl\nMen 1911: 5\nMen 1934: 8\nWomen 1911: 3\nWomen 1934: 6",
    ]


def test_a_caption_is_no_part_of_the_names_below_it(tmp_path: Path) -> None:
    lefts = 50, 150, 250, 350
    names = row(112, "Station", "Visitors", "Trains", "Parcels", lefts=lefts)
    cells = rows(124, ("Wick", "71", "9", "4"), ("Marl", "52", "8", "3"), lefts=lefts)
    caption = at(150, 100, "Visitors, trains and parcels in the valley, 1911")
    assert paragraphs(tmp_path, caption + names + cells) == [
        "Visitors, trains and parcels in the valley, 1911",
        "Station: Wick\nVisitors: 71\nTrains: 9\nParcels: 4",
        "Station: Marl\nVisitors: 52\nTrains: 8\nParcels: 3",
    ]
    part = "In the year 1911 "
    assert paragraphs(tmp_path, at(235, 100, part) + names + cells) == [
        f"Station: Wick\n{part}Visitors: 71\n{part}Trains: 9\n{part}Parcels: 4",
        f"Station: Marl\n{part}Visitors: 52\n{part}Trains: 8\n{part}Parcels: 3",
    ]


def test_a_name_may_have_several_lines(tmp_path: Path) -> None:
    names = at(50, 112, "Station") + lines(200, 100, "Number of", "keepers")
    table = names + rows(126, ("Wick", "7"), ("Marl", "5"))
    assert paragraphs(tmp_path, table) == [
        "Station: Wick\nNumber of keepers: 7",
        "Station: Marl\nNumber of keepers: 5",
    ]


def test_a_cell_may_have_several_lines(tmp_path: Path) -> None:
    table = row(100, "Item", "Description", "Price", lefts=(50, 200, 400))
    for down, number in ((120, "17"), (160, "18")):
        text = lines(200, down, "A lamp of brass that", "was never lit.")
        table += at(50, down, number) + text + at(400, down, "30.00")
    assert paragraphs(tmp_path, table) == [
        f"Item: {number}\nDescription: A lamp of brass that was never lit.\nPrice: 30.00"
        for number in (17, 18)
    ]


def test_labels_above_values(tmp_path: Path) -> None:
    form = (
        row(100, "Check in", "Check out", "Rooms")
        + row(112, "31/12/2017", "01/01/2018", "2")
        + row(140, "Booking:", "Account:", font="F2")
        + row(152, "IBZY2087", "Holm")
    )
    assert paragraphs(tmp_path, form) == [
        "Check in: 31/12/2017\nCheck out: 01/01/2018\nRooms: 2",
        "Booking: IBZY2087\nAccount: Holm",
    ]


def test_a_title_of_rows_stands_between_them(tmp_path: Path) -> None:
    table = (
        row(100, "Station", "Opened", "Keeper")
        + rows(114, *STATIONS[:2])
        + at(120, 142, "Closed stations")
        + rows(156, *STATIONS[2:])
    )
    first, second, third = named("Station", "Opened", "Keeper")
    assert paragraphs(tmp_path, table) == [first, second, "Closed stations", third]


def test_names_of_columns_without_cells_are_not_lost(tmp_path: Path) -> None:
    table = row(100, "Station", "Opened", "Closed") + rows(114, ("Wick", "1934"), ("Marl", "1911"))
    assert paragraphs(tmp_path, table) == [
        "Closed",
        "Station: Wick\nOpened: 1934",
        "Station: Marl\nOpened: 1911",
    ]


def test_a_column_to_be_filled_in_costs_no_other(tmp_path: Path) -> None:
    form = row(100, "Date", "Signature", font="F2")
    form += rows(114, *((f"{day}.03.2019", "." * 20) for day in (12, 19)))
    assert paragraphs(tmp_path, form) == ["Signature", "Date: 12.03.2019", "Date: 19.03.2019"]


def test_numbers_above_numbers_are_no_names(tmp_path: Path) -> None:
    table = rows(100, ("4", "9", "2"), ("3", "5", "7"), ("8", "1", "6"))
    assert text_of(tmp_path, table) == "4   9   2\n3   5   7\n8   1   6"


def test_a_list_of_labels_does_not_become_a_table(tmp_path: Path) -> None:
    text = rows(100, ("Name", "Ida Holm"), ("Town", "Corm"), ("Born", "1871"), ("Children", "3"))
    assert "Town: " not in text_of(tmp_path, text)


def test_a_table_follows_another_one(tmp_path: Path) -> None:
    second = row(300, "Mill", "Built") + rows(314, ("Corm", "1902"), ("Harle", "1873"))
    table = row(100, "Station", "Opened", "Keeper") + rows(114, *STATIONS)
    assert paragraphs(tmp_path, table + second) == [
        *named("Station", "Opened", "Keeper"),
        "Mill: Corm\nBuilt: 1902",
        "Mill: Harle\nBuilt: 1873",
    ]


def test_rows_at_the_top_of_pages_are_no_running_headers(tmp_path: Path) -> None:
    tables = [
        row(100, "Size", "Price") + rows(114, *((str(page + more), "9.50") for more in range(5)))
        for page in (3, 4, 5)
    ]
    write_pdf_pages(tmp_path / "a.pdf", tables)
    for page, text in enumerate(pages_of(read(tmp_path / "a.pdf")), 3):
        rows_of_page = [f"Size: {page + more}\nPrice: 9.50" for more in range(5)]
        assert text.strip() == "\n\n".join(rows_of_page)


def test_prose_in_two_columns_is_no_table(tmp_path: Path) -> None:
    left = "The Orla bridge was built in", "1822 by the smith Nils Ekdahl", "and is 45 metres long."
    right = "The Velm tower was paid for", "by Ida Holm, who was rich", "and lived in Corm."
    columns = lines(50, 112, *left) + lines(300, 112, *right)
    heads = at(50, 90, "The bridge", font="F2") + at(300, 90, "The tower", font="F2")
    text = text_of(tmp_path, heads + columns, fonts=BOLD)
    assert "built in 1822 by the smith Nils Ekdahl and is 45 metres long." in text
    assert "was paid for by Ida Holm, who was rich and lived in Corm." in text


def test_thousands_of_rows_are_read(tmp_path: Path) -> None:
    cells = [(f"pump {number}", str(7 * number), "red") for number in range(2000)]
    table = row(100, "Pump", "Weight", "Colour") + rows(114, *cells)
    write_pdf_pages(tmp_path / "a.pdf", [table], page="/MediaBox [0 -29000 612 792]")
    text = read(tmp_path / "a.pdf").text
    assert text.endswith("Pump: pump 1999\nWeight: 13993\nColour: red")
    assert text.count("Pump: ") == 2000


def test_a_value_that_is_wider_than_its_column_is_of_the_column_with_its_middle(
    tmp_path: Path,
) -> None:
    names = row(100, "Station", "Opened", "Staff", lefts=(50, 200, 249))
    stations = ("Wick", "1934", "12"), ("Marl", "1911", "30"), ("Enger", "1934-1951/2", "17")
    cells = rows(114, *stations, lefts=(50, 200, 268))
    assert paragraphs(tmp_path, names + cells)[-1] == (
        "Station: Enger\nOpened: 1934-1951/2\nStaff: 17"
    )


def test_bold_rows_below_the_names_are_titles(tmp_path: Path) -> None:
    columns = (
        ("Date", "Silver account", "Ida Holm", "02/07", "03/07"),
        ("Shop", "", "4179-22", "Corm mill", "Harle inn"),
        ("Amount", "", "", "12.40", "3.80"),
    )
    table = "".join(
        at(left, 100 + 14 * number, text, font="F2" if number < 3 else "F1")
        for left, texts in zip(LEFTS, columns, strict=True)
        for number, text in enumerate(texts)
        if text
    )
    assert paragraphs(tmp_path, table) == [
        "Silver account",
        "Ida Holm\n4179-22",
        "Date: 02/07\nShop: Corm mill\nAmount: 12.40",
        "Date: 03/07\nShop: Harle inn\nAmount: 3.80",
    ]


ABOVE = "The stations of the valley were visited by the men of the county twice a year, in May"
BELOW = "The keepers write all that they see into a book, which the council of Corm reads."


@pytest.mark.parametrize("left", [46, 20])
def test_a_table_close_to_the_text_above_and_below(tmp_path: Path, left: float) -> None:
    table = row(112, "Station", "Opened", "Keeper", font="F2") + rows(124, *STATIONS)
    text = at(left, 100, ABOVE) + table + at(left, 166, BELOW)
    rest = [*named("Station", "Opened", "Keeper"), BELOW]
    assert paragraphs(tmp_path, text) == [ABOVE, *rest]


def test_a_table_without_bold_names_close_to_the_text(tmp_path: Path) -> None:
    table = row(112, "Station", "Opened", "Keeper") + rows(124, *STATIONS)
    text = at(46, 100, ABOVE) + table + at(46, 166, BELOW)
    rest = [*named("Station", "Opened", "Keeper"), BELOW]
    assert paragraphs(tmp_path, text) == [ABOVE, *rest]


@pytest.mark.parametrize("down", [0, 12])
def test_a_column_of_text_beside_values_has_bold_names(tmp_path: Path, down: float) -> None:
    works = (
        ("New pumps and a filter hall,", "with a bridge that leads to it", "over the river."),
        ("Repair of the roof after the", "storm that came in", "the autumn."),
    )
    names = row(100, "Station", "Works", "Cost", lefts=(50, 200, 400), font="F2")
    table = names + "".join(
        at(50, 120 + down + 50 * number, name)
        + lines(200, 120 + 50 * number, *texts)
        + at(400, 120 + down + 50 * number, cost)
        for number, (name, texts, cost) in enumerate(
            zip(("Wick", "Marl"), works, ("12,000", "9,500"), strict=True)
        )
    )
    assert paragraphs(tmp_path, table) == [
        f"Station: Wick\nWorks: {' '.join(works[0])}\nCost: 12,000",
        f"Station: Marl\nWorks: {' '.join(works[1])}\nCost: 9,500",
    ]
