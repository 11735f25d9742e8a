"""Running headers and footnotes of PDF files, beside tables and blocks."""

from pathlib import Path

import pytest

from pdf_pages import at, lines, text_of

pytest.importorskip("pypdfium2")


def test_the_same_text_twice_on_a_page_is_no_running_header(tmp_path: Path) -> None:
    twice = lines(50, 100, "A few times", "in a day") + lines(300, 100, "A few times", "in a week")
    body = lines(50, 200, "The mill is old.", "It is red.", "Otto Berg built it.")
    text = text_of(tmp_path, twice + body, at(50, 100, "The end."))
    assert text.count("A few times") == 2


def test_decimals_do_not_count_pages(tmp_path: Path) -> None:
    pages = [
        lines(50, 100, f"Level {page}.5 metres", *(f"Pump {page} {each}" for each in "abcdefgh"))
        for page in (3, 4, 5)
    ]
    text = text_of(tmp_path, *pages)
    assert [f"Level {page}.5 metres" in text for page in (3, 4, 5)] == [True] * 3


def test_small_cells_that_begin_with_a_number_are_no_footnotes(tmp_path: Path) -> None:
    body = lines(50, 100, "The stations of the valley are old and most of them are shut.")
    rows = (("Number", "Opened"), ("17", "1934"), ("18", "1911"))
    table = "".join(
        at(left, 200 + 12 * down, cell, size=7)
        for down, row in enumerate(rows)
        for left, cell in zip((50, 200), row, strict=True)
    )
    text = text_of(tmp_path, body + table + at(50, 300, "They were built of red bricks by Ida."))
    assert text.split("\n\n")[1:] == [
        "Number: 17\nOpened: 1934",
        "Number: 18\nOpened: 1911",
        "They were built of red bricks by Ida.",
    ]


def test_a_footer_that_counts_pages_may_move_and_loses_its_number(tmp_path: Path) -> None:
    body = lines(50, 100, *(f"The mill of {each} grinds rye." for each in ("Ida", "Bo", "Al") * 4))
    footers = (
        at(50, 750, "Agreement of the mill") + at(400, 750, "1"),
        at(50, 730, "Agreement of the mill") + at(400, 730, "2") + at(50, 742, "Since 2 May"),
    )
    text = text_of(tmp_path, body + footers[0], body + footers[1])
    assert text.count("Agreement of the mill") == 1
    assert "mill   " not in text
    assert "Since 2 May" in text


def test_numbered_titles_at_different_places_stay(tmp_path: Path) -> None:
    body = lines(50, 200, "The mill is old.", "It is red.", "Otto Berg built it.", "It has sails.")
    text = text_of(tmp_path, at(50, 100, "Step 1") + body, at(50, 115, "Step 2") + body)
    assert "Step 1" in text
    assert "Step 2" in text


def test_numbers_of_lines_in_the_margin_are_no_text(tmp_path: Path) -> None:
    margin = lines(30, 60, *map(str, range(1, 26)), step=24)
    text = lines(80, 60, "The parties met in Oslo in May and agreed that the", step=24)
    text += lines(80, 84, "mill would be sold for 300 crowns at once.", step=24)
    said = "The parties met in Oslo in May and agreed that the"
    assert text_of(tmp_path, margin + text).split("\n\n") == [
        said,
        "mill would be sold for 300 crowns at once.",
    ]


@pytest.mark.parametrize(("first", "rows", "title"), [(1, 25, ""), (2, 25, ""), (1, 25, "No.")])
def test_numbers_of_rows_are_text(tmp_path: Path, first: int, rows: int, title: str) -> None:
    numbers = [str(first + row) for row in range(rows)]
    page = lines(30, 60, *numbers, step=24) + lines(80, 60, *["Ada Berg"] * rows, step=24)
    found = text_of(tmp_path, page + (at(30, 40, title) if title else ""))
    assert all(f"{number}   Ada Berg" in found for number in numbers)


def test_numbers_of_lines_of_prose_are_no_text(tmp_path: Path) -> None:
    margin = lines(30, 60, *map(str, range(1, 22)), step=24)
    text = lines(
        80, 60, *["that the mill of Corm would be sold in the spring of the"] * 21, step=24
    )
    assert not any(map(str.isdecimal, text_of(tmp_path, margin + text)))


PIECES = (
    "Each item that the kit holds is named on a card, and the cards are kept in a box that",
    "stands on the shelf of the smith, who counts them every evening before the door is",
    "locked and writes the number of cards into a book of which there are two, one for the",
    "smith and one for the council, which asks for it in May and once more in autumn,",
)


def test_the_title_of_a_chapter_in_a_long_document_stays_once(tmp_path: Path) -> None:
    bodies = [lines(50, 100, *PIECES, f"as they did in 19{10 + page}.") for page in range(30)]
    heads = [
        title for title in ("Kites", "Bridges", "Towers", "Mills", "Ferries") for _ in range(6)
    ]
    pages = [at(50, 40, head) + body for head, body in zip(heads, bodies, strict=True)]
    text = text_of(tmp_path, *pages)
    assert [text.count(head) for head in sorted(set(heads))] == [1] * 5


def test_a_text_on_few_pages_far_apart_is_no_running_header(tmp_path: Path) -> None:
    bodies = [lines(50, 100, *PIECES, f"as they did in 19{10 + page}.") for page in range(24)]
    pages = [(at(50, 40, "Summary") if n % 4 == 0 else "") + each for n, each in enumerate(bodies)]
    assert text_of(tmp_path, *pages).count("Summary") == 6


def test_a_running_header_stands_in_no_sentence_that_is_longer_than_a_page(tmp_path: Path) -> None:
    texts = [[text.replace("the", word) for text in PIECES] for word in ("a", "no", "one")]
    first, second, third = (lines(50, 100, *text) for text in texts)
    head = at(50, 40, "The Kites")
    last = at(50, 100, "and so on.")
    text = text_of(tmp_path, first, head + second, head + third, last)
    sentence = " ".join([*(" ".join(text) for text in texts), "and so on."])
    assert text.split("\n\n") == [sentence, "The Kites"]


def test_numbers_of_several_parts_do_not_count_pages(tmp_path: Path) -> None:
    pages = [
        at(50, 70, f"Invoice No. 2024-{100 + page:04}")
        + lines(50, 150, *(f"Sack {page} of {each}" for each in ("rye", "oats", "barley", "wheat")))
        for page in range(1, 7)
    ]
    text = text_of(tmp_path, *pages)
    assert [f"2024-{100 + page:04}" in text for page in range(1, 7)] == [True] * 6


def test_numbers_in_large_letters_do_not_count_pages(tmp_path: Path) -> None:
    for size, found in (14, 6), (10, 1):
        pages = [
            at(50, 70, f"Question {page}", size=size)
            + lines(50, 150, *(f"Take {page} of {each}" for each in ("rye", "oats", "corn", "hay")))
            for page in range(1, 7)
        ]
        text = text_of(tmp_path, *pages)
        assert sum(f"Question {page}" in text for page in range(1, 7)) == found
