"""Starting and stopping the service."""

import os
import re
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from fabir.errors import InputError
from fabir.serve.access import MAX_PORT, host_names, page_origins

if TYPE_CHECKING:
    from fabir.serve.service import Parts, Service

_PACKAGES = (
    "asgi_correlation_id",
    "fastapi",
    "prometheus_client",
    "pydantic",
    "pythonjsonlogger",
    "uvicorn",
)
_ROOT = re.compile(r"(/[^\s/?#]+)*")
_BACKLOG = 1_000  # connections that wait to be accepted


@dataclass(frozen=True)
class Sources:
    """Where the parts of the service are read from, at its start and at each reload.

    reader: a reader's folder; `fast` by default
    index: the folder of an index to answer from
    threshold: that of requests without one, see `Predictor`
    token_file: see `read_tokens`
    """

    reader: Path | None = None
    index: Path | None = None
    threshold: float | None = None
    token_file: Path | None = None

    def load(self) -> "Parts":
        """Read all of it, and try it.

        Raises:
            InputError: something of it does not exist or cannot be used.
        """
        from fabir.answer.predictor import Predictor
        from fabir.serve.attention import Explainer
        from fabir.serve.service import Parts
        from fabir.serve.tokens import read_tokens

        tokens = read_tokens(self.token_file)
        predictor = Predictor.load(self.reader, threshold=self.threshold)
        predictor.answer("Does it answer?", "It answers.")
        asker = None
        if self.index:
            from fabir.search.asker import Asker
            from fabir.search.index import Index

            asker = Asker(Index.open(self.index), predictor)
        return Parts(predictor, asker, Explainer(self.reader), tokens)


def serve(
    sources: Sources,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    names: Sequence[str] = (),
    cors: Sequence[str] = (),
    root_path: str = "",
    access_log: bool = True,
    log_format: str = "text",
    unknown: Sequence[str] = (),
) -> None:
    """Answer over HTTP until a signal stops the service. Requests received by then are answered.

    SIGHUP reads the sources again. Requests that have begun are answered from the old ones, and
    all are if the new ones cannot be used. While it starts, SIGHUP does nothing.

    Args:
        port: 0 for any free port; stderr shows it
        names: host names to accept in requests, besides "localhost" and IP addresses. Without
            names, any host is accepted if the service listens on more than this computer
        cors: see `create_app`
        root_path: the path that a proxy takes off the requests' paths, such as "/qa"
        access_log: whether to log every request to stdout
        log_format: see `configure_logs`
        unknown: variables of the environment to warn of, which stand for no option

    Raises:
        InputError: a package is missing, a source cannot be used, or an option is invalid.
    """
    _handle_signals_of_start()
    _check(host, port, names, cors, root_path)
    try:
        from fabir.serve.app import create_app
        from fabir.serve.connections import MAX_CONNECTIONS
        from fabir.serve.logs import configure_logs, notices
        from fabir.serve.server import Server
    except ImportError as error:
        if error.name not in _PACKAGES:
            raise
        raise InputError("serving needs FastAPI: pip install 'fabir[serve]'") from error
    configure_logs(log_format, access_log)
    listening = listen(host, port)
    parts = sources.load()
    hosts = allowed_hosts(listening, names)
    app = create_app(**parts._asdict(), allowed_hosts=hosts, cors=cors)
    server = Server(app, root_path, partial(_reload, app.state.service, sources))
    for each in (signal.SIGINT, signal.SIGTERM):
        # Before uvicorn handles it, and again after uvicorn's shutdown.
        signal.signal(each, lambda *_: setattr(server, "should_exit", True))
    needed = "requests need a token; " if parts.tokens else ""
    notices.info("answering on %s; %sCtrl+C stops it", address_of(listening), needed)
    if not _is_loopback(listening):
        lack = "encryption" if parts.tokens else "a token or encryption"
        notices.warning("other computers can ask too, without %s: put a proxy before it", lack)
    if unknown:
        notices.warning("no variable of fabir serve, so ignored: %s", ", ".join(unknown))
    _allow_open_files(MAX_CONNECTIONS)
    server.run(sockets=[listening])


def _handle_signals_of_start() -> None:
    """Until it answers there is nothing to reload and nothing to finish."""
    if hasattr(signal, "SIGHUP") and not os.isatty(0):  # Windows does not have it
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: os._exit(0))


def _check(host: str, port: int, names: Sequence[str], cors: Sequence[str], root_path: str) -> None:
    if not host:
        raise InputError("--host is empty: name an address, such as 127.0.0.1")
    if not 0 <= port <= MAX_PORT:
        raise InputError(f"--port {port} is no port: choose one from 0 to {MAX_PORT}")
    host_names(names)
    page_origins(cors)
    if not _ROOT.fullmatch(root_path):
        raise InputError(f"--root-path {root_path!r} is no path: give it as /qa")


def _reload(service: "Service", sources: Sources) -> None:
    """Read the sources again. Whatever is wrong with them, the service goes on with the old."""
    from fabir.serve.logs import notices

    try:
        service.replace(sources.load())
    except Exception as error:
        unexpected = error if not isinstance(error, InputError) else None
        notices.error("not reloaded, all stays as it was: %s", error, exc_info=unexpected)
        service.metrics.reloads.labels("failed").inc()
    else:
        service.metrics.reloads.labels("done").inc()
        notices.info("reloaded")


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any free one.

    Raises:
        InputError: the host is none, or the port is taken or forbidden
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (TypeError, UnicodeError) as error:
        raise InputError(f"cannot listen on {host}: it is no name of a host") from error
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while ")[0]  # what Python adds
        raise InputError(f"cannot listen on {host}, port {port}: {reason}") from error


def allowed_hosts(listening: socket.socket, names: Sequence[str]) -> Sequence[str] | None:
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


def address_of(listening: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
