"""Starting and stopping the service."""

import re
import signal
import socket
import sys
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

from fabir.answer.predictor import Predictor
from fabir.errors import InputError

_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")
_BACKLOG = 1_000  # connections that wait to be accepted
_GRACE = 30  # seconds that running requests have to finish at a shutdown


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    reader: Path | None = None,
    index: Path | None = None,
    names: Sequence[str] = (),
    threshold: float | None = None,
) -> None:
    """Answer over HTTP until a signal stops the service. Requests received by then are answered.

    Args:
        port: 0 for any free port; stderr shows it
        reader: a reader's folder; `fast` by default
        index: the folder of an index to answer from
        names: host names to accept in requests, besides "localhost" and IP addresses. Without
            names, any host is accepted if the service listens on more than this computer
        threshold: that of requests without one, see `Predictor`

    Raises:
        InputError: a package is missing, the reader or index does not exist, a host name is
            invalid, the service cannot listen on the address, or `threshold` is not from 0 to 1.
    """
    if not host:
        raise InputError("--host is empty: name an address, such as 127.0.0.1")
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is no name of a host: give it without scheme and port")
    try:
        import uvicorn

        from fabir.serve.app import create_app
        from fabir.serve.attention import Explainer
        from fabir.serve.connections import MAX_CONNECTIONS, Connection
    except ImportError as error:
        if error.name not in ("fastapi", "prometheus_client", "pydantic", "uvicorn"):
            raise
        raise InputError("serving needs FastAPI: pip install 'fabir[serve]'") from error
    listening = _listen(host, port)
    predictor = Predictor.load(reader, threshold=threshold)
    asker = None
    if index:
        from fabir.search.asker import Asker
        from fabir.search.index import Index

        asker = Asker(Index.open(index), predictor)
    app = create_app(
        predictor,
        asker=asker,
        explainer=Explainer(reader),
        allowed_hosts=_allowed_hosts(listening, names),
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=Connection,
            log_level="error",  # clients cause the warnings
            access_log=False,
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=_GRACE,
        )
    )
    for each in (signal.SIGINT, signal.SIGTERM):
        # Before uvicorn handles it, and again after uvicorn's shutdown.
        signal.signal(each, lambda *_: setattr(server, "should_exit", True))
    print(f"answering on {_address(listening)}; Ctrl+C stops it", file=sys.stderr, flush=True)
    if not _is_loopback(listening):
        print(
            "other computers can ask too, without a password or encryption: for those, put a proxy "
            "before it",
            file=sys.stderr,
            flush=True,
        )
    _allow_open_files(MAX_CONNECTIONS)
    server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host}, port {port}: {reason}") from error


def _allowed_hosts(listening: socket.socket, names: Sequence[str]) -> Sequence[str] | None:
    """The names to accept in the Host header; None for any."""
    return names if _is_loopback(listening) or names else None


def _is_loopback(listening: socket.socket) -> bool:
    return ip_address(listening.getsockname()[0]).is_loopback


def _allow_open_files(connections: int) -> None:
    """Raise this process's limit of open files, if possible: connections must not reach it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    wanted = 2 * connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
