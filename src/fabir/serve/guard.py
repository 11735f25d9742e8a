"""What surrounds every request: whom it is for, a limit on its body, headers of its response,
counts and times."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException
from fastapi.responses import JSONResponse

from fabir.serve.metrics import Metrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
_PATIENCE = 20  # seconds for a part of a body to come
_STRANGE_HOST = JSONResponse(
    {"detail": "the request is for a host that this service does not know: see --allow-host"}, 421
)
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]


class Guard:
    """Around an application of ASGI.

    Args:
        paths: those that are counted by name; others are counted together
        names: hosts that a request may be for, beside "localhost" and addresses; None for any. A
            page of another site whose name was made to mean this computer cannot ask then
    """

    def __init__(
        self, app: App, metrics: Metrics, paths: frozenset[str], names: Collection[str] | None
    ) -> None:
        self.app, self.metrics, self.paths = app, metrics, paths
        self.names = None if names is None else {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, began = 500, time.perf_counter()
        path = scope["path"] if scope["path"] in self.paths else "other"

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        app: App = self.app if self._expected(scope) else _STRANGE_HOST
        try:
            with self.metrics.in_progress.labels(path).track_inprogress():
                await app(scope, _limited(receive), noted)
        finally:
            self.metrics.requests.labels(path, status).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - began)

    def _expected(self, scope: Message) -> bool:
        """Whether the request is for one of the names, or for an address."""
        if self.names is None:
            return True
        try:
            host = urlsplit(b"//" + dict(scope["headers"]).get(b"host", b"")).hostname or b""
            name = host.decode()
            return name in self.names or bool(ip_address(name))
        except ValueError:
            return False


def _limited(receive: Receive) -> Receive:
    """As `receive`, but it refuses a body that is too large or takes too long."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        try:
            async with asyncio.timeout(_PATIENCE):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(408, "the rest of the body did not come") from error
        size += len(message.get("body", b""))
        if size > MOST_BYTES:
            raise HTTPException(413, f"the body is larger than {MOST_BYTES:,} bytes")
        return message

    return limited
