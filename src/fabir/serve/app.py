"""The FastAPI application: its endpoints and its error responses."""

import asyncio
from collections.abc import AsyncIterator, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from fabir import __version__
from fabir.answer.predictor import Predictor
from fabir.answer.threshold import best_guess
from fabir.errors import InputError
from fabir.serve.attention import Explainer
from fabir.serve.batching import MAX_WAITING, Batcher, BusyError
from fabir.serve.guard import Guard
from fabir.serve.messages import PROBLEMS, Answers, Findings, Health, Problem, ToAnswer, ToAsk
from fabir.serve.metrics import Metrics
from fabir.serve.page import PAGE, POLICY

if TYPE_CHECKING:
    from fabir.search.asker import Asker

_RETRY = {"retry-after": "1"}  # seconds


class Service:
    """The endpoints' handlers: a predictor, an optional index, and the attention view."""

    def __init__(
        self, predictor: Predictor, asker: "Asker | None", explainer: Explainer, max_waiting: int
    ) -> None:
        self.asker, self.explainer = asker, explainer
        self.predictor = predictor
        self.metrics = Metrics()
        self._searching = ThreadPoolExecutor(1, "fabir-search")
        self.batcher = Batcher(
            predictor, max_waiting=max_waiting, on_batch=self.metrics.batches.observe
        )
        self.metrics.waiting.set_function(lambda: self.batcher.waiting)

    async def answer(self, asked: ToAnswer) -> Answers:
        """Answers a question about a passage."""
        pair = asked.question, asked.passage
        (reading,) = await self.batcher.read([pair], asked.top_k)
        given = self.predictor.given(reading, asked.threshold)
        guess = best_guess(reading, given)
        return Answers(answers=given, no_answer=reading.no_answer, best_guess=guess)

    async def ask(self, asked: ToAsk) -> Findings:
        """Answers a question from the documents of the index."""
        if self.asker is None:
            raise HTTPException(404, "there is no index: start the service with --index")
        loop = asyncio.get_running_loop()
        search = self.asker.search
        passages = await loop.run_in_executor(self._searching, search, asked.question)
        pairs = self.asker.pairs(asked.question, passages)
        readings = await self.batcher.read(pairs, asked.top_k)
        result = self.asker.choose(asked.question, passages, readings, asked.top_k, asked.threshold)
        return Findings(
            answers=result.answers, no_answer=result.no_answer, best_guess=result.best_guess
        )

    async def explain(self, asked: ToAnswer) -> HTMLResponse:
        """An HTML page that shows the reader's attention."""
        if obstacle := self.explainer.obstacle:
            raise HTTPException(501, obstacle)
        threshold = self.predictor.threshold if asked.threshold is None else asked.threshold
        text = await self.explainer.page(asked.question, asked.passage, asked.top_k, threshold)
        return HTMLResponse(text, headers={"content-security-policy": POLICY})

    async def health(self) -> Health:
        """The service's state and its features."""
        return Health(
            status="ok",
            version=__version__,
            index=self.asker is not None,
            explain=self.explainer.obstacle,
        )

    async def measure(self) -> Response:
        """Requests, times and batches, for Prometheus."""
        return Response(self.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def page(self) -> HTMLResponse:
        return HTMLResponse(PAGE, headers={"content-security-policy": POLICY})

    def close(self) -> None:
        self.batcher.close()
        self._searching.shutdown()
        self.explainer.close()


def create_app(
    predictor: Predictor,
    *,
    asker: "Asker | None" = None,
    explainer: Explainer | None = None,
    max_waiting: int = MAX_WAITING,
    allowed_hosts: Collection[str] | None = None,
) -> FastAPI:
    """The service as an ASGI application.

    Args:
        predictor: reads the passages; nothing else may use it afterwards
        asker: answers from an index
        explainer: makes the attention view; by default that of `fast`
        max_waiting: see `Batcher`
        allowed_hosts: see `Guard`
    """
    service = Service(predictor, asker, explainer or Explainer(), max_waiting)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="fabir", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    absent: dict[int | str, Any] = {404: {"model": Problem, "description": "There is no index"}}
    page: dict[int | str, Any] = {501: {"model": Problem, "description": "There is no torch"}}
    app.post("/answer", responses=PROBLEMS)(service.answer)
    hidden: Any = {"answers": {"__all__": {"path"}}, "best_guess": {"path"}}
    app.post("/ask", responses=PROBLEMS | absent, response_model_exclude=hidden)(service.ask)
    app.post("/explain", responses=PROBLEMS | page, response_class=HTMLResponse)(service.explain)
    app.get("/health")(service.health)
    app.get("/metrics", response_class=Response)(service.measure)
    app.get("/", include_in_schema=False)(service.page)
    app.exception_handler(RequestValidationError)(_reject_invalid)
    app.exception_handler(InputError)(_reject_input)
    app.exception_handler(BusyError)(_report_busy)
    app.add_middleware(
        Guard, metrics=service.metrics, paths=_paths(app), allowed_hosts=allowed_hosts
    )
    return app


def _paths(app: FastAPI) -> frozenset[str]:
    return frozenset(getattr(route, "path", "") for route in app.routes)


async def _reject_invalid(request: Request, error: Exception) -> JSONResponse:
    """One line about an invalid request. The request is not quoted: it may not be valid text.

    A body that is not sent as application/json is rejected, which prevents cross-site request
    forgery: a browser sends this type to another site only after a CORS preflight request.
    """
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _problem(400, f"the body is not valid JSON: {first['ctx']['error']}")
    where = ".".join(str(each) for each in first["loc"][1:])
    if not where:
        return _problem(422, "the body must be an object, sent as application/json")
    return _problem(422, f"{where}: {first['msg'].removeprefix('Value error, ')}")


async def _reject_input(request: Request, error: Exception) -> JSONResponse:
    return _problem(422, str(error))


async def _report_busy(request: Request, error: Exception) -> JSONResponse:
    return _problem(503, str(error), _RETRY)


def _problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": _plain(detail)}, status, headers)


def _plain(text: str) -> str:
    """Replace lone surrogates, which names of files may contain."""
    return text.encode(errors="replace").decode()
