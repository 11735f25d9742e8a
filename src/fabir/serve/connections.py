"""HTTP connections with limits that uvicorn lacks: on the size of a request's head and the time for
it. Idle connections make room for new ones. A request to upgrade is ignored."""

import asyncio
from weakref import WeakSet

from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_CONNECTIONS = 1_000
MAX_HEAD = 1 << 16  # bytes of a request's line and headers
MAX_HEADERS = 100
HEAD_TIMEOUT = 10  # seconds to wait for them

_TOO_LARGE = b"the headers are larger than 65,536 bytes or more than 100"


class Connection(HttpToolsProtocol):
    """One connection. It is idle while no request waits for its response."""

    _head = 0  # bytes of the request's head so far
    _in_body = False
    _since = 0.0  # when its head was begun to be waited for
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) + 1 >= MAX_CONNECTIONS:
            self._make_room()
        super().connection_made(transport)
        self.parser = _Parser(self)
        self._requests: WeakSet[RequestResponseCycle] = WeakSet()
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        for each in self._requests:  # uvicorn tells only the last of several that were sent at once
            each.disconnected = True
            each.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._in_body:
            self._head += len(data)
            if self._timer is None:
                self._wait_for_head()
        super().data_received(data)
        if self._head > MAX_HEAD:
            self._refuse_head()

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > MAX_HEAD or len(self.headers) > MAX_HEADERS:
            self._refuse_head()
            raise ValueError("too large")  # ends the parsing
        if self.parser.should_upgrade() and b"upgrade" in dict(self.headers):
            return  # it begins again, see `_Parser`
        self._stop_waiting()
        self._head, self._in_body = 0, True
        super().on_headers_complete()
        if self.cycle is not None:
            self._requests.add(self.cycle)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # what comes after a body in pieces is not used
            super().on_header(name, value)

    def on_message_complete(self) -> None:
        if self._in_body:
            self._in_body = False
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_body:  # its end may never come
            self._wait_for_head()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self) -> None:
        """Close the connection that has been idle for longest, if any."""
        idle = [each for each in self.connections if isinstance(each, Connection) and each._idle()]
        if idle:
            longest = min(idle, key=lambda each: each._since)
            self.connections.discard(longest)
            longest.transport.abort()

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._since = self.loop.time()
        self._timer = self.loop.call_later(HEAD_TIMEOUT, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._idle():
            self.transport.abort()

    def _refuse_head(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n"
                b"content-type: text/plain\r\ncontent-length: %d\r\n\r\n%b"
                % (len(_TOO_LARGE), _TOO_LARGE)
            )
            self.transport.close()


class _Parser(HttpRequestParser):
    """Ignores a request to upgrade to another protocol, such as h2c: see RFC 9110, 7.8.

    To httptools such a request ends with its head. So it begins again: the head is read without the
    upgrade, and then the body.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begin()

    def _begin(self) -> None:
        super().__init__(self._connection)
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]
        rest = memoryview(data)
        while True:
            try:
                return super().feed_data(rest)
            except HttpParserUpgrade as head_end:
                rest = rest[head_end.args[0] :]
            head = self._head_without_upgrade()
            self._begin()
            super().feed_data(head)

    def _head_without_upgrade(self) -> bytes:
        asked = self.get_method(), self._connection.url, self.get_http_version().encode()
        kept = [each for each in self._connection.headers if each[0] != b"upgrade"]
        lines = [b"%b %b HTTP/%b" % asked, *(b"%b: %b" % each for each in kept), b"", b""]
        return b"\r\n".join(lines)
