"""A retriever and tools for LangChain."""

from typing import Any

from fabir.adapters import needs
from fabir.adapters.places import place_of
from fabir.errors import InputError
from fabir.search.asker import Asker
from fabir.search.index import Index, Passage

with needs("langchain", "LangChain 1", "langchain_core"):
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables.config import run_in_executor
    from langchain_core.tools import StructuredTool, ToolException
    from pydantic import ConfigDict

    from fabir.adapters.tools import Tool, describe_error, index_tools


class FabirRetriever(BaseRetriever):
    """Retrieves passages from an index.

    Args:
        index: the index
        k: passages at most
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: Index
    k: int = 5

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        passages = self.index.search(query, self.k if k is None else k)
        return [_document(passage) for passage in passages]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        manager = run_manager.get_sync()
        return await run_in_executor(
            None, self._get_relevant_documents, query, run_manager=manager, k=k
        )


def langchain_tools(asker: Asker) -> list[StructuredTool]:
    """The tools `ask` and `search` for agents. Their content is JSON, their artifact the result.

    What is wrong with a call is its content, under "error", as in `run_tool_call`.
    """
    return [_structured(tool) for tool in index_tools(asker)]


def _structured(tool: Tool) -> StructuredTool:
    def run(**arguments: Any) -> tuple[str, Any]:
        try:
            result = tool.run(arguments)
        except InputError as error:
            raise ToolException(describe_error(error)) from error
        return result.model_dump_json(), result

    return StructuredTool.from_function(
        run,
        name=tool.name,
        description=tool.description,
        args_schema=tool.arguments.model_json_schema(),
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _document(passage: Passage) -> Document:
    place = {"source": passage.path, "score": passage.score, **place_of(passage)}
    return Document(passage.text, id=f"{passage.document}:{passage.start}", metadata=place)
