"""Line ends: those of wrapped text are spaces, those of addresses and tables divide."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.text.lines import divide, unwrap_lines
from fabir.text.units import place_words

PIECES = st.sampled_from(["Rain falls", "a", ".", "- ", "x" * 30, " ", "\r", "\n", "\n\n"])

WRAPPED = """The abbey of Saint-Evroul was founded in the year 1082 by a
duke of Normandy, who gave it to the monks of a neighbouring
valley."""
ADDRESS = "Satoshi Sekine\nNew York University\n715 Broadway"
ROWS = "Title: Terrible Teddy, the Grizzly King\nDirector: Edwin S. Porter\nYear: 1901"
GRID = """Mill of the town   Otto Berg and his sons
=================  =======================
Bridge over it     a company of Bergen
The school         Ida Strand with others"""
LIST = (
    "We need these things for the journey:\n- a tent for four people, not a small one\n- two boats"
)

LOG = """2026-11-27 11:00:40 status installed libhandy-1-0:amd64 1.8.1-1
2026-11-27 11:00:41 trigproc libc-bin:amd64 2.36-9+deb12u14 <none>
2026-11-27 11:00:41 status installed libc-bin:amd64 2.36-9+deb12u14"""
CHAT = """12/03/21, 14:05 - Anna Berg: The boat leaves on Friday from the old harbour
12/03/21, 14:07 - Tom: Fine, I will bring the tent and the blue cooker along"""
OPTIONS = """--indentless-lists       begin the items of a list where its key begins
--in-place, -i           edit files in place (no backup, use caution)
-v, --version            show the number of the version and end"""
CELLS = "The mill of the town\tOtto Berg and his sons\nThe bridge beside it\ta company of Bergen"


@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join)))
def test_everything_stays_where_it_was(text: str) -> None:
    changed = [(old, new) for old, new in zip(text, unwrap_lines(text), strict=True) if old != new]
    assert {new for _, new in changed} <= {" "}
    assert all(old.isspace() for old, _ in changed)
    divided = divide(text)
    assert set(divided.marks) <= set(divided.breaks)
    assert all(text[place].isspace() for place in divided.breaks)
    marks = set(divided.marks)
    assert divided.text == "".join(
        divided.text[place] if place in marks else character for place, character in enumerate(text)
    )


def test_rows_of_a_table_in_plain_text_divide() -> None:
    assert unwrap_lines(GRID) == GRID


def test_gaps_in_justified_lines_are_no_columns() -> None:
    text = "It was built in the year  1902 of oak\nfrom  Bergen by men of the town who had"
    assert unwrap_lines(text) == text.replace("\n", " ")


def test_wrapped_lines_are_one_paragraph() -> None:
    assert unwrap_lines(WRAPPED) == WRAPPED.replace("\n", " ")
    assert unwrap_lines(WRAPPED.replace("\n", "\r\n")) == WRAPPED.replace("\n", "  ")
    assert divide(WRAPPED)[:3] == (WRAPPED, [], [])
    indented = "    " + WRAPPED.replace("\n", "\n    ")
    assert divide(indented)[:3] == (indented, [], [])


@pytest.mark.parametrize("text", [ADDRESS, ROWS, LIST, "Kites\nand wind", "Rain.\nSnow."])
def test_other_line_ends_divide(text: str) -> None:
    ends = [place for place, character in enumerate(text) if character == "\n"]
    assert divide(text).breaks == ends


@pytest.mark.parametrize(
    "text",
    [
        "Precipitation falls under gravity.| It is rain or snow.",
        "It began in 1948.| On 17 September it ended.",
        "He saw a mill (the oldest one).| The bridge is older.",
        'She asked: "Who is it?"|  "The miller."',
        "They sold to Foo Inc.| In 1999 they left.",
        "James Lofton and Mark Malone.|\tJim Gray",
        "The owls left with the wind and the rain of a long autumn.|\nThe millers stayed behind.",
    ],
)
def test_a_sentence_ends_where_hardly_any_abbreviation_does(text: str) -> None:
    pieces = text.split("|")
    assert set(divide("".join(pieces)).breaks) == {len(pieces[0])}


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Brown and Dr. Who met St. Augustine at Warner Bros. Presents.",
        "Doctor of Pharmacy (Pharm. D.), No. 5, Op. 53 and e.g. Rome",
        "Plants vs. The Zombies; Smith v. The Queen; Bellamy R. The unsaid",
        "Who Governs? Democracy and Power; Manga! Manga! Comics",
        "It costs 3.50 euros, ca. ten dollars, Inc. Foo, U.S. Army, fabir.Text and approx.10",
    ],
)
def test_an_abbreviation_ends_no_sentence(text: str) -> None:
    assert divide(text).breaks == []


@pytest.mark.parametrize("text", [LOG, CHAT, OPTIONS, CELLS])
def test_entries_options_and_rows_of_cells_are_no_wrapped_text(text: str) -> None:
    assert unwrap_lines(text) == text


def test_a_dash_before_a_word_is_no_option() -> None:
    text = "He went to the mill with all that he had\n--and never came back to the town of Bergen"
    assert unwrap_lines(text) == text.replace("\n", " ")


def test_a_date_in_wrapped_text_is_no_entry() -> None:
    text = "The bridge was built by the town of Bergen on\n12/03/1921 and was closed in the year of"
    assert unwrap_lines(text) == text.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (ADDRESS, "Satoshi Sekine;New York University;715 Broadway"),
        ("Wick:\n1934\nMarl, \n1911", "Wick:\n1934;Marl, \n1911"),
        ("Opened 1934\n\n  Rain falls.\n\nSnow", "Opened 1934.\n  Rain falls.\n\nSnow"),
        ("Wick   1934\t410\tm", "Wick,  1934;410,m"),
        ("Wick  1934 410", "Wick  1934 410"),
        ("    Wick\t \n ", "    Wick\t \n "),
    ],
)
def test_models_read_marks_where_no_punctuation_stands(text: str, read: str) -> None:
    assert divide(text).text == read


def test_a_line_that_is_longer_than_all_others_does_not_matter() -> None:
    text = f"See https://example.org/{'x' * 140}\n{WRAPPED}"
    assert unwrap_lines(text).endswith(WRAPPED.replace("\n", " "))


def test_paragraphs_divide() -> None:
    assert divide(f"{WRAPPED}\n\n{WRAPPED}").breaks == [len(WRAPPED)]


@pytest.mark.parametrize(
    "text",
    [
        *("\n" * 300_000, "x\n" * 150_000, " \n" * 150_000, "word " * 60_000 + "\n\nx"),
        *(" " * 300_000, "x" + " \n" * 150_000, "x   " * 75_000, "x" + "\t" * 300_000 + "x"),
    ],
)
def test_strange_texts_take_no_longer_than_others(text: str) -> None:
    began = time.perf_counter()
    divide(text)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("text", "breaks"), [("in 1874 by Anders Hallin-\ngren, a\nteacher", [33]), ("sta-\ntion", [])]
)
def test_a_word_divided_at_a_line_end_goes_on(text: str, breaks: list[int]) -> None:
    assert divide(text).breaks == breaks


@pytest.mark.parametrize("word", ["U.S", "Washington D.C", "J.R.R"])
def test_a_mark_is_no_part_of_an_abbreviation(word: str) -> None:
    text = f"It was in the {word}\n\nHer mother was French."
    words, starts, ends = place_words(text, "fabir", divide(text).text)
    read = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    assert not any(each[-1:].isspace() and each.strip() for each in read)
    assert len(words) == len(read)
