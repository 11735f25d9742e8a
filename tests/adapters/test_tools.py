"""What language models are told of an index, and what they get."""

import json
from pathlib import Path

import pytest

from fabir.search.asker import Asker
from fabir.search.index import Index

pytest.importorskip("pydantic")

from fabir.adapters.tools import Tool, index_tools, run_tool_call, tool_schemas


@pytest.fixture(scope="module")
def tools(asker: Asker) -> list[Tool]:
    return index_tools(asker)


def test_the_schemas_state_what_is_taken(tools: list[Tool]) -> None:
    functions = {each["function"]["name"]: each["function"] for each in tool_schemas(tools)}
    assert list(functions) == ["ask", "search"]
    for function, asked in zip(functions.values(), ("question", "query"), strict=True):
        parameters = function["parameters"]
        assert function["description"]
        assert parameters["required"] == [asked]
        assert parameters["additionalProperties"] is False
        assert parameters["properties"]["top_k"]["maximum"] == 20
        assert all(each["description"] for each in parameters["properties"].values())


def test_an_answer_has_its_place_and_no_absolute_path(tools: list[Tool], folder: Path) -> None:
    content = run_tool_call(tools, "ask", {"question": "Who built the mill?"})
    found = json.loads(content)
    (answer,) = found["answers"]
    text = (folder / "notes" / "mill.md").read_text(encoding="utf-8")
    assert answer["text"] == text[answer["start"] : answer["end"]] == "Otto Berg"
    place = [answer[name] for name in ("document", "page", "line", "heading")]
    assert place == ["mill.md", None, 3, "The mill of Lund"]
    assert answer["sentence"] == "The mill was built in 1902 by Otto Berg."
    assert 0.3 < answer["score"] < 1
    assert found["best_guess"] is None
    assert not found["probably_not_in_documents"]
    assert str(folder) not in content


def test_without_an_answer_there_is_a_guess(tools: list[Tool]) -> None:
    found = json.loads(run_tool_call(tools, "ask", {"question": "Who is the king of France?"}))
    assert found["answers"] == []
    assert found["probably_not_in_documents"]
    assert found["best_guess"]["score"] < 0.1


def test_an_unlikely_answer_is_doubted(asker: Asker) -> None:
    tools = index_tools(Asker(asker.index, asker.predictor, threshold=0))
    found = json.loads(run_tool_call(tools, "ask", {"question": "Who is the king of France?"}))
    assert found["answers"]
    assert found["probably_not_in_documents"]


def test_passages_have_their_heading(tools: list[Tool], index: Index, folder: Path) -> None:
    content = run_tool_call(tools, "search", '{"query": "guided tour", "top_k": 1}')
    (passage,) = json.loads(content)["passages"]
    text = (folder / "notes" / "mill.md").read_text(encoding="utf-8")
    assert passage["text"] == text[passage["start"] : passage["end"]]
    assert (passage["document"], passage["heading"]) == ("mill.md", "Visitors")
    assert passage["title"] == "The mill of Lund"
    assert passage["score"] == index.search("guided tour", 1)[0].score


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("ask", '{"question": "Who', "ask: Invalid JSON"),
        ("ask", "[]", "ask: Input should be an object"),
        ("ask", "{}", "ask: question: Field required"),
        ("ask", {"question": " "}, "ask: question: String should have at least 1 character"),
        ("ask", {"question": "Who?", "top_k": 21}, "ask: top_k: Input should be less than"),
        ("search", {"query": "x", "k": 3}, "search: k: Extra inputs are not permitted"),
        ("sum", "{}", "there is no tool sum: there are ask, search"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(
    tools: list[Tool], name: str, arguments: str | dict[str, object], error: str
) -> None:
    said = json.loads(run_tool_call(tools, name, arguments))
    assert list(said) == ["error"]
    assert said["error"].startswith(error)
    assert "\n" not in said["error"]
