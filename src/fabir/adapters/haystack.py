"""An extractive reader for Haystack: documents and a query in, answers out."""

import math
from pathlib import Path
from typing import Any

from fabir.adapters import needs
from fabir.answer.checks import check_kind, check_whole
from fabir.answer.predictor import Answer, Predictor
from fabir.answer.threshold import check_threshold
from fabir.answer.transformers_models import explain, is_transformers
from fabir.errors import InputError
from fabir.text.units import is_blank

with needs("haystack", "Haystack 2 or later", "haystack"):
    from haystack import (
        Document,
        ExtractedAnswer,
        component,
        default_from_dict,
        default_to_dict,
        logging,
    )

logger = logging.getLogger(__name__)


@component
class FabirExtractiveReader:
    """Finds the answers to a query in documents. It does what Haystack's own reader did.

    Args:
        model: the folder or the name of a model, see `Predictor.load`
        top_k: answers at most, without the no-answer one
        score_threshold: least score of an answer, from 0 to 1
        no_answer: whether there is an answer without text too. Its score is the probability that
            the others are wrong

    Raises:
        InputError: the name is that of a model of transformers, or a number is wrong.
    """

    def __init__(
        self,
        model: str | Path = "fast",
        top_k: int = 20,
        score_threshold: float | None = None,
        no_answer: bool = True,
    ) -> None:
        if is_transformers(model):
            raise InputError(explain(model, strict=True))
        self.model = str(model)
        self.top_k = check_whole("top_k", top_k)
        self.score_threshold = check_threshold(score_threshold)
        self.no_answer = no_answer
        self._predictor: Predictor | None = None

    def to_dict(self) -> dict[str, Any]:
        """The component's type and arguments, for a pipeline's file."""
        return default_to_dict(
            self,
            model=self.model,
            top_k=self.top_k,
            score_threshold=self.score_threshold,
            no_answer=self.no_answer,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "FabirExtractiveReader":
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """Load the model. A pipeline does so before its first run.

        Raises:
            InputError: there is no such model.
        """
        self._predictor = self._predictor or Predictor.load(self.model)

    @component.output_types(answers=list[ExtractedAnswer])
    def run(
        self,
        query: str,
        documents: list[Document],
        top_k: int | None = None,
        score_threshold: float | None = None,
        no_answer: bool | None = None,
    ) -> dict[str, list[ExtractedAnswer]]:
        """The answers of all documents under "answers", best first. None without documents.

        A score is the probability that the document has an answer, times the probability that
        this one is right if so. A document without text is ignored with a warning.

        Args:
            top_k, score_threshold, no_answer: in place of the component's

        Raises:
            InputError: a blank query, or one that is no str; `top_k` below 1; or `score_threshold`
                not from 0 to 1.
        """
        top_k = self.top_k if top_k is None else check_whole("top_k", top_k)
        least = (
            self.score_threshold if score_threshold is None else check_threshold(score_threshold)
        )
        if is_blank(check_kind("the query", query, str)):
            raise InputError("the query is empty: ask something")
        if not documents:
            return {"answers": []}
        answers = self._read(query, documents, top_k)
        if self.no_answer if no_answer is None else no_answer:
            none = math.prod((1 - answer.score for answer in answers), start=1.0)
            answers.append(ExtractedAnswer(query=query, score=none, data=None))
        kept = [answer for answer in answers if least is None or answer.score >= least]
        return {"answers": sorted(kept, key=lambda answer: -answer.score)}

    def _read(self, query: str, documents: list[Document], top_k: int) -> list[ExtractedAnswer]:
        self.warm_up()
        assert self._predictor is not None
        texts = []
        for document in documents:
            if is_blank(document.content or ""):
                logger.warning("Document {id} has no text and is ignored", id=document.id)
            else:
                texts.append(document)
        pairs = [(query, document.content or "") for document in texts]
        readings = self._predictor.read_all(pairs, top_k)
        found = [
            _extracted(query, document, answer, answer.score * (1 - reading.no_answer))
            for document, reading in zip(texts, readings, strict=True)
            for answer in reading.answers
        ]
        return sorted(found, key=lambda answer: -answer.score)[:top_k]


def _extracted(query: str, document: Document, answer: Answer, score: float) -> ExtractedAnswer:
    meta = {}
    if isinstance(page := document.meta.get("page_number"), int):  # that on which it begins
        meta["answer_page_number"] = page + (document.content or "").count("\f", 0, answer.start)
    return ExtractedAnswer(
        query=query,
        score=score,
        data=answer.text,
        document=document,
        document_offset=ExtractedAnswer.Span(answer.start, answer.end),
        meta=meta,
    )
