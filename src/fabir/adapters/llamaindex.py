"""A reader of files, a retriever and a query engine for LlamaIndex, without a language model."""

import asyncio
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fabir.adapters import needs
from fabir.adapters.places import place_of
from fabir.documents.reading import ENDINGS, read_documents
from fabir.errors import InputWarning
from fabir.search.asker import Asker, Found
from fabir.search.index import Index, Passage

with needs("llamaindex", "LlamaIndex", "llama_index"):
    from llama_index.core.base.response.schema import Response
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode

    from fabir.adapters.tools import describe_result

EMPTY = "Empty Response"  # what LlamaIndex's own query engines say


class FabirReader(BaseReader):
    """Reads files of all kinds that `fabir index` reads, one document for each record of a table or
    a file of records, else one for each file.

    `file_extractor` is for LlamaIndex's `SimpleDirectoryReader`: this reader for each ending.
    """

    @property
    def file_extractor(self) -> dict[str, BaseReader]:
        return dict.fromkeys(ENDINGS, self)

    def lazy_load_data(
        self, file: str | Path, extra_info: Mapping[str, Any] | None = None
    ) -> Iterator[Document]:
        """The documents of a file. Their metadata is `file_path`, `title`, the `part` if the file
        has several, and `extra_info`, which goes before.

        Raises:
            InputError: the file is broken, too large or of an unknown kind, or the package that
                reads it is missing.
            InputWarning: the file has no text, or a part of it cannot be used.
        """
        for document in read_documents(Path(file), _warn):
            own = {"file_path": str(file), "title": document.title, "part": document.part}
            metadata = {name: value for name, value in own.items() if value}
            yield Document(text=document.text, metadata=metadata | dict(extra_info or {}))


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


def _warn(line: str) -> None:
    warnings.warn(line, InputWarning, stacklevel=2)


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
