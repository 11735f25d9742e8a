"""PDF files: reading order, whole words and sentences, forms, and what is lost, said."""

from pathlib import Path
from typing import Any

import pytest

from collection import write_pdf, write_pdf_objects, write_pdf_pages
from fabir.documents.reading import read_documents
from fabir.errors import InputError
from pdf_pages import BOLD, at, lines, pages_of, read, text_of

pytest.importorskip("pypdfium2")
DATA = Path(__file__).parents[1] / "data_files"
IMAGE = "q 400 0 0 400 50 200 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \x80 EI Q\n"


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_documents(path, print))
    assert "\n" not in str(caught.value)
    return str(caught.value)


LEFT = "The Orla bridge was built in", "1822 by the smith Nils Ekdahl", "and is 45 metres long."
RIGHT = (
    "The Velm tower was paid for by",
    "Ida Holm, who was a rich mer-",
    "chant of the town of Corm.",
)
IN_ORDER = (
    "The Orla bridge was built in 1822 by the smith Nils Ekdahl and is 45 metres long.\n\n"
    "The Velm tower was paid for by Ida Holm, who was a rich merchant of the town of Corm."
)


def test_columns_that_are_written_row_by_row(tmp_path: Path) -> None:
    both = zip(LEFT, RIGHT, strict=True)
    rows = [
        lines(50, 100 + 12 * row, left) + at(300, 100 + 12 * row, right)
        for row, (left, right) in enumerate(both)
    ]
    assert text_of(tmp_path, "".join(rows)) == IN_ORDER


def test_columns_whose_lines_are_not_level(tmp_path: Path) -> None:
    assert text_of(tmp_path, lines(300, 105, *RIGHT) + lines(50, 100, *LEFT)) == IN_ORDER


def test_columns_stand_between_what_is_above_and_below(tmp_path: Path) -> None:
    wide = "This line is as wide as both of the columns together, so it belongs to none of them."
    text = text_of(
        tmp_path,
        at(50, 60, wide) + lines(50, 100, *LEFT) + lines(300, 100, *RIGHT) + at(50, 160, wide),
    )
    assert text == f"{wide}\n\n{IN_ORDER}\n\n{wide}"


def test_a_sentence_goes_on_in_the_next_column(tmp_path: Path) -> None:
    left = "The Orla bridge was built in", "1822 by the smith Nils Ekdahl", "and it was painted by"
    right = "Ida Holm, who was a rich", "merchant. She lived in the", "town of Corm."
    text = text_of(tmp_path, lines(50, 100, *left) + lines(300, 100, *right))
    assert "and it was painted by Ida Holm, who was a rich merchant." in text


def test_dots_that_lead_to_a_number_are_no_text(tmp_path: Path) -> None:
    assert text_of(tmp_path, at(50, 100, "Kites . . . . . . . . . . . 12")) == "Kites   12"
    assert text_of(tmp_path, at(50, 100, "Kites"), at(50, 100, ". . . . . . .")) == "Kites"


def test_short_lines_end_and_full_lines_run_on(tmp_path: Path) -> None:
    text = text_of(
        tmp_path,
        lines(50, 100, "Wick pump house", "Harbour Road 4", "Corm")
        + lines(
            50, 160, "The pump of Wick moved nine million litres of water a day and", "was shut."
        ),
    )
    assert text == (
        "Wick pump house\nHarbour Road 4\nCorm\n\n"
        "The pump of Wick moved nine million litres of water a day and was shut."
    )


def test_an_indented_line_begins_a_paragraph(tmp_path: Path) -> None:
    first = lines(50, 100, "The mill was built in 1902 by Otto Berg and his two", "sons.")
    second = at(65, 124, "Its wheel was made of oak.")
    assert "sons.\n\nIts wheel" in text_of(tmp_path, first + second)


def hyphens(folder: Path, *texts: str) -> str:
    return text_of(folder, lines(50, 100, *texts))


def test_words_are_whole_at_line_ends(tmp_path: Path) -> None:
    text = hyphens(tmp_path, "The meteoro-", "logical sta-", "tion of Tor-", "vald is old.")
    assert text == "The meteorological station of Torvald is old."


def test_a_long_word_in_small_letters_does_not_end_a_paragraph(tmp_path: Path) -> None:
    small = "BT /F1 10 Tf 50 692 Td (The files are in ) Tj /F1 7 Tf (share/packages/wheels) Tj "
    first = f"{small}/F1 10 Tf ( and are named) Tj ET\n"
    text = text_of(tmp_path, first + lines(50, 112, "after the application of the mill, as here."))
    assert "wheels and are named after the application" in text


def test_capitals_are_whole_if_the_text_has_them_so(tmp_path: Path) -> None:
    text = hyphens(tmp_path, "It is OPTIONAL here, and OP-", "TIONAL there, and no NON-", "ASCII.")
    assert text == "It is OPTIONAL here, and OPTIONAL there, and no NON-ASCII."


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        (("A well-known man and a well-", "known mill."), "a well-known mill."),
        (("The state-of-the-", "art mill."), "The state-of-the-art mill."),
        (("An oven, a burning coal, a coal-", "burning oven."), "a coal-burning oven."),
        (("The pre- and the post-", "and last war."), "post- and last war."),
        (("The Anglo-", "Saxon mill."), "The Anglo-Saxon mill."),
    ],
)
def test_hyphens_that_belong_to_a_word_stay(
    tmp_path: Path, texts: tuple[str, ...], whole: str
) -> None:
    assert hyphens(tmp_path, *texts).endswith(whole)


def test_soft_hyphens_are_no_text(tmp_path: Path) -> None:
    encoding = "/Encoding << /Type /Encoding /Differences [1 /softhyphen] >>"
    font = f"/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica {encoding} >>"
    content = lines(50, 100, "A met\1eo\1ro\1log\1ical sta\1", "tion.")
    assert text_of(tmp_path, content, fonts=font) == "A meteorological station."


def test_ligatures_are_letters(tmp_path: Path) -> None:
    encoding = "/Encoding << /Type /Encoding /Differences [1 /fi /fl] >>"
    font = f"/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica {encoding} >>"
    assert text_of(tmp_path, at(50, 100, "The \1eld \2ood"), fonts=font) == "The field flood"


def test_a_sentence_over_the_end_of_a_page_is_whole(tmp_path: Path) -> None:
    first = lines(
        50, 100, "The pumping station of Harle is old. It was", "designed by the engineer"
    )
    second = lines(50, 100, "Josephine Bell, and completed in 1873.", "It moved water.")
    feet = [at(50, 750, f"Page {number} of 2") for number in (1, 2)]
    write_pdf_pages(tmp_path / "a.pdf", [first + feet[0], second + feet[1]])
    found = read(tmp_path / "a.pdf")
    assert "It was designed by the engineer Josephine Bell, and" in found.text
    assert "Page" not in found.text
    assert pages_of(found)[1].startswith("Josephine Bell")


def test_a_name_over_the_end_of_a_page_is_whole(tmp_path: Path) -> None:
    first = lines(
        50,
        100,
        "The bridge crosses the river at the old ford, where the road",
        "was. It leads to the market of the town and to the mill and",
        "is narrow. It was designed in 1822 by the engineer Nils",
    )
    second = lines(50, 100, "Ekdahl, who came from Tarn.")
    assert "engineer Nils Ekdahl, who" in text_of(tmp_path, first, second)


def test_a_short_line_at_the_end_of_a_page_ends(tmp_path: Path) -> None:
    first = lines(50, 100, *LEFT[:2], "and this is signed by Nils")
    text = text_of(tmp_path, at(50, 88, "x" * 60) + first, at(50, 100, "Corm has a mill."))
    assert "by Nils\n\nCorm has" in text


def test_a_word_over_the_end_of_a_page_is_whole(tmp_path: Path) -> None:
    write_pdf_pages(
        tmp_path / "a.pdf", [at(50, 100, "It has a meteoro-"), at(50, 100, "logical mast.")]
    )
    found = read(tmp_path / "a.pdf")
    assert found.text == "It has a meteorological mast."
    assert pages_of(found) == ["It has a meteoro", "logical mast."]


def test_pages_that_end_with_a_sentence_are_paragraphs(tmp_path: Path) -> None:
    write_pdf(tmp_path / "a.pdf", ["The mill is old.", "It is red.", "Who built it?"])
    found = read(tmp_path / "a.pdf")
    assert found.text == "The mill is old.\n\nIt is red.\n\nWho built it?"
    assert pages_of(found) == ["The mill is old.\n\n", "It is red.\n\n", "Who built it?"]


def test_a_footnote_does_not_divide_a_sentence(tmp_path: Path) -> None:
    first = lines(50, 100, "The mill of Corm is old.") + at(
        50, 140, "It was designed by the engineer"
    )
    note = at(50, 700, "1 See the map of Corm.", size=7)
    text = text_of(tmp_path, first + note, at(50, 100, "Josephine Bell of the town of Corm."))
    assert text.split("\n\n") == [
        "The mill of Corm is old.",
        "1 See the map of Corm.",
        "It was designed by the engineer Josephine Bell of the town of Corm.",
    ]


def test_a_running_header_stays_once(tmp_path: Path) -> None:
    head = "Report of the Corm pump works"
    contents = [
        at(50, 30, f"{head} {number + 7}")
        + lines(50, 100, f"The {word} pump is old.", "It is red.")
        for number, word in enumerate(("first", "second", "third"))
    ]
    text = text_of(tmp_path, *contents)
    assert text.count(head) == 1
    assert [word in text for word in ("first", "second", "third")] == [True] * 3


def test_headers_with_other_numbers_than_the_page_s_stay(tmp_path: Path) -> None:
    contents = [
        at(50, 30, f"Invoice 20{number}") + lines(50, 100, "Paid in May.", f"Total {number}.")
        for number in (417, 993)
    ]
    write_pdf_pages(tmp_path / "a.pdf", contents)
    first, second = pages_of(read(tmp_path / "a.pdf"))
    assert first.startswith("Invoice 20417")
    assert second.startswith("Invoice 20993")


def test_running_titles_of_chapters_stay_once(tmp_path: Path) -> None:
    titles = ["Kites", "Kites", "Bridges", "Bridges", "Towers", "Towers"]
    contents = [
        at(50, 30, f"{title} {number}") + lines(50, 100, f"Page of {title} {'x' * number}.")
        for number, title in enumerate(titles, 11)
    ]
    write_pdf_pages(tmp_path / "a.pdf", contents)
    heads = [page.partition("\n\n")[0] for page in pages_of(read(tmp_path / "a.pdf"))]
    assert heads[::2] == ["Kites 11", "Bridges 13", "Towers 15"]
    assert [head[:4] for head in heads[1::2]] == ["Page"] * 3


def test_a_page_of_nothing_but_a_header_keeps_it(tmp_path: Path) -> None:
    assert text_of(tmp_path, *[at(50, 100, f"Slide {n}") for n in (1, 2, 3)]).count("Slide") == 3


def test_headings_are_larger_or_bold(tmp_path: Path) -> None:
    contents = (
        at(50, 100, "The mills of Corm", size=16)
        + lines(50, 140, "The mills of Corm stand by the river, and all of them are old.")
        + at(50, 180, "The first mill", font="F2")
        + lines(50, 200, "It was built in 1902 by Otto Berg and it has a wheel of oak.")
        + at(50, 240, "Wheels", font="F2")
        + at(200, 240, "12", font="F2")
    )
    write_pdf_pages(tmp_path / "a.pdf", [contents], fonts=BOLD)
    found = read(tmp_path / "a.pdf")
    headings = [found.text[begin:end] for begin, end in found.headings]
    assert headings == ["The mills of Corm", "The first mill"]


BODY = (
    "The mill stands by the river, and its wheel of oak turns when the sluice is opened in",
    "the morning by the miller, who lives in the house beside it and keeps a goat and two",
    "cows. The road from Corm leads over the bridge to the mill, and from there to the old",
    "town, where the market is held in May and in autumn under the lime trees of the square.",
    "In winter the road is closed.",
)


def test_a_heading_of_two_lines_is_one(tmp_path: Path) -> None:
    heading = at(50, 100, "3.17. Data for services provided by this", 17)
    contents = heading + at(50, 123, "system", 17) + lines(50, 150, *BODY)
    title = at(150, 300, "The Mills and the Bridges of", 18) + at(243, 322, "Corm", 18)
    write_pdf_pages(tmp_path / "a.pdf", [contents + title + lines(50, 350, *BODY)])
    found = read(tmp_path / "a.pdf")
    headings = [found.text[begin:end].replace("\n", " ") for begin, end in found.headings]
    assert headings == [
        "3.17. Data for services provided by this system",
        "The Mills and the Bridges of Corm",
    ]


def test_headings_apart_are_several(tmp_path: Path) -> None:
    contents = at(50, 100, "The mills", 17) + at(50, 130, "The bridges", 17)
    write_pdf_pages(tmp_path / "a.pdf", [contents + lines(50, 150, *BODY)])
    found = read(tmp_path / "a.pdf")
    headings = [found.text[begin:end] for begin, end in found.headings]
    assert headings == ["The mills", "The bridges"]


@pytest.mark.parametrize("spread", [0, 1, 2, 3])
def test_words_that_are_stretched_to_a_scan_are_whole(tmp_path: Path, spread: float) -> None:
    """Their last letters are drawn apart, and the file has a space behind each word."""
    pieces = ("A ", "Chin", "a ", "Ocea", "n ", "o", "f ", "Wic", "k ", "on 1")
    drawn = "".join(f"({piece}) Tj " for piece in pieces)
    line = f"BT /F1 10 Tf {spread} Tc 50 700 Td {drawn} ET\n"
    assert text_of(tmp_path, line) == "A China Ocean of Wick on 1"


def test_text_in_another_direction_is_apart(tmp_path: Path) -> None:
    up = "BT /F1 10 Tf 0 1 -1 0 30 300 Tm (Written along the edge) Tj ET\n"
    text = text_of(
        tmp_path, up + lines(50, 100, "The mill of Corm was built in 1902 by", "Otto Berg.")
    )
    assert text == "The mill of Corm was built in 1902 by Otto Berg.\n\nWritten along the edge"


def test_a_turned_page_reads_as_its_lines_run(tmp_path: Path) -> None:
    turned = [
        f"BT /F1 10 Tf 0 1 -1 0 {left} 100 Tm ({text}) Tj ET"
        for left, text in ((100, "The mill of Corm was built in 1902 by"), (112, "Otto Berg."))
    ]
    text = text_of(tmp_path, "\n".join(turned), page="/Rotate 90")
    assert text == "The mill of Corm was built in 1902 by Otto Berg."


@pytest.mark.parametrize(
    "boxes",
    [
        "/MediaBox [0 400 612 792]",
        "/MediaBox [0 0 612 792] /CropBox [0 400 612 792]",
        "/MediaBox [0 400 612 792] /CropBox [0 0 900 900]",
        "/CropBox [0 400 612 792] /Rotate 90",
    ],
)
def test_what_a_page_does_not_show_is_no_text(tmp_path: Path, boxes: str) -> None:
    up = "BT /F1 10 Tf 0 1 -1 0 300 {} Tm ({}) Tj ET\n"
    hidden = at(50, 500, "The ferry is new.") + at(620, 100, "Cut here.") + up.format(200, "Low")
    shown = at(50, 100, "The mill is old.") + up.format(500, "High")
    assert text_of(tmp_path, hidden + shown, page=boxes) == "The mill is old.\n\nHigh"


def widget(name: str, more: str) -> str:
    return f"<< /Type /Annot /Subtype /Widget /T ({name}) /Rect [0 0 9 9] {more} >>"


@pytest.mark.parametrize("has_form", [True, False])
def test_values_of_forms_are_text(tmp_path: Path, has_form: bool) -> None:
    fields = " ".join(
        [
            widget("Name", "/FT /Tx /V (Alice Holm)"),
            widget("form1[0].page1[0].City[0]", "/FT /Tx /V (Corm)"),
            widget("Empty", "/FT /Tx"),
            widget("Member", "/FT /Btn /V /Yes /AS /Yes /AP << /N << /Yes null >> >>"),
            widget("Old", "/FT /Btn /V /Off /AS /Off"),
        ]
    )
    form = f"/AcroForm << /Fields [{fields}] >>" if has_form else ""
    text = text_of(tmp_path, at(50, 100, "Club form"), page=f"/Annots [{fields}]", catalog=form)
    assert text.split("\n") == ["Club form", "", "Name: Alice Holm", "City: Corm", "Member: Yes"]


def test_comments_are_text(tmp_path: Path) -> None:
    note = "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (The date is wrong.) >>"
    link = "<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Contents (Corm) >>"
    text = text_of(tmp_path, at(50, 100, "Built in 1902."), page=f"/Annots [{note} {link}]")
    assert text == "Built in 1902.\n\nThe date is wrong."


def test_a_scan_is_said(tmp_path: Path) -> None:
    write_pdf_pages(tmp_path / "scan.pdf", [IMAGE, IMAGE])
    said: list[str] = []
    assert not list(read_documents(tmp_path / "scan.pdf", said.append))
    assert [line.partition(": ")[2] for line in said] == ["no text: scanned?"]


def test_scanned_pages_among_others_are_said(tmp_path: Path) -> None:
    write_pdf_pages(tmp_path / "a.pdf", [at(50, 100, "It is red."), IMAGE, ""])
    found = read(tmp_path / "a.pdf", ("page 2 has no text: scanned?",))
    assert pages_of(found) == ["It is red.", "", ""]


def test_scans_with_a_stamp_or_a_page_number_are_said(tmp_path: Path) -> None:
    whole = IMAGE.replace("400 0 0 400 50 200", "612 0 0 792 0 0")
    stamped = [whole + at(50, 780, "SCAN001"), IMAGE + at(300, 780, "Page 2")]
    write_pdf_pages(tmp_path / "a.pdf", [*stamped, IMAGE + at(50, 50, "Map of Corm")])
    losses = ("page 1 has hardly any text: scanned? (and 1 more)",)
    assert pages_of(read(tmp_path / "a.pdf", losses))[0] == "SCAN001\n\n"


def raised(left: float, down: float, text: str) -> str:
    return at(left, down - 4, text, size=7)


def test_raised_numbers_are_exponents_or_marks(tmp_path: Path) -> None:
    content = at(50, 100, "Varn has 10") + raised(102.3, 100, "6") + at(106.5, 100, " people.")
    assert text_of(tmp_path, content) == "Varn has 10^6 people."
    low = at(50, 100, "CO") + at(65, 102, "2", size=7) + at(69, 100, " rose.")
    assert text_of(tmp_path, low) == "CO2 rose."
    mark = at(50, 100, "Ida Holm") + raised(91, 100, "1,2") + at(102, 100, ", of Corm")
    assert text_of(tmp_path, mark) == "Ida Holm^1,2 , of Corm"


def test_a_raised_number_behind_a_bracket_or_a_sign_is_no_exponent(tmp_path: Path) -> None:
    content = at(50, 100, "Package 2 \\(") + raised(103.6, 100, "5") + at(108, 100, " visits\\)")
    assert "^" not in text_of(tmp_path, content)


def test_pages_of_glyph_numbers_are_left_out_and_said(tmp_path: Path) -> None:
    descendant = (
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Foo /CIDSystemInfo "
        "<< /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor "
        "<< /Type /FontDescriptor /FontName /Foo /Flags 4 /Ascent 800 /Descent -200 >> >>"
    )
    font = (
        "/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> "
        "/F2 << /Type /Font /Subtype /Type0 /BaseFont /Foo /Encoding /Identity-H "
        f"/DescendantFonts [{descendant}] >>"
    )
    glyphs = "BT /F2 12 Tf 50 700 Td <0037004B0048000300500051004F> Tj ET"
    write_pdf_pages(tmp_path / "a.pdf", [at(50, 100, "It is red."), glyphs], fonts=font)
    found = read(tmp_path / "a.pdf", ("page 2 has glyph numbers in place of letters",))
    assert found.text == "It is red."


def test_glyph_names_that_count_like_letters_are_read(tmp_path: Path) -> None:
    names = " ".join(f"/g{number}" for number in range(32, 127))
    widths = " ".join(["600"] * 95)
    font = (
        "/F1 << /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Foo /FirstChar 32 /LastChar 126 "
        f"/Widths [{widths}] /Encoding << /Type /Encoding /Differences [32 {names}] >> "
        "/FontDescriptor << /Type /FontDescriptor /FontName /ABCDEF+Foo /Flags 4 >> >>"
    )
    assert text_of(tmp_path, at(50, 100, "The mill is old."), fonts=font) == "The mill is old."


@pytest.mark.parametrize("name", ["rc4.pdf", "aes.pdf"])
def test_encrypted_files_without_a_password_are_read(name: str) -> None:
    assert read(DATA / name).text == "The mill of Corm was built in 1902."


def test_a_file_with_a_password_is_refused() -> None:
    assert refused(DATA / "password.pdf").endswith("needs a password: save a copy without one")


@pytest.mark.parametrize(
    ("title", "used"),
    [
        ("The mills of Corm", "The mills of Corm"),
        ("\\(anonymous\\)", "the file"),
        ("untitled", "the file"),
        ("Word Document", "the file"),
        ("Microsoft Word - x.doc", "the file"),
        ("letter-3.docx", "the file"),
        (" ", "the file"),
    ],
)
def test_titles_that_say_nothing_are_not_used(tmp_path: Path, title: str, used: str) -> None:
    write_pdf_pages(tmp_path / "the_file.pdf", [at(50, 100, "It is red.")], title=title)
    assert read(tmp_path / "the_file.pdf").title == used


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    with open(tmp_path / "a.pdf", "wb") as file:
        file.truncate(2 << 30)
    assert "larger than 64 MiB" in refused(tmp_path / "a.pdf")


@pytest.mark.parametrize("content", [b"", b"%PDF-1.4 broken", b"\0" * 1000])
def test_what_is_no_pdf_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    assert "cannot be read: broken, or no PDF" in refused(tmp_path / "a.pdf")


PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>"
STREAM = "<< /Length 0 >>\nstream\n\nendstream"


def test_too_many_pages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabir.documents.pdf.MAX_PAGES", 2)
    write_pdf(tmp_path / "a.pdf", ["a", "b", "c"])
    assert "more than 2 pages: split it" in refused(tmp_path / "a.pdf")


@pytest.mark.parametrize(
    ("kids", "count"),
    [("2 0 R 3 0 R", 2), ("3 0 R", 2_000_000_000), ("3 0 R", -5), ("3 0 R 9 0 R", 2)],
)
def test_loops_and_false_counts_of_pages_end(tmp_path: Path, kids: str, count: int) -> None:
    tree = f"<< /Type /Pages /Kids [{kids}] /Count {count} >>"
    path = tmp_path / "a.pdf"
    write_pdf_objects(path, ["<< /Type /Catalog /Pages 2 0 R >>", tree, PAGE, STREAM])
    said: list[str] = []
    assert not list(read_documents(path, said.append))
    assert len(said) == 1


def test_every_page_is_a_sign_of_life(tmp_path: Path) -> None:
    from fabir.documents.pdf import read_pdf

    class Watch:
        pages = 0

        def lost(self, what: str) -> None:
            raise AssertionError(what)

        def alive(self) -> None:
            self.pages += 1

    watch: Any = Watch()
    write_pdf(tmp_path / "a.pdf", ["a", "b", "c"])
    list(read_pdf(tmp_path / "a.pdf", watch))
    assert watch.pages == 3


def test_words_drawn_twice_in_one_place_are_read_once(tmp_path: Path) -> None:
    line = at(50, 100, "The mill of Marl is the oldest.")
    assert text_of(tmp_path, line + line) == "The mill of Marl is the oldest."
    shifted = at(50.4, 100, "The mill of Marl is the oldest.")
    assert text_of(tmp_path, line + shifted) == "The mill of Marl is the oldest."
    assert text_of(tmp_path, at(50, 100, "New York, New York")) == "New York, New York"


def test_tex_s_codes_without_names_are_ligatures_and_dashes(tmp_path: Path) -> None:
    names = " ".join(f"/g{number}" for number in range(127))
    widths = " ".join(["600"] * 127)
    font = (
        "/F1 << /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Foo /FirstChar 0 /LastChar 126 "
        f"/Widths [{widths}] /Encoding << /Type /Encoding /Differences [0 {names}] >> "
        "/FontDescriptor << /Type /FontDescriptor /FontName /ABCDEF+Foo /Flags 4 >> >>"
    )
    written = r"\034rst de\034ned e\033ect, pages 5\02512"
    read = "first defined effect, pages 5–12"
    assert text_of(tmp_path, at(50, 100, written), fonts=font) == read
