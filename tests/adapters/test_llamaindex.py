"""The reader of files, the retriever and the query engine in LlamaIndex."""

import asyncio
from pathlib import Path

import pytest

from fabir.errors import InputError, InputWarning
from fabir.search.asker import Asker
from fabir.search.index import Index

pytest.importorskip("llama_index", reason="LlamaIndex is missing: pip install 'fabir[llamaindex]'")

from llama_index.core import SimpleDirectoryReader
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import QueryEngineTool

from fabir.adapters.llamaindex import FabirQueryEngine, FabirReader, FabirRetriever


def text_of(node: NodeWithScore) -> tuple[str, str]:
    """The text of a node, and what stands at its place in its file."""
    assert isinstance(node.node, TextNode)
    text = Path(node.metadata["file_path"]).read_text(encoding="utf-8")
    return node.text, text[node.node.start_char_idx : node.node.end_char_idx]


def test_a_folder_is_read_as_an_index_would(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mill.MD").write_bytes((folder / "notes" / "mill.md").read_bytes())
    (tmp_path / "tours.csv").write_text("tour,price\nWheel,12\nTower,9\n", encoding="utf-8")
    extractor = FabirReader().file_extractor
    read = SimpleDirectoryReader(str(tmp_path), file_extractor=extractor, raise_on_error=True)
    mill, *tours = read.load_data()
    assert "The mill was built in 1902 by Otto Berg." in mill.text
    assert mill.metadata["title"] == "The mill of Lund"
    assert [tour.text for tour in tours] == ["tour: Wheel\nprice: 12", "tour: Tower\nprice: 9"]
    assert [tour.metadata["part"] for tour in tours] == ["1", "2"]
    assert {Path(each.metadata["file_path"]).name for each in tours} == {"tours.csv"}
    assert mill.metadata["file_name"] == "mill.MD"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name, content in (("blank.txt", b" "), ("broken.docx", b"PK"), ("a.exe", b"MZ")):
        (tmp_path / name).write_bytes(content)
    reader = FabirReader()
    with pytest.warns(InputWarning, match=r"blank\.txt: no text in it"):
        assert reader.load_data(tmp_path / "blank.txt") == []
    for name, problem in (("broken.docx", "damaged"), ("a.exe", "is none of")):
        with pytest.raises(InputError, match=problem):
            reader.load_data(str(tmp_path / name))


def test_nodes_know_their_place(index: Index) -> None:
    retriever = FabirRetriever(index)
    nodes = retriever.retrieve("mill")
    assert len(nodes) == 2
    for node in nodes:
        text, there = text_of(node)
        assert text == there
    assert nodes[0].get_score() >= nodes[1].get_score()
    again = asyncio.run(retriever.aretrieve("mill"))
    assert [node.node_id for node in again] == [node.node_id for node in nodes]
    assert len(FabirRetriever(index, similarity_top_k=1).retrieve("mill")) == 1


def test_a_response_has_its_sources(asker: Asker) -> None:
    response = FabirQueryEngine(asker=asker).query("Who built the mill?")
    assert str(response) == "Otto Berg"
    assert response.metadata is not None
    (answer,) = response.metadata["answers"]
    (source,) = response.source_nodes
    assert source.score == answer["score"]
    assert source.metadata["answer"] == "Otto Berg"
    text, there = text_of(source)
    assert text == there
    assert answer["sentence"] in text


def test_a_passage_with_several_answers_is_one_source_with_the_best(asker: Asker) -> None:
    every = Asker(asker.index, asker.predictor, threshold=0)
    response = FabirQueryEngine(asker=every, top_k=5).query("Who built the mill?")
    assert response.metadata is not None
    answers = response.metadata["answers"]
    nodes = response.source_nodes
    assert len(answers) == 5
    assert len({node.node_id for node in nodes}) == len(nodes) == 2
    assert (nodes[0].metadata["answer"], nodes[0].score) == ("Otto Berg", answers[0]["score"])
    assert nodes[1].score == next(
        each["score"] for each in answers if each["text"] == nodes[1].metadata["answer"]
    )
    retrieved = FabirRetriever(asker.index).retrieve("Who built the mill?")
    assert {node.node_id for node in nodes} <= {node.node_id for node in retrieved}


def test_without_an_answer_the_response_is_empty(asker: Asker) -> None:
    response = asyncio.run(FabirQueryEngine(asker=asker).aquery("Who is the king of France?"))
    assert str(response) == "Empty Response"
    assert response.source_nodes == []
    assert response.metadata is not None
    assert response.metadata["best_guess"]["score"] < 0.1


def test_it_is_a_tool_for_agents(asker: Asker) -> None:
    tool = QueryEngineTool.from_defaults(FabirQueryEngine(asker=asker))
    assert tool.call("Who built the mill?").content == "Otto Berg"
