"""Plain text, Markdown and reStructuredText: exact lines, headings, titles, encodings."""

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.documents.base import Document
from fabir.documents.encodings import decode
from fabir.documents.reading import read_documents
from fabir.documents.text import bare_heading, markdown_headings, rst_headings, whole_words
from fabir.errors import InputError

FRENCH = (
    "Le château fut bâti en 1822 par un évêque; le musée est fermé l’été, et il est très beau. "
)


def read(path: Path, content: str) -> Document:
    path.write_text(content, "utf-8", newline="")
    [found] = read_documents(path, pytest.fail)
    assert (found.text, found.line, found.lines_run_on) == (content, 1, True)
    return found


def headings(found: Document) -> list[str]:
    return [found.text[start:end] for start, end in found.headings]


def test_markdown_has_headings_of_both_kinds(tmp_path: Path) -> None:
    content = (
        "Kites\r\n=====\r\n\r\nThey fly.\r\n\r\n## Opening *hours* ##\r\n- a\r\n---\r\n"
        "A long\nheading\n---\n#hashtag\n    # code\n* * *\n| a |\n|---|\n#"
    )
    found = read(tmp_path / "a.md", content)
    assert headings(found) == [
        "Kites\r\n=====",
        "## Opening *hours* ##",
        "A long\nheading\n---",
        "#",
    ]
    assert found.title == "Kites"


@pytest.mark.parametrize(
    ("heading", "bare"),
    [
        *(("# C#", "C#"), ("# C #", "C"), ("## C++", "C++"), ("# Grade A+ ##", "Grade A+")),
        *(("# -5 degrees", "-5 degrees"), ("- Fees", "Fees"), ("#5 mills", "#5 mills")),
        *(("# **Fees**", "Fees"), ("`read_csv` *now*", "read_csv now"), ("2 * 3 * 4", "2 * 3 * 4")),
        *(
            ("=====\nA *b\n=====", "A *b"),
            ("Kites\r\n-----", "Kites"),
            ("A long\nname\n---", "A long name"),
        ),
        *(("#", ""), ("???", ""), ("# 雨", "雨")),
    ],
)
def test_a_heading_is_bare_without_its_marks_alone(heading: str, bare: str) -> None:
    assert bare_heading(heading) == bare


def test_names_in_a_title_stay(tmp_path: Path) -> None:
    assert read(tmp_path / "a.md", "# The read_csv function of C#\n").title == (
        "The read_csv function of C#"
    )


def test_code_in_markdown_has_no_headings(tmp_path: Path) -> None:
    content = "```sh\n# no\n~~~\n# no\n````\n\n~~~\n# no\n```\n# no\n~~~\n# The yes\n"
    found = read(tmp_path / "a.markdown", content)
    assert (headings(found), found.title) == (["# The yes"], "The yes")


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ('---\nlayout: post\ntitle: "Kites: a guide"\ntags: [a]\n---\n', "Kites: a guide"),
        ("+++\ntitle = 'Kites'\n+++\n", "Kites"),
        ("---\nlayout: post\n---\n", "Rain"),
        ("---\n---\n", "Rain"),
        ("---\n\nno front matter\n\n", "Rain"),
    ],
)
def test_front_matter_has_the_title_and_no_heading(tmp_path: Path, front: str, title: str) -> None:
    found = read(tmp_path / "a.md", f"{front}# Rain\n\nIt falls.\n")
    assert (headings(found), found.title) == (["# Rain"], title)


def test_rst_has_underlined_headings(tmp_path: Path) -> None:
    content = """.. note:: stays

=====
Kites
=====

They fly.

Opening hours
-------------
From 9:30::

    Not this
    ========

short
--

=====  =====
table  cells
=====  =====

----
"""
    found = read(tmp_path / "a.rst", content)
    assert headings(found) == ["=====\nKites\n=====", "Opening hours\n-------------"]
    assert found.title == "Kites"


def test_several_underlined_lines_of_a_text_are_headings(tmp_path: Path) -> None:
    found = read(tmp_path / "a.txt", "Kites\n=====\n\nThey fly.\n\nPrices\n------\n\n9 crowns.\n")
    assert headings(found) == ["Kites\n=====", "Prices\n------"]
    assert found.title == "a"


def test_one_underlined_line_of_a_text_is_none(tmp_path: Path) -> None:
    assert not read(tmp_path / "a.txt", "Name  Price\n-----------\nKite  9\n").headings


def test_line_ends_of_old_macintoshes_are_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"# Mill\r\rOf oak.\r\nOf stone.\rOf tin.")
    [found] = read_documents(tmp_path / "a.md", print)
    assert (found.text, found.title) == ("# Mill\n\nOf oak.\r\nOf stone.\nOf tin.", "Mill")


def test_a_word_that_man_divides_stands_whole_in_its_first_line() -> None:
    page = "It can be lo\u2010\n   cated here, or well\u2010\nknown\nto all, or \u2010\n   -n"
    whole = "It can be located\n   here, or well\u2010\nknown\nto all, or \u2010\n   -n"
    assert whole_words(page) == whole


def test_text_has_the_file_s_name(tmp_path: Path) -> None:
    found = read(tmp_path / "my_notes.txt", "# not a title\u00ad\n")
    assert (found.title, found.headings) == ("my notes", ())


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (b"", "cp1252"),
    ],
)
def test_encodings_that_leave_no_doubt(mark: bytes, encoding: str) -> None:
    assert decode(mark + FRENCH.encode(encoding)) == FRENCH


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Мост был построен в 1822 году инженером из города, и он очень узкий.", "cp1251"),
        ("橋は1822年に建設されました。長さは四十メートルで、とても狭いです。", "cp932"),
        ("这座桥建于1822年，全长四十米，非常狭窄。图书馆星期一关闭。", "gb18030"),
    ],
)
def test_encodings_that_can_be_told(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("data", [b"\xd2\xd3\xd4\xd5", bytes(range(1, 256)), b"\xff" * 99])
def test_an_uncertain_encoding_is_refused_with_advice(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.md").write_bytes(data)
    with pytest.raises(InputError, match="iconv"):
        list(read_documents(tmp_path / "a.md", pytest.fail))


@given(st.binary(max_size=60), st.sampled_from(["", "utf-8", "cp1252", "utf-7", "zip", "x\0"]))
def test_any_bytes_are_text_or_refused(data: bytes, declared: str) -> None:
    try:
        text = decode(data, declared)
    except InputError as error:
        text = str(error)
    assert "\0" not in text


@given(st.text(st.sampled_from("#=-`~> \t\n\r\v1.*ab"), max_size=80))
def test_any_text_has_ascending_headings(text: str) -> None:
    for found in (list(markdown_headings(text)), list(rst_headings(text))):
        edges = [edge for span in found for edge in span]
        assert edges == sorted(edges)
        assert all(text[start:end].strip() for start, end in found)


@pytest.mark.parametrize(
    "text",
    [
        "# " + " " * 500_000 + "\nx",
        "#" * 500_000,
        "# a" + " " * 500_000 + "b",
        "# " + "`a *b " * 100_000,
        "title\n" * 100_000 + "---",
        "---\ntitle: x" + " " * 100_000 + "y\n---\n",
        "---\n" * 100_000,
        "`" * 500_000 + "\n~~~\n" * 50_000,
        "=" * 500_000 + "x\n=\na\n=\n" * 50_000,
    ],
)
def test_hostile_text_takes_linear_time(tmp_path: Path, text: str) -> None:
    for name in ("a.md", "a.rst"):
        assert read(tmp_path / name, text).title
