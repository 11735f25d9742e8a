"""The JSON of requests and responses, and its limits."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from fabir.answer.predictor import Answer
from fabir.search.asker import Found

MAX_QUESTION, MAX_PASSAGE = 1_000, 100_000  # characters
MAX_ANSWERS = 20


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


Question = Annotated[str, Field(max_length=MAX_QUESTION), AfterValidator(_not_blank)]
Passage = Annotated[str, Field(max_length=MAX_PASSAGE), AfterValidator(_not_blank)]
TopK = Annotated[int, Field(strict=True, ge=1, le=MAX_ANSWERS, description="answers wanted")]

Threshold = Annotated[
    float | None,
    Field(
        strict=True,
        ge=0,
        le=1,
        description="how likely an answer that is given must be; 0 always answers; null: the "
        "service's threshold, or the model's own rule",
    ),
]


class ToAnswer(BaseModel):
    """A question about a passage."""

    question: Question
    passage: Passage
    top_k: TopK = 1
    threshold: Threshold = None


class ToAsk(BaseModel):
    """A question to the index."""

    question: Question
    top_k: TopK = 5
    threshold: Threshold = None


class Answers(BaseModel):
    """Spans of the passage, best first; none if no answer is given.

    Offsets count code points.
    """

    answers: list[Answer]
    no_answer: Annotated[float, Field(description="probability that there is no answer")]
    best_guess: Annotated[Answer | None, Field(description="the best span if none is given")]


class Findings(BaseModel):
    """Spans of documents, best first; none if no answer is given. Offsets count code points."""

    answers: list[Found]
    no_answer: Annotated[float, Field(description="one minus the best span's score")]
    best_guess: Annotated[Found | None, Field(description="the best span if none is given")]


class Health(BaseModel):
    """The service's state and its features."""

    status: str
    version: str
    index: Annotated[bool, Field(description="whether there is an index to ask")]
    explain: Annotated[str | None, Field(description="why there is no attention view, or null")]


class Problem(BaseModel):
    """The error in a request, or the reason why it cannot be answered."""

    detail: str


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "The body is not JSON",
        408: "The rest of the body did not come",
        413: "The body is too large",
        421: "The host of the request is not allowed",
        422: "A field is missing, blank, too long or of another type",
        503: "Too much is waiting; Retry-After says when to try again",
    }.items()
}
