"""An extractive reader for Haystack 2 pipelines: documents and a query in, answers out.

    from haystack import Pipeline, component
    from haystack_reader import FabirReader

    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    pipeline.add_component("reader", component(FabirReader)())
    pipeline.connect("retriever.documents", "reader.documents")
    pipeline.run({"retriever": {"query": query}, "reader": {"query": query}})

It works without Haystack too, on whatever has a `content`; its answers are then dicts.
"""

from typing import Any

from fabir import Predictor

try:
    from haystack import Document, ExtractedAnswer, component
except ImportError:
    component = Document = ExtractedAnswer = None


class FabirReader:
    """Answers a query from documents, best first.

    Args:
        reader: a reader's folder or name; "fast" if None
        top_k: answers to give, over all documents
        per_document: answers of one document at most
    """

    def __init__(self, reader: str | None = None, top_k: int = 10, per_document: int = 2) -> None:
        self.predictor = Predictor.load(reader)
        self.top_k, self.per_document = top_k, per_document

    def run(self, query: str, documents: list[Any], top_k: int | None = None) -> dict[str, Any]:
        """`{"answers": [...]}`; a document without text has none."""
        texts = [document for document in documents if (document.content or "").strip()]
        pairs = [(query, document.content) for document in texts]
        found = [
            (answer, document)
            for document, answers in zip(
                texts, self.predictor.answer_all(pairs, self.per_document), strict=True
            )
            for answer in answers
        ]
        found.sort(key=lambda pair: -pair[0].score)
        return {"answers": [_answer(query, *each) for each in found[: top_k or self.top_k]]}


def _answer(query: str, answer: Any, document: Any) -> Any:
    if ExtractedAnswer is None:
        place = {"start": answer.start, "end": answer.end}
        return {"query": query, "data": answer.text, "score": answer.score, **place} | {
            "document": document
        }
    span = ExtractedAnswer.Span(answer.start, answer.end)
    return ExtractedAnswer(
        query=query, score=answer.score, data=answer.text, document=document, document_offset=span
    )


if component is not None:
    FabirReader.run = component.output_types(answers=list[ExtractedAnswer])(FabirReader.run)
