"""What surrounds every request: a limit on its body, headers of its response, counts and times."""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import HTTPException

from fabir.serve.metrics import Metrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
_PATIENCE = 20  # seconds for a part of a body to come
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]


class Guard:
    """Around an application of ASGI.

    Args:
        paths: those that are counted by name; others are counted together
    """

    def __init__(self, app: App, metrics: Metrics, paths: frozenset[str]) -> None:
        self.app, self.metrics, self.paths = app, metrics, paths

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, began = 500, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        try:
            await self.app(scope, _limited(receive), noted)
        finally:
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.requests.labels(path, status).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - began)


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
