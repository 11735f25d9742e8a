"""Records as documents: no field, row or column is lost without a word."""

import json
from pathlib import Path

import pytest

from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from fabir.errors import InputError


def read(path: Path, content: str | bytes, lost: list[str] | None = None) -> list[Document]:
    """The documents of a file with this content; nothing is lost unless `lost` collects it."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_all(path, lost)


def read_all(path: Path, lost: list[str] | None = None) -> list[Document]:
    reasons: list[str] = []
    found = list(read_documents(path, reasons.append))
    assert lost is not None or not reasons, reasons
    if lost is not None:
        lost += reasons
    return found


def texts(documents: list[Document]) -> list[str]:
    return [document.text for document in documents]


def test_a_row_of_csv_has_its_columns_names(tmp_path: Path) -> None:
    film = "Film,Director,Year\nTerrible Teddy,Edwin S. Porter,1901\n"
    [found] = read(tmp_path / "films.csv", film)
    assert found == Document(
        "Film: Terrible Teddy\nDirector: Edwin S. Porter\nYear: 1901", "films", "1", line=2
    )


def test_columns_of_one_name_or_none_are_kept(tmp_path: Path) -> None:
    assert texts(read(tmp_path / "a.csv", "Station,Opened,Opened,\nWick,1934,1951,closed\n")) == [
        "Station: Wick\nOpened: 1934\nOpened: 1951\nclosed"
    ]


def test_numbers_of_rows_may_begin_in_the_row_of_names(tmp_path: Path) -> None:
    table = "0,Pump,Litres\n1,Wick,410\n2,Marl,320\n"
    assert texts(read(tmp_path / "a.csv", table)) == [
        "0: 1\nPump: Wick\nLitres: 410",
        "0: 2\nPump: Marl\nLitres: 320",
    ]
    assert len(read(tmp_path / "a.csv", "0,Wick,n/a\n1,Marl,320\n2,Harr,95\n")) == 3


def test_lines_above_the_names_are_a_document(tmp_path: Path) -> None:
    table = "Stanley Cups,,\n\nTeam,Location,Stanley Cups\nBlues,STL,1\nFlyers,PHI,2\n"
    above, blues, flyers = read(tmp_path / "a.csv", table)
    assert (above.text, above.line) == ("Stanley Cups", 1)
    assert (blues.text, blues.line) == ("Team: Blues\nLocation: STL\nStanley Cups: 1", 4)
    assert (flyers.part, flyers.line) == ("2", 5)


def test_names_in_a_remark_lose_its_mark(tmp_path: Path) -> None:
    _, row = read(tmp_path / "a.tsv", "# From Corm\n# Word\tScore\nlove\t6.77\ncat\t7.35\n")[:2]
    assert row.text == "Word: love\nScore: 6.77"
    [row, _] = read(tmp_path / "b.tsv", "# men\tTown\n12\tCorm\n7\tHarle\n")
    assert row.text == "# men: 12\nTown: Corm"


def test_quoted_line_ends_are_kept_and_counted(tmp_path: Path) -> None:
    table = '"Full\nname",Note\nBo,"one\ntwo"\n\nAl,three\n'
    bo, al = read(tmp_path / "a.csv", table)
    assert (bo.text, bo.line) == ("Full name: Bo\nNote: one\ntwo", 3)
    assert (al.text, al.line) == ("Full name: Al\nNote: three", 6)


@pytest.mark.parametrize(("name", "tab"), [("a.csv", ","), ("a.tsv", "\t")])
def test_a_quote_that_is_not_closed_takes_no_other_row(tmp_path: Path, name: str, tab: str) -> None:
    lines = 'Pump,Note\nWick,"5 inch\nMarl,fine\nHarr,"a well"\nCorm,old\n'.replace(",", tab)
    assert [(each.text, each.line) for each in read(tmp_path / name, lines)] == [
        ("Pump: Wick\nNote: 5 inch", 2),
        ("Pump: Marl\nNote: fine", 3),
        ("Pump: Harr\nNote: a well", 4),
        ("Pump: Corm\nNote: old", 5),
    ]
    last = 'Pump,Note,Built\nMarl,"fine",1911\nWick,"5 inch,1934\n'.replace(",", tab)
    _, wick = read(tmp_path / name, last)
    assert wick.text == 'Pump: Wick\nNote: "5 inch\nBuilt: 1934'


def test_a_quote_that_takes_the_rest_is_named(tmp_path: Path) -> None:
    lost: list[str] = []
    [found] = read(tmp_path / "a.csv", 'Pump,Note\nWick,"5 inch\nMarl\nHarr\n', lost)
    assert found.text == "Pump: Wick\nNote: 5 inch\nMarl\nHarr"
    [reason] = lost
    assert "line 2: a quote is not closed" in reason


def test_many_open_quotes_take_no_long_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabir.documents.records.MAX_LINE", 20_000)
    lost: list[str] = []
    found = read(tmp_path / "a.csv", "a,b\n" + '5","a\n' * 3000, lost)
    assert len(found) < 100
    assert "a quote is not closed" in lost[0]


def test_a_backslash_may_stand_before_quotes(tmp_path: Path) -> None:
    table = 'Pump,Note\nWick,"Bo said \\"no\\", twice"\nMarl,"C:\\dir"\nHarr,"say \\",\\" now"\n'
    assert texts(read(tmp_path / "a.csv", table)) == [
        'Pump: Wick\nNote: Bo said "no", twice',
        "Pump: Marl\nNote: C:\\dir",
        'Pump: Harr\nNote: say "," now',
    ]
    [found] = read(tmp_path / "b.csv", 'Disk,Path\nA,"C:\\dir\\"\n')
    assert found.text == "Disk: A\nPath: C:\\dir\\"


def test_labels_with_values_of_several_kinds_are_a_form(tmp_path: Path) -> None:
    form = "Name,Orla bridge\nBuilt,1822\nLength,40 m\n"
    found = read(tmp_path / "a.csv", form)
    assert [(each.text, each.line) for each in found] == [
        ("Name: Orla bridge", 1),
        ("Built: 1822", 2),
        ("Length: 40 m", 3),
    ]
    assert texts(read(tmp_path / "b.csv", "Name:,Ida\nTown:,Corm\n")) == ["Name: Ida", "Town: Corm"]
    table = "Town,People\nCorm,1200\nVarn,n/a\nHarle,950\n"
    assert texts(read(tmp_path / "c.csv", table))[1] == "Town: Varn\nPeople: n/a"
    names = "Name,Town\nIda,Corm\nNils,Varn\n"
    assert texts(read(tmp_path / "d.csv", names))[1] == "Name: Nils\nTown: Varn"


def test_a_cell_may_have_more_than_131_072_characters(tmp_path: Path) -> None:
    rain = "It rains. " * 20_000
    [found] = read(tmp_path / "a.csv", f'Town,Weather\nWick,"{rain}\nIt snows."\n')
    assert found.text == f"Town: Wick\nWeather: {rain}\nIt snows."


def test_short_and_long_rows_are_kept(tmp_path: Path) -> None:
    assert texts(read(tmp_path / "a.csv", "a,b\n1\n1,2,3,4\n,,,\n1,2\n")) == [
        "a: 1",
        "a: 1\nb: 2\n3\n4",
        "a: 1\nb: 2",
    ]


def test_a_table_without_names_loses_no_row(tmp_path: Path) -> None:
    assert texts(read(tmp_path / "a.csv", "1,Blues\n2,Flyers\n")) == ["1\nBlues", "2\nFlyers"]


def test_a_table_may_have_thousands_of_columns(tmp_path: Path) -> None:
    names = [f"column {number}" for number in range(20_000)]
    table = "\n".join([",".join(names), ",".join(["1"] * len(names))])
    [found] = read(tmp_path / "a.csv", table)
    assert found.text.splitlines() == [f"{name}: 1" for name in names]


def test_tabs_separate_the_cells_of_tsv(tmp_path: Path) -> None:
    [found] = read(tmp_path / "a.tsv", "name\tplace, time\nBo, Al\tWick, noon\n")
    assert found.text == "name: Bo, Al\nplace, time: Wick, noon"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    table = "name,town\nJürgen,Łódź\n" if name == "a.csv" else '{"name": "Jürgen", "town": "Łódź"}'
    [found] = read(tmp_path / name, table.encode(encoding))
    assert found.text == "name: Jürgen\ntown: Łódź"


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_other_encodings_are_read_like_those_of_texts(tmp_path: Path, name: str) -> None:
    town = "Город на берегу большой реки основан в тысяча девятисотом году"
    table = f"town\n{town}\n" if name == "a.csv" else f'{{"town": "{town}"}}'
    [found] = read(tmp_path / name, table.encode("cp1251"))
    assert found.text == f"town: {town}"


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_what_is_no_text_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not UTF-8 text: byte 1004"):
        read(tmp_path / name, b"x" * 1004 + b"\x90\x81\x8d\x9d\n")
    with pytest.raises(InputError, match="zero bytes"):
        read(tmp_path / name, b"a\0b\n")


def test_large_files_are_read_only_in_unicode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabir.documents.records.MAX_BYTES", 20)
    table = "town\n" + "Łódź\n" * 100
    assert len(read(tmp_path / "a.csv", table)) == 100
    with pytest.raises(InputError, match="not UTF-8, and larger than"):
        read(tmp_path / "a.csv", table.encode("cp1250"))


def test_every_kind_of_value_in_json_is_text(tmp_path: Path) -> None:
    record = {
        "city": "Corm",
        "population": 51234,
        "area": 1.50,
        "port": True,
        "mayor": {"name": "Lise Brandt", "age": None},
        "rivers": ["Orla", "Tarn"],
        "grid": [[1, 2], [3, 4]],
    }
    line = json.dumps(record).replace("1.5,", '1.50, "depth": NaN,')
    [found] = read(tmp_path / "a.jsonl", line)
    assert found.text.splitlines() == [
        "city: Corm",
        "population: 51234",
        "area: 1.50",
        "port: true",
        "mayor.name: Lise Brandt",
        "rivers: Orla, Tarn",
        "grid: 1, 2",
        "grid: 3, 4",
    ]


def test_long_texts_and_objects_in_a_list_are_paragraphs(tmp_path: Path) -> None:
    record = {
        "paragraphs": ["a" * 90, "b"],
        "cast": [{"name": "Bo", "role": "cook"}, {"name": "Al"}],
        "end": 1,
    }
    [found] = read(tmp_path / "a.jsonl", json.dumps(record))
    assert found.text.split("\n\n") == [
        "paragraphs: " + "a" * 90,
        "paragraphs: b",
        "cast.name: Bo\ncast.role: cook",
        "cast.name: Al",
        "end: 1",
    ]


def test_sentences_in_a_list_are_lines(tmp_path: Path) -> None:
    [found] = read(tmp_path / "a.json", '["The gate was closed.", "The mill was built in 1834."]')
    assert found.text == "The gate was closed.\nThe mill was built in 1834."
    [found] = read(tmp_path / "b.json", '{"kinds": ["S.A. de C.V.", "Inc.", "Mills & Sons Ltd."]}')
    assert found.text == "kinds: S.A. de C.V., Inc., Mills & Sons Ltd."


def test_pieces_of_a_text_with_its_line_ends_are_joined(tmp_path: Path) -> None:
    lines = ["# The gate\n", "It was ", "closed " * 20 + "\n", "in 1790."]
    [found] = read(tmp_path / "a.json", json.dumps({"source": lines}))
    assert found.text == "source: " + "".join(lines)
    [found] = read(tmp_path / "b.json", json.dumps({"tags": ["gate\n", "mill", "well\n"]}))
    assert found.text == "tags: gate, mill, well"
    [found] = read(tmp_path / "c.json", json.dumps({"notes": ["a\nb\n", "c"]}))
    assert found.text == "notes: a\nb\n\nnotes: c"


def test_a_field_may_name_the_columns_of_rows(tmp_path: Path) -> None:
    table = {
        "columns": ["name", "built"],
        "index": [0, 1],
        "data": [["Wick", 1934], ["Marl", 1911]],
    }
    rest, wick, marl = read(tmp_path / "a.json", json.dumps(table))
    assert (rest.text, wick.text, marl.text) == (
        "index: 0, 1",
        "name: Wick\nbuilt: 1934",
        "name: Marl\nbuilt: 1911",
    )
    other = {"columns": ["name", "built"], "data": [["Wick", 1934, "old"]]}
    [found] = read(tmp_path / "b.json", json.dumps(other))
    assert found.text == "columns: name, built\ndata: Wick, 1934, old"


def test_a_record_s_text_comes_first_and_the_rest_after_it(tmp_path: Path) -> None:
    record = {"author": "Bo", "id": 7, "Text": "It rains.\n", "title": "Rain", "body": "Again."}
    [found] = read(tmp_path / "a.jsonl", json.dumps(record))
    assert found == Document("It rains.\n\n\nauthor: Bo\nbody: Again.", "Rain", "7", line=1)
    [found] = read(tmp_path / "b.jsonl", '{"text": ["One.", "Two."]}')
    assert found.text == "One.\n\nTwo."


def test_id_and_title_are_in_the_text_of_a_record_without_one(tmp_path: Path) -> None:
    [found] = read(tmp_path / "a.csv", "ID,Title,Price\nBA-12,Pump,34.90\n")
    assert (found.text, found.title, found.part) == (
        "ID: BA-12\nTitle: Pump\nPrice: 34.90",
        "Pump",
        "BA-12",
    )


@pytest.mark.parametrize("title", ["handbook.pdf", "Unknown", "Presentation 2", True, "x" * 201])
def test_a_title_that_is_not_the_documents_whole_title_is_text(
    title: str | bool, tmp_path: Path
) -> None:
    [found] = read(tmp_path / "a.jsonl", json.dumps({"title": title, "text": "It rains."}))
    assert found.text == f"It rains.\n\ntitle: {'true' if title is True else title}"


def test_a_long_id_is_text(tmp_path: Path) -> None:
    [found] = read(tmp_path / "a.jsonl", json.dumps({"id": "7" * 201, "text": "It rains."}))
    assert (found.text, found.part) == ("It rains.\n\nid: " + "7" * 201, "1")


def test_a_name_that_an_object_has_twice_keeps_both_values(tmp_path: Path) -> None:
    [found] = read(tmp_path / "a.jsonl", '{"opened": 1934, "at": "Wick", "opened": 1951}')
    assert found.text == "opened: 1934, 1951\nat: Wick"


def test_long_lists_of_numbers_are_left_out_and_named(tmp_path: Path) -> None:
    lost: list[str] = []
    records = [{"name": "Bo", "vector": [0.5] * 101, "outline": [[1, 2]] * 51}] * 2
    found = read(tmp_path / "a.json", json.dumps(records), lost)
    assert texts(found) == ["name: Bo"] * 2
    [reason] = lost
    assert 'record 1: field "vector" is a list of 101 numbers (and 3 more)' in reason


def test_json_is_a_list_of_records(tmp_path: Path) -> None:
    one, two, three = read(tmp_path / "films.json", '[{"title": "Jaws"}, {"year": 1901}, "x"]')
    assert (one.title, one.part, one.text) == ("Jaws", "1", "title: Jaws")
    assert (two.title, two.part, two.text) == ("films", "2", "year: 1901")
    assert three.text == "x"


def test_json_is_an_object_with_one_list_of_records(tmp_path: Path) -> None:
    whole = {"version": 2, "towns": [{"name": "Wick"}, {"name": "Oban"}], "by": "Bo"}
    rest, wick, oban = read(tmp_path / "a.json", json.dumps(whole))
    assert (rest.text, rest.part) == ("version: 2\nby: Bo", "")
    assert (wick.text, wick.title, wick.part) == ("name: Wick", "a towns", "1")
    assert oban.text == "name: Oban"


def test_other_json_is_one_document(tmp_path: Path) -> None:
    whole = {"name": "Corm", "schools": [{"name": "A"}], "parks": [{"name": "B"}]}
    [found] = read(tmp_path / "a.json", json.dumps(whole))
    assert (found.part, found.text) == ("", "name: Corm\n\nschools.name: A\n\nparks.name: B")
    [found] = read(tmp_path / "b.json", '["one", "two"]')
    assert found.text == "one, two"


def test_json_lines_may_have_the_name_json(tmp_path: Path) -> None:
    for name in ("a.json", "a.ndjson"):
        assert texts(read(tmp_path / name, '{"a": 1}\n{"a": 2}\n')) == ["a: 1", "a: 2"]


def test_broken_and_deep_json_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.json: not valid JSON: .* line 2 column 1"):
        read(tmp_path / "a.json", '{"a": 1,\n')
    with pytest.raises(InputError, match="nested too deeply"):
        read(tmp_path / "a.json", "[" * 100_000)
    lost: list[str] = []
    lines = '{"a":' * 200 + "1" + "}" * 200 + "\n" + "[" * 100_000 + '\n{"a": 1}'
    assert texts(read(tmp_path / "a.jsonl", lines, lost)) == ["a: 1"]
    assert "is nested too deeply (and 1 more)" in lost[0]


def test_long_lines_and_records_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabir.documents.records.MAX_LINE", 10_000)
    fine = "a,b\n" + "1,2\n" * 25_000
    assert len(read(tmp_path / "a.csv", fine)) == 25_000
    for name, content in [
        ("b.csv", "a,b\n" + "x" * 10_000),
        ("c.csv", 'a,b\n"' + "1,2\n" * 25_000),
        ("d.jsonl", '{"text": "' + "x" * 10_000),
    ]:
        with pytest.raises(InputError, match="a record has more than"):
            read(tmp_path / name, content)


def test_names_are_not_repeated_beyond_the_limit_of_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabir.documents.fields.MAX_BYTES", 10_000)
    record = {"n" * 1000: {str(number): number for number in range(100)}}
    with pytest.raises(InputError, match="a record has more than"):
        read(tmp_path / "a.json", json.dumps(record))


def test_a_long_name_is_once_whole_or_said_to_be_cut(tmp_path: Path) -> None:
    name = "Tell us " * 30 + "about Ida Strand"
    above, row, *_ = read(tmp_path / "a.csv", f"Who,{name}\nBob,5\nAnn,4\nEve,3\n")
    assert above.text.endswith("about Ida Strand")
    assert row.text.endswith(": 5")
    for value in "5", 5, {"a": 5}:
        lost: list[str] = []
        read(tmp_path / "a.json", json.dumps([{name: value}]), lost)
        assert "has a name of more than 200 characters" in lost[0]
    deep = {"a" * 150: {"b" * 100: {"inner": "yes"}}}
    [found] = read(tmp_path / "b.json", json.dumps([deep]))
    assert found.text.endswith(".inner: yes")
