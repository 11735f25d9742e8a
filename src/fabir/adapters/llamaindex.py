"""A retriever and a query engine for LlamaIndex. Neither needs a language model."""

import asyncio
from typing import Any

from fabir.adapters import needs
from fabir.adapters.places import place_of
from fabir.search.asker import Asker, Found
from fabir.search.index import Index, Passage

with needs("llamaindex", "LlamaIndex", "llama_index"):
    from llama_index.core.base.response.schema import Response
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    from fabir.adapters.tools import describe_result

EMPTY = "Empty Response"  # what LlamaIndex's own query engines say


class FabirRetriever(BaseRetriever):
    """Retrieves passages from an index.

    Args:
        index: the index
        similarity_top_k: passages at most
    """

    def __init__(self, index: Index, similarity_top_k: int = 5, **options: Any) -> None:
        super().__init__(**options)
        self.index, self.similarity_top_k = index, similarity_top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = self.index.search(query_bundle.query_str, self.similarity_top_k)
        return [_node(passage) for passage in passages]


class FabirQueryEngine(CustomQueryEngine):
    """Answers with words of the documents of an index.

    The response is the best answer, or "Empty Response". Its source nodes are the passages of all
    answers, each once, with its best answer and the score of that. Its metadata is an `AskResult`
    of the tools.

    Args:
        asker: answers from the index
        top_k: answers at most
    """

    asker: Asker
    top_k: int = 3

    def custom_query(self, query_str: str) -> Response:
        result = self.asker.read(query_str, self.top_k)
        text = result.answers[0].text if result.answers else EMPTY
        sources: dict[str, NodeWithScore] = {}
        for source in map(_source, result.answers):  # the best answer of a passage comes first
            sources.setdefault(source.node_id, source)
        return Response(text, [*sources.values()], describe_result(result).model_dump())

    async def acustom_query(self, query_str: str) -> Response:
        return await asyncio.to_thread(self.custom_query, query_str)


def _node(passage: Passage) -> NodeWithScore:
    place = place_of(passage)
    start, end = place.pop("start"), place.pop("end")
    return _scored(passage.text, passage.score, start, end, file_path=passage.path, **place)


def _source(answer: Found) -> NodeWithScore:
    start = answer.start - answer.passage_start
    return _scored(
        answer.passage,
        answer.score,
        start,
        start + len(answer.passage),
        file_path=answer.path,
        document=answer.document,
        page=answer.page,
        line=answer.line,
        heading=answer.heading,
        answer=answer.text,
    )


def _scored(text: str, score: float, start: int, end: int, **metadata: Any) -> NodeWithScore:
    node = TextNode(
        id_=f"{metadata['document']}:{start}",
        text=text,
        start_char_idx=start,
        end_char_idx=end,
        metadata=metadata,
    )
    return NodeWithScore(node=node, score=score)
