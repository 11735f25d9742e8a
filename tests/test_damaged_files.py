"""Damaged files of users: read as what they still are, or refused in one line, and soon."""

import gzip
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from collection import write_collection
from damage import altered, bounded, damaged
from fabir.data.dataset import Dataset
from fabir.data.squad import read_squad, write_squad
from fabir.errors import InputError, InputWarning
from fabir.search.index import Index, Passage
from fabir.text.vectors import read_vectors
from tiny import dataset, write_vectors


def one_line(read: Callable[[], Any]) -> Any:
    """What is read, or None if that is refused in one line."""
    with bounded():
        try:
            found = read()
        except InputError as error:
            found, said = None, str(error)
            event("refused")
        else:
            said = ""
            event("read")
    assert "\n" not in said
    assert len(said) < 2000
    return found


def squad() -> dict[str, Any]:
    """A small file of version 2.0 with all fields."""
    with tempfile.TemporaryDirectory() as folder:
        write_squad(dataset(), Path(folder) / "data.json")
        document = json.loads((Path(folder) / "data.json").read_bytes())
    document["version"] = "v2.0"
    for article in document["data"]:
        first = article["paragraphs"][0]["qas"][0]
        first |= {"plausible_answers": first["answers"], "answers": [], "is_impossible": True}
    return document


SQUAD = squad()
ROWS = [
    {"id": qa["id"], "question": qa["question"], "context": paragraph["context"], "answers": {
        "text": [answer["text"] for answer in qa["answers"]],
        "answer_start": [answer["answer_start"] for answer in qa["answers"]],
    }}
    for article in SQUAD["data"] for paragraph in article["paragraphs"] for qa in paragraph["qas"]
]  # fmt: skip
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
HANDLING = st.sampled_from(["error", "skip", "repair", "keep"])
CONTENTS = st.one_of(
    st.tuples(st.just("a.json"), damaged(json.dumps(SQUAD).encode())),
    st.tuples(st.just("a.json"), altered(SQUAD).map(lambda each: json.dumps(each).encode())),
    st.tuples(st.just("a.json"), altered(ROWS).map(lambda each: json.dumps(each).encode())),
    st.tuples(st.just("a.json.gz"), damaged(gzip.compress(json.dumps(SQUAD).encode()))),
    st.tuples(st.just("a.jsonl"), damaged(JSONL)),
)


@given(CONTENTS, HANDLING)
def test_squad_files(made: tuple[str, bytes], handling: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / made[0]
        path.write_bytes(made[1])
        data = one_line(lambda: read_squad(path, handling))
        if data is not None:
            check_squad(data, handling, Path(folder) / "again.json")
            if path.name == "a.json":
                removed = sum(line.endswith("question removed") for line in data.bad_answers)
                assert len(data) + removed == questions(
                    json.loads(made[1].removeprefix(b"\xef\xbb\xbf"))
                )


def check_squad(data: Dataset, handling: str, again: Path) -> None:
    """Answers stand where they say, ids are distinct, and it can be written and read."""
    ids = [question.id for _, question in data.questions]
    assert len(ids) == len(set(ids))
    for passage, question in data.questions:
        for answer in (*question.answers, *question.plausible):
            found = passage.text[answer.start : answer.start + len(answer.text)] == answer.text
            assert handling == "keep" or (found and answer.text.strip() and answer.start >= 0)
        assert not (question.impossible and question.answers)
    write_squad(data, again)
    assert [p.questions for p in read_squad(again, "keep").passages] == [
        p.questions for p in data.passages
    ]


def questions(document: Any) -> int:
    """How many questions a SQuAD file has, in any layout that is read."""
    listed = document["data"] if type(document) is dict else document
    count = 0
    for each in listed:
        for paragraph in each.get("paragraphs", [each]):
            count += len(paragraph.get("qas", [paragraph]))
    return count


def numbers(fields: list[bytes]) -> list[np.float32] | None:
    try:
        return [np.float32(field) for field in fields]
    except ValueError:
        return None


def vectors() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_vectors(Path(folder) / "vectors.txt", dim=4)
        return (Path(folder) / "vectors.txt").read_bytes()


VECTORS = vectors()
HEADER = f"{len(VECTORS.splitlines())} 4\n".encode()


@example(("v.txt", b"9" * 5000 + b" 4\n" + VECTORS))  # no header: Python reads no such number
@given(
    st.one_of(
        st.tuples(st.just("v.txt"), damaged(VECTORS)),
        st.tuples(st.just("v.txt"), damaged(HEADER + VECTORS.replace(b" ", b"\t"))),
        st.tuples(st.just("v.txt.gz"), damaged(gzip.compress(VECTORS))),
    )
)
def test_vectors_files(made: tuple[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", InputWarning)
        path = Path(folder) / made[0]
        path.write_bytes(made[1])
        found = one_line(lambda: read_vectors(path, folder))
        if found is None:
            return
        content = gzip.decompress(made[1]) if path.suffix == ".gz" else made[1]
        lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        fields = [line.split() for line in lines if line.strip()]
        rows = [(b" ".join(each[: -found.dim]), each[-found.dim :]) for each in fields]
        for word, vector in zip(found.words, np.asarray(found.matrix), strict=True):
            assert any(numbers(row) == vector.tolist() for of, row in rows if of == word.encode())
        if not any("left out" in str(each.message) for each in warned):
            event("whole")
            header = len(fields[0]) == 2 and found.dim != 1
            assert {word.encode() for word in found.words} == {
                b" ".join(each[: -found.dim]) for each in fields[header:]
            }


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    write_collection(folder / "documents")
    Index.build([folder / "documents"], folder / "index")
    return folder / "index"


ASKED = "Who flew the first kite?", "How high is the lighthouse?", "rain falls from clouds"


def passages(folder: Path) -> list[list[Passage]]:
    index = Index.open(folder)
    return [index.search(question, 20) for question in ASKED]


@given(data=st.data())
def test_indexes(index: Path, data: st.DataObject) -> None:
    files = sorted(path.relative_to(index) for path in index.rglob("*") if path.is_file())
    name = data.draw(st.sampled_from(files))
    content = data.draw(damaged((index / name).read_bytes()))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index"
        shutil.copytree(index, copy)
        (copy / name).write_bytes(content)
        assert one_line(lambda: passages(copy)) in (None, passages(index))
