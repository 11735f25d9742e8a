"""Tools with which a language model asks an index.

The MCP server, the LangChain tools and the schemas for OpenAI's API are made of them. Arguments
and results are pydantic models, so names, types, limits and descriptions are stated here only.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fabir.adapters import needs
from fabir.adapters.places import place_of
from fabir.errors import InputError
from fabir.search.asker import UNSURE, Asker, Result

with needs("tools", "pydantic 2", "pydantic"):
    from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
Count = Annotated[int, Field(ge=1, le=20)]


class AskArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Annotated[Question, Field(description="one short question in a full sentence")]
    top_k: Annotated[Count, Field(description="answers wanted at most")] = 3


class SearchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: Annotated[Question, Field(description="a question, or words that the text has")]
    top_k: Annotated[Count, Field(description="passages wanted at most")] = 5


class _Place(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    document: Annotated[str, Field(description="path of the file; a record adds # and its id")]
    page: int | None
    line: int | None
    heading: Annotated[str | None, Field(description="the heading that it stands under")]
    start: Annotated[int, Field(description="first character in the document's text, from 0")]
    end: Annotated[int, Field(description="character after the last one")]


class FoundAnswer(_Place):
    text: Annotated[str, Field(description="words of the document")]
    score: Annotated[float, Field(description="probability that the answer is right")]
    sentence: Annotated[str, Field(description="the sentence that has the answer")]


class AskResult(BaseModel):
    answers: Annotated[list[FoundAnswer], Field(description="best first; empty if none is likely")]
    best_guess: Annotated[FoundAnswer | None, Field(description="if there is no answer")]
    probably_not_in_documents: bool


class FoundPassage(_Place):
    text: str
    title: Annotated[str, Field(description="title of the document")]
    score: Annotated[float, Field(description="higher is better; no probability")]


class SearchResult(BaseModel):
    passages: Annotated[list[FoundPassage], Field(description="best first")]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function for language models.

    Args:
        name, description: what a model is told of it
        arguments: model of its arguments
        result: model of its result
        function: takes `arguments`, returns `result`
    """

    name: str
    description: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    function: Callable[[Any], BaseModel]

    def run(self, arguments: str | Mapping[str, Any]) -> BaseModel:
        """The result of a call. The arguments are a mapping, or a JSON object in a string.

        Raises:
            InputError: the arguments are not those of the tool, or the question is blank.
        """
        try:
            if isinstance(arguments, str):
                checked = self.arguments.model_validate_json(arguments)
            else:
                checked = self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise InputError(_one_line(self.name, error)) from error
        return self.function(checked)


def index_tools(asker: Asker) -> list[Tool]:
    """The tools of an index: `ask` for answers, `search` for passages."""

    def ask(arguments: AskArguments) -> AskResult:
        return describe_result(asker.read(arguments.question, arguments.top_k))

    def search(arguments: SearchArguments) -> SearchResult:
        passages = asker.index.search(arguments.query, arguments.top_k)
        return SearchResult(
            passages=[
                FoundPassage(text=each.text, score=each.score, **place_of(each))
                for each in passages
            ]
        )

    return [
        Tool(
            "ask",
            "Answers a question with words of the user's documents, and says where they stand. "
            "It finds single facts; it does not summarise or combine. Name people and things: it "
            "does not know earlier questions. If probably_not_in_documents is true, do not rely "
            "on what it found.",
            AskArguments,
            AskResult,
            ask,
        ),
        Tool(
            "search",
            "Finds passages of the user's documents by their words. Use it to read what stands "
            "around an answer, or where no single answer is enough.",
            SearchArguments,
            SearchResult,
            search,
        ),
    ]


def describe_result(result: Result) -> AskResult:
    """A result as a model gets it."""
    answers = [FoundAnswer.model_validate(each) for each in result.answers]
    guess = result.best_guess and FoundAnswer.model_validate(result.best_guess)
    unsure = not answers or answers[0].score < UNSURE
    return AskResult(answers=answers, best_guess=guess, probably_not_in_documents=unsure)


def tool_schemas(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The tools as OpenAI's chat completions, and services like it, take them in `tools`."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.arguments.model_json_schema(),
            },
        }
        for tool in tools
    ]


def run_tool_call(tools: Iterable[Tool], name: str, arguments: str | Mapping[str, Any]) -> str:
    """The content of the message that answers a model's tool call: a JSON object.

    What is wrong with a call is its content, under "error", so that the model can correct itself.

    Args:
        name, arguments: the `function` of the tool call
    """
    by_name = {tool.name: tool for tool in tools}
    try:
        if name not in by_name:
            raise InputError(f"there is no tool {name}: there are {', '.join(by_name)}")
        return by_name[name].run(arguments).model_dump_json()
    except InputError as error:
        return describe_error(error)


def describe_error(error: InputError) -> str:
    """What is wrong with a call, as a model gets it: a JSON object."""
    return json.dumps({"error": str(error)}, ensure_ascii=False)


def _one_line(tool: str, error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{tool}: {where}: {first['msg']}" if where else f"{tool}: {first['msg']}"
