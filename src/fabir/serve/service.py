"""The endpoints' handlers, and what they answer with: a model, an index and the attention view."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fastapi import HTTPException
from fastapi.responses import HTMLResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from fabir import __version__
from fabir.answer.predictor import Predictor, Reading
from fabir.answer.threshold import best_guess
from fabir.errors import InputError
from fabir.search.asker import spans
from fabir.serve.attention import Explainer
from fabir.serve.batching import MAX_WAITING, Batcher
from fabir.serve.messages import (
    MAX_PASSAGE,
    Answers,
    AnswersToMany,
    Findings,
    Health,
    Problem,
    Shown,
    ToAnswer,
    ToAnswerMany,
    ToAsk,
    ToShow,
)
from fabir.serve.metrics import Metrics
from fabir.serve.page import PAGE, POLICY
from fabir.serve.tokens import encode_tokens

if TYPE_CHECKING:
    from fabir.search.asker import Asker

T = TypeVar("T")


class Parts(NamedTuple):
    """What a service answers with. A reload replaces all of it.

    predictor: reads the passages; nothing else may use it afterwards
    asker: answers from an index
    explainer: makes the attention view; by default that of `fast`
    tokens: one of them must come with a request; if there are none, no token is needed
    """

    predictor: Predictor
    asker: "Asker | None" = None
    explainer: Explainer | None = None
    tokens: Collection[str] = ()


class _Backend:
    """The parts, and the threads that use them. The threads end when nobody has it any more."""

    def __init__(self, parts: Parts, batcher: Batcher) -> None:
        self.predictor, self.asker = parts.predictor, parts.asker
        self.explainer = parts.explainer or Explainer()
        self.tokens = encode_tokens(parts.tokens)
        self.batcher = batcher
        self._searching = ThreadPoolExecutor(1, "fabir-search")

    @property
    def index_asker(self) -> "Asker":
        if self.asker is None:
            raise HTTPException(404, "there is no index: start the service with --index")
        return self.asker

    async def in_index(self, work: Callable[..., T], *given: Any) -> T:
        """Run `work` in the thread that reads the index."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._searching, work, *given)

    def close(self) -> None:
        self.batcher.close()
        self._searching.shutdown()
        self.explainer.close()


class Service:
    """Answers requests.

    Args:
        parts: what it answers with
        max_waiting: see `Batcher`
    """

    def __init__(self, parts: Parts, max_waiting: int = MAX_WAITING) -> None:
        self.metrics = Metrics()
        self._max_waiting = max_waiting
        self._backend = self._start(parts)
        self.metrics.waiting.set_function(lambda: self._backend.batcher.waiting)

    @property
    def tokens(self) -> list[bytes]:
        """See `Parts`."""
        return self._backend.tokens

    def replace(self, parts: Parts) -> None:
        """Answer further requests with these parts. Requests that have begun keep theirs.

        Raises:
            InputError: these have tokens and those before had none, or the other way round.
        """
        if bool(parts.tokens) != bool(self.tokens):
            raise InputError("a service has tokens from its start, or it never has any")
        self._backend = self._start(parts)

    def _start(self, parts: Parts) -> _Backend:
        on_batch = self.metrics.batches.observe
        batcher = Batcher(parts.predictor, max_waiting=self._max_waiting, on_batch=on_batch)
        return _Backend(parts, batcher)

    async def answer(self, asked: ToAnswer) -> Answers:
        """Answers a question about a passage."""
        backend = self._backend
        (reading,) = await backend.batcher.read([(asked.question, asked.passage)], asked.top_k)
        return self._answers("/answer", backend, asked, reading)

    async def answer_many(self, asked: ToAnswerMany) -> AnswersToMany:
        """Answers many questions. A question that cannot be answered has its problem instead."""
        backend = self._backend
        valid = [each for each in asked.questions if isinstance(each, ToAnswer)]
        read: list[Reading | Problem] = []
        for group in _groups(valid):
            read += await _read_group(backend.batcher, group)
        readings = iter(read)
        results: list[Answers | Problem] = []
        for each in asked.questions:
            found = next(readings) if isinstance(each, ToAnswer) else each
            if isinstance(found, Reading):
                found = self._answers("/answers", backend, each, found)
            results.append(found)
        return AnswersToMany(results=results)

    async def ask(self, asked: ToAsk) -> Findings:
        """Answers a question from the documents of the index."""
        backend, asker = self._backend, self._backend.index_asker
        passages = await backend.in_index(asker.search, asked.question)
        pairs = asker.pairs(asked.question, passages)
        readings = await backend.batcher.read(pairs, spans(asked.top_k))
        result = asker.choose(asked.question, passages, readings, asked.top_k, asked.threshold)
        self.metrics.count_question("/ask", bool(result.answers))
        return Findings(
            answers=result.answers, no_answer=result.no_answer, best_guess=result.best_guess
        )

    async def document(self, asked: ToShow) -> Shown:
        """The indexed text of a document, around a place in it. No file is read."""
        backend, index = self._backend, self._backend.index_asker.index
        found = await backend.in_index(index.excerpt, asked.document, asked.start)
        if found is None:
            raise HTTPException(404, "the index has no document of this name")
        return Shown(document=asked.document, **found._asdict())

    async def explain(self, asked: ToAnswer) -> HTMLResponse:
        """An HTML page that shows the reader's attention."""
        backend = self._backend
        if obstacle := backend.explainer.obstacle:
            raise HTTPException(501, obstacle)
        threshold = backend.predictor.threshold if asked.threshold is None else asked.threshold
        text = await backend.explainer.page(asked.question, asked.passage, asked.top_k, threshold)
        return HTMLResponse(text, headers={"content-security-policy": POLICY})

    async def health(self) -> Health:
        """The service's state and its features."""
        return Health(
            status="ok",
            version=__version__,
            index=self._backend.asker is not None,
            explain=self._backend.explainer.obstacle,
        )

    async def measure(self) -> Response:
        """Requests, times and batches, for Prometheus."""
        return Response(self.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def page(self) -> HTMLResponse:
        return HTMLResponse(PAGE, headers={"content-security-policy": POLICY})

    def close(self) -> None:
        """Stop the threads."""
        self._backend.close()

    def _answers(self, path: str, backend: _Backend, asked: ToAnswer, reading: Reading) -> Answers:
        given = backend.predictor.given(reading, asked.threshold)[: asked.top_k]
        self.metrics.count_question(path, bool(given))
        guess = best_guess(reading, given)
        return Answers(answers=given, no_answer=reading.no_answer, best_guess=guess)


def _groups(questions: list[ToAnswer]) -> Iterator[list[ToAnswer]]:
    """Successive questions, with no more characters of passages than one passage may have.

    They are read group by group, so that a request for many holds up the others no longer than one
    for a long passage.
    """
    group: list[ToAnswer] = []
    size = 0
    for each in questions:
        if group and size + len(each.passage) > MAX_PASSAGE:
            yield group
            group, size = [], 0
        group.append(each)
        size += len(each.passage)
    if group:
        yield group


async def _read_group(batcher: Batcher, group: list[ToAnswer]) -> list[Reading | Problem]:
    """Read questions together. If that fails, read each alone to isolate the failing one."""
    pairs = [(each.question, each.passage) for each in group]
    try:
        return [*await batcher.read(pairs, max(each.top_k for each in group))]
    except InputError as error:
        if len(group) == 1:
            return [Problem(detail=str(error))]
        alone = await asyncio.gather(*(_read_group(batcher, [each]) for each in group))
        return [found for (found,) in alone]
