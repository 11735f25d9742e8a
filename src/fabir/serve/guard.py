"""ASGI middleware around every request: allowed hosts, body limits, response headers, metrics and
the access log.

The check of the Host header prevents DNS rebinding. The required type application/json prevents
cross-site request forgery, see `fabir.serve.app`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import HTTPException
from fastapi.responses import JSONResponse

from fabir.serve.metrics import Metrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_BODY = 1 << 20
MAX_BODIES = 64 << 20  # of all requests together, so that slow ones do not fill the memory
_PART_TIMEOUT = 20  # seconds to wait for each part of a body
_BODY_TIMEOUT = 60  # seconds to wait for all of it
_UNKNOWN_HOST = JSONResponse(
    {"detail": "the request is for a host that this service does not know: see --allow-host"}, 421
)
_ENCODED = "the body has a Content-Encoding: send it as it is, without this header"
_FULL = "the service reads too many bodies at once: ask again in a moment"
_STOPPING = JSONResponse({"detail": "the service stops: ask again in a moment"}, 503)
_ACCESS = logging.getLogger("fabir.access")
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]


class Guard:
    """ASGI middleware that checks, measures and logs every request.

    Args:
        paths: paths with metrics of their own; all other paths share one
        allowed_hosts: names to accept in the Host header, besides "localhost" and IP addresses;
            None accepts any host. The check prevents DNS rebinding: another site may point its own
            name to this computer, but the browser then sends that name as the host.
    """

    def __init__(
        self,
        app: App,
        metrics: Metrics,
        paths: frozenset[str],
        allowed_hosts: Collection[str] | None,
    ) -> None:
        self.app, self.metrics, self.paths = app, metrics, paths
        self.held = 0  # bytes of the bodies of all requests in progress
        self.allowed_hosts = None
        if allowed_hosts is not None:
            self.allowed_hosts = {"localhost", *(name.lower() for name in allowed_hosts)}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, started, started_to_answer = 500, time.perf_counter(), False
        path = path_in_app(scope)
        path = path if path in self.paths else "other"

        async def send_and_record(message: Message) -> None:
            nonlocal status, started_to_answer
            if message["type"] == "http.response.start":
                status, started_to_answer = message["status"], True
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        app: App = self.app if self._host_is_allowed(scope) else _UNKNOWN_HOST
        body = _Body(self, scope, receive)
        try:
            with self.metrics.in_progress.labels(path).track_inprogress():
                await app(scope, body.receive, send_and_record)
        except asyncio.CancelledError:  # the service stops, and has waited long enough
            if not started_to_answer:
                await _STOPPING(scope, receive, send_and_record)
        finally:
            self.held -= body.size
            seconds = time.perf_counter() - started
            self.metrics.requests.labels(path, status).inc()
            self.metrics.seconds.labels(path).observe(seconds)
            if _ACCESS.isEnabledFor(logging.INFO):
                _log(scope, status, seconds)

    def _host_is_allowed(self, scope: Message) -> bool:
        """Whether the Host header is an allowed name or an IP address."""
        if self.allowed_hosts is None:
            return True
        try:
            host = urlsplit(b"//" + dict(scope["headers"]).get(b"host", b"")).hostname or b""
            name = host.decode()
            return name in self.allowed_hosts or bool(ip_address(name))
        except ValueError:
            return False


def path_in_app(scope: Message) -> str:
    """The path of a request, without the path under which the application is mounted."""
    return scope["path"].removeprefix(scope.get("root_path", ""))


def _log(scope: Message, status: int, seconds: float) -> None:
    """Log a request: nothing of what was asked, only where and how it was answered."""
    client = scope.get("client")
    fields = {
        "client": quote(client[0], safe=":%") if client else "-",
        "method": scope["method"],
        "path": quote(scope["path"]),
        "status": status,
        "milliseconds": round(1e3 * seconds, 1),
    }
    _ACCESS.info("%(method)s %(path)s %(status)d", fields, extra=fields)


class _Body:
    """A request's body, which is rejected if it is compressed, too large or too slow, or if those
    of all requests are too large together.

    Attributes:
        size: bytes received so far
    """

    def __init__(self, guard: Guard, scope: Message, receive: Receive) -> None:
        self.guard, self._receive, self.size = guard, receive, 0
        self.coding = dict(scope["headers"]).get(b"content-encoding", b"identity")
        self.end = time.monotonic() + _BODY_TIMEOUT

    async def receive(self) -> Message:
        if self.coding.lower() != b"identity":
            raise HTTPException(415, _ENCODED, {"accept-encoding": "identity"})
        try:
            left = max(0, self.end - time.monotonic())
            async with asyncio.timeout(min(_PART_TIMEOUT, left)):
                message = await self._receive()
        except TimeoutError as error:
            raise HTTPException(408, "the rest of the body did not come") from error
        part = len(message.get("body", b""))
        self.size += part
        self.guard.held += part
        if self.size > MAX_BODY:
            raise HTTPException(413, f"the body is larger than {MAX_BODY:,} bytes")
        if self.guard.held > MAX_BODIES:
            raise HTTPException(503, _FULL, {"retry-after": "1"})
        return message
