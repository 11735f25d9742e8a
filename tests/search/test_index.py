"""The index: exact places, and updates that equal building anew."""

import copy
import json
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection import PAGES, write_collection, write_pdf
from fabir.documents.process import DocumentReader
from fabir.errors import InputError
from fabir.search.index import Index, passage_at
from fabir.search.storage import open_generation
from office_files import row, write_xlsx

WORDS = ["rain", "kite", "mill", "wind", "Straße", "été", "雨", "\n\n", ".", ""]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    write_collection(folder)
    return folder


def state(index: Index) -> list[object]:
    """All that an index knows of its passages, and how it ranks them."""
    generation = open_generation(index.folder)
    passages = [passage_at(generation, number, 0.0) for number in range(len(index))]
    stems = list(generation.bm25.vocab_dict)
    tokens = [stems[token] for token in generation.tokens]
    questions = "rain", "kite of Anna", "who built the mill in 1902?"
    ranked = [
        (passage.document, passage.start, passage.headings, round(passage.score, 4))
        for question in questions
        for passage in index.search(question, 50)
    ]
    return [*passages, *tokens, *sorted(ranked)]


def test_an_excerpt_is_the_text_around_a_place(collection: Path, tmp_path: Path) -> None:
    text = "\n\n".join(
        f"The {number}. mill was built in {1500 + number}. Été." for number in range(300)
    )
    (collection / "long.txt").write_text(text, "utf-8")
    index = Index.build([collection], tmp_path / "index", size=100)
    whole = index.excerpt("long.txt")
    assert whole is not None
    assert (whole.text, whole.start, whole.whole) == (text, 0, True)
    for place in (0, 5000, len(text) - 1, 10**15):
        part = index.excerpt("long.txt", place, around=1000)
        assert part is not None
        assert not part.whole
        assert part.text == text[part.start : part.start + len(part.text)]
        near = min(place, len(text))
        assert part.start <= max(0, near - 800)
        assert part.start + len(part.text) >= min(len(text), near + 800)
    between = text.index("\n\n") + 1  # where no passage is
    for place in (0, between, len(text)):
        part = index.excerpt("long.txt", place, around=0)
        assert part
        assert part.text in text
        assert 0 < len(part.text) < 200


def test_an_excerpt_is_of_the_index_as_it_is_now(collection: Path, tmp_path: Path) -> None:
    file = collection / "mill.txt"
    file.write_text("The mill was built in 1902.")
    index = Index.build([collection], tmp_path / "index")
    file.write_text("The mill burnt down in 1950.")
    Index.open(tmp_path / "index").update()
    excerpt = index.excerpt("mill.txt")
    assert excerpt is not None
    assert excerpt.text == "The mill burnt down in 1950."


def test_documents_are_found_by_their_names_alone(collection: Path, tmp_path: Path) -> None:
    index = Index.build([collection], tmp_path / "index")
    for name, begin in {
        "kites.md": "# Kites",
        "rows.jsonl#a1": "The old bridge",
        "rows.jsonl#7": "The tower",
        "table.csv#1": "question: Who painted",
    }.items():
        found = index.excerpt(name)
        assert found is not None
        assert found.text.startswith(begin)
    for name in ("rows.jsonl", "rows.jsonl#", "rows.jsonl#8", "kites.md#1", "kites", "../kites.md"):
        assert index.excerpt(name) is None
    assert index.excerpt(str(collection / "kites.md")) is None
    wrong: Any
    for wrong, said in (
        ((None,), "document is NoneType, not str"),
        (("kites.md", -1), "place must be a whole number, at least 0"),
        (("kites.md", 0, 0.5), "around must be a whole number, at least 0"),
    ):
        with pytest.raises(InputError, match=said):
            index.excerpt(*wrong)


def test_the_right_passage_of_every_kind_is_first(collection: Path, tmp_path: Path) -> None:
    index = Index.build([collection], tmp_path / "index")
    for question, document, line, title in [
        ("Who flew the first kite?", "kites.md", 1, "Kites"),
        ("From where does rain fall?", "deep/rain.txt", 1, "rain"),
        ("When does snow fall?", "deep/rain.txt", 1, "rain"),
        ("How high is the lighthouse?", "deep/er/page.html", None, "Lighthouses"),
        ("Who opened bridges?", "rows.jsonl#a1", 1, "Bridges"),
        ("How many steps has Lund's tower?", "rows.jsonl#7", 3, "Towers"),
        ("Who painted the doors?", "table.csv#1", 2, "table"),
    ]:
        best = index.search(question, 3)[0]
        assert (best.document, best.line, best.title) == (document, line, title)
        assert best.page is None
    assert index.documents == 7
    assert index.search("secret") == []
    assert [each.score for each in index.search("the falls")] == sorted(
        (each.score for each in index.search("the falls")), reverse=True
    )


def test_passages_of_a_pdf_have_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    write_pdf(tmp_path / "mill.pdf", PAGES)
    index = Index.build([tmp_path / "mill.pdf"], tmp_path / "index")
    best = index.search("oak wheel")[0]
    assert (best.page, best.line, best.text) == (1, None, "\n\n".join(PAGES))
    assert [best.text[begin:] for begin in best.pages] == [PAGES[1]]


HEADED = "# Harle\n\n## Library\n\nIt opens at 9:30.\n\n## Pool\n\nIt opens at 7:00 in summer.\n"


def test_passages_know_their_headings(tmp_path: Path) -> None:
    (tmp_path / "harle.md").write_text(HEADED)
    index = Index.build([tmp_path / "harle.md"], tmp_path / "index")
    (tmp_path / "a.md").write_text("# Anholt\n\nAn island.\n")
    index.update([tmp_path])
    [library, pool, island] = (index.search(word)[0] for word in ("9:30", "summer", "island"))
    assert library.headings == ((0, "Harle"), (9, "Library"))
    assert pool.headings == ((0, "Pool"),)
    assert island.headings == ((0, "Anholt"),)
    assert [each.heading for each in (library, pool, island)] == ["Library", "Pool", "Anholt"]


def test_headings_keep_their_characters(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# C++\n\nSnow falls.\n\n# C#\n\nRain falls.\n")
    index = Index.build([tmp_path / "a.md"], tmp_path / "index", size=20)
    assert [index.search(word)[0].heading for word in ("snow", "rain")] == ["C++", "C#"]


def test_a_part_of_a_long_section_knows_the_heading_before_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Mills\n\n" + "They grind rye. " * 20 + "One has sails.\n")
    index = Index.build([tmp_path / "a.md"], tmp_path / "index", size=100)
    best = index.search("sails")[0]
    assert best.headings == ((-best.start, "Mills"),)
    assert best.heading == "Mills"


def test_a_passage_without_a_heading_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("An island.\n")
    assert Index.build([tmp_path / "a.md"], tmp_path / "index").search("island")[0].heading is None


TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=80).map(" ".join)


@pytest.mark.slow
@given(TEXT, st.integers(5, 60))
def test_places_are_exact_in_any_text(text: str, size: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.txt").write_bytes(text.encode())
        (folder / "b.txt").write_text("rain kite")
        index = Index.build([folder], folder / "index", size=size, skip=lambda _: None)
        covered = [False] * len(text)
        for number in range(len(index)):
            passage = passage_at(open_generation(index.folder), number, 0.0)
            if passage.document == "a.txt":
                assert text[passage.start : passage.end] == passage.text
                assert passage.line == 1 + text.count("\n", 0, passage.start)
                covered[passage.start : passage.end] = [True] * len(passage.text)
        assert all(done or char.isspace() for done, char in zip(covered, text, strict=True))


def test_an_update_reads_what_changed_and_equals_building_anew(
    collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.build([collection], tmp_path / "index")
    old = Index.open(tmp_path / "index")
    before = state(old)
    (collection / "kites.md").write_text("Otto flew a kite over the mill.\n")
    (collection / "rows.jsonl").unlink()
    (collection / "deep" / "new.txt").write_text("The mill grinds rye.")
    os.utime(collection / "table.csv", (1, 1))
    read: list[str] = []
    real = DocumentReader.read
    monkeypatch.setattr(
        DocumentReader,
        "read",
        lambda self, path, *to: (read.append(path.name), real(self, path, *to))[1],
    )
    index.update()
    assert sorted(read) == ["kites.md", "new.txt"]
    assert state(index) == state(Index.build([collection], tmp_path / "anew"))
    assert state(index) != before
    assert index.search("Anna") == index.search("bridge") == []
    assert [passage.document for passage in index.search("rye")] == ["deep/new.txt"]
    assert [passage.document for passage in old.search("rye")] == ["deep/new.txt"]
    assert len(list((tmp_path / "index").glob("generation-*"))) == 1


def test_other_sources_may_be_given_to_an_update(collection: Path, tmp_path: Path) -> None:
    index = Index.build([collection], tmp_path / "index")
    index.update([collection / "deep", collection / "kites.md"])
    assert index.documents == 3
    assert state(index) == state(
        Index.build([collection / "deep", collection / "kites.md"], tmp_path / "anew")
    )


def test_files_of_a_minute_ago_are_known_by_time_and_fresh_ones_by_content(
    collection: Path, tmp_path: Path
) -> None:
    path = collection / "kites.md"
    index = Index.build([collection], tmp_path / "index")
    stamp = path.stat().st_mtime_ns
    path.write_text(path.read_text("utf-8").replace("Anna", "Otto"), "utf-8")
    os.utime(path, ns=(stamp, stamp))  # as if written within the clock's tick
    index.update()
    assert "Otto" in index.search("first kite")[0].text


def test_what_is_broken_is_named_and_skipped_or_stops(collection: Path, tmp_path: Path) -> None:
    (collection / "bad.txt").write_bytes(b"\xff")
    (collection / "rows.jsonl").open("a").write("{\n")
    skipped: list[str] = []
    index = Index.build([collection], tmp_path / "index", skip=skipped.append)
    assert [Path(line.split(":")[0]).name for line in skipped] == ["bad.txt", "rows.jsonl"]
    assert index.documents == 7
    before = state(index)
    with pytest.raises(InputError, match=r"bad\.txt"):
        index.update()
    assert state(Index.open(tmp_path / "index")) == before


def test_what_is_hidden_in_a_sheet_is_named_and_does_not_stop(tmp_path: Path) -> None:
    secret = row("a zebra").replace("<s:row", '<s:row hidden="1"')
    write_xlsx(tmp_path / "a.xlsx", row("a kite") + secret)
    named: list[str] = []
    index = Index.build([tmp_path / "a.xlsx"], tmp_path / "index", notice=named.append)
    assert not index.search("zebra")
    assert named == [f"left out of {tmp_path / 'a.xlsx'}: 1 hidden row"]


def test_a_file_that_breaks_off_leaves_nothing(collection: Path, tmp_path: Path) -> None:
    clean = state(Index.build([collection], tmp_path / "clean"))
    rows = b'{"text": "A zebra."}\n' * 50_000
    (collection / "aa.jsonl").write_bytes(rows + b'{"text": "\xff"}\n')
    skipped: list[str] = []
    index = Index.build([collection], tmp_path / "index", skip=skipped.append)
    assert len(skipped) == 1
    assert state(index) == clean


def test_links_hidden_files_and_pipes_are_left_out(collection: Path, tmp_path: Path) -> None:
    clean = state(Index.build([collection], tmp_path / "clean"))
    outside = tmp_path / "outside.txt"
    outside.write_text("a zebra")
    (collection / "link.txt").symlink_to(outside)
    (collection / "loop").symlink_to(collection)
    (collection / "dangling.txt").symlink_to(collection / "nothing.txt")
    for name in (".hidden.txt", "~$kites.docx", ".~lock.kites.odt#"):
        (collection / name).write_text("a zebra")
    os.mkfifo(collection / "pipe.txt")
    said: list[str] = []
    index = Index.build([collection], tmp_path / "index", notice=said.append)
    assert (state(index), said) == (clean, [])


def test_strange_names_can_be_indexed_and_shown(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for number, name in enumerate((b"caf\xe9.txt", b"a\x1b[2Jb\n.txt", "雨.txt".encode())):
        path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
        path.write_text(f"It rains in {'abc'[number]}.")
    index = Index.build([folder], tmp_path / "index")
    index.update()
    names = [passage.document for passage in index.search("rain")]
    assert len(names) == 3
    assert all(name.isprintable() and name.encode("utf-8") for name in names)


def test_an_index_in_its_own_folder_is_not_indexed(collection: Path) -> None:
    index = Index.build([collection], collection / "index")
    (collection / "index" / "note.txt").write_text("a zebra")
    index.update()
    assert index.search("zebra") == []


def test_no_index_is_a_document(collection: Path, tmp_path: Path) -> None:
    built = Index.build([collection], collection / "index")
    (tmp_path / "link").symlink_to(collection)
    other = Index.build([collection], tmp_path / "link" / "deep" / "other")
    other.update()
    assert other.documents == built.documents


def test_a_pickle_opens_the_index_again(
    collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    index = Index.build(collection, "index")
    pickled, copied = pickle.dumps(index), copy.deepcopy(index)
    monkeypatch.chdir("/")
    assert len(pickle.loads(pickled)) == len(copied) == len(index)


def test_one_source_needs_no_list(collection: Path, tmp_path: Path) -> None:
    one, several = tmp_path / "one", tmp_path / "several"
    assert len(Index.build(collection, one)) == len(Index.build([collection], several))
    index = Index.open(one)
    index.update(str(collection / "kites.md"))
    assert index.documents == 1


@pytest.mark.parametrize("question", [None, b"Who?", 7])
def test_a_question_is_a_text(collection: Path, tmp_path: Path, question: Any) -> None:
    index = Index.build(collection, tmp_path / "index")
    with pytest.raises(InputError, match=f"the question is {type(question).__name__}, not str"):
        index.search(question)


def test_mistakes_are_refused_and_change_nothing(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("precious")
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.exe").touch()
    for sources, folder, reason in [
        ([collection], tmp_path / "mine", "not empty"),
        ([collection], tmp_path / "a.exe", "it is a file"),
        ([tmp_path / "no"], tmp_path / "index", "no such file"),
        ([tmp_path / "a.exe"], tmp_path / "index", "none of"),
        ([tmp_path / "empty"], tmp_path / "index", "no text in"),
        ([], tmp_path / "index", "nothing to index"),
    ]:
        with pytest.raises(InputError, match=reason):
            Index.build(sources, folder)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]
    with pytest.raises(InputError, match="no index in"):
        Index.open(tmp_path / "empty")
    with pytest.raises(InputError, match="no index in"):
        Index.open(tmp_path / "index")
    index = Index.build([collection], tmp_path / "index")
    with pytest.raises(InputError, match="nothing to index"):
        index.update([])
    assert index.documents > 0
    wrong: Any
    for wrong in (0, "5"):
        with pytest.raises(InputError, match="k must be a whole number, at least 1"):
            index.search("rain", wrong)
        with pytest.raises(InputError, match="size must be a whole number, at least 1"):
            Index.build([collection], tmp_path / "index", size=wrong)
    for path in next((tmp_path / "index").glob("generation-*")).iterdir():
        whole = path.read_bytes()
        for broken in (b"", b"[]") if path.suffix == ".json" else (b"",):
            path.write_bytes(broken)
            with pytest.raises(InputError, match="damaged"):
                Index.open(tmp_path / "index")
        path.write_bytes(whole)
    Index.open(tmp_path / "index")


def test_one_process_writes_at_a_time(collection: Path, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    index = Index.build([collection], tmp_path / "index")
    (collection / "bad.txt").write_bytes(b"\xff")
    reasons: list[str] = []

    def meanwhile(reason: str) -> None:
        with pytest.raises(InputError, match="another process"):
            Index.build([collection], tmp_path / "index", skip=reasons.append)
        reasons.append(reason)

    index.update(skip=meanwhile)
    assert len(reasons) == 1


HARMS = {
    "a byte is another": lambda content, _: bytes([content[0] ^ 1]) + content[1:],
    "half is lost": lambda content, _: content[: len(content) // 2],
    "all is lost": lambda content, _: b"",
    "it is another index's": lambda _, other: other,
    "it is missing": lambda _, __: None,
}


@pytest.mark.parametrize("harm", HARMS)
def test_files_that_are_damaged_or_of_another_index_are_refused(tmp_path: Path, harm: str) -> None:
    for name, year in ("one", 1902), ("other", 1903):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mill.txt").write_text(f"The mill was built in {year} by Ada Quist.")
        Index.build([tmp_path / name], tmp_path / f"index-{name}")
    index = tmp_path / "index-one"
    files = [path for path in index.rglob("*") if path.is_file()]
    assert len(files) > 8
    for path in files:
        content = path.read_bytes()
        other = (tmp_path / "index-other" / path.relative_to(index)).read_bytes()
        harmed = HARMS[harm](content, other)
        if harmed == content:  # the same in every index
            continue
        path.unlink()
        if harmed is not None:
            path.write_bytes(harmed)
        with pytest.raises(InputError, match=r"build the index again|build it again|make one with"):
            Index.open(index)
        path.write_bytes(content)
    assert Index.open(index).search("When was the mill built?", 1)[0].text.count("1902") == 1


def test_what_cannot_be_read_for_once_stays_and_is_named(
    collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.build([collection], tmp_path / "index")
    before = state(index)
    scandir, stat = os.scandir, Path.stat

    def refuse_folder(path: Any) -> Any:
        if str(path) == str(collection / "deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    def refuse_file(path: Path, **options: Any) -> Any:
        if path.name == "kites.md" and not options:  # and not of a link
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "scandir", refuse_folder)
    monkeypatch.setattr(Path, "stat", refuse_file)
    skipped: list[str] = []
    index.update(skip=skipped.append)
    assert len(skipped) == 2
    assert all("Permission denied" in line for line in skipped)
    assert "kites.md" in skipped[1]
    assert "stays" in skipped[1]
    assert state(index) == before


@pytest.mark.parametrize("name", ["generation-1/best.txt", "current", "generation-2"])
def test_files_of_others_are_no_index(collection: Path, tmp_path: Path, name: str) -> None:
    own = tmp_path / "results" / name
    own.parent.mkdir(parents=True)
    own.write_bytes(b"my own \xe9")
    with pytest.raises(InputError, match="results is no index and not empty: choose another"):
        Index.build([collection], tmp_path / "results")
    assert own.read_bytes() == b"my own \xe9"
    notes = tmp_path / "results" / "notes.txt"
    notes.write_text("The tower of glass has 7 doors.")
    index = Index.build([tmp_path / "results"], tmp_path / "index", skip=lambda reason: None)
    assert "glass" in index.search("glass")[0].text


def test_an_index_may_have_folders_of_others_beside_it(collection: Path, tmp_path: Path) -> None:
    index = Index.build([collection], tmp_path / "index")
    own = tmp_path / "index" / "generation-2"
    own.mkdir()
    (own / "best.txt").write_text("my own")
    index.update()
    assert (own / "best.txt").read_text() == "my own"
    assert index.search("kite")


def test_an_index_is_where_it_was_when_the_process_moves(
    collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Index.build([collection], "index")
    index = Index.open("index")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (collection / "new.txt").write_text("The tower of glass has 7 doors.")
    index.update()
    assert "glass" in index.search("glass")[0].text


def test_a_table_without_a_readable_record_stays_as_it_was(
    collection: Path, tmp_path: Path
) -> None:
    index = Index.build([collection], tmp_path / "index")
    before = state(index)
    (collection / "rows.jsonl").write_text("<<<<<<< HEAD\n=======\n>>>>>>> theirs\n")
    skipped: list[str] = []
    index.update(skip=skipped.append)
    (line,) = skipped
    assert "rows.jsonl: line 1 is not a JSON object" in line
    assert line.endswith("; what the index has of it stays")
    assert state(index) == before


def test_a_file_that_breaks_stays_as_it_was_and_is_read_when_it_is_whole(
    collection: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pypdfium2")
    write_pdf(collection / "mill.pdf", PAGES)
    index = Index.build([collection], tmp_path / "index")
    before, whole = state(index), (collection / "mill.pdf").read_bytes()
    (collection / "mill.pdf").write_bytes(whole[:100])
    skipped: list[str] = []
    index.update(skip=skipped.append)
    assert len(skipped) == 1
    assert "mill.pdf" in skipped[0]
    assert skipped[0].endswith("; what the index has of it stays")
    assert state(index) == before
    with pytest.raises(InputError, match=r"mill\.pdf.*stays$"):
        index.update()
    (collection / "mill.pdf").write_bytes(whole.replace(b"1902", b"1903"))
    index.update()
    assert "1903" in index.search("When was the mill built?")[0].text


def test_a_file_of_which_a_part_is_broken_is_told_from_one_that_is(
    collection: Path, tmp_path: Path
) -> None:
    (collection / "bad.txt").write_bytes(b"\xff")
    (collection / "rows.jsonl").open("a").write("{\n")
    skipped: list[str] = []
    incomplete: list[str] = []
    folder = tmp_path / "index"
    index = Index.build([collection], folder, skip=skipped.append, incomplete=incomplete.append)
    assert ["bad.txt" in line for line in skipped] == [True]
    assert ["rows.jsonl" in line for line in incomplete] == [True]
    again: list[str] = []
    index.update(skip=[].append, incomplete=again.append)  # of files that have not changed
    assert again == incomplete


def test_an_exception_of_who_hears_of_a_loss_stops_the_update(
    collection: Path, tmp_path: Path
) -> None:
    def refuse(reason: str) -> None:
        raise InputError(f"stopped: {reason}")

    (collection / "rows.jsonl").open("a").write("{\n")
    index = Index.build([collection], tmp_path / "index", incomplete=[].append)
    before = index.search("Who built the mill?", 20)
    for change in (b"", b"[\n"):  # known, and new
        with (collection / "rows.jsonl").open("ab") as file:
            file.write(change)
        with pytest.raises(InputError, match=r"stopped: .*rows\.jsonl"):
            index.update(skip=[].append, incomplete=refuse)
        assert index.search("Who built the mill?", 20) == before


def test_a_document_with_a_control_character_in_its_id_is_found(tmp_path: Path) -> None:
    rows = [{"id": "row\t1", "text": "It rains."}, {"id": "row\u200e", "text": "It snows."}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    index = Index.build([tmp_path / "a.jsonl"], tmp_path / "index")
    for word, text in (("rains", "It rains."), ("snows", "It snows.")):
        excerpt = index.excerpt(index.search(word)[0].document)
        assert excerpt
        assert excerpt.text == text


def test_files_and_the_index_may_be_moved(tmp_path: Path) -> None:
    (tmp_path / "notes" / "folder.md").mkdir(parents=True)
    (tmp_path / "notes" / "folder.md" / "a.txt").write_text("It rains.")
    (tmp_path / "notes" / "b.txt").write_text("It snows.")
    Index.build([tmp_path / "notes"], tmp_path / "index")
    (tmp_path / "notes" / "b.txt").rename(tmp_path / "notes" / "c.txt")
    (tmp_path / "notes").rename(tmp_path / "moved")
    (tmp_path / "index").rename(tmp_path / "other")
    index = Index.open(tmp_path / "other")
    assert index.search("Does it snow?")[0].document == "b.txt"
    with pytest.raises(InputError, match="notes: no such file or folder; if it has moved, name"):
        index.update()
    index.update([tmp_path / "moved"])
    assert [each.document for each in index.search("Does it snow?")] == ["c.txt"]
    found = index.search("Does it rain?")[0]
    assert found.document == "folder.md/a.txt"
    assert found.path == str(tmp_path / "moved" / "folder.md" / "a.txt")


def test_when_nothing_is_left_nothing_is_answered(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    path = tmp_path / "notes" / "a.txt"
    path.write_text("It rains.")
    index = Index.build([tmp_path / "notes"], tmp_path / "index")
    path.unlink()
    Index.open(tmp_path / "index").update()
    assert index.search("Does it rain?") == index.search("Where is Napoleon?") == []
    assert (len(index), index.documents) == (0, 0)
    path.write_text("It snows.")
    Index.open(tmp_path / "index").update()
    assert index.search("Does it snow?")[0].text == "It snows."


def test_files_of_other_kinds_are_counted_once(tmp_path: Path) -> None:
    for name in ("z.xyz", "a.txt", "b.png", "c.png", "deep/d.PNG", "e.exe", "Makefile", ".hidden"):
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text("It rains.")
    noticed: list[str] = []
    Index.build([tmp_path / "notes"], tmp_path / "index", notice=noticed.append)
    assert noticed == ["left out, of other kinds: 3 .png, 1 .exe, 1 .xyz, 1 without a suffix"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The meteoro-\nlogical station was founded in 1874.", "When was the meteorological one?"),
        ("Ann\u00adika Hed\u00adlund led it.", "What did Annika do?"),
        ("A plate of smørrebrød in Łódź, on Straße 9.", "What is in Lodz?"),
        ("A plate of smørrebrød in Łódź, on Straße 9.", "Where is smorrebrod?"),
        ("A plate of smørrebrød in Łódź, on Straße 9.", "What is on Strasse 9?"),
        ("A café named Ægir, of Đorđe Þór.", "Who owns Aegir?"),
        ("A café named Ægir, of Đorđe Þór.", "What is Dorde's?"),
        ("Ann\u200dika Hed\u2060lund led it.", "What did Annika do?"),
        ("The IT department is led by Runa Falk.", "Who leads IT?"),
        ("It is a novel by Stephen King.", "Who wrote It?"),
        ("Part BA-1234 costs 34 crowns.", "How much is BA-1234?"),
        ("北京是中国的首都。", "北京在哪里？"),
        ("The Who formed in 1964.", "When did The Who come into being?"),
        ("It has 51,234 inhabitants.", "What has 51234?"),
        ("It has 51 234 inhabitants.".replace(" 234", "\u202f234"), "What has 51,234?"),
        ("Nils's bridge fell.", "What was Nils’ thing?"),
        ("opened: 1902-05-07, cost: 12", "What did they do on 7 May?"),
    ],
)
def test_a_word_is_found_however_it_is_spelt(tmp_path: Path, text: str, question: str) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text(text, "utf-8")
    (tmp_path / "notes" / "b.txt").write_text("Something else stands here about nothing.")
    index = Index.build([tmp_path / "notes"], tmp_path / "index")
    assert index.search(question)[0].document == "a.txt"


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("german", "Die Brücken wurden 1822 gebaut.", "Wann wurde die Brücke gebaut?"),
        ("french", "Les ponts ont été construits en 1822.", "Quand le pont a-t-il été construit ?"),
        ("spanish", "Los puentes se construyeron en 1822.", "¿Cuándo se construyó el puente?"),
    ],
)
def test_an_index_has_a_language(tmp_path: Path, language: str, text: str, question: str) -> None:
    pytest.importorskip("Stemmer")
    (tmp_path / "a.txt").write_text(text, "utf-8")
    index = Index.build([tmp_path / "a.txt"], tmp_path / "index", language=language)
    assert index.search(question)[0].document == "a.txt"
    assert not index.search(question.replace("Br", "Kr"))[0].lacks_name
    index.update()
    assert index.search(question)


def test_a_language_without_stems_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("It rains.")
    with pytest.raises(InputError, match="'klingon' is none of danish, dutch"):
        Index.build([tmp_path / "a.txt"], tmp_path / "index", language="klingon")
    assert not (tmp_path / "index").exists()


def test_words_of_a_heading_count_for_all_of_its_section(tmp_path: Path) -> None:
    rye = "The old mill grinds rye. " * 30
    text = f"# Mill\n\n## Fees\n\n{rye}\n\nMembers pay 85 crowns.\n\n## Other\n\nSnow.\n"
    (tmp_path / "a.md").write_text(text)
    index = Index.build([tmp_path / "a.md"], tmp_path / "index", size=200)
    assert "85" in index.search("fees of members")[0].text
    assert {each.headings[-1][1] for each in index.search("fees")} == {"Fees"}
