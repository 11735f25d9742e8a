"""The JSON of requests and responses, and its limits."""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from fabir.answer.predictor import Answer
from fabir.search.asker import Found
from fabir.serve.wording import sentence
from fabir.text.units import is_blank

MAX_QUESTION, MAX_PASSAGE = 1_000, 100_000  # characters
MAX_NAME = 10_000  # of a document, in characters
MAX_ANSWERS = 20
MAX_QUESTIONS = 256  # of a request to /answers


def _not_blank(text: str) -> str:
    if is_blank(text):
        raise PydanticCustomError("blank", "it is empty")
    return text


Question = Annotated[str, Field(max_length=MAX_QUESTION), AfterValidator(_not_blank)]
Passage = Annotated[str, Field(max_length=MAX_PASSAGE), AfterValidator(_not_blank)]
TopK = Annotated[int, Field(strict=True, ge=1, le=MAX_ANSWERS, description="answers wanted")]

Threshold = Annotated[
    float | None,
    Field(
        strict=True,
        allow_inf_nan=False,
        ge=0,
        le=1,
        description="how likely an answer that is given must be; 0 always answers; null: the "
        "service's threshold, or the model's own rule",
    ),
]


class _Asked(BaseModel):
    """A request. A field that it does not have is refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, fields: Any) -> Any:
        """Say which fields there are, which pydantic does not, and before it misses any."""
        if isinstance(fields, dict) and (unknown := fields.keys() - cls.model_fields.keys()):
            message = "there is no field {name}; the fields are {fields}"
            found = {"name": repr(min(unknown)[:50]), "fields": ", ".join(cls.model_fields)}
            raise PydanticCustomError("unknown_field", message, found)
        return fields


class ToAnswer(_Asked):
    """A question about a passage."""

    question: Question
    passage: Passage
    top_k: TopK = 1
    threshold: Threshold = None


class ToAsk(_Asked):
    """A question to the index."""

    question: Question
    top_k: TopK = 5
    threshold: Threshold = None


class ToShow(_Asked):
    """A document of the index, and a place in it."""

    document: Annotated[str, Field(max_length=MAX_NAME, description="as `/ask` names it")]
    start: Annotated[
        int, Field(strict=True, ge=0, le=1 << 53, description="a character of the document")
    ] = 0


class Answers(BaseModel):
    """Spans of the passage, best first; none if no answer is given.

    Offsets count code points.
    """

    answers: list[Answer]
    no_answer: Annotated[float, Field(description="probability that there is no answer")]
    best_guess: Annotated[Answer | None, Field(description="the best span if none is given")]


class Problem(BaseModel):
    """The error in a request, or the reason why it cannot be answered."""

    detail: str


def _or_problem(question: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """A question that cannot be asked becomes its problem, so that the others are answered."""
    try:
        return validate(question)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return Problem(detail=sentence(first, first["loc"]))


class ToAnswerMany(_Asked):
    """Questions, each about a passage."""

    questions: Annotated[
        list[Annotated[ToAnswer, WrapValidator(_or_problem)]],
        Field(min_length=1, max_length=MAX_QUESTIONS),
    ]


class AnswersToMany(BaseModel):
    """What is answered to each question, in their order."""

    results: list[Answers | Problem]


class _WithoutPath:
    """Leaves the path on this machine out of the schema, as the service leaves it out."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        reference = handler(core)
        schema = handler.resolve_ref_schema(reference)
        schema["properties"].pop("path", None)
        schema["required"] = [name for name in schema["required"] if name != "path"]
        return reference


_Found = Annotated[Found, _WithoutPath()]


class Findings(BaseModel):
    """Spans of documents, best first; none if no answer is given. Offsets count code points."""

    answers: list[_Found]
    no_answer: Annotated[float, Field(description="one minus the best span's score")]
    best_guess: Annotated[_Found | None, Field(description="the best span if none is given")]


class Shown(BaseModel):
    """The text of a document that was indexed: all of it, or the part around the place."""

    document: str
    text: str
    start: Annotated[int, Field(description="the document's character at which the text begins")]
    whole: Annotated[bool, Field(description="whether this is the whole text")]


class Health(BaseModel):
    """The service's state and its features."""

    status: str
    version: str
    index: Annotated[bool, Field(description="whether there is an index to ask")]
    explain: Annotated[
        str | None,
        Field(description="null if `/explain` is offered, else the reason why it is not"),
    ]


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "The body is not JSON in UTF-8",
        401: "The service has a token, and the request does not",
        408: "The rest of the body did not come",
        413: "The body is too large",
        415: "The body has a Content-Encoding",
        421: "The host of the request is not allowed",
        422: "A field is missing, unknown, blank, too long or of another type",
        503: "Too much is waiting; Retry-After says when to try again",
    }.items()
}
