"""The FastAPI application: its endpoints, its middleware and its error responses."""

import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from asgi_correlation_id import CorrelationIdMiddleware, correlation_id
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware

from fabir import __version__
from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.serve.access import host_names, page_origins
from fabir.serve.attention import Explainer
from fabir.serve.batching import MAX_WAITING, BusyError
from fabir.serve.guard import Guard, path_in_app
from fabir.serve.messages import PROBLEMS, Problem
from fabir.serve.service import Parts, Service
from fabir.serve.tokens import BearerToken, refuse
from fabir.serve.wording import sentence

if TYPE_CHECKING:
    from fabir.search.asker import Asker

_Responses = dict[int | str, dict[str, Any]]
_RETRY = {"retry-after": "1"}  # seconds
_REQUEST_ID = "x-request-id"
_SANE_ID = re.compile(r"[\w.:/+=@-]{1,128}", re.ASCII)


def create_app(
    predictor: Predictor,
    *,
    asker: "Asker | None" = None,
    explainer: Explainer | None = None,
    tokens: Collection[str] = (),
    max_waiting: int = MAX_WAITING,
    allowed_hosts: Collection[str] | None = None,
    cors: Collection[str] = (),
) -> FastAPI:
    """The service as an ASGI application. Its `state.service` is a `Service`.

    Its lifespan ends the service's threads. An application that mounts this one has to enter it:
    see docs/service.md.

    Args:
        predictor: reads the passages; only the asker may share it
        asker: answers from an index; without it there is none to ask
        explainer: makes the attention view; by default that of `fast`
        tokens: one of them must come with a request; if there are none, no token is needed
        max_waiting: words that may wait to be read, of short requests and of long ones; further
            requests are answered with 503
        allowed_hosts: names to accept in the Host header, besides "localhost" and IP addresses;
            None accepts any host, unlike `fabir serve` on this computer only
        cors: origins whose pages may ask, such as ["https://a.example"]; ["*"] for any

    Raises:
        InputError: the tokens, hosts or origins are one string, or one of them has a form that none
            may have.
    """
    allowed_hosts = None if allowed_hosts is None else host_names(allowed_hosts)
    cors = page_origins(cors)
    service = Service(Parts(predictor, asker, explainer, tokens), max_waiting)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="fabir",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,  # to http:// behind some proxies, and clients send the token along
    )
    app.state.service = service
    _add_endpoints(app, service, bool(tokens))
    _add_error_handlers(app)
    if tokens:
        app.add_middleware(
            AuthenticationMiddleware, backend=BearerToken(lambda: service.tokens), on_error=refuse
        )
    _add_middleware(app, service, allowed_hosts, cors)
    return app


def _add_endpoints(app: FastAPI, service: Service, protected: bool) -> None:
    absent: _Responses = {404: {"model": Problem, "description": "There is no index or document"}}
    page: _Responses = {501: {"model": Problem, "description": "There is no torch"}}
    hidden: Any = {"answers": {"__all__": {"path"}}, "best_guess": {"path"}}
    # The middleware checks the token, before a body is read. This only adds it to the schema.
    secured = [Depends(HTTPBearer(auto_error=False))] if protected else []
    post = partial(app.post, dependencies=secured)
    post("/answer", responses=PROBLEMS)(service.answer)
    post("/answers", responses=PROBLEMS)(service.answer_many)
    post("/ask", responses=PROBLEMS | absent, response_model_exclude=hidden)(service.ask)
    post("/document", responses=PROBLEMS | absent)(service.document)
    post("/explain", responses=PROBLEMS | page, response_class=HTMLResponse)(service.explain)
    app.get("/health")(service.health)
    app.get("/metrics", dependencies=secured, response_class=Response)(service.measure)
    app.get("/", include_in_schema=False)(service.page)
    for path, handler in {
        "/health": service.health,
        "/metrics": service.measure,
        "/": service.page,
    }.items():
        app.head(path, include_in_schema=False)(handler)


def _add_error_handlers(app: FastAPI) -> None:
    app.exception_handler(400)(_reject_body)
    app.exception_handler(404)(partial(_report_absent, _paths(app)))
    app.exception_handler(RequestValidationError)(_reject_invalid)
    app.exception_handler(InputError)(_reject_input)
    app.exception_handler(BusyError)(_report_busy)
    app.exception_handler(Exception)(_report_bug)


def _add_middleware(
    app: FastAPI,
    service: Service,
    allowed_hosts: Collection[str] | None,
    cors: Sequence[str],
) -> None:
    """Add what every request passes, the innermost first."""
    if cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=cors,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["authorization", "content-type", _REQUEST_ID],
            expose_headers=["retry-after", _REQUEST_ID],
        )
    app.add_middleware(
        Guard, metrics=service.metrics, paths=_paths(app), allowed_hosts=allowed_hosts
    )
    app.add_middleware(CorrelationIdMiddleware, header_name=_REQUEST_ID, validator=_is_sane)


def _is_sane(request_id: str) -> bool:
    return bool(_SANE_ID.fullmatch(request_id))


def _paths(app: FastAPI) -> frozenset[str]:
    return frozenset(getattr(route, "path", "") for route in app.routes)


async def _report_absent(paths: frozenset[str], request: Request, error: Exception) -> JSONResponse:
    """Name the right path to a request whose path only has a slash too many."""
    assert isinstance(error, HTTPException)
    path, root = path_in_app(request.scope), request.scope.get("root_path", "")
    right = f"/{path.strip('/')}"
    if path in paths or right not in paths:
        return _problem(404, error.detail)
    return _problem(404, f"there is no such path: it is {root}{right}")


async def _reject_body(request: Request, error: Exception) -> JSONResponse:
    """Say why a body could not be read. FastAPI says it only of a mistake in JSON's grammar."""
    assert isinstance(error, HTTPException)
    cause = error.__cause__
    if isinstance(cause, UnicodeDecodeError):
        detail = f"the body is not UTF-8, from byte {cause.start} on: encode it as UTF-8"
    elif isinstance(cause, RecursionError):
        detail = "the body cannot be read: its JSON is nested too deeply"
    elif isinstance(cause, ValueError):  # of int()
        detail = "the body cannot be read: a number in its JSON has too many digits"
    else:
        detail = error.detail
    return _problem(400, detail)


async def _reject_invalid(request: Request, error: Exception) -> JSONResponse:
    """One line about an invalid request. The request is not quoted: it may not be valid text.

    A body that is not sent as application/json is rejected, which prevents cross-site request
    forgery: a browser sends this type to another site only after a CORS preflight request.
    """
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _problem(400, f"the body is not valid JSON: {first['ctx']['error']}")
    place = first["loc"][1:]
    if not place and first["type"] != "unknown_field":
        wanted = "a JSON object, with the header Content-Type: application/json"
        return _problem(422, f"the body must be {wanted}")
    return _problem(422, sentence(first, place))


async def _reject_input(request: Request, error: Exception) -> JSONResponse:
    return _problem(422, str(error))


async def _report_busy(request: Request, error: Exception) -> JSONResponse:
    return _problem(503, str(error), _RETRY)


async def _report_bug(request: Request, error: Exception) -> JSONResponse:
    """This response passes no middleware, so it gets the request's id here. The log says more."""
    found = {_REQUEST_ID: correlation_id.get() or ""}
    return _problem(500, "the service has a bug: its log has the error, by x-request-id", found)


def _problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": _plain(detail)}, status, headers)


def _plain(text: str) -> str:
    """Replace lone surrogates, which names of files may contain."""
    return text.encode(errors="replace").decode()
