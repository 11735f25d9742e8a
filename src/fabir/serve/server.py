"""uvicorn's server, which also reloads at a signal."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import uvicorn
from starlette.types import ASGIApp

from fabir.serve.connections import MAX_CONNECTIONS, Connection

_GRACE = 30  # seconds that running requests have to finish at a shutdown


class Server(uvicorn.Server):
    """Answers until SIGINT or SIGTERM, and reloads at SIGHUP.

    Args:
        root_path: the path that a proxy takes off the requests' paths
        reload: called in a thread of its own
    """

    def __init__(self, app: ASGIApp, root_path: str, reload: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            log_config=None,
            access_log=False,  # see `Guard`
            server_header=False,
            root_path=root_path,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=_GRACE,
        )
        super().__init__(config)
        self._reload = reload
        self._reloading = ThreadPoolExecutor(1, "fabir-reload")
        self._terminal = os.isatty(0)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        if hasattr(signal, "SIGHUP"):  # Windows does not have it
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hang_up)
        await super().serve(sockets)

    def _hang_up(self) -> None:
        if self._terminal and not os.isatty(0):  # it was closed, which sends the same signal
            self.should_exit = True
        else:
            self._reloading.submit(self._reload)
