"""The retriever and the tools in LangChain."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fabir.search.asker import Asker
from fabir.search.index import Index

pytest.importorskip("langchain_core", reason="LangChain is missing: pip install 'fabir[langchain]'")

from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from fabir.adapters.langchain import FabirRetriever, langchain_tools
from fabir.adapters.tools import AskResult, index_tools, run_tool_call, tool_schemas


def called(asker: Asker, name: str, arguments: dict[str, Any]) -> ToolMessage:
    (tool,) = (tool for tool in langchain_tools(asker) if tool.name == name)
    return tool.invoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})


def test_documents_know_their_place(index: Index, folder: Path) -> None:
    documents = FabirRetriever(index=index).invoke("mill")
    assert len(documents) == 2
    file = folder / "notes" / "mill.md"
    for document in documents:
        place = document.metadata
        assert place["source"] == str(file)
        text = file.read_text(encoding="utf-8")
        assert document.page_content == text[place["start"] : place["end"]]
    assert len({document.id for document in documents}) == 2
    assert documents[0].metadata["score"] >= documents[1].metadata["score"]


def test_the_number_of_documents_is_chosen(index: Index) -> None:
    retriever = FabirRetriever(index=index, k=1)
    assert len(retriever.invoke("mill")) == 1
    assert len(retriever.invoke("mill", k=2)) == 2
    assert len(asyncio.run(retriever.ainvoke("mill", k=2))) == 2
    with pytest.raises(ValueError, match="top_k"):
        FabirRetriever.model_validate({"index": index, "top_k": 2})


def test_it_works_in_chains_and_without_blocking(index: Index) -> None:
    def first(documents: list[Document]) -> str:
        return documents[0].metadata["heading"]

    chain = FabirRetriever(index=index) | first
    assert asyncio.run(chain.ainvoke("What does a guided tour cost?")) == "Visitors"


def test_a_tool_answers_with_json_and_an_object(asker: Asker) -> None:
    message = called(asker, "ask", {"question": "Who built the mill?"})
    assert isinstance(message.artifact, AskResult)
    assert json.loads(str(message.content)) == message.artifact.model_dump()
    assert message.artifact.answers[0].text == "Otto Berg"
    assert called(asker, "search", {"query": "tour"}).artifact.passages[0].heading == "Visitors"


def test_wrong_arguments_are_told_to_the_model(asker: Asker) -> None:
    wrong = {"question": "Who?", "top_k": 0}
    message = called(asker, "ask", wrong)
    assert message.status == "error"
    assert message.content == run_tool_call(index_tools(asker), "ask", wrong)
    said = json.loads(str(message.content))
    assert said["error"].startswith("ask: top_k: Input should be greater than")


def test_models_are_told_the_same_as_elsewhere(asker: Asker) -> None:
    schemas = tool_schemas(index_tools(asker))
    for tool, schema in zip(langchain_tools(asker), schemas, strict=True):
        told = convert_to_openai_tool(tool)["function"]
        assert told["description"] == schema["function"]["description"]
        properties = schema["function"]["parameters"]["properties"]
        assert told["parameters"]["properties"].keys() == properties.keys()
