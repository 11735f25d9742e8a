"""Starting and stopping the service."""

import signal
import socket
import sys
from pathlib import Path

from fabir.answer.predictor import Predictor
from fabir.errors import InputError

_MOST_CONNECTIONS = 1_000
_GRACE = 30  # seconds that running requests have when the service is to stop


def serve(
    host: str = "127.0.0.1", port: int = 8000, reader: Path | None = None, index: Path | None = None
) -> None:
    """Answer over HTTP until a signal says stop; what was asked until then is answered.

    Args:
        port: 0 for any free one; stderr says which
        reader: its folder; the bundled one if not given
        index: the folder of an index to ask

    Raises:
        InputError: a package is missing, there is no such reader or index, or the address cannot
            be had.
    """
    try:
        import uvicorn

        from fabir.serve.app import create_app
        from fabir.serve.attention import Explainer
    except ImportError as error:
        if error.name not in ("fastapi", "prometheus_client", "pydantic", "uvicorn"):
            raise
        raise InputError("serving needs FastAPI: pip install 'fabir[serve]'") from error
    listening = _listen(host, port)
    predictor = Predictor.load(reader)
    asker = None
    if index:
        from fabir.search.asker import Asker
        from fabir.search.index import Index

        asker = Asker(Index.open(index), predictor)
    app = create_app(predictor, asker=asker, explainer=Explainer(reader))
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=_GRACE,
        )
    )
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)  # uvicorn raises them again when it has stopped
    print(f"answering on {_address(listening)}; Ctrl+C stops it", file=sys.stderr, flush=True)
    server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_MOST_CONNECTIONS)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host}, port {port}: {reason}") from error


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
