"""The JSON that goes in and out, and its limits."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from fabir.answer.predictor import Answer
from fabir.search.asker import Found

MOST_QUESTION, MOST_PASSAGE = 1_000, 100_000  # characters
MOST_ANSWERS = 20


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


Question = Annotated[str, Field(max_length=MOST_QUESTION), AfterValidator(_not_blank)]
Passage = Annotated[str, Field(max_length=MOST_PASSAGE), AfterValidator(_not_blank)]
TopK = Annotated[int, Field(ge=1, le=MOST_ANSWERS, description="answers wanted")]


class ToAnswer(BaseModel):
    """A question about a passage."""

    question: Question
    passage: Passage
    top_k: TopK = 1


class ToAsk(BaseModel):
    """A question to the index."""

    question: Question
    top_k: TopK = 5


class Answers(BaseModel):
    """Pieces of the passage, best first; none if the reader says that it does not answer.

    Offsets count code points.
    """

    answers: list[Answer]
    no_answer: Annotated[float, Field(description="probability that there is no answer")]


class Findings(BaseModel):
    """Pieces of documents, best first. Offsets count code points."""

    answers: list[Found]


class Health(BaseModel):
    """What the service can do."""

    status: str
    version: str
    index: Annotated[bool, Field(description="whether there is an index to ask")]
    explain: Annotated[str | None, Field(description="why nothing can be explained, if so")]


class Problem(BaseModel):
    """What is wrong with a request, or why it cannot be answered now."""

    detail: str


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "The body is not JSON",
        408: "The rest of the body did not come",
        413: "The body is too large",
        421: "The request is for a host that is not known here",
        422: "A field is missing, blank, too long or of another type",
        503: "Too much is waiting; Retry-After says when to try again",
    }.items()
}
